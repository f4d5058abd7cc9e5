#include "Places.h"
#include "Streams.h"
#include "Strides.h"
#include "Farside/Convert/Passes.h"
#include "Farside/Dialect/Rmem/Rmem.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <unordered_map>

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_FUSELOOPS
#include "Farside/Convert/Passes.h.inc"

namespace {

/// How far back two numbers of turns are compared that are computed each by itself.
constexpr unsigned mostDepth = 8;
/// The lines of streams, with those that are sent for, are no more than such a part of a section that has more of them than
/// before.
constexpr int64_t partForStreams = 2;

/// Whether two values are the same because they are computed in the same way.
bool isSame(Value one, Value other, unsigned depth = 0) {
  if (one == other)
    return true;
  APInt number, otherNumber;
  if (matchPattern(one, m_ConstantInt(&number)) && matchPattern(other, m_ConstantInt(&otherNumber)))
    return number.getBitWidth() == otherNumber.getBitWidth() && number == otherNumber;
  Operation *op = one.getDefiningOp(), *same = other.getDefiningOp();
  if (!op || !same || depth == mostDepth || op->getNumRegions() || !isPure(op) || isa<LLVM::FreezeOp>(op) ||
      cast<OpResult>(one).getResultNumber() != cast<OpResult>(other).getResultNumber())
    return false;
  return OperationEquivalence::isEquivalentTo(
      op, same, [&](Value left, Value right) { return success(isSame(left, right, depth + 1)); }, nullptr,
      OperationEquivalence::IgnoreLocations);
}

/// What a loop does besides computing.
struct Effects {
  SmallVector<Access> accesses;
  bool setsErrno = false;
};

/// Whether a call comes to its end, whatever it is given.
bool comesBack(LLVM::CallOp call, const SymbolTable &tables) {
  auto callee = call.getCallee() ? tables.lookup<LLVM::LLVMFuncOp>(*call.getCallee()) : LLVM::LLVMFuncOp();
  return (call.getNoUnwind() || (callee && callee.getNoUnwind())) &&
         (call.getWillReturn() || (callee && callee.getWillReturn()));
}

bool touchesErrno(LLVM::CallOp call, const SymbolTable &tables) {
  auto isNone = [](LLVM::MemoryEffectsAttr effects) {
    return effects && effects.getErrnoMem() == LLVM::ModRefInfo::NoModRef;
  };
  auto callee = call.getCallee() ? tables.lookup<LLVM::LLVMFuncOp>(*call.getCallee()) : LLVM::LLVMFuncOp();
  return !isNone(call.getMemoryEffectsAttr()) && !(callee && isNone(callee.getMemoryEffectsAttr()));
}

/// What a loop that can hold lines does; nothing if that is not known well enough.
std::optional<Effects> effectsOf(scf::ForOp loop, const SymbolTable &tables, const DataLayout &layout) {
  Effects effects;
  WalkResult result = loop.getBody()->walk([&](Operation *op) {
    if (isDebugMarker(op))
      return WalkResult::advance();
    // It may never end, and comes to other places in each turn.
    if (isa<LoopLikeOpInterface>(op))
      return WalkResult::interrupt();
    if (auto call = dyn_cast<LLVM::CallOp>(op)) {
      effects.setsErrno |= touchesErrno(call, tables);
      return comesBack(call, tables) ? WalkResult::advance() : WalkResult::interrupt();
    }
    if (!isa<rmem::LoadOp, rmem::StoreOp, LLVM::LoadOp, LLVM::StoreOp>(op))
      return WalkResult::advance();
    std::optional<Access> access = accessOf(op, loop, layout);
    if (!access)
      return WalkResult::interrupt();
    effects.accesses.push_back(std::move(*access));
    return WalkResult::advance();
  });
  return result.wasInterrupted() ? std::nullopt : std::optional(std::move(effects));
}

/// Whether the memory of what two loops do is the same if they are one.
bool keepOrder(const Effects &first, const Effects &second, const SymbolTable &tables) {
  auto isPlain = [](const Access &access) { return !access.section; };
  if ((first.setsErrno && (second.setsErrno || llvm::any_of(second.accesses, isPlain))) ||
      (second.setsErrno && llvm::any_of(first.accesses, isPlain)))
    return false;
  return llvm::all_of(first.accesses, [&](const Access &one) {
    return llvm::all_of(second.accesses, [&](const Access &other) { return keepsOrder(one, other, tables); });
  });
}

/// How a loop uses a section.
struct Use {
  int64_t streams = 0;
  /// Whether it also looks up what is in it, in no order that is known.
  bool looksUp = false;
};
using Uses = llvm::SmallMapVector<Attribute, Use, 4>;

Uses usesOf(ArrayRef<Stream> streams, const Effects &effects) {
  Uses uses;
  llvm::SmallPtrSet<Operation *, 8> held;
  for (const Stream &stream : streams) {
    ++uses[stream.section].streams;
    for (const Stream::Access &access : stream.accesses)
      held.insert(access.op);
  }
  for (const Access &access : effects.accesses)
    if (access.section && !held.contains(access.op))
      uses[access.section].looksUp = true;
  return uses;
}

/// Two loops that may become one.
class Fusing {
public:
  Fusing(scf::ForOp first, scf::ForOp second, const SymbolTable &tables, const DataLayout &layout)
      : first(first), second(second), tables(tables), layout(layout), builder(first) {}

