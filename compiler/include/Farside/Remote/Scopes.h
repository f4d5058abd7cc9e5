#ifndef FARSIDE_REMOTE_SCOPES_H
#define FARSIDE_REMOTE_SCOPES_H

#include "Farside/Remote/Plan.h"
#include "llvm/ADT/StringMap.h"

namespace llvm {
class GlobalValue;
} // namespace llvm

namespace farside {

/// Calls of these, on the way to MLIR, stand where fields are selected, and where everything is again. They are of the number
/// of the scope in its plan, and the second of what the first returns.
inline constexpr llvm::StringLiteral selectMarker = "farside.select", selectAllMarker = "farside.select_all";

/// Marks in a copy of a module the loops in which the plan has fields selected. `originals` are what names in it stand for.
/// Returns why it failed, or nothing.
std::string markScopes(llvm::Module &copy, const llvm::StringMap<llvm::GlobalValue *> &originals, const Plan &plan);

} // namespace farside

#endif
