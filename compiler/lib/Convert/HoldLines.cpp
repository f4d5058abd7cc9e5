#include "Bytes.h"
#include "HoldRows.h"
#include "LoopAnnotations.h"
#include "Rows.h"
#include "Streams.h"
#include "Farside/Convert/Passes.h"
#include "Farside/Dialect/Rmem/Rmem.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Pass/Pass.h"
#include <optional>
#include <utility>

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_HOLDLINES
#include "Farside/Convert/Passes.h.inc"

namespace {

/// What a loop goes through, and what it does with it from one turn on.
struct Way {
  Stream stream;
  /// What a loop around it holds of it, or may; nothing if no value is there.
  HeldRow row;
  Value pointer, line;
  /// How many turns it takes until nothing comes back to it, if that is known.
  Value untilDone;
};

/// One loop that may hold lines.
class Holding {
public:
  Holding(scf::ForOp loop, ModuleOp module, HeldRows &rows)
      : loop(loop), rows(rows), tables(module), layout(module), builder(loop), location(loop.getLoc()) {}

  bool convert() {
    for (Stream &stream : streamsOf(loop, tables, layout)) {
      HeldRow row = rows.lookup(stream.accesses.front().op);
      rows.erase(stream.accesses.front().op);
      ways.push_back({stream, row, {}, {}, {}});
    }
    if (ways.empty())
      return false;
    scf::IfOp either = areAllRows() ? chooseByRows() : scf::IfOp();
    ResultRange results = makeLoop();
    if (either)
      finish(builder, location, either.elseBlock(), results);
    loop.replaceAllUsesWith(either ? either.getResults() : results);
    loop.erase();
    return true;
  }

private:
  Value number(int64_t value) { return arith::ConstantOp::create(builder, location, builder.getI64IntegerAttr(value)); }

  bool areAllRows() const {
    return llvm::all_of(ways, [](const Way &way) { return bool(way.row.line); });
  }

  /// Where all that the loop goes through is held by the loop around it, it is plain memory. Else lines are held as if
  /// nothing were.
  scf::IfOp chooseByRows() {
    Value all, start = number(0);
    for (const Way &way : ways)
      all = all ? arith::AndIOp::create(builder, location, all, way.row.isHeld).getResult() : way.row.isHeld;
    auto either = scf::IfOp::create(builder, location, loop.getResultTypes(), all, /*addThen=*/true, /*addElse=*/true);
    for (Way &way : ways)
      way.line = std::exchange(way.row, {}).line;
    makeHeld(either.thenBlock(), start, loop.getUpperBound(), loop.getInitArgs());
    startIn(builder, either.elseBlock());
    return either;
  }

  ResultRange makeLoop() {
    SmallVector<Value> inits{number(0)};
    llvm::append_range(inits, loop.getInitArgs());
    auto on = scf::WhileOp::create(
        builder, location, ValueRange(inits).getTypes(), inits,
        [&](OpBuilder &, Location, ValueRange values) {
          OpBuilder::InsertionGuard guard(builder);
          builder.setInsertionPointToEnd(values[0].getParentBlock());
          Value more = arith::CmpIOp::create(builder, location, arith::CmpIPredicate::ult, values[0],
                                             loop.getUpperBound());
          scf::ConditionOp::create(builder, location, more, values);
        },
        [&](OpBuilder &, Location, ValueRange values) {
          OpBuilder::InsertionGuard guard(builder);
          builder.setInsertionPointToEnd(values[0].getParentBlock());
          makeTurns(values[0], values.drop_front());
        });
    return on.getResults().drop_front();
  }

  /// From turn `at` on, as many turns as all lines last, or one.
  void makeTurns(Value at, ValueRange carried) {
    IRMapping copies;
    copies.map(loop.getInductionVar(), at);
    Value rest = arith::SubIOp::create(builder, location, loop.getUpperBound(), at);
    Value start = arith::CmpIOp::create(builder, location, arith::CmpIPredicate::eq, at, number(0));
    Value turns = rest;
    for (Way &way : ways) {
      const Stream &stream = way.stream;
      RowsBehind behind(builder, location, tables, layout, stream, loop, loop.getUpperBound());
      std::optional<Rows> more = behind.find(loop, start);
      way.untilDone = behind.turnsUntilDone(loop, more);
      way.pointer = moved(builder, location, copyOf(builder, loop, stream.base, copies), stream.low);
      // What is held is plain memory, which lasts for all turns, and of which nothing is held or sent for.
      if (way.row.line)
        way.pointer = arith::SelectOp::create(builder, location, way.row.isHeld, after(way.row.line, at, stream), way.pointer);
      Value last = rmem::TurnsOp::create(builder, location, builder.getI64Type(), stream.section.getValue(), way.pointer,
                                         stream.size(), stream.stride);
      turns = arith::MinUIOp::create(builder, location, turns, last);
      if (tables.lookup<rmem::CacheSectionOp>(stream.section.getAttr()).getAhead())
        behind.sendAhead(more, way.pointer, rest, start);
    }
    Value held = arith::ConstantOp::create(builder, location, builder.getBoolAttr(true));
    for (Way &way : ways) {
      const Stream &stream = way.stream;
      way.line = rmem::HoldOp::create(builder, location, way.pointer.getType(), stream.section.getValue(), way.pointer, turns,
                                      stream.size(), stream.stride, stream.written);
      Value none = LLVM::ZeroOp::create(builder, location, way.line.getType());
      Value isHeld = LLVM::ICmpOp::create(builder, location, LLVM::ICmpPredicate::ne, way.line, none);
      held = arith::AndIOp::create(builder, location, held, isHeld);
    }
    auto either = scf::IfOp::create(builder, location, carried.getTypes(), held, /*addThen=*/true, /*addElse=*/true);
    makeHeld(either.thenBlock(), at, turns, carried);
    makeSingle(either.elseBlock(), at, carried);
    Value done = arith::SelectOp::create(builder, location, held, turns, number(1));
    for (const Way &way : ways)
      letGo(way, done);
    SmallVector<Value> next{arith::AddIOp::create(builder, location, at, done)};
    llvm::append_range(next, either.getResults());
    scf::YieldOp::create(builder, location, next);
  }

