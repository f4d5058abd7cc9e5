#ifndef FARSIDE_REMOTE_LENDABLECALLS_H
#define FARSIDE_REMOTE_LENDABLECALLS_H

namespace llvm {
class Module;
} // namespace llvm

namespace farside {

/// Makes calls of the C library such that what they use can be lent: those that an exception could leave, as far as is known, do
/// not, and of texts that are printed in one go those that are too many are copied before.
void makeLendable(llvm::Module &module);

/// Has streams of C++ show copies of what may be in a section.
void copyShown(llvm::Module &module);

} // namespace farside

#endif
