#include "Bytes.h"
#include "LastUse.h"
#include "LaterTurn.h"
#include "Strides.h"
#include "Farside/Convert/Passes.h"
#include "Farside/Dialect/Rmem/Rmem.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/MapVector.h"
#include <algorithm>

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_SENDAHEAD
#include "Farside/Convert/Passes.h.inc"

namespace {

/// So many turns ahead is sent for at most, or as many as are an eighth of the section.
constexpr int64_t turnsAhead = 1024;
constexpr int64_t partOfSection = 8;
/// The same for a loop with loops in it that do more than look for something: its turns take long, and bring other lines.
constexpr int64_t longTurnsAhead = 1;
/// So many lines are sent for in one go, or as many as are a part of those turns.
constexpr int64_t mostTogether = 16;
constexpr int64_t partTogether = 4;
/// So many accesses of a loop are sent for at most.
constexpr size_t mostTargets = 8;
/// After so many turns, a power of two, it is asked anew whether it is worthwhile.
constexpr int64_t turnsBetween = 64;

/// What is sent for: bytes of a line.
struct Target {
  Value pointer, base;
  FlatSymbolRefAttr section;
  int64_t low, high;
  /// How many targets are found one after the other by way of this one, itself among them.
  int64_t depth = 1;
  /// So many turns are from one of them to the next, at most.
  int64_t most = 0;
  /// So many turns ahead it is sent for in a run of the loop.
  Value ahead;

  bool isAsFar(const Target &other) const { return depth == other.depth && most == other.most; }
  SmallVector<Location> locations;
};

/// One loop that may send for what it comes to in later turns.
class Sending {
public:
  Sending(scf::ForOp loop, ModuleOp module)
      : loop(loop), tables(module), layout(module), later(loop, tables), builder(loop), location(loop.getLoc()) {}

  bool convert() {
    if (!countsFromZero(loop))
      return false;
    findTargets(*loop.getBody());
    orderByDepth();
    llvm::erase_if(targets, [](const Target &target) { return !target.most; });
    if (targets.empty() || targets.size() > mostTargets)
      return false;
    makeLoop();
    return true;
  }

private:
  void findTargets(Block &block) {
    for (Operation &op : block) {
      if (isa<scf::IfOp, scf::IndexSwitchOp>(op)) {
        for (Region &region : op.getRegions())
          if (!region.empty())
            findTargets(region.front());
        continue;
      }
      if (isa<scf::ForOp>(op))
        hasLongTurns = true;
      if (auto search = dyn_cast<scf::WhileOp>(op)) {
        hasLongTurns |= !isSearch(search);
        findTargets(*search.getBeforeBody());
      }
      if (auto [pointer, section] = accessedBy(&op); section)
        add(&op, pointer, section);
    }
  }

  /// Whether a loop goes on until it has found something: it has no loops itself, and changes nothing. That takes few turns
  /// as a rule, or no program would look for it this way.
  bool isSearch(scf::WhileOp inner) {
    auto isMore = [&](Operation *op) {
      if (auto call = dyn_cast<LLVM::CallOp>(op))
        return !touchesNothing(call, tables);
      return isa<LoopLikeOpInterface>(op) ? op != inner : isa<rmem::StoreOp, LLVM::StoreOp, CallOpInterface>(op);
    };
    return !inner->walk([&](Operation *op) { return isMore(op) ? WalkResult::interrupt() : WalkResult::advance(); })
                .wasInterrupted();
  }

  void add(Operation *access, Value pointer, FlatSymbolRefAttr section) {
    LaterTurn::Kind kind = later.kindOf(pointer);
    if (!kind.isKnown || !kind.varies)
      return;
    auto load = dyn_cast<rmem::LoadOp>(access);
    Type type = load ? load.getType() : cast<rmem::StoreOp>(access).getValue().getType();
    int64_t size = layout.getTypeSize(type).getFixedValue(), line = lookup(section).getLine();
    auto [base, offset] = baseOf(pointer);
    for (Target &target : targets) {
      int64_t low = std::min(target.low, offset), high = std::max(target.high, offset + size);
      if (target.base != base || target.section != section || high - low > line)
        continue;
      if (low < target.low)
        target.pointer = pointer;
      target.low = low;
      target.high = high;
      target.locations.push_back(access->getLoc());
      return;
    }
    targets.push_back({pointer, base, section, offset, offset + size, 1, 0, {}, {access->getLoc()}});
  }

