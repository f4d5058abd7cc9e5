#ifndef FARSIDE_REMOTE_CONTAINERS_H
#define FARSIDE_REMOTE_CONTAINERS_H

#include <string>

namespace llvm {
class MemoryBuffer;
class Module;
} // namespace llvm

namespace farside {

/// Gives a module definitions of its own of those functions of the C++ library that it calls and that work on nodes of
/// containers, so that these may be in sections. `bitcode` is compiler/runtime/cplusplus.cpp. Returns why it failed, or
/// nothing.
std::string defineContainers(llvm::Module &module, const llvm::MemoryBuffer &bitcode);

} // namespace farside

#endif
