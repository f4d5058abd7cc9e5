#include "CanonicalLoop.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/ScalarEvolutionExpander.h"
#include <optional>

using namespace llvm;

namespace farside {
namespace {

/// Turns are counted in integers of this width.
constexpr unsigned countWidth = 64;

/// How many simple operations it may take, before a loop, to compute how many turns it takes.
constexpr unsigned mostToCompute = 16;

/// What a loop adds to a value that it carries, a constant, before it looks whether it goes on.
struct Step {
  APInt by;
  /// Whether it is undefined to go round past the largest number.
  bool noSignedWrap, noUnsignedWrap;
};

std::optional<Step> stepOf(const Value *next, const Loop &loop, const DataLayout &layout) {
  const Value *before = nullptr;
  std::optional<Step> step;
  if (auto *add = dyn_cast<BinaryOperator>(next); add && add->getOpcode() == Instruction::Add) {
    if (auto *by = dyn_cast<ConstantInt>(add->getOperand(1)); by && by->getBitWidth() <= countWidth)
      step = Step{by->getValue(), add->hasNoSignedWrap(), add->hasNoUnsignedWrap()};
    before = add->getOperand(0);
  } else if (auto *element = dyn_cast<GetElementPtrInst>(next)) {
    APInt by(countWidth, 0);
    if (element->getType()->isPointerTy() && element->getNumIndices() == 1 &&
        element->accumulateConstantOffset(layout, by))
      step = Step{by, element->isInBounds(), element->isInBounds() || element->hasNoUnsignedWrap()};
    before = element->getPointerOperand();
  }
  auto *carried = dyn_cast_or_null<PHINode>(before);
  bool isCarried = carried && carried->getParent() == loop.getHeader() &&
                   carried->getIncomingValueForBlock(loop.getLoopLatch()) == next;
  return isCarried ? step : std::nullopt;
}

/// Whether what a loop compares shows how many turns it takes, as `farside-count-loops` looks at it.
bool isSeenToCount(const Loop &loop, const BranchInst &end, const DataLayout &layout) {
  auto *compare = dyn_cast<ICmpInst>(end.getCondition());
  if (!compare || !loop.isLoopInvariant(compare->getOperand(1)))
    return false;
  std::optional<Step> step = stepOf(compare->getOperand(0), loop, layout);
  if (!step || step->by.isZero())
    return false;
  bool goesOn = end.getSuccessor(0) == loop.getHeader(), isNumber = compare->getOperand(0)->getType()->isIntegerTy();
  switch (goesOn ? compare->getPredicate() : compare->getInversePredicate()) {
  case CmpInst::ICMP_NE:
    return step->by.isOne() || step->by.isAllOnes() ||
           (step->by.getBitWidth() == countWidth &&
            (step->by.abs().isPowerOf2() || step->noSignedWrap || step->noUnsignedWrap));
  case CmpInst::ICMP_SLT:
    return step->by.isStrictlyPositive() && step->noSignedWrap && isNumber;
  case CmpInst::ICMP_ULT:
    return step->by.isStrictlyPositive() && step->noUnsignedWrap;
  default:
    return false;
  }
}

/// What a loop carries and changes by the same in each turn.
struct Moving {
  PHINode *carried;
  const SCEV *step;
};

class Canonical {
public:
  Canonical(Loop &loop, FunctionAnalysisManager &analyses)
      : loop(loop), loops(analyses.getResult<LoopAnalysis>(functionOf(loop))),
        dominators(analyses.getResult<DominatorTreeAnalysis>(functionOf(loop))),
        evolution(analyses.getResult<ScalarEvolutionAnalysis>(functionOf(loop))),
        target(analyses.getResult<TargetIRAnalysis>(functionOf(loop))), expander(evolution, "turns"),
        layout(functionOf(loop).getDataLayout()) {}

  bool make() {
    latch = loop.getLoopLatch();
    if (!latch || loop.getExitingBlock() != latch)
      return false;
    end = dyn_cast<BranchInst>(latch->getTerminator());
    if (!end || isSeenToCount(loop, *end, layout))
      return false;
    const SCEV *more = evolution.getBackedgeTakenCount(&loop);
    if (isa<SCEVCouldNotCompute>(more) || evolution.getTypeSizeInBits(more->getType()) > countWidth)
      return false;
    before = loop.getLoopPreheader();
    if (!before)
      before = InsertPreheaderForLoop(&loop, &dominators, &loops, nullptr, /*PreserveLCSSA=*/false);
    if (!before)
      return false;
    Type *type = Type::getIntNTy(end->getContext(), countWidth);
    const SCEV *all = evolution.getTripCountFromExitCount(more, type, &loop);
    if (!isCheap(all))
      return false;
    findMoving();
    IRBuilder<> builder(end);
    turns = expander.expandCodeFor(all, type, before->getTerminator());
    count(builder);
    for (const Moving &each : moving)
      computeFromTurn(each, builder);
    evolution.forgetLoop(&loop);
    return true;
  }

private:
  static Function &functionOf(const Loop &loop) { return *loop.getHeader()->getParent(); }

