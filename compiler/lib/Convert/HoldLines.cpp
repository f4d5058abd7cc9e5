#include "Bytes.h"
#include "LastUse.h"
#include "Streams.h"
#include "Strides.h"
#include "Farside/Convert/Passes.h"
#include "Farside/Dialect/Rmem/Rmem.h"
#include "Farside/Import/Numbers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/MathExtras.h"
#include <optional>

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_HOLDLINES
#include "Farside/Convert/Passes.h.inc"

namespace {

/// What is so large a part of the section at most is there still when a loop comes to it again.
constexpr int64_t partThatStays = 4;

/// One loop that may hold lines.
class Holding {
public:
  Holding(scf::ForOp loop, ModuleOp module)
      : loop(loop), tables(module), layout(module), builder(loop), location(loop.getLoc()) {}

  bool convert() {
    streams = streamsOf(loop, tables, layout);
    if (streams.empty())
      return false;
    makeLoop();
    return true;
  }

private:
  Value number(int64_t value) { return arith::ConstantOp::create(builder, location, builder.getI64IntegerAttr(value)); }

  /// A value of the loop as it is in turn `turn`.
  Value copyFor(Value value, Value turn, IRMapping &copies) {
    if (loop.isDefinedOutsideOfLoop(value))
      return value;
    if (value == loop.getInductionVar())
      return turn;
    if (Value copied = copies.lookupOrNull(value))
      return copied;
    Operation *op = value.getDefiningOp();
    for (Value operand : op->getOperands())
      if (!copies.contains(operand))
        copies.map(operand, copyFor(operand, turn, copies));
    builder.clone(*op, copies);
    return copies.lookup(value);
  }

  /// What comes behind the bytes that the loop comes to: rows of a matrix follow one another.
  struct Rows {
    /// How many turns of the loop they are.
    Value turns;
    /// Whether the loop comes to the first row.
    Value isFirst;
    /// Whether it comes to a row for the first time.
    Value isNew;
    /// The loop that goes from row to row, if a row is come to only once.
    scf::ForOp outer;
  };

  /// Of a loop around this one, in the next turn of which it goes on where it ends now. Loops between them come to the
  /// same row again. Nothing may keep a row from being come to: there may be nothing where it would be.
  std::optional<Rows> rowsBehind(const Stream &stream, Value isStart) {
    APInt turns;
    int64_t length;
    if (!matchPattern(loop.getUpperBound(), m_ConstantInt(&turns)) ||
        __builtin_mul_overflow(stream.stride, turns.getSExtValue(), &length))
      return std::nullopt;
    Value isNew = arith::ConstantOp::create(builder, location, builder.getBoolAttr(true));
    SmallVector<Value> between;
    for (auto outer = loop->getParentOfType<scf::ForOp>(), inner = loop; outer && outer == inner->getParentOp();
         inner = outer, outer = outer->getParentOfType<scf::ForOp>()) {
      std::optional<int64_t> stride = Strides(outer, layout).of(stream.base);
      if (!stride || !countsFromZero(outer))
        return std::nullopt;
      Value isFirst =
          arith::CmpIOp::create(builder, location, arith::CmpIPredicate::eq, outer.getInductionVar(), number(0));
      if (*stride == 0) {
        isNew = arith::AndIOp::create(builder, location, isNew, isFirst);
        between.push_back(outer.getUpperBound());
        continue;
      }
      if (*stride != length || !llvm::all_of(between, [&](Value bound) { return outer.isDefinedOutsideOfLoop(bound); }))
        return std::nullopt;
      // A row that does not stay is new each time.
      if (std::abs(length) > capacityOf(stream) / partThatStays)
        isNew = arith::ConstantOp::create(builder, location, builder.getBoolAttr(true));
      Value next = arith::AddIOp::create(builder, location, outer.getInductionVar(), number(1));
      Value rows = arith::SubIOp::create(builder, location, outer.getUpperBound(), next);
      return Rows{arith::MulIOp::create(builder, location, rows, loop.getUpperBound()),
                  arith::AndIOp::create(builder, location, isStart, isFirst), isNew,
                  between.empty() ? outer : scf::ForOp()};
    }
    return std::nullopt;
  }

  int64_t capacityOf(const Stream &stream) {
    return tables.lookup<rmem::CacheSectionOp>(stream.section.getAttr()).getCapacity();
  }