  /// What others are found by is sent for earlier.
  void orderByDepth() {
    // No computation goes in circles, so that this ends.
    while (forEachWay([](Target &by, Target &to) {
      bool isNearer = by.depth <= to.depth;
      by.depth = isNearer ? to.depth + 1 : by.depth;
      return isNearer;
    })) {
    }
    for (Target &target : targets) {
      rmem::CacheSectionOp section = lookup(target.section);
      int64_t lines = section.getCapacity() / section.getLine();
      int64_t turns = std::min(hasLongTurns ? longTurnsAhead : turnsAhead, lines / partOfSection / target.depth);
      target.most = section.getAhead() ? turns : 0;
    }
    // What is found by way of another is sent for when that has come.
    while (forEachWay([](Target &by, Target &to) {
      int64_t most = std::min(by.most, to.most);
      bool differs = most && by.most != to.most;
      if (differs)
        by.most = to.most = most;
      return differs;
    })) {
    }
    SmallVector<Target> ordered;
    for (int64_t depth = targets.size(); depth; --depth)
      llvm::copy_if(targets, std::back_inserter(ordered), [&](const Target &target) { return target.depth == depth; });
    targets = std::move(ordered);
  }

  /// Does something with each target that another one is found by; returns whether one of these changed something.
  bool forEachWay(llvm::function_ref<bool(Target &, Target &)> act) {
    bool changed = false;
    for (Target &target : targets)
      for (rmem::LoadOp load : later.loadsOf(target.pointer))
        if (Target *by = targetOf(load); by && by != &target)
          changed |= act(*by, target);
    return changed;
  }

  Target *targetOf(rmem::LoadOp load) {
    auto [base, offset] = baseOf(load.getPointer());
    auto found = llvm::find_if(targets, [&, base = base, offset = offset](const Target &target) {
      return target.base == base && target.section == load.getSectionAttr() && target.low <= offset &&
             offset < target.high;
    });
    return found == targets.end() ? nullptr : &*found;
  }

  rmem::CacheSectionOp lookup(FlatSymbolRefAttr section) {
    return tables.lookup<rmem::CacheSectionOp>(section.getAttr());
  }

  Value number(int64_t value) { return arith::ConstantOp::create(builder, location, builder.getI64IntegerAttr(value)); }
  Value never() { return arith::ConstantOp::create(builder, location, builder.getBoolAttr(false)); }

  Value isLess(Value one, Value other) {
    return arith::CmpIOp::create(builder, location, arith::CmpIPredicate::ult, one, other);
  }

  /// Something that is done only if a condition holds.
  void doIf(Value condition, llvm::function_ref<void()> act) {
    auto when = scf::IfOp::create(builder, location, condition, /*withElseRegion=*/false);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(when.thenBlock());
    act();
  }

  void makeLoop() {
    llvm::MapVector<Attribute, SmallVector<Target *>> sections;
    for (Target &target : targets)
      sections[target.section].push_back(&target);
    for (auto &section : sections)
      findDistances(section.second);
    // Whether it was worthwhile in the turn before, by section.
    SmallVector<Value> first(sections.size(), never());
    unsigned own = loop.getNumRegionIterArgs();
    IRRewriter rewriter(builder);
    auto made = cast<scf::ForOp>(*cast<LoopLikeOpInterface>(*loop).replaceWithAdditionalYields(
        rewriter, first, /*replaceInitOperandUsesInLoop=*/false,
        [](OpBuilder &, Location, ArrayRef<BlockArgument> arguments) {
          return SmallVector<Value>(arguments.begin(), arguments.end());
        }));
    made.setUnsignedCmp(true);
    later.moveTo(loop = made);
    builder.setInsertionPointToStart(loop.getBody());
    Value since = arith::AndIOp::create(builder, location, loop.getInductionVar(), number(turnsBetween - 1));
    Value asks = arith::CmpIOp::create(builder, location, arith::CmpIPredicate::eq, since, number(0));
    for (auto [at, section] : llvm::enumerate(sections)) {
      Value is = isWorthwhile(section.second, asks, loop.getRegionIterArg(own + at));
      loop.getBody()->getTerminator()->setOperand(own + at, is);
      sendInTurn(section.second, is);
    }
  }