  void letGo(const Way &way, Value done) {
    const Stream &stream = way.stream;
    Value line = way.line;
    // A row stays.
    if (way.row.line) {
      Value none = LLVM::ZeroOp::create(builder, location, line.getType());
      line = arith::SelectOp::create(builder, location, way.row.isHeld, none, line);
    }
    rmem::LetGoOp::create(builder, location, stream.section.getValue(), line);
    if (stream.written && tables.lookup<rmem::CacheSectionOp>(stream.section.getAttr()).getCopies())
      rmem::ChangedOp::create(builder, location, stream.section.getValue());
    if (way.untilDone)
      rmem::DoneOp::create(builder, stream.location(), stream.section.getValue(), way.pointer, done, way.untilDone,
                           stream.stride);
  }

  /// The address of what a stream comes to so many turns on.
  Value after(Value line, Value turns, const Stream &stream) {
    Value way = arith::MulIOp::create(builder, location, turns, number(stream.stride));
    return LLVM::GEPOp::create(builder, location, line.getType(), builder.getI8Type(), line, ValueRange{way});
  }

  /// The body as it is, with lookups.
  void makeSingle(Block *block, Value at, ValueRange carried) {
    OpBuilder::InsertionGuard guard(builder);
    startIn(builder, block);
    IRMapping copies;
    copies.map(loop.getInductionVar(), at);
    copies.map(loop.getRegionIterArgs(), carried);
    for (Operation &op : loop.getBody()->without_terminator())
      setApart(builder.clone(op, copies));
    SmallVector<Value> results;
    for (Value value : loop.getBody()->getTerminator()->getOperands())
      results.push_back(copies.lookupOrDefault(value));
    finish(builder, location, block, results);
  }

  /// The body for so many turns, with plain accesses to what is held.
  void makeHeld(Block *block, Value at, Value turns, ValueRange carried) {
    OpBuilder::InsertionGuard guard(builder);
    startIn(builder, block);
    auto none = [](OpBuilder &, Location, Value, ValueRange) {};
    auto inner = scf::ForOp::create(builder, location, number(0), turns, number(1), carried, none,
                                    /*unsignedCmp=*/true);
    keepWhatIsForbidden(loop, inner);
    startIn(builder, inner.getBody());
    IRMapping copies;
    copies.map(loop.getInductionVar(),
               arith::AddIOp::create(builder, location, at, inner.getInductionVar()).getResult());
    copies.map(loop.getRegionIterArgs(), inner.getRegionIterArgs());
    DenseMap<Operation *, Value> addresses;
    for (const Way &way : ways) {
      Value address = after(way.line, inner.getInductionVar(), way.stream);
      for (auto [access, offset] : way.stream.accesses)
        addresses[access] = moved(builder, location, address, offset - way.stream.low);
    }
    for (Operation &op : loop.getBody()->without_terminator()) {
      Value address = addresses.lookup(&op);
      if (!address)
        builder.clone(op, copies);
      else if (Value loaded = accessHeld(builder, &op, address, copies))
        copies.map(op.getResult(0), loaded);
    }
    SmallVector<Value> results;
    for (Value value : loop.getBody()->getTerminator()->getOperands())
      results.push_back(copies.lookupOrDefault(value));
    finish(builder, location, inner.getBody(), results);
    builder.setInsertionPointAfter(inner);
    finish(builder, location, block, inner.getResults());
  }

  scf::ForOp loop;
  HeldRows &rows;
  SymbolTable tables;
  DataLayout layout;
  OpBuilder builder;
  Location location;
  SmallVector<Way> ways;
};

struct HoldLines : impl::HoldLinesBase<HoldLines> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    HeldRows rows;
    for (scf::ForOp loop : loops)
      if (holdRows(loop, getOperation(), rows))
        ++holdingRows;
    for (scf::ForOp loop : loops)
      if (Holding(loop, getOperation(), rows).convert())
        ++held;
  }
};

} // namespace
} // namespace farside