  /// How many turns it takes, in all, to go through what a stream goes through, if nothing comes back to it meanwhile: those
  /// of the loop, or of one around it that goes on where this one ends. No value if something may.
  Value turnsUntilDone(const Stream &stream, std::optional<Rows> rows) {
    auto isOne = [&](Operation *op) {
      return llvm::any_of(stream.accesses, [&](const Stream::Access &access) { return access.op == op; });
    };
    // Of one slot there is no choice.
    if (tables.lookup<rmem::CacheSectionOp>(stream.section.getAttr()).getWays() == 1 ||
        !isOnlyUse(loop, stream.section, tables, isOne))
      return {};
    if (!rows || !rows->outer || !isOnlyUse(rows->outer, stream.section, tables, isOne))
      return loop.getUpperBound();
    return arith::MulIOp::create(builder, location, rows->outer.getUpperBound(), loop.getUpperBound());
  }

  /// Sends for lines that come after `pointer`, which has `rest` turns to go.
  void sendAhead(const Stream &stream, const std::optional<Rows> &rows, Value pointer, Value rest, Value isStart) {
    auto ahead = [&](Value turns, Value start) {
      rmem::AheadOp::create(builder, stream.location(), stream.section.getValue(), pointer, turns, start, stream.size(),
                            stream.stride);
    };
    if (!rows)
      return ahead(rest, isStart);
    auto when = scf::IfOp::create(builder, location, TypeRange(), rows->isNew, /*addThenBlock=*/true,
                                  /*addElseBlock=*/false);
    OpBuilder::InsertionGuard guard(builder);
    startIn(when.thenBlock());
    ahead(arith::AddIOp::create(builder, location, rest, rows->turns), rows->isFirst);
    finish(when.thenBlock(), {});
  }

  void makeLoop() {
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
    loop.replaceAllUsesWith(on.getResults().drop_front());
    loop.erase();
  }

  /// From turn `at` on, as many turns as all lines last, or one.
  void makeTurns(Value at, ValueRange carried) {
    IRMapping copies;
    Value rest = arith::SubIOp::create(builder, location, loop.getUpperBound(), at);
    Value start = arith::CmpIOp::create(builder, location, arith::CmpIPredicate::eq, at, number(0));
    Value turns = rest;
    SmallVector<Value> pointers, lines, untilDone;
    for (const Stream &stream : streams) {
      std::optional<Rows> rows = rowsBehind(stream, start);
      untilDone.push_back(turnsUntilDone(stream, rows));
      pointers.push_back(moved(builder, location, copyFor(stream.base, at, copies), stream.low));
      Value last = rmem::TurnsOp::create(builder, location, builder.getI64Type(), stream.section.getValue(),
                                         pointers.back(), stream.size(), stream.stride);
      turns = arith::MinUIOp::create(builder, location, turns, last);
      if (tables.lookup<rmem::CacheSectionOp>(stream.section.getAttr()).getAhead())
        sendAhead(stream, rows, pointers.back(), rest, start);
    }
    Value held = arith::ConstantOp::create(builder, location, builder.getBoolAttr(true));
    for (auto [stream, pointer] : llvm::zip(streams, pointers)) {
      Value line = rmem::HoldOp::create(builder, location, pointer.getType(), stream.section.getValue(), pointer, turns,
                                        stream.size(), stream.stride, stream.written);
      Value none = LLVM::ZeroOp::create(builder, location, line.getType());
      Value isHeld = LLVM::ICmpOp::create(builder, location, LLVM::ICmpPredicate::ne, line, none);
      held = arith::AndIOp::create(builder, location, held, isHeld);
      lines.push_back(line);
    }
    auto either = scf::IfOp::create(builder, location, carried.getTypes(), held, /*addThen=*/true, /*addElse=*/true);
    makeHeld(either.thenBlock(), at, turns, lines, carried);
    makeSingle(either.elseBlock(), at, carried);
    for (auto [stream, line] : llvm::zip(streams, lines))
      rmem::LetGoOp::create(builder, location, stream.section.getValue(), line);
    for (const Stream &stream : streams)
      if (stream.written && tables.lookup<rmem::CacheSectionOp>(stream.section.getAttr()).getCopies())
        rmem::ChangedOp::create(builder, location, stream.section.getValue());
    Value done = arith::SelectOp::create(builder, location, held, turns, number(1));
    for (auto [stream, pointer, all] : llvm::zip(streams, pointers, untilDone))
      if (all)
        rmem::DoneOp::create(builder, stream.location(), stream.section.getValue(), pointer, done, all, stream.stride);
    SmallVector<Value> next{arith::AddIOp::create(builder, location, at, done)};
    llvm::append_range(next, either.getResults());
    scf::YieldOp::create(builder, location, next);
  }

