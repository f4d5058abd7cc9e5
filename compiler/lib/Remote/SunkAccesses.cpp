#include "Farside/Remote/SunkAccesses.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

namespace farside {
namespace {

bool isSimple(const Instruction &access) {
  auto *load = dyn_cast<LoadInst>(&access);
  auto *store = dyn_cast<StoreInst>(&access);
  return (load && load->isSimple()) || (store && store->isSimple());
}

/// Whether a pointer is for nothing but such accesses, which all can become others.
bool isOnlyAccessed(const Value &pointer) {
  return all_of(pointer.uses(), [](const Use &use) {
    auto *user = cast<Instruction>(use.getUser());
    if (auto *element = dyn_cast<GetElementPtrInst>(user))
      return use.getOperandNo() == 0 && isOnlyAccessed(*element);
    return isSimple(*user) && use.getOperandNo() == (isa<StoreInst>(user) ? 1 : 0);
  });
}

/// Whether pointers lead to different objects, as far as can be seen, of which something may be in a section.
template <typename Pointers> bool leadApart(const Pointers &pointers) {
  SmallPtrSet<const Value *, 4> objects;
  for (const Value *pointer : pointers)
    objects.insert(getUnderlyingObject(pointer, /*MaxLookup=*/0));
  return objects.size() > 1 && any_of(objects, [](const Value *object) { return !isa<AllocaInst, Constant>(object); });
}

/// Whether nothing that comes before an access in its block keeps it from being done where the block begins.
bool isFirst(const Instruction &access) {
  for (const Instruction &before : *access.getParent()) {
    if (&before == &access)
      return true;
    bool mayMatter = isa<StoreInst>(access) ? before.mayReadOrWriteMemory() : before.mayWriteToMemory();
    if (mayMatter || !isGuaranteedToTransferExecutionToSuccessor(&before))
      return false;
  }
  return false;
}

/// Whether something can be put at the end of each block before this one, or between it and this one.
bool canReach(const BasicBlock &block) {
  SmallPtrSet<const BasicBlock *, 4> seen;
  return !block.isEHPad() && all_of(predecessors(&block), [&](const BasicBlock *before) {
    return isa<BranchInst, SwitchInst>(before->getTerminator()) && seen.insert(before).second;
  });
}

/// The place of one of the accesses in the source: that of all, or, if it has none, of what its pointer was computed by.
DebugLoc locationOf(const Instruction &access, const Value *pointer) {
  DebugLoc location = access.getDebugLoc();
  auto *by = dyn_cast<Instruction>(pointer);
  return (!location || location.getLine() == 0) && by && by->getDebugLoc() ? by->getDebugLoc() : location;
}

/// An access, the pointer that it goes by, and what computes one from the other.
struct Access {
  explicit Access(Instruction &access) : access(access), pointer(getLoadStorePointerOperand(&access)) {
    for (; auto *element = dyn_cast<GetElementPtrInst>(pointer); pointer = element->getPointerOperand())
      elements.push_back(element);
  }

  /// The same by another pointer, before an instruction. `here` tells what a value is there.
  Instruction *copy(Value *by, Instruction *before, function_ref<Value *(Value *)> here) const {
    Value *to = by;
    auto insert = [&](Instruction &original) {
      Instruction *made = original.clone();
      for (Use &operand : made->operands())
        operand.set(here(operand.get()));
      made->setOperand(isa<StoreInst>(made) ? 1 : 0, to);
      made->insertBefore(before->getIterator());
      return made;
    };
    for (GetElementPtrInst *element : reverse(elements))
      to = insert(*element);
    Instruction *made = insert(access);
    made->setDebugLoc(locationOf(access, by));
    return made;
  }

  /// Puts in its place what is loaded elsewhere, if it loads, and takes it away.
  void replaceBy(Value *loaded) const {
    Value *goneBy = getLoadStorePointerOperand(&access);
    if (loaded) {
      loaded->takeName(&access);
      access.replaceAllUsesWith(loaded);
    }
    access.eraseFromParent();
    RecursivelyDeleteTriviallyDeadInstructions(goneBy);
  }

