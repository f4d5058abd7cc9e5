#include "HoldRows.h"

#include "Bytes.h"
#include "Rows.h"
#include "Streams.h"
#include "Strides.h"
#include "Farside/Dialect/Rmem/Rmem.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include <optional>

using namespace mlir;

namespace farside {
namespace {

/// So many rows are held at once at most, besides the lines that loops in the loop hold.
constexpr size_t mostRows = 4;

/// What a loop in the loop goes through, all of it again in each turn of the loop.
struct Row {
  Stream stream;
  scf::ForOp inner;
  /// What has to be so for the loop to come there.
  SmallVector<Value> conditions;
};

bool isInElse(Operation *op, Operation *within) {
  for (Operation *around = op->getParentOp(); around != within; op = around, around = op->getParentOp())
    if (auto either = dyn_cast<scf::IfOp>(around); either && op->getBlock() != either.thenBlock())
      return true;
  return false;
}

/// A loop that may hold rows, each if it is in one line.
class RowHolding {
public:
  RowHolding(scf::ForOp loop, ModuleOp module)
      : loop(loop), tables(module), layout(module), builder(loop), location(loop.getLoc()) {}

  bool convert(HeldRows &held) {
    if (!countsFromZero(loop) || !linesStayIn(loop, tables))
      return false;
    loop.getBody()->walk([&](scf::ForOp inner) { addRowsOf(inner); });
    if (rows.empty() || rows.size() > mostRows)
      return false;
    for (Row &row : rows)
      held[row.stream.accesses.front().op] = hold(row);
    return true;
  }

private:
  Value number(int64_t value) { return arith::ConstantOp::create(builder, location, builder.getI64IntegerAttr(value)); }

  /// A loop around one that holds lines holds none.
  bool hasHoldingLoops(scf::ForOp inner) {
    return inner.getBody()
        ->walk([&](scf::ForOp nested) {
          return streamsOf(nested, tables, layout).empty() ? WalkResult::advance() : WalkResult::interrupt();
        })
        .wasInterrupted();
  }

  void addRowsOf(scf::ForOp inner) {
    SmallVector<Value> conditions;
    if (loopAround(inner, conditions) != loop || isInElse(inner, loop) || !isSameInTurns(inner.getUpperBound(), loop) ||
        !llvm::all_of(conditions, [&](Value value) { return isSameInTurns(value, loop); }) || hasHoldingLoops(inner))
      return;
    for (Stream &stream : streamsOf(inner, tables, layout))
      if (isSameInTurns(stream.base, loop, inner.getInductionVar()))
        rows.push_back({stream, inner, conditions});
  }

  /// Whether the loop comes to a row, and finds it all in one line. What is known only where it comes there is not looked at
  /// before it is known that it does: it may be no number at all.
  Value isInOneLine(Row &row, Value pointer, Value turns, IRMapping &copies) {
    auto is = [&](Value one, arith::CmpIPredicate than, Value other) {
      return arith::CmpIOp::create(builder, location, than, one, other).getResult();
    };
    Value no = arith::ConstantOp::create(builder, location, builder.getBoolAttr(false));
    auto andThen = [&](Value one, Value other) {
      return arith::SelectOp::create(builder, location, one, other, no).getResult();
    };
    Value result = is(loop.getUpperBound(), arith::CmpIPredicate::ne, number(0));
    for (Value condition : llvm::reverse(row.conditions))
      result = andThen(result, copyOf(builder, loop, condition, copies));
    result = andThen(result, is(turns, arith::CmpIPredicate::ne, number(0)));
    Value last = rmem::TurnsOp::create(builder, location, builder.getI64Type(), row.stream.section.getValue(), pointer,
                                       row.stream.size(), row.stream.stride);
    return andThen(result, is(last, arith::CmpIPredicate::uge, turns));
  }

  /// Holds it before the loop, and no longer behind it.
  HeldRow hold(Row &row) {
    OpBuilder::InsertionGuard guard(builder);
    IRMapping copies;
    const Stream &stream = row.stream;
    Value turns = copyOf(builder, loop, row.inner.getUpperBound(), copies);
    copies.map(row.inner.getInductionVar(), number(0));
    Value pointer = moved(builder, location, copyOf(builder, loop, stream.base, copies), stream.low);
    Value start = arith::ConstantOp::create(builder, location, builder.getBoolAttr(true));
    RowsBehind behind(builder, location, tables, layout, stream, row.inner, turns);
    std::optional<Rows> more = behind.find(loop, start);
    Value all = behind.turnsUntilDone(loop, more);
    auto when = scf::IfOp::create(builder, location, pointer.getType(), isInOneLine(row, pointer, turns, copies),
                                  /*addThen=*/true, /*addElse=*/true);
    startIn(builder, when.thenBlock());
    if (tables.lookup<rmem::CacheSectionOp>(stream.section.getAttr()).getAhead())
      behind.sendAhead(more, pointer, turns, start);
    Value line = rmem::HoldOp::create(builder, location, pointer.getType(), stream.section.getValue(), pointer, turns,
                                      stream.size(), stream.stride, stream.written);
    finish(builder, location, when.thenBlock(), line);
    startIn(builder, when.elseBlock());
    Value none = LLVM::ZeroOp::create(builder, location, pointer.getType());
    finish(builder, location, when.elseBlock(), none);
    builder.setInsertionPointAfter(when);
    none = LLVM::ZeroOp::create(builder, location, pointer.getType());
    Value isHeld = LLVM::ICmpOp::create(builder, location, LLVM::ICmpPredicate::ne, when.getResult(0), none);
    builder.setInsertionPointAfter(loop);
    auto after = scf::IfOp::create(builder, location, TypeRange(), isHeld, /*addThenBlock=*/true, /*addElseBlock=*/false);
    startIn(builder, after.thenBlock());
    rmem::LetGoOp::create(builder, location, stream.section.getValue(), when.getResult(0));
    if (stream.written && tables.lookup<rmem::CacheSectionOp>(stream.section.getAttr()).getCopies())
      rmem::ChangedOp::create(builder, location, stream.section.getValue());
    if (all)
      rmem::DoneOp::create(builder, stream.location(), stream.section.getValue(), pointer, turns, all, stream.stride);
    finish(builder, location, after.thenBlock(), {});
    return {when.getResult(0), isHeld};
  }

  scf::ForOp loop;
  SymbolTable tables;
  DataLayout layout;
  OpBuilder builder;
  Location location;
  SmallVector<Row> rows;
};

} // namespace

bool holdRows(scf::ForOp loop, ModuleOp module, HeldRows &rows) { return RowHolding(loop, module).convert(rows); }

} // namespace farside