  /// The loop that they are now; none if they stay.
  scf::ForOp fuse() {
    SmallVector<Stream> streams = streamsOf(first, tables, layout), others = streamsOf(second, tables, layout);
    if (streams.empty() || others.empty() || !isSame(first.getUpperBound(), second.getUpperBound()) || !findNeeded())
      return {};
    std::optional<Effects> effects = effectsOf(first, tables, layout), later = effectsOf(second, tables, layout);
    if (!effects || !later || !keepOrder(*effects, *later, tables))
      return {};
    Uses before = usesOf(streams, *effects), behind = usesOf(others, *later);
    if (!mayMeet(before, behind))
      return {};
    for (Operation *op : needed)
      op->moveBefore(first);
    scf::ForOp fused = makeLoop();
    if (!isWorthwhile(before, behind, streamsOf(fused, tables, layout))) {
      fused.erase();
      return {};
    }
    first.replaceAllUsesWith(fused.getResults().take_front(first.getNumResults()));
    second.replaceAllUsesWith(fused.getResults().drop_front(first.getNumResults()));
    second.erase();
    first.erase();
    return fused;
  }

private:
  /// What stands between the loops and the second needs; false if it needs what the first gives.
  bool findNeeded() {
    SetVector<Value> used;
    getUsedValuesDefinedAbove(second.getRegion(), used);
    used.insert(second.getInitArgs().begin(), second.getInitArgs().end());
    SmallVector<Value> work(used.getArrayRef());
    llvm::SmallPtrSet<Operation *, 8> found;
    while (!work.empty()) {
      Operation *op = work.pop_back_val().getDefiningOp();
      if (op == first)
        return false;
      if (!op || op->getBlock() != first->getBlock() || op->isBeforeInBlock(first) || !found.insert(op).second)
        continue;
      llvm::append_range(work, op->getOperands());
      SetVector<Value> inside;
      getUsedValuesDefinedAbove(op->getRegions(), inside);
      llvm::append_range(work, inside);
    }
    for (Operation *op = first->getNextNode(); op != second; op = op->getNextNode())
      if (found.contains(op))
        needed.push_back(op);
    return true;
  }

  rmem::CacheSectionOp section(Attribute name) {
    return tables.lookup<rmem::CacheSectionOp>(cast<FlatSymbolRefAttr>(name).getAttr());
  }

  /// The section whose local memory one uses.
  Attribute memoryOf(Attribute name) {
    Attribute with = section(name).getWithAttr();
    return with ? with : name;
  }

  /// Whether sections of both may be used at the same time: those that share memory drive each other out, and so does what
  /// goes through a section and what is looked up in it.
  bool mayMeet(const Uses &before, const Uses &behind) {
    for (const auto &[name, use] : before)
      for (const auto &[other, its] : behind)
        if (memoryOf(name) == memoryOf(other) && (name != other || use.looksUp || its.looksUp))
          return false;
    return true;
  }

  bool isWorthwhile(Uses &before, Uses &behind, ArrayRef<Stream> streams) {
    Uses uses = usesOf(streams, {});
    for (auto &[name, use] : uses) {
      rmem::CacheSectionOp each = section(name);
      int64_t one = before[name].streams, other = behind[name].streams;
      int64_t lines = use.streams * (1 + each.getAhead()) * partForStreams;
      if (use.streams > std::max(one, other) && lines > int64_t(each.getCapacity() / each.getLine()))
        return false;
      // Each alone has what it has gone through leave first.
      if (each.getWays() != 1 && one && other && use.streams == one + other)
        return false;
    }
    return !streams.empty();
  }

