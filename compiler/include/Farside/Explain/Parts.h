#ifndef FARSIDE_EXPLAIN_PARTS_H
#define FARSIDE_EXPLAIN_PARTS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"

namespace llvm {
class Module;
} // namespace llvm

namespace farside {

/// Writes a line of JSON into a part of the program, which keeps it whatever the linker drops.
void addToPart(llvm::Module &module, llvm::StringRef part, llvm::json::Object line);

} // namespace farside

#endif
