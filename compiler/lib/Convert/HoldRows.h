#ifndef FARSIDE_LIB_CONVERT_HOLDROWS_H
#define FARSIDE_LIB_CONVERT_HOLDROWS_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"

namespace farside {

/// What a loop goes through in each turn of a loop around it, which may hold the line of all of it for all of its turns.
struct HeldRow {
  /// The address of what the first turn uses; null where it is not held.
  mlir::Value line;
  mlir::Value isHeld;
};

/// Rows by the first access of their streams.
using HeldRows = llvm::DenseMap<mlir::Operation *, HeldRow>;

/// Has a loop hold what loops in it go through again and again, each row by itself, if it is all in one line when the loop starts.
/// Returns whether there may be any.
bool holdRows(mlir::scf::ForOp loop, mlir::ModuleOp module, HeldRows &rows);

} // namespace farside

#endif