  /// How many turns ahead is sent for, for as long as the loop lasts.
  void findDistances(ArrayRef<Target *> some) {
    Value turns;
    for (Target *target : some) {
      if (!hasLongTurns && !turns)
        turns = rmem::TurnsUntilHereOp::create(builder, location, builder.getI64Type(), target->section.getValue());
      Value each = number(target->most);
      if (!hasLongTurns)
        each = arith::MinUIOp::create(builder, location, turns, each);
      target->ahead =
          target->depth == 1 ? each : arith::MulIOp::create(builder, location, each, number(target->depth));
    }
  }

  int64_t togetherOf(ArrayRef<Target *> some) {
    return std::clamp<int64_t>(some.back()->most * some.back()->depth / partTogether * some.size(), 1, mostTogether);
  }

  /// Whether something of a section was missing lately. If so for the first time, the next turns are sent for.
  Value isWorthwhile(ArrayRef<Target *> some, Value asks, Value before) {
    auto asked = scf::IfOp::create(builder, location, builder.getI1Type(), asks, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(asked.elseBlock());
    scf::YieldOp::create(builder, location, before);
    builder.setInsertionPointToStart(asked.thenBlock());
    Value misses =
        rmem::MissesOp::create(builder, location, builder.getI1Type(), some.front()->section.getValue());
    Value begins = arith::CmpIOp::create(builder, location, arith::CmpIPredicate::ugt, misses, before);
    doIf(begins, [&] {
      forEachDistance(some, [&](ArrayRef<Target *> equal) { sendForNext(equal, togetherOf(some)); });
    });
    scf::YieldOp::create(builder, location, misses);
    return asked.getResult(0);
  }

  /// What the next turns come to, of which no turn before has sent for.
  void sendForNext(ArrayRef<Target *> equal, int64_t together) {
    Value rest = arith::SubIOp::create(builder, location, loop.getUpperBound(), loop.getInductionVar());
    Value count = arith::MinUIOp::create(builder, location, rest, equal.front()->ahead);
    auto none = [](OpBuilder &inner, Location at, Value, ValueRange) { scf::YieldOp::create(inner, at); };
    auto each = scf::ForOp::create(builder, location, number(0), count, number(1), ValueRange(), none,
                                   /*unsignedCmp=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(each.getBody());
    Value turn = arith::AddIOp::create(builder, location, loop.getInductionVar(), each.getInductionVar());
    for (Target *target : equal)
      send(*target, turn, together);
  }

  /// What a later turn comes to.
  void sendInTurn(ArrayRef<Target *> some, Value isWorthwhile) {
    forEachDistance(some, [&](ArrayRef<Target *> equal) {
      Value turn = arith::AddIOp::create(builder, location, loop.getInductionVar(), equal.front()->ahead);
      Value comes = arith::AndIOp::create(builder, location, isLess(turn, loop.getUpperBound()), isWorthwhile);
      doIf(comes, [&] {
        for (Target *target : equal)
          send(*target, turn, togetherOf(some));
      });
    });
  }

  /// Those that are sent for equally early, which lie side by side.
  static void forEachDistance(ArrayRef<Target *> some, llvm::function_ref<void(ArrayRef<Target *>)> act) {
    while (!some.empty()) {
      size_t count = llvm::count_if(some, [&](Target *target) { return target->isAsFar(*some.front()); });
      act(some.take_front(count));
      some = some.drop_front(count);
    }
  }

  void send(const Target &target, Value turn, int64_t together) {
    OpBuilder::InsertionGuard guard(builder);
    Value pointer = later.valueIn(target.pointer, turn, builder);
    rmem::FetchIfNotInCacheOp::create(builder, FusedLoc::get(loop.getContext(), target.locations),
                                      target.section.getValue(), pointer, together);
  }

  scf::ForOp loop;
  SymbolTable tables;
  DataLayout layout;
  LaterTurn later;
  OpBuilder builder;
  Location location;
  SmallVector<Target> targets;
  bool hasLongTurns = false;
};

struct SendAhead : impl::SendAheadBase<SendAhead> {
  void runOnOperation() override {
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      if (Sending(loop, getOperation()).convert())
        ++sending;
  }
};

} // namespace
} // namespace farside
