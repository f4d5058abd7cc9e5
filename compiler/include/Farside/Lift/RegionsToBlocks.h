#ifndef FARSIDE_LIFT_REGIONSTOBLOCKS_H
#define FARSIDE_LIFT_REGIONSTOBLOCKS_H

#include "mlir/IR/BuiltinOps.h"

namespace farside {

/// Turns loops, conditions and switches of the scf dialect into blocks and branches.
llvm::LogicalResult regionsToBlocks(mlir::ModuleOp module);

} // namespace farside

#endif
