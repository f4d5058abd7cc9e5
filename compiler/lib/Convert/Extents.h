#ifndef FARSIDE_LIB_CONVERT_EXTENTS_H
#define FARSIDE_LIB_CONVERT_EXTENTS_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace farside {

/// From where to where loops come to memory: addresses, as numbers.
struct Extent {
  mlir::Value begin, end;
};

/// Whether it can be computed before a loop where it and those in it, which are one in the other, come to by a pointer: it goes
/// on by the same in each turn of each.
bool hasExtent(mlir::Value pointer, mlir::scf::ForOp outer, llvm::ArrayRef<mlir::scf::ForOp> inner);

/// Computes that, of accesses of `size` bytes. It is a number only if all of the loops make turns.
Extent extentOf(mlir::OpBuilder &builder, mlir::Value pointer, int64_t size, mlir::scf::ForOp outer,
                llvm::ArrayRef<mlir::scf::ForOp> inner);

} // namespace farside

#endif
