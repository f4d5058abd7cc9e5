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
#include <optional>

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
/// After so many turns, a power of two, it is asked anew whether it is worthwhile, and how far ahead.
constexpr int64_t turnsBetween = 64;
/// No loop has a turn with this number.
constexpr int64_t noTurn = -1;

/// What is sent for: bytes of a line.
struct Target {
  Value pointer, base;
  FlatSymbolRefAttr section;
  int64_t low, high;
  /// How many targets are found one after the other by way of this one, itself among them.
  int64_t depth = 1;
  /// So many turns are from one of them to the next, at most.
  int64_t most = 0;

  bool isAsFar(const Target &other) const { return depth == other.depth && most == other.most; }
  SmallVector<Location> locations;
};

/// Targets of a section that are sent for equally early, and what the loop carries for them.
struct Distance {
  ArrayRef<Target *> targets;
  /// So many turns ahead they are sent for.
  Value ahead;
  /// The first turn that none before has sent for; `noTurn` while nothing is sent for.
  Value unsent;

  void takeFrom(scf::ForOp loop, unsigned at) {
    ahead = loop.getRegionIterArg(at);
    unsent = loop.getRegionIterArg(at + 1);
  }
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
    targets.push_back({pointer, base, section, offset, offset + size, 1, 0, {access->getLoc()}});
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

  void makeLoop() {
    llvm::MapVector<Attribute, SmallVector<Target *>> sections;
    for (Target &target : targets)
      sections[target.section].push_back(&target);
    SmallVector<SmallVector<Distance>> distances;
    for (auto &section : sections)
      distances.push_back(distancesOf(section.second));
    unsigned own = loop.getNumRegionIterArgs();
    addCarried(distances);
    builder.setInsertionPointToStart(loop.getBody());
    Value since = arith::AndIOp::create(builder, location, loop.getInductionVar(), number(turnsBetween - 1));
    Value asks = arith::CmpIOp::create(builder, location, arith::CmpIPredicate::eq, since, number(0));
    SmallVector<Value> next = timeOf(asks, own);
    Value before = hasLongTurns ? Value() : loop.getRegionIterArg(own);
    for (SmallVector<Distance> &some : distances) {
      for (Distance &distance : some)
        distance.takeFrom(loop, own + next.size() + 2 * (&distance - some.begin()));
      ask(some, asks, before);
      for (Distance &distance : some)
        next.append({distance.ahead, send(distance, togetherOf(some))});
    }
    for (auto [at, value] : llvm::enumerate(next))
      loop.getBody()->getTerminator()->setOperand(own + at, value);
  }

  /// Those that are sent for equally early, which lie side by side.
  static SmallVector<Distance> distancesOf(ArrayRef<Target *> some) {
    SmallVector<Distance> distances;
    while (!some.empty()) {
      size_t count = llvm::count_if(some, [&](Target *target) { return target->isAsFar(*some.front()); });
      distances.push_back({some.take_front(count), {}, {}});
      some = some.drop_front(count);
    }
    return distances;
  }

  /// Has the loop carry when it last asked, and the distances.
  void addCarried(ArrayRef<SmallVector<Distance>> distances) {
    SmallVector<Value> first(hasLongTurns ? 0 : 1, number(0));
    for (ArrayRef<Distance> some : distances)
      for (size_t at = 0; at < some.size(); ++at)
        first.append({number(0), number(noTurn)});
    IRRewriter rewriter(builder);
    auto made = cast<scf::ForOp>(*cast<LoopLikeOpInterface>(*loop).replaceWithAdditionalYields(
        rewriter, first, /*replaceInitOperandUsesInLoop=*/false,
        [](OpBuilder &, Location, ArrayRef<BlockArgument> arguments) {
          return SmallVector<Value>(arguments.begin(), arguments.end());
        }));
    made.setUnsignedCmp(true);
    later.moveTo(loop = made);
  }

