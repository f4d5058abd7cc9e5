#ifndef FARSIDE_PROFILE_INSTRUMENT_H
#define FARSIDE_PROFILE_INSTRUMENT_H

#include <string>

namespace llvm {
class MemoryBuffer;
class Module;
} // namespace llvm

namespace farside {

class Candidates;

/// Has a program, which is converted by now, count what it does: its functions and its allocations at the sites that were
/// found. `bitcode` is compiler/runtime/profile. Returns why it failed, or nothing.
std::string instrument(llvm::Module &module, const Candidates &candidates, const llvm::MemoryBuffer &bitcode);

} // namespace farside

#endif
