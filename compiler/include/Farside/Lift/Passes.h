#ifndef FARSIDE_LIFT_PASSES_H
#define FARSIDE_LIFT_PASSES_H

#include "llvm/ADT/ArrayRef.h"
#include <string>

namespace farside {

/// Canonicalizations of MLIR that programs are not put through.
llvm::ArrayRef<std::string> canonicalizationsLeftOut();

/// Enters the passes that structure control flow and undo that, and two pipelines of them: `farside-structure` and
/// `farside-unstructure`.
void registerLiftPasses();

} // namespace farside

#endif