  /// The time of the last turn that asked, this one among them; nothing where it is not needed.
  SmallVector<Value> timeOf(Value asks, unsigned carried) {
    if (hasLongTurns)
      return {};
    auto time = scf::IfOp::create(builder, location, builder.getI64Type(), asks, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(time.thenBlock());
    scf::YieldOp::create(builder, location, rmem::ClockOp::create(builder, location, builder.getI64Type()).getResult());
    builder.setInsertionPointToStart(time.elseBlock());
    scf::YieldOp::create(builder, location, loop.getRegionIterArg(carried));
    return {time.getResult(0)};
  }

  int64_t togetherOf(ArrayRef<Distance> some) {
    const Target &last = *some.back().targets.back();
    if (std::optional<uint64_t> batch = tables.lookup<rmem::CacheSectionOp>(last.section.getAttr()).getBatch())
      return std::clamp<int64_t>(*batch, 1, mostTogether);
    int64_t count = 0;
    for (const Distance &distance : some)
      count += distance.targets.size();
    return std::clamp<int64_t>(last.most * last.depth / partTogether * count, 1, mostTogether);
  }

  /// Finds out whether something of a section was missing lately, and how far ahead is sent for in the next turns if so.
  /// `before` is when that was asked last in this run of the loop.
  void ask(MutableArrayRef<Distance> some, Value asks, Value before) {
    SmallVector<Value> known;
    for (Distance &distance : some)
      known.append({distance.ahead, distance.unsent});
    SmallVector<Type> types(known.size(), builder.getI64Type());
    auto asked = scf::IfOp::create(builder, location, types, asks, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(asked.elseBlock());
    scf::YieldOp::create(builder, location, known);
    builder.setInsertionPointToStart(asked.thenBlock());
    Value misses = rmem::MissesOp::create(builder, location, builder.getI1Type(), section(some));
    auto is = scf::IfOp::create(builder, location, types, misses, /*withElseRegion=*/true);
    scf::YieldOp::create(builder, location, is.getResults());
    builder.setInsertionPointToStart(is.elseBlock());
    SmallVector<Value> nothing;
    for (Distance &distance : some)
      nothing.append({distance.ahead, number(noTurn)});
    scf::YieldOp::create(builder, location, nothing);
    builder.setInsertionPointToStart(is.thenBlock());
    scf::YieldOp::create(builder, location, distancesFrom(some, before));
    for (auto [at, distance] : llvm::enumerate(some)) {
      distance.ahead = asked.getResult(2 * at);
      distance.unsent = asked.getResult(2 * at + 1);
    }
  }

  static StringRef section(ArrayRef<Distance> some) { return some.front().targets.front()->section.getValue(); }

  /// How far ahead is sent for from this turn on, which is the first that is where nothing was sent for.
  SmallVector<Value> distancesFrom(ArrayRef<Distance> some, Value before) {
    Value first = arith::CmpIOp::create(builder, location, arith::CmpIPredicate::eq, some.front().unsent, number(noTurn));
    Value turns;
    if (!hasLongTurns) {
      Value since = arith::SelectOp::create(builder, location, first, number(0), before);
      turns = rmem::TurnsUntilHereOp::create(builder, location, builder.getI64Type(), section(some), since, turnsBetween);
    }
    SmallVector<Value> next;
    for (const Distance &distance : some) {
      const Target &target = *distance.targets.front();
      Value ahead = number(target.most);
      if (turns)
        ahead = arith::MinUIOp::create(builder, location, turns, ahead);
      if (target.depth > 1)
        ahead = arith::MulIOp::create(builder, location, ahead, number(target.depth));
      Value unsent = arith::SelectOp::create(builder, location, first, loop.getInductionVar(), distance.unsent);
      next.append({ahead, unsent});
    }
    return next;
  }

  /// Sends for what turns come to that are so far ahead, as far as that was not done; returns the first turn that it was not
  /// done for. That is one more with each turn, and many, or none, after the distance has changed.
  Value send(const Distance &distance, int64_t together) {
    Value last = arith::AddIOp::create(builder, location, loop.getInductionVar(), distance.ahead);
    Value to = arith::AddIOp::create(builder, location, last, number(1));
    Value end = arith::MinUIOp::create(builder, location, to, loop.getUpperBound());
    auto none = [](OpBuilder &inner, Location at, Value, ValueRange) { scf::YieldOp::create(inner, at); };
    auto each = scf::ForOp::create(builder, location, distance.unsent, end, number(1), ValueRange(), none,
                                   /*unsignedCmp=*/true);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(each.getBody());
    for (Target *target : distance.targets)
      send(*target, each.getInductionVar(), together);
    builder.setInsertionPointAfter(each);
    return arith::MaxUIOp::create(builder, location, distance.unsent, to);
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