  Instruction &access;
  SmallVector<GetElementPtrInst *, 2> elements;
  Value *pointer;
};

/// One whose pointer the blocks before its own decide.
class ByWay {
public:
  ByWay(const Access &all, PHINode &pointer) : all(all), pointer(pointer), block(*all.access.getParent()) {}

  bool suits() const {
    auto isForOne = [](GetElementPtrInst *element) { return element->hasOneUse(); };
    if (!pointer.hasOneUse() || !all_of(all.elements, isForOne) || pointer.getParent() != &block ||
        !leadApart(pointer.incoming_values()) || !isFirst(all.access) || !canReach(block))
      return false;
    auto isThere = [&](Value *value) {
      auto *by = dyn_cast<Instruction>(value);
      return !by || isa<PHINode>(by) || by->getParent() != &block || is_contained(all.elements, by);
    };
    return all_of(all.access.operands(), isThere) &&
           all_of(all.elements, [&](GetElementPtrInst *element) { return all_of(element->operands(), isThere); });
  }

  void raise() {
    SmallVector<std::pair<BasicBlock *, Instruction *>> raised;
    SmallVector<BasicBlock *> before(predecessors(&block));
    for (BasicBlock *each : before) {
      BasicBlock *way = each->getSingleSuccessor() ? each : SplitEdge(each, &block);
      auto here = [&](Value *value) {
        auto *phi = dyn_cast<PHINode>(value);
        return phi && phi->getParent() == &block ? phi->getIncomingValueForBlock(way) : value;
      };
      raised.push_back({way, all.copy(here(&pointer), way->getTerminator(), here)});
    }
    PHINode *value = nullptr;
    if (isa<LoadInst>(all.access)) {
      value = IRBuilder<>(&pointer).CreatePHI(all.access.getType(), raised.size());
      for (auto [way, load] : raised)
        value->addIncoming(load, way);
    }
    all.replaceBy(value);
  }

private:
  const Access &all;
  PHINode &pointer;
  BasicBlock &block;
};

/// One whose pointer is one of two that a condition chooses.
class ByChoice {
public:
  ByChoice(const Access &all, SelectInst &pointer) : all(all), pointer(pointer) {}

  bool suits() const {
    const Value *both[] = {pointer.getTrueValue(), pointer.getFalseValue()};
    return pointer.getCondition()->getType()->isIntegerTy() && leadApart(both) && isOnlyAccessed(pointer);
  }

  void raise() {
    Instruction *then, *otherwise;
    // Of a condition that may be anything one may choose by it, but not go by it.
    Value *condition = IRBuilder<>(&all.access).CreateFreeze(pointer.getCondition());
    SplitBlockAndInsertIfThenElse(condition, &all.access, &then, &otherwise);
    auto here = [](Value *value) { return value; };
    Instruction *one = all.copy(pointer.getTrueValue(), then, here);
    Instruction *other = all.copy(pointer.getFalseValue(), otherwise, here);
    PHINode *value = nullptr;
    if (isa<LoadInst>(all.access)) {
      value = IRBuilder<>(&all.access).CreatePHI(all.access.getType(), 2);
      value->addIncoming(one, then->getParent());
      value->addIncoming(other, otherwise->getParent());
    }
    all.replaceBy(value);
  }

private:
  const Access &all;
  SelectInst &pointer;
};

template <typename Kind> void raiseIfSuits(Kind kind) {
  if (kind.suits())
    kind.raise();
}

} // namespace

void raiseSunkAccesses(Module &module) {
  SmallVector<Instruction *> accesses;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (isSimple(instruction))
        accesses.push_back(&instruction);
  for (Instruction *each : accesses) {
    Access access(*each);
    if (auto *phi = dyn_cast<PHINode>(access.pointer))
      raiseIfSuits(ByWay(access, *phi));
    else if (auto *select = dyn_cast<SelectInst>(access.pointer))
      raiseIfSuits(ByChoice(access, *select));
  }
}

} // namespace farside
