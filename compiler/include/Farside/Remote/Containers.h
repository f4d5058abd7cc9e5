#ifndef FARSIDE_REMOTE_CONTAINERS_H
#define FARSIDE_REMOTE_CONTAINERS_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace llvm {
class CallInst;
class Function;
class Instruction;
class MemoryBuffer;
class Module;
} // namespace llvm

namespace farside {

/// Gives a module definitions of its own of those functions of the C++ library that it calls and that work on nodes of
/// containers, so that these may be in sections. `bitcode` is compiler/runtime/cplusplus.cpp. Returns why it failed, or
/// nothing.
std::string defineContainers(llvm::Module &module, const llvm::MemoryBuffer &bitcode);

/// Gives a program that is linked copies of its own of functions of the C++ library that others know, too, since the library
/// has them compiled, as those of `std::string`: what they are passed by the program is not passed to others.
void copyCommon(llvm::Module &module);

/// Says of what members of `std::string` do with characters and capacities, before they are inlined, that no pointers are
/// among them.
void markStrings(llvm::Module &module);

/// Says of a call that copies memory that what it copies are characters.
void markAsCharacters(llvm::CallInst &copy);

/// Whether an instruction comes to characters of strings, or copies them, and not to what might be parts of pointers.
bool isOfCharacters(const llvm::Instruction &instruction);

/// Whether a function is there for others alone, and the program has a copy.
bool isForOthers(const llvm::Function &function);

/// The name of a function, or of what it is such a copy of.
llvm::StringRef commonName(const llvm::Function &function);

} // namespace farside

#endif
