#include "Bytes.h"
#include "Extents.h"
#include "LoopAnnotations.h"
#include "Places.h"
#include "Rows.h"
#include "Strides.h"
#include "Farside/Convert/Passes.h"
#include "Farside/Dialect/Rmem/Rmem.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <optional>

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_JAMLOOPS
#include "Farside/Convert/Passes.h.inc"

namespace {

/// Most turns that are taken together, and most places that the innermost loop then goes through by turns that were apart: as
/// many rows are held at once.
constexpr int64_t mostTurns = 4;
/// So many turns of the innermost loop go on at once where it is vectorized. What turns that are taken together do in it is
/// more than is interleaved otherwise, and so little that how long it takes depends on where in memory its code lies.
constexpr int32_t turnsInterleaved = 4;
/// What the innermost loop goes through is no more than such a part of a section, with what is sent for.
constexpr int64_t partForRows = 2;
/// So many pairs of accesses are looked at when the program runs, at most.
constexpr size_t mostToLookAt = 8;
/// From what one turn comes to to what the next one does, if they lie side by side.
constexpr int64_t mostBytesBeside = 16;

/// A loop, loops in it one in the other, and what they do.
struct Nest {
  scf::ForOp outer;
  /// Those in it, the innermost last.
  SmallVector<scf::ForOp> inner;
  /// What has to be so, or must not, for the outer loop to come to the innermost.
  SmallVector<std::pair<Value, bool>> conditions;
  SmallVector<Access> loads, stores;

  Block *innermost() { return inner.back().getBody(); }
};

/// The block in which an `scf.if` does something, if there is only one.
Block *onlyBlockOf(scf::IfOp either) {
  if (!either.elseBlock() || llvm::hasSingleElement(*either.elseBlock()))
    return either.thenBlock();
  return llvm::hasSingleElement(*either.thenBlock()) ? either.elseBlock() : nullptr;
}

/// Finds what is in a loop, if it is nothing but such a nest: what makes up its shape is the same in all turns of the loop.
class Finding {
public:
  Finding(scf::ForOp outer, const DataLayout &layout) : layout(layout) { nest.outer = outer; }

  std::optional<Nest> find() {
    if (!isPlainLoop(nest.outer) || !takeIn(nest.outer.getBody()) || nest.inner.empty() || nest.stores.empty())
      return std::nullopt;
    return std::move(nest);
  }

private:
  static bool isPlainLoop(scf::ForOp loop) { return countsFromZero(loop) && loop.getNumResults() == 0; }

  bool takeIn(Block *block) {
    Operation *further = nullptr;
    for (Operation &op : block->without_terminator()) {
      if (isDebugMarker(&op))
        continue;
      if (op.getNumRegions()) {
        if (further)
          return false;
        further = &op;
      } else if (!take(&op)) {
        return false;
      }
    }
    return !further || goInto(further);
  }

  bool goInto(Operation *op) {
    auto isSame = [&](Value value) { return isSameInTurns(value, nest.outer); };
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      nest.inner.push_back(loop);
      // What an outer one of these has written, and not the innermost, would be read in another order.
      return nest.stores.empty() && isPlainLoop(loop) && isSame(loop.getUpperBound()) && takeIn(loop.getBody());
    }
    auto either = dyn_cast<scf::IfOp>(op);
    Block *block = either ? onlyBlockOf(either) : nullptr;
    if (!block || either.getNumResults() || !isSame(either.getCondition()))
      return false;
    nest.conditions.push_back({either.getCondition(), block == either.thenBlock()});
    return takeIn(block);
  }

  bool take(Operation *op) {
    std::optional<Access> access = accessOf(op, nest.outer, layout);
    if (!access)
      return isMemoryEffectFree(op);
    (access->written ? nest.stores : nest.loads).push_back(std::move(*access));
    return true;
  }

  Nest nest;
  const DataLayout &layout;
};

/// Whether several turns of the outer loop can be taken together, and how many it is worth to.
class Jamming {
public:
  Jamming(Nest &nest, const SymbolTable &tables, const DataLayout &layout)
      : nest(nest), tables(tables), layout(layout), strides(nest.outer, layout) {}

  /// What is not known is looked at when the program runs, if that can be told from where the loops come to.
  bool isAllowed() {
    for (const Access &store : nest.stores) {
      if (!addsUp(store))
        return false;
      for (const Access &load : nest.loads)
        if (!isWhatIsAddedTo(load, store) && (load.pointer == store.pointer || !isApart(load, store)))
          return false;
      for (const Access &other : nest.stores)
        if (other.op != store.op && (other.pointer == store.pointer || !isApart(other, store)))
          return false;
    }
    return true;
  }

