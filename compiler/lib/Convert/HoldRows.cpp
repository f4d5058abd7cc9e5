#include "Bytes.h"
#include "Rows.h"
#include "Streams.h"
#include "Strides.h"
#include "Farside/Convert/Passes.h"
#include "Farside/Dialect/Rmem/Rmem.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/STLExtras.h"
#include <optional>

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_HOLDROWS
#include "Farside/Convert/Passes.h.inc"

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

/// A row that is held, unless `line` is null.
struct Held {
  Value line, pointer, turns;
  /// How many turns it takes until nothing comes back to what was held, if that is known.
  Value all;
};

bool isInElse(Operation *op, Operation *within) {
  for (Operation *around = op->getParentOp(); around != within; op = around, around = op->getParentOp())
    if (auto either = dyn_cast<scf::IfOp>(around); either && op->getBlock() != either.thenBlock())
      return true;
  return false;
}

/// A loop that may hold rows, if each is in one line.
class RowHolding {
public:
  RowHolding(scf::ForOp loop, ModuleOp module)
      : loop(loop), tables(module), layout(module), builder(loop), location(loop.getLoc()) {}

  bool convert() {
    if (!countsFromZero(loop) || !linesStayIn(loop, tables))
      return false;
    loop.getBody()->walk([&](scf::ForOp inner) { addRowsOf(inner); });
    if (rows.empty() || rows.size() > mostRows)
      return false;
    holdRows();
    return true;
  }

private:
  Value number(int64_t value) { return arith::ConstantOp::create(builder, location, builder.getI64IntegerAttr(value)); }

  void addRowsOf(scf::ForOp inner) {
    SmallVector<Value> conditions;
    if (loopAround(inner, conditions) != loop || isInElse(inner, loop) || !isSameInTurns(inner.getUpperBound(), loop) ||
        !llvm::all_of(conditions, [&](Value value) { return isSameInTurns(value, loop); }))
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

  Held hold(Row &row) {
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
    OpBuilder::InsertionGuard guard(builder);
    startIn(builder, when.thenBlock());
    if (tables.lookup<rmem::CacheSectionOp>(stream.section.getAttr()).getAhead())
      behind.sendAhead(more, pointer, turns, start);
    Value line = rmem::HoldOp::create(builder, location, pointer.getType(), stream.section.getValue(), pointer, turns,
                                      stream.size(), stream.stride, stream.written);
    finish(builder, location, when.thenBlock(), line);
    startIn(builder, when.elseBlock());
    Value nothing = LLVM::ZeroOp::create(builder, location, pointer.getType());
    finish(builder, location, when.elseBlock(), nothing);
    return {when.getResult(0), pointer, turns, all};
  }

  void holdRows() {
    SmallVector<Held> lines;
    Value isHeld = arith::ConstantOp::create(builder, location, builder.getBoolAttr(true));
    for (Row &row : rows) {
      lines.push_back(hold(row));
      Value line = lines.back().line, none = LLVM::ZeroOp::create(builder, location, line.getType());
      Value isThis = LLVM::ICmpOp::create(builder, location, LLVM::ICmpPredicate::ne, line, none);
      isHeld = arith::AndIOp::create(builder, location, isHeld, isThis);
    }
    auto either = scf::IfOp::create(builder, location, loop.getResultTypes(), isHeld, /*addThen=*/true,
                                    /*addElse=*/true);
    either->setAttr(doesTheSame, builder.getUnitAttr());
    letGo(lines);
    makeHeld(either.thenBlock(), lines);
    startIn(builder, either.elseBlock());
    finish(builder, location, either.elseBlock(), builder.clone(*loop)->getResults());
    loop.replaceAllUsesWith(either.getResults());
    loop.erase();
  }

  void letGo(ArrayRef<Held> lines) {
    for (auto [row, held] : llvm::zip(rows, lines)) {
      rmem::LetGoOp::create(builder, location, row.stream.section.getValue(), held.line);
      if (row.stream.written && tables.lookup<rmem::CacheSectionOp>(row.stream.section.getAttr()).getCopies())
        rmem::ChangedOp::create(builder, location, row.stream.section.getValue());
    }
  }

  /// The loop with plain accesses to what is held.
  void makeHeld(Block *block, ArrayRef<Held> lines) {
    OpBuilder::InsertionGuard guard(builder);
    startIn(builder, block);
    IRMapping copies;
    Operation *made = builder.clone(*loop, copies);
    for (auto [row, held] : llvm::zip(rows, lines))
      if (held.all)
        rmem::DoneOp::create(builder, row.stream.location(), row.stream.section.getValue(), held.pointer, held.turns,
                             held.all, row.stream.stride);
    finish(builder, location, block, made->getResults());
    for (auto [row, held] : llvm::zip(rows, lines))
      for (auto [access, offset] : row.stream.accesses)
        turnToPlain(copies.lookup(access), held.line, copies.lookup(row.inner.getInductionVar()), row.stream,
                    offset - row.stream.low);
  }

  /// Has an access come to what is held, in turn `turn` of the loop in the loop.
  void turnToPlain(Operation *access, Value line, Value turn, const Stream &stream, int64_t offset) {
    builder.setInsertionPoint(access);
    Value way = arith::MulIOp::create(builder, location, turn, number(stream.stride));
    Value address = LLVM::GEPOp::create(builder, location, line.getType(), builder.getI8Type(), line, ValueRange{way});
    if (Value loaded = accessHeld(builder, access, moved(builder, location, address, offset), {}))
      access->getResult(0).replaceAllUsesWith(loaded);
    access->erase();
  }

  scf::ForOp loop;
  SymbolTable tables;
  DataLayout layout;
  OpBuilder builder;
  Location location;
  SmallVector<Row> rows;
};

struct HoldRows : impl::HoldRowsBase<HoldRows> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      if (RowHolding(loop, getOperation()).convert())
        ++held;
  }
};

} // namespace
} // namespace farside
