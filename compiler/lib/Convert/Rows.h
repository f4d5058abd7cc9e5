#ifndef FARSIDE_LIB_CONVERT_ROWS_H
#define FARSIDE_LIB_CONVERT_ROWS_H

#include "Streams.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include <optional>

namespace farside {

/// What comes behind the bytes that a loop goes through: rows of a matrix follow one another.
struct Rows {
  /// How many turns of the loop they are.
  mlir::Value turns;
  /// Whether the loop comes to the first row.
  mlir::Value isFirst;
  /// Whether it comes to a row for the first time.
  mlir::Value isNew;
  /// The loop that goes from row to row, if a row is come to only once.
  mlir::scf::ForOp outer;
};

/// What follows the row that a stream goes through in a loop, and how it is sent for.
class RowsBehind {
public:
  /// `turns` is how many turns the loop makes.
  RowsBehind(mlir::OpBuilder &builder, mlir::Location location, const mlir::SymbolTable &tables,
             const mlir::DataLayout &layout, const Stream &stream, mlir::scf::ForOp loop, mlir::Value turns)
      : builder(builder), location(location), tables(tables), layout(layout), stream(stream), loop(loop), turns(turns) {}

  /// Of a loop around `from`, in the next turn of which the stream goes on where it ends now. Loops between them come to
  /// the same row again. `from` is the loop of the stream, or one around it, for all turns of which a row is held.
  std::optional<Rows> find(mlir::scf::ForOp from, mlir::Value isStart);

  /// How many turns it takes, in all, to go through what the stream goes through, if nothing comes back to it meanwhile:
  /// those of the loop, or of one around `from` that goes on where this one ends. No value if something may.
  mlir::Value turnsUntilDone(mlir::scf::ForOp from, std::optional<Rows> rows);

  /// Sends for lines that come after `pointer`, which has `rest` turns to go.
  void sendAhead(std::optional<Rows> rows, mlir::Value pointer, mlir::Value rest, mlir::Value isStart);

private:
  mlir::Value number(int64_t value);
  mlir::Value timesTogether(mlir::Value rows, mlir::scf::ForOp outer);
  mlir::Value isNewAgain(mlir::Value isNew);

  mlir::OpBuilder &builder;
  mlir::Location location;
  const mlir::SymbolTable &tables;
  const mlir::DataLayout &layout;
  const Stream &stream;
  mlir::scf::ForOp loop;
  mlir::Value turns;
};

/// The loop around an operation, if there is nothing between them but what depends on conditions, which are added.
mlir::scf::ForOp loopAround(mlir::Operation *op, llvm::SmallVectorImpl<mlir::Value> &conditions);

/// A value of a loop outside of it, or in another place in it, where what is in `copies` has other values.
mlir::Value copyOf(mlir::OpBuilder &builder, mlir::scf::ForOp loop, mlir::Value value, mlir::IRMapping &copies);

/// Does at an address what an access of a section does, in a copy of which `copies` tells. The result is what is loaded, if
/// it loads.
mlir::Value accessHeld(mlir::OpBuilder &builder, mlir::Operation *access, mlir::Value address,
                       const mlir::IRMapping &copies);

/// Ends a block of an scf.if, which ends already if it has no results.
void finish(mlir::OpBuilder &builder, mlir::Location location, mlir::Block *block, mlir::ValueRange results);

/// What is built next is at the end of a block.
void startIn(mlir::OpBuilder &builder, mlir::Block *block);

} // namespace farside

#endif
