#ifndef FARSIDE_LIB_CONVERT_STRIDES_H
#define FARSIDE_LIB_CONVERT_STRIDES_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include <cstdint>
#include <optional>

namespace farside {

/// Whether the turns of a loop are counted from 0, one by one.
bool countsFromZero(mlir::scf::ForOp loop);

/// From one element to the next, which is more than its own bytes if its alignment is more. MLIR's sizes of structures that
/// are packed leave that out.
std::optional<int64_t> distanceOf(mlir::Type type, const mlir::DataLayout &layout);

/// Where in a structure a field begins; behind the last one, where all end.
std::optional<int64_t> offsetOf(mlir::LLVM::LLVMStructType structure, unsigned field, const mlir::DataLayout &layout);

/// Whether a value is the same in all turns of a loop, and can be computed before it, if that is so of `known`.
bool isSameInTurns(mlir::Value value, mlir::scf::ForOp loop, mlir::Value known = {});

/// How values change from turn to turn; in loops within the loop, from the same turn of these.
class Strides {
public:
  Strides(mlir::scf::ForOp loop, const mlir::DataLayout &layout) : loop(loop), layout(layout) {}

  std::optional<int64_t> of(mlir::Value value);

  /// How often `unit`, which loops do not change, a value changes by from turn to turn, if it changes by nothing else.
  std::optional<int64_t> inUnits(mlir::Value value, mlir::Value unit);

private:
  std::optional<int64_t> ofProduct(mlir::Value one, mlir::Value other);
  static std::optional<int64_t> sum(std::optional<int64_t> one, std::optional<int64_t> other, int64_t sign);
  std::optional<int64_t> ofElement(mlir::LLVM::GEPOp element);

  mlir::scf::ForOp loop;
  const mlir::DataLayout &layout;
  /// What distances are counted in; bytes if it is nothing.
  mlir::Value unit;
};

/// Whether the next turn of `outer`, or the turn so many later, goes on behind where one has come to in all turns of a loop in
/// it: as from one row of a matrix to the next. A turn of the loop goes on by `stride` bytes.
bool isRowOn(mlir::Value pointer, int64_t stride, mlir::scf::ForOp loop, mlir::scf::ForOp outer,
             const mlir::DataLayout &layout, int64_t rows = 1);

/// How many turns of a loop as it was are one now.
int64_t turnsTogether(mlir::scf::ForOp loop);

} // namespace farside

#endif