  scf::ForOp makeLoop() {
    SmallVector<Value> inits(first.getInitArgs());
    llvm::append_range(inits, second.getInitArgs());
    auto none = [](OpBuilder &, Location, Value, ValueRange) {};
    auto fused = scf::ForOp::create(builder, first.getLoc(), first.getLowerBound(), first.getUpperBound(),
                                    first.getStep(), inits, none, /*unsignedCmp=*/true);
    fused->setAttr(fusedLoop, builder.getUnitAttr());
    // If there are no results, the body ends already.
    if (!fused.getBody()->empty())
      fused.getBody()->back().erase();
    builder.setInsertionPointToEnd(fused.getBody());
    unsigned results = first.getNumResults();
    SmallVector<Value> next;
    copy(first, fused, fused.getRegionIterArgs().take_front(results), next);
    copy(second, fused, fused.getRegionIterArgs().drop_front(results), next);
    scf::YieldOp::create(builder, first.getBody()->getTerminator()->getLoc(), next);
    return fused;
  }

  /// Adds what one loop does in a turn. What is computed in the same way as before is computed once, so that both loops are
  /// seen to come to the same.
  void copy(scf::ForOp loop, scf::ForOp fused, ValueRange carried, SmallVectorImpl<Value> &next) {
    IRMapping copies;
    copies.map(loop.getInductionVar(), fused.getInductionVar());
    copies.map(loop.getRegionIterArgs(), carried);
    for (Operation &op : loop.getBody()->without_terminator()) {
      Operation *made = builder.clone(op, copies);
      if (made->getNumRegions() || !isPure(made))
        continue;
      if (Operation *same = madeBefore(made)) {
        copies.map(op.getResults(), same->getResults());
        made->erase();
      }
    }
    for (Value value : loop.getBody()->getTerminator()->getOperands())
      next.push_back(copies.lookupOrDefault(value));
  }

  Operation *madeBefore(Operation *made) {
    size_t hash = OperationEquivalence::computeHash(made, OperationEquivalence::directHashValue,
                                                    OperationEquivalence::ignoreHashValue,
                                                    OperationEquivalence::IgnoreLocations);
    auto [begin, end] = computed.equal_range(hash);
    for (auto each = begin; each != end; ++each)
      if (OperationEquivalence::isEquivalentTo(made, each->second, OperationEquivalence::IgnoreLocations))
        return each->second;
    computed.emplace(hash, made);
    return nullptr;
  }

  scf::ForOp first, second;
  const SymbolTable &tables;
  const DataLayout &layout;
  OpBuilder builder;
  SmallVector<Operation *> needed;
  std::unordered_multimap<size_t, Operation *> computed;
};

/// The loop that stands behind one, if all between them can stand before or behind both: it only computes, and comes to an end.
scf::ForOp nextLoop(scf::ForOp loop) {
  for (Operation *op = loop->getNextNode(); op; op = op->getNextNode()) {
    if (auto next = dyn_cast<scf::ForOp>(op))
      return next;
    if (!isPure(op) && !isDebugMarker(op))
      break;
  }
  return {};
}

struct FuseLoops : impl::FuseLoopsBase<FuseLoops> {
  void runOnOperation() override {
    SymbolTable tables(getOperation());
    DataLayout layout(getOperation());
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      if (!function.isExternal() && !knowsAddresses(function))
        function.walk([&](Block *block) { fuseIn(*block, tables, layout); });
    getOperation().walk([](Operation *op) { op->removeAttr(typeOfAccess); });
  }

  void fuseIn(Block &block, const SymbolTable &tables, const DataLayout &layout) {
    for (Operation *op = block.empty() ? nullptr : &block.front(); op; op = op->getNextNode())
      while (auto loop = dyn_cast<scf::ForOp>(op)) {
        scf::ForOp next = nextLoop(loop);
        scf::ForOp made = next ? Fusing(loop, next, tables, layout).fuse() : scf::ForOp();
        if (!made)
          break;
        op = made;
        ++fused;
      }
  }
};

} // namespace
} // namespace farside
