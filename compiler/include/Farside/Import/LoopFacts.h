#ifndef FARSIDE_IMPORT_LOOPFACTS_H
#define FARSIDE_IMPORT_LOOPFACTS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace llvm {
class Instruction;
class Module;
} // namespace llvm
namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace farside {

/// Metadata, and then attributes: of the branch that ends a loop, and of the loop, a number of its own; of an access, the
/// number of the innermost loop around it, and how many bytes on it comes to in each turn of that.
inline constexpr llvm::StringLiteral loopFact = "rmem.loop";
inline constexpr llvm::StringLiteral accessFact = "rmem.access";
/// What MLIR calls what is said of a loop to LLVM, where it is structured.
inline constexpr llvm::StringLiteral annotationOfLoop = "llvm.loop_annotation";

/// Tells what scalar evolution knows of the loops of a module made by `copyForMlir` (Mira, section 5.1). Loops of which it
/// knows how many turns they take count them from 0 then, unless they count as `farside-count-loops` sees by itself, and what
/// they change by the same in each turn is computed from that count. Accesses for which `isAsked` holds have facts.
void tellLoopFacts(llvm::Module &copy, llvm::function_ref<bool(const llvm::Instruction &)> isAsked);

/// Has facts come to MLIR with what they are of.
void registerLoopFacts(mlir::DialectRegistry &registry);

} // namespace farside

#endif
