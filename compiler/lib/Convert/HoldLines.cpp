#include "Bytes.h"
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

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_HOLDLINES
#include "Farside/Convert/Passes.h.inc"

namespace {

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
    copies.map(loop.getInductionVar(), at);
    Value rest = arith::SubIOp::create(builder, location, loop.getUpperBound(), at);
    Value start = arith::CmpIOp::create(builder, location, arith::CmpIPredicate::eq, at, number(0));
    Value turns = rest;
    SmallVector<Value> pointers, lines, untilDone;
    for (const Stream &stream : streams) {
      RowsBehind behind(builder, location, tables, layout, stream, loop, loop.getUpperBound());
      std::optional<Rows> rows = behind.find(loop, start);
      untilDone.push_back(behind.turnsUntilDone(loop, rows));
      pointers.push_back(moved(builder, location, copyOf(builder, loop, stream.base, copies), stream.low));
      Value last = rmem::TurnsOp::create(builder, location, builder.getI64Type(), stream.section.getValue(),
                                         pointers.back(), stream.size(), stream.stride);
      turns = arith::MinUIOp::create(builder, location, turns, last);
      if (tables.lookup<rmem::CacheSectionOp>(stream.section.getAttr()).getAhead())
        behind.sendAhead(rows, pointers.back(), rest, start);
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
  void makeHeld(Block *block, Value at, Value turns, ArrayRef<Value> lines, ValueRange carried) {
    OpBuilder::InsertionGuard guard(builder);
    startIn(builder, block);
    auto none = [](OpBuilder &, Location, Value, ValueRange) {};
    auto inner = scf::ForOp::create(builder, location, number(0), turns, number(1), carried, none,
                                    /*unsignedCmp=*/true);
    startIn(builder, inner.getBody());
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