  /// 1 if it is not.
  int64_t turns() {
    // What each turn of the outer loop goes through alone, and what of that is in sections.
    SmallVector<const Access *> rows, inSections;
    for (const Access &load : nest.loads)
      if (load.op->getBlock() == nest.innermost() && strides.of(load.pointer) != 0)
        rows.push_back(&load);
    llvm::copy_if(rows, std::back_inserter(inSections), [](const Access *row) { return bool(row->section); });
    if (inSections.empty() && llvm::none_of(nest.stores, [](const Access &store) { return bool(store.section); }))
      return 1;
    int64_t turns = mostTurns;
    for (; turns > 1; turns /= 2)
      if (int64_t(rows.size()) * turns <= mostTurns && haveRoom(inSections, turns))
        break;
    return turns;
  }

  /// Most turns of the innermost loop with which there is room for the rows of so many turns; none if there always is.
  std::optional<int64_t> mostOfInnermost;
  /// What has to be apart.
  SmallVector<std::pair<Access, Access>> toBeApart;

private:
  bool isApart(const Access &one, const Access &other) {
    if (areApart(one, other, tables))
      return true;
    toBeApart.push_back({one, other});
    return toBeApart.size() <= mostToLookAt && one.size && other.size &&
           hasExtent(one.pointer, nest.outer, nest.inner) && hasExtent(other.pointer, nest.outer, nest.inner);
  }

  /// Whether a store goes through other bytes in each turn of the loops within the outer one, and through the same in each turn
  /// of that one, and has read them before.
  bool addsUp(const Access &store) {
    if (store.op->getBlock() != nest.innermost() || !store.size || strides.of(store.pointer) != 0)
      return false;
    scf::ForOp loop = nest.inner.back();
    std::optional<int64_t> stride = Strides(loop, layout).of(store.pointer);
    if (!stride || *stride == INT64_MIN || std::abs(*stride) < *store.size)
      return false;
    if (nest.inner.size() > 2 || (nest.inner.size() == 2 && !isRowOn(store.pointer, *stride, loop, nest.inner[0], layout)))
      return false;
    return llvm::any_of(nest.loads, [&](const Access &load) { return isWhatIsAddedTo(load, store); });
  }

  bool isWhatIsAddedTo(const Access &load, const Access &store) {
    return load.pointer == store.pointer && load.section == store.section &&
           load.op->getBlock() == store.op->getBlock() &&
           load.op->getResult(0).getType() == store.op->getOperand(0).getType();
  }

  /// Whether a section has room for what so many turns go through at once. If they go through rows of a matrix one behind the
  /// other it depends on how long these are.
  bool haveRoom(ArrayRef<const Access *> rows, int64_t turns) {
    std::optional<int64_t> most;
    for (const Access *row : rows) {
      rmem::CacheSectionOp section = tables.lookup<rmem::CacheSectionOp>(row->section.getAttr());
      int64_t line = section.getLine(), ahead = section.getAhead(), room = section.getCapacity() / partForRows;
      if (int64_t(rows.size()) * turns * (1 + ahead) <= room / line)
        continue;
      scf::ForOp loop = nest.inner.back();
      std::optional<int64_t> stride = Strides(loop, layout).of(row->pointer);
      int64_t left = room / int64_t(rows.size()) - (2 + ahead) * line;
      if (!stride || *stride <= 0 || *stride > line || left <= 0 || !isRowOn(row->pointer, *stride, loop, nest.outer, layout))
        return false;
      most = std::min(most.value_or(INT64_MAX), left / (turns * *stride));
    }
    mostOfInnermost = most;
    return true;
  }

  Nest &nest;
  const SymbolTable &tables;
  const DataLayout &layout;
  Strides strides;
};

/// Makes the loop that takes several turns together, and one for those that are left.
class Making {
public:
  Making(Nest &nest, int64_t turns, const DataLayout &layout)
      : nest(nest), turns(turns), strides(nest.outer, layout), builder(nest.outer), location(nest.outer.getLoc()) {}

