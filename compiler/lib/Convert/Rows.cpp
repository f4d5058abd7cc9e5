#include "Rows.h"

#include "LastUse.h"
#include "Strides.h"
#include "Farside/Dialect/Rmem/Rmem.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cstdlib>

using namespace mlir;

namespace farside {
namespace {

/// What is so large a part of the section at most is there still when a loop comes to it again.
constexpr int64_t partThatStays = 4;

} // namespace

Value RowsBehind::number(int64_t value) {
  return arith::ConstantOp::create(builder, location, builder.getI64IntegerAttr(value));
}

/// How many rows it is that so many turns of a loop go through, if they go through one each.
Value RowsBehind::timesTogether(Value rows, scf::ForOp outer) {
  int64_t together = turnsTogether(outer);
  return together == 1 ? rows : arith::MulIOp::create(builder, location, rows, number(together)).getResult();
}

/// A row that does not stay is new each time.
Value RowsBehind::isNewAgain(Value isNew) {
  int64_t capacity = tables.lookup<rmem::CacheSectionOp>(stream.section.getAttr()).getCapacity();
  int64_t stays = capacity / partThatStays / std::abs(stream.stride);
  APInt known;
  if (matchPattern(turns, m_ConstantInt(&known)))
    return known.sgt(stays) ? arith::ConstantOp::create(builder, location, builder.getBoolAttr(true)).getResult() : isNew;
  Value most = number(stays);
  Value leaves = arith::CmpIOp::create(builder, location, arith::CmpIPredicate::ugt, turns, most);
  return arith::OrIOp::create(builder, location, isNew, leaves);
}

std::optional<Rows> RowsBehind::find(scf::ForOp from, Value isStart) {
  // Nothing may keep a row from being come to, nor may it be of another length: there may be nothing where it would be.
  SmallVector<Value> conditions{loop.getUpperBound()};
  for (scf::ForOp inner = loop; inner != from;) {
    inner = loopAround(inner, conditions);
    conditions.push_back(inner.getUpperBound());
  }
  Value isNew = arith::ConstantOp::create(builder, location, builder.getBoolAttr(true));
  bool isOnce = true;
  for (scf::ForOp outer = loopAround(from, conditions); outer; outer = loopAround(outer, conditions)) {
    if (!countsFromZero(outer) || !llvm::all_of(conditions, [&](Value value) { return isSameInTurns(value, outer); }))
      return std::nullopt;
    Value isFirst =
        arith::CmpIOp::create(builder, location, arith::CmpIPredicate::eq, outer.getInductionVar(), number(0));
    if (isSameInTurns(stream.base, outer, loop.getInductionVar())) {
      isNew = arith::AndIOp::create(builder, location, isNew, isFirst);
      isOnce = false;
      conditions.push_back(outer.getUpperBound());
      continue;
    }
    if (!isRowOn(stream.base, stream.stride, loop, outer, layout, turnsTogether(outer)))
      return std::nullopt;
    Value next = arith::AddIOp::create(builder, location, outer.getInductionVar(), number(1));
    Value rows = arith::SubIOp::create(builder, location, outer.getUpperBound(), next);
    rows = timesTogether(rows, outer);
    return Rows{arith::MulIOp::create(builder, location, rows, turns),
                arith::AndIOp::create(builder, location, isStart, isFirst), isOnce ? isNew : isNewAgain(isNew),
                isOnce ? outer : scf::ForOp()};
  }
  return std::nullopt;
}

Value RowsBehind::turnsUntilDone(scf::ForOp from, std::optional<Rows> rows) {
  auto isOne = [&](Operation *op) {
    return llvm::any_of(stream.accesses, [&](const Stream::Access &access) { return access.op == op; });
  };
  auto section = tables.lookup<rmem::CacheSectionOp>(stream.section.getAttr());
  // Of one slot there is no choice.
  if (section.getWays() == 1 || section.getKeep() || !isOnlyUse(from, stream.section, tables, isOne))
    return {};
  if (!rows || !rows->outer || !isOnlyUse(rows->outer, stream.section, tables, isOne))
    return turns;
  Value all = timesTogether(rows->outer.getUpperBound(), rows->outer);
  return arith::MulIOp::create(builder, location, all, turns);
}

void RowsBehind::sendAhead(std::optional<Rows> rows, Value pointer, Value rest, Value isStart) {
  auto ahead = [&](Value turns, Value start) {
    rmem::AheadOp::create(builder, stream.location(), stream.section.getValue(), pointer, turns, start, stream.size(),
                          stream.stride);
  };
  if (!rows)
    return ahead(rest, isStart);
  auto when = scf::IfOp::create(builder, location, TypeRange(), rows->isNew, /*addThenBlock=*/true,
                                /*addElseBlock=*/false);
  OpBuilder::InsertionGuard guard(builder);
  startIn(builder, when.thenBlock());
  ahead(arith::AddIOp::create(builder, location, rest, rows->turns), rows->isFirst);
  finish(builder, location, when.thenBlock(), {});
}

scf::ForOp loopAround(Operation *op, SmallVectorImpl<Value> &conditions) {
  Operation *around = op->getParentOp();
  for (; isa<scf::IfOp>(around); around = around->getParentOp())
    conditions.push_back(cast<scf::IfOp>(around).getCondition());
  return dyn_cast<scf::ForOp>(around);
}

Value copyOf(OpBuilder &builder, scf::ForOp loop, Value value, IRMapping &copies) {
  if (Value copied = copies.lookupOrNull(value))
    return copied;
  if (loop.isDefinedOutsideOfLoop(value))
    return value;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    if (!copies.contains(operand))
      copies.map(operand, copyOf(builder, loop, operand, copies));
  builder.clone(*op, copies);
  return copies.lookup(value);
}

Value accessHeld(OpBuilder &builder, Operation *access, Value address, const IRMapping &copies) {
  // Lines are aligned to no more.
  auto alignment = [](uint64_t own) { return unsigned(std::min<uint64_t>(own, 64)); };
  if (auto load = dyn_cast<rmem::LoadOp>(access))
    return LLVM::LoadOp::create(builder, load.getLoc(), load.getType(), address, alignment(load.getAlignment()));
  auto store = cast<rmem::StoreOp>(access);
  LLVM::StoreOp::create(builder, store.getLoc(), copies.lookupOrDefault(store.getValue()), address,
                        alignment(store.getAlignment()));
  return {};
}

void finish(OpBuilder &builder, Location location, Block *block, ValueRange results) {
  if (block->empty() || !block->back().hasTrait<OpTrait::IsTerminator>()) {
    builder.setInsertionPointToEnd(block);
    scf::YieldOp::create(builder, location, results);
  }
}

void startIn(OpBuilder &builder, Block *block) {
  if (!block->empty() && block->back().hasTrait<OpTrait::IsTerminator>())
    builder.setInsertionPoint(&block->back());
  else
    builder.setInsertionPointToEnd(block);
}

} // namespace farside
