#ifndef FARSIDE_EXPLAIN_NAMES_H
#define FARSIDE_EXPLAIN_NAMES_H

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Function;
class Instruction;
} // namespace llvm

namespace farside {

/// What an access does: load, store, copy, fill, allocation or free.
llvm::StringRef kindOf(const llvm::Instruction &instruction);

/// The name of a function in the source.
llvm::StringRef sourceName(const llvm::Function &function);

} // namespace farside

#endif