  /// Whether a value can be computed before the loop without much ado.
  bool isCheap(const SCEV *value) {
    Instruction *place = before->getTerminator();
    return expander.isSafeToExpandAt(value, place) &&
           !expander.isHighCostExpansion(value, &loop, mostToCompute, &target, place);
  }

  void findMoving() {
    for (PHINode &carried : loop.getHeader()->phis()) {
      Type *type = carried.getType();
      bool isSuited = (type->isIntegerTy() && type->getIntegerBitWidth() <= countWidth) ||
                      (type->isPointerTy() && layout.getIndexTypeSizeInBits(type) == countWidth);
      auto *values = isSuited ? dyn_cast<SCEVAddRecExpr>(evolution.getSCEV(&carried)) : nullptr;
      if (!values || values->getLoop() != &loop || !values->isAffine() ||
          evolution.getSCEV(carried.getIncomingValueForBlock(latch)) != values->getPostIncExpr(evolution))
        continue;
      if (const SCEV *step = values->getStepRecurrence(evolution); isCheap(step))
        moving.push_back({&carried, step});
    }
  }

  /// Has the loop count. 2^64 turns would be 0, and end as never as these do.
  void count(IRBuilder<> &builder) {
    builder.SetInsertPoint(loop.getHeader(), loop.getHeader()->begin());
    builder.SetCurrentDebugLocation(end->getDebugLoc());
    turn = builder.CreatePHI(builder.getInt64Ty(), 2);
    builder.SetInsertPoint(end);
    Value *next = builder.CreateAdd(turn, builder.getInt64(1), "", /*HasNUW=*/true);
    turn->addIncoming(builder.getInt64(0), before);
    turn->addIncoming(next, latch);
    bool goesOn = end->getSuccessor(0) == loop.getHeader();
    end->setCondition(builder.CreateICmp(goesOn ? CmpInst::ICMP_NE : CmpInst::ICMP_EQ, next, turns));
  }

  /// What is carried, after so many turns. Numbers go round as they did.
  static Value *valueAfter(Value *turns, Value *start, Value *step, IRBuilder<> &builder) {
    Value *way = builder.CreateMul(builder.CreateTrunc(turns, step->getType()), step);
    return start->getType()->isPointerTy() ? builder.CreatePtrAdd(start, way) : builder.CreateAdd(start, way);
  }

  void computeFromTurn(const Moving &each, IRBuilder<> &builder) {
    Value *start = each.carried->getIncomingValueForBlock(before), *next = each.carried->getIncomingValueForBlock(latch);
    Value *step = expander.expandCodeFor(each.step, each.step->getType(), before->getTerminator());
    builder.SetInsertPoint(before->getTerminator());
    Value *last = builder.CreateSub(turns, builder.getInt64(1));
    replaceBehind(each.carried, valueAfter(last, start, step, builder));
    replaceBehind(next, valueAfter(turns, start, step, builder));
    builder.SetInsertPoint(loop.getHeader(), loop.getHeader()->getFirstInsertionPt());
    builder.SetCurrentDebugLocation(end->getDebugLoc());
    evolution.forgetValue(each.carried);
    each.carried->replaceAllUsesWith(valueAfter(turn, start, step, builder));
    each.carried->eraseFromParent();
  }

  /// What a loop hands on that it does not carry has it not counted.
  void replaceBehind(Value *value, Value *other) {
    value->replaceUsesWithIf(other, [&](Use &use) { return !loop.contains(cast<Instruction>(use.getUser())); });
  }

  Loop &loop;
  LoopInfo &loops;
  DominatorTree &dominators;
  ScalarEvolution &evolution;
  const TargetTransformInfo &target;
  SCEVExpander expander;
  const DataLayout &layout;
  BasicBlock *latch = nullptr, *before = nullptr;
  BranchInst *end = nullptr;
  SmallVector<Moving> moving;
  /// How many turns have been, and will have been at the end.
  PHINode *turn = nullptr;
  Value *turns = nullptr;
};

} // namespace

bool makeCanonical(Loop &loop, FunctionAnalysisManager &analyses) { return Canonical(loop, analyses).make(); }

} // namespace farside