  void make(const Jamming &jamming) {
    Value all = nest.outer.getUpperBound(), zero = number(0), one = number(1), each = number(turns);
    Value groups = arith::DivUIOp::create(builder, location, all, each);
    if (jamming.mostOfInnermost || !jamming.toBeApart.empty())
      groups = arith::SelectOp::create(builder, location, isAllowedNow(jamming), groups, zero);
    SmallVector<Value> numbers{zero, one};
    for (int64_t turn = 2; turn < turns; ++turn)
      numbers.push_back(number(turn));
    auto jammed = makeLoop(zero, groups, one);
    jammed->setAttr(jammedLoop, builder.getI64IntegerAttr(turns));
    Value taken = arith::MulIOp::create(builder, location, groups, each);
    Value left = arith::SubIOp::create(builder, location, all, taken);
    auto rest = makeLoop(zero, left, one);
    fillJammed(jammed, each, numbers);
    fillRest(rest, taken);
    nest.outer.erase();
  }

private:
  using Copies = SmallVector<IRMapping>;

  Value number(int64_t value) { return arith::ConstantOp::create(builder, location, builder.getI64IntegerAttr(value)); }

  scf::ForOp makeLoop(Value from, Value to, Value step) {
    return scf::ForOp::create(builder, location, from, to, step, ValueRange(),
                              [](OpBuilder &body, Location where, Value, ValueRange) { scf::YieldOp::create(body, where); },
                              /*unsignedCmp=*/true);
  }

  /// Whether it is allowed as the program is now. What is known only where it comes to the innermost loop is not looked at
  /// before it is known that it does: it may be no number at all.
  Value isAllowedNow(const Jamming &jamming) {
    Value no = arith::ConstantOp::create(builder, location, builder.getBoolAttr(false)), result;
    auto andThen = [&](Value other) {
      result = result ? arith::SelectOp::create(builder, location, result, other, no).getResult() : other;
    };
    auto is = [&](Value one, arith::CmpIPredicate than, Value other) {
      return arith::CmpIOp::create(builder, location, than, one, other).getResult();
    };
    IRMapping copies;
    auto before = [&](Value value) { return copyOf(builder, nest.outer, value, copies); };
    andThen(is(nest.outer.getUpperBound(), arith::CmpIPredicate::ne, number(0)));
    for (auto [condition, isSo] : nest.conditions)
      andThen(is(before(condition), isSo ? arith::CmpIPredicate::ne : arith::CmpIPredicate::eq, no));
    for (scf::ForOp loop : nest.inner)
      andThen(is(before(loop.getUpperBound()), arith::CmpIPredicate::ne, number(0)));
    if (jamming.mostOfInnermost)
      andThen(is(before(nest.inner.back().getUpperBound()), arith::CmpIPredicate::ule, number(*jamming.mostOfInnermost)));
    for (auto &[one, other] : jamming.toBeApart) {
      Extent its = extentOf(builder, one.pointer, *one.size, nest.outer, nest.inner);
      Extent others = extentOf(builder, other.pointer, *other.size, nest.outer, nest.inner);
      Value isBefore = is(its.end, arith::CmpIPredicate::ule, others.begin);
      Value isBehind = is(others.end, arith::CmpIPredicate::ule, its.begin);
      andThen(arith::OrIOp::create(builder, location, isBefore, isBehind));
    }
    return result;
  }

  void fillJammed(scf::ForOp jammed, Value each, ArrayRef<Value> numbers) {
    builder.setInsertionPoint(jammed.getBody()->getTerminator());
    Value first = arith::MulIOp::create(builder, location, jammed.getInductionVar(), each);
    Copies copies(turns);
    for (auto [turn, copy] : llvm::enumerate(copies))
      copy.map(nest.outer.getInductionVar(),
               turn ? arith::AddIOp::create(builder, location, first, numbers[turn]).getResult() : first);
    fill(nest.outer.getBody(), copies);
  }

  void fillRest(scf::ForOp rest, Value taken) {
    builder.setInsertionPoint(rest.getBody()->getTerminator());
    IRMapping copies;
    copies.map(nest.outer.getInductionVar(),
               arith::AddIOp::create(builder, location, taken, rest.getInductionVar()).getResult());
    for (Operation &op : nest.outer.getBody()->without_terminator())
      builder.clone(op, copies);
  }

