#ifndef FARSIDE_REMOTE_SUPPORT_H
#define FARSIDE_REMOTE_SUPPORT_H

#include "Farside/Sections/SectionFile.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace llvm {
class Function;
class MemoryBuffer;
class Module;
} // namespace llvm

namespace farside {

/// Adds to a converted module the sections that it uses, opened when the program starts, and what it calls for them.
/// `isWhole`: the program is converted as a whole, not unit by unit. `isShared` says of a section, by its number, whether
/// several threads may use it. `bitcode` is compiler/runtime/sections.c; if that `isLinked` with the program, only what is
/// inlined of it is added. Returns why it failed, or nothing.
std::string addSupport(llvm::Module &module, const SectionFile &file, bool isWhole,
                       llvm::function_ref<bool(unsigned)> isShared, const llvm::MemoryBuffer &bitcode, bool isLinked);

/// Has the linker take compiler/runtime/sections.c from its library with a unit that it is to convert.
void askForSupport(llvm::Module &module);

/// What is compiled of such a unit by itself needs none.
void forgetSupport(llvm::Module &module);

/// Has functions with very many lookups call them, so that they do not take minutes to optimize.
void boundInlining(llvm::ArrayRef<llvm::Function *> functions);

/// Has code that is added to a module be for the same processor, so that it can be inlined.
void suit(llvm::Module &support, const llvm::Module &module);

} // namespace farside

#endif
