#ifndef FARSIDE_PROFILE_SPECIALIZEALL_H
#define FARSIDE_PROFILE_SPECIALIZEALL_H

namespace llvm {
class Module;
} // namespace llvm

namespace farside {

/// Gives callers functions of their own as for a section file that has a section for each site: what such a file would keep
/// apart then counts as two classes.
void specializeAll(llvm::Module &module);

} // namespace farside

#endif