  /// Ends a block of an scf.if, which ends already if it has no results.
  void finish(Block *block, ValueRange results) {
    if (block->empty() || !block->back().hasTrait<OpTrait::IsTerminator>()) {
      builder.setInsertionPointToEnd(block);
      scf::YieldOp::create(builder, location, results);
    }
  }

  void startIn(Block *block) {
    if (!block->empty() && block->back().hasTrait<OpTrait::IsTerminator>())
      builder.setInsertionPoint(&block->back());
    else
      builder.setInsertionPointToEnd(block);
  }

  /// The body as it is, with lookups.
  void makeSingle(Block *block, Value at, ValueRange carried) {
    OpBuilder::InsertionGuard guard(builder);
    startIn(block);
    IRMapping copies;
    copies.map(loop.getInductionVar(), at);
    copies.map(loop.getRegionIterArgs(), carried);
    for (Operation &op : loop.getBody()->without_terminator())
      setApart(builder.clone(op, copies));
    SmallVector<Value> results;
    for (Value value : loop.getBody()->getTerminator()->getOperands())
      results.push_back(copies.lookupOrDefault(value));
    finish(block, results);
  }

  /// The body for so many turns, with plain accesses to what is held.
  void makeHeld(Block *block, Value at, Value turns, ArrayRef<Value> lines, ValueRange carried) {
    OpBuilder::InsertionGuard guard(builder);
    startIn(block);
    auto none = [](OpBuilder &, Location, Value, ValueRange) {};
    auto inner = scf::ForOp::create(builder, location, number(0), turns, number(1), carried, none,
                                    /*unsignedCmp=*/true);
    startIn(inner.getBody());
    IRMapping copies;
    copies.map(loop.getInductionVar(),
               arith::AddIOp::create(builder, location, at, inner.getInductionVar()).getResult());
    copies.map(loop.getRegionIterArgs(), inner.getRegionIterArgs());
    DenseMap<Operation *, Value> addresses;
    for (auto [stream, line] : llvm::zip(streams, lines)) {
      Value way = arith::MulIOp::create(builder, location, inner.getInductionVar(), number(stream.stride));
      Value address = LLVM::GEPOp::create(builder, location, line.getType(), builder.getI8Type(), line, ValueRange{way});
      for (auto [access, offset] : stream.accesses)
        addresses[access] = moved(builder, location, address, offset - stream.low);
    }
    for (Operation &op : loop.getBody()->without_terminator()) {
      Value address = addresses.lookup(&op);
      if (!address)
        builder.clone(op, copies);
      else if (auto load = dyn_cast<rmem::LoadOp>(op))
        copies.map(load.getValue(), LLVM::LoadOp::create(builder, op.getLoc(), load.getType(), address,
                                                         alignmentOf(load.getAlignment()))
                                        .getResult());
      else if (auto store = dyn_cast<rmem::StoreOp>(op))
        LLVM::StoreOp::create(builder, op.getLoc(), copies.lookupOrDefault(store.getValue()), address,
                              alignmentOf(store.getAlignment()));
    }
    SmallVector<Value> results;
    for (Value value : loop.getBody()->getTerminator()->getOperands())
      results.push_back(copies.lookupOrDefault(value));
    finish(inner.getBody(), results);
    builder.setInsertionPointAfter(inner);
    finish(block, inner.getResults());
  }

  /// Lines are aligned to no more.
  static unsigned alignmentOf(uint64_t alignment) { return std::min<uint64_t>(alignment, 64); }

  scf::ForOp loop;
  SymbolTable tables;
  DataLayout layout;
  OpBuilder builder;
  Location location;
  SmallVector<Stream> streams;
};

struct HoldLines : impl::HoldLinesBase<HoldLines> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      if (Holding(loop, getOperation()).convert())
        ++held;
  }
};

} // namespace
} // namespace farside
