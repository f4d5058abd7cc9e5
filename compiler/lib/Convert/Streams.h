#ifndef FARSIDE_LIB_CONVERT_STREAMS_H
#define FARSIDE_LIB_CONVERT_STREAMS_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace farside {

/// What a loop accesses in each turn, always the same distance on: bytes from `low` to `high` behind a pointer.
struct Stream {
  struct Access {
    mlir::Operation *op;
    int64_t offset;
  };

  mlir::Value base;
  mlir::FlatSymbolRefAttr section;
  int64_t low = 0, high = 0;
  int64_t stride = 0;
  bool written = false;
  llvm::SmallVector<Access> accesses;

  int64_t size() const { return high - low; }
  /// That of all accesses, the first one's before others.
  mlir::Location location() const;
};

/// Whether a loop does nothing that lines cannot be held over: calls may free, and loops in it that hold lines themselves are
/// what takes the time.
bool linesStayIn(mlir::scf::ForOp loop, const mlir::SymbolTable &tables);

/// The streams of a loop whose lines can be held. None if the loop does anything that lines cannot be held over, or has more
/// of them than can be held at once.
llvm::SmallVector<Stream> streamsOf(mlir::scf::ForOp loop, const mlir::SymbolTable &tables, const mlir::DataLayout &layout);

/// Whether an access of plain memory may be one by which threads learn of one another.
bool isOrdered(mlir::Operation *op);

} // namespace farside

#endif