  /// Adds what several turns do in a block.
  void fill(Block *block, Copies &copies) {
    if (block == nest.innermost())
      return fillInnermost(copies);
    for (Operation &op : block->without_terminator()) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        fillLoop(loop, copies);
      } else if (auto either = dyn_cast<scf::IfOp>(op)) {
        Block *only = onlyBlockOf(either);
        bool isThen = only == either.thenBlock();
        auto made = scf::IfOp::create(builder, op.getLoc(), copies[0].lookupOrDefault(either.getCondition()),
                                      /*withElseRegion=*/!isThen);
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPointToStart(isThen ? made.thenBlock() : made.elseBlock());
        fill(only, copies);
      } else {
        for (auto [turn, copy] : llvm::enumerate(copies))
          add(op, turn, copies);
      }
    }
  }

  void fillLoop(scf::ForOp loop, Copies &copies) {
    IRMapping &first = copies[0];
    auto made = makeLoop(first.lookupOrDefault(loop.getLowerBound()), first.lookupOrDefault(loop.getUpperBound()),
                         first.lookupOrDefault(loop.getStep()));
    // What is known of how its turns go on is so still.
    made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    keepWhatIsForbidden(loop, made);
    if (loop == nest.inner.back())
      interleave(made, turnsInterleaved);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(made.getBody()->getTerminator());
    for (IRMapping &copy : copies)
      copy.map(loop.getInductionVar(), made.getInductionVar());
    fill(loop.getBody(), copies);
  }

  /// What is added to is loaded by the first turn and stored by the last.
  void fillInnermost(Copies &copies) {
    DenseMap<Value, Value> sums;
    for (auto [turn, copy] : llvm::enumerate(copies))
      for (Operation &op : nest.innermost()->without_terminator()) {
        Access *store = storeAt(pointerOf(&op));
        if (!store) {
          add(op, turn, copies);
        } else if (store->op == &op) {
          sums[store->pointer] = copy.lookupOrDefault(op.getOperand(0));
        } else if (Value sum = sums.lookup(store->pointer)) {
          copy.map(op.getResult(0), sum);
        } else {
          add(op, turn, copies);
          sums[store->pointer] = copy.lookup(op.getResult(0));
        }
      }
    for (Access &store : nest.stores) {
      IRMapping last = copies.back();
      last.map(store.op->getOperand(0), sums[store.pointer]);
      builder.clone(*store.op, last);
    }
  }

  static Value pointerOf(Operation *op) {
    if (auto load = dyn_cast<LLVM::LoadOp>(op))
      return load.getAddr();
    if (auto store = dyn_cast<LLVM::StoreOp>(op))
      return store.getAddr();
    return accessedBy(op).first;
  }

  Access *storeAt(Value pointer) {
    auto found = llvm::find_if(nest.stores, [&](const Access &store) { return store.pointer == pointer; });
    return pointer && found != nest.stores.end() ? &*found : nullptr;
  }

  /// Adds what one of the turns does. What is the same in all of them is done by the first only.
  void add(Operation &op, size_t turn, Copies &copies) {
    IRMapping &own = copies[turn], &first = copies[0];
    if (turn && isDebugMarker(&op))
      return;
    bool isSame = turn && isPure(&op) && llvm::all_of(op.getOperands(), [&](Value value) {
      return own.lookupOrDefault(value) == first.lookupOrDefault(value);
    });
    if (isSame) {
      for (Value result : op.getResults())
        own.map(result, first.lookup(result));
      return;
    }
    Value pointer = pointerOf(&op);
    std::optional<int64_t> stride = turn && pointer ? strides.of(pointer) : std::nullopt;
    // What lies side by side is seen to.
    if (stride && std::abs(*stride) <= mostBytesBeside)
      own.map(pointer, LLVM::GEPOp::create(builder, op.getLoc(), pointer.getType(), builder.getI8Type(),
                                           first.lookupOrDefault(pointer),
                                           ArrayRef<LLVM::GEPArg>{int32_t(*stride * int64_t(turn))}));
    builder.clone(op, own);
  }

  Nest &nest;
  int64_t turns;
  Strides strides;
  OpBuilder builder;
  Location location;
};

struct JamLoops : impl::JamLoopsBase<JamLoops> {
  void runOnOperation() override {
    SymbolTable tables(getOperation());
    DataLayout layout(getOperation());
    SmallVector<scf::ForOp> loops;
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (!function.isExternal() && !knowsAddresses(function))
        function.walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      std::optional<Nest> nest = Finding(loop, layout).find();
      if (!nest)
        continue;
      Jamming jamming(*nest, tables, layout);
      int64_t turns = jamming.isAllowed() ? jamming.turns() : 1;
      if (turns == 1)
        continue;
      Making(*nest, turns, layout).make(jamming);
      ++jammed;
    }
  }
};

} // namespace
} // namespace farside
