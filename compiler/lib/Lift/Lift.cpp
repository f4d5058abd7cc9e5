#include "Farside/Dialect/Flow/Flow.h"
#include "Farside/Import/LoopFacts.h"
#include "mlir/Conversion/ControlFlowToSCF/ControlFlowToSCF.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/CFGToSCF.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_LIFT
#include "Farside/Lift/Passes.h.inc"

namespace {

/// Integers up to this width are indices of structured switches.
constexpr unsigned widestSwitch = 64;

/// How many times as many values a structured function may have, if they are not few anyhow.
constexpr size_t mostGrowth = 3, fewValues = 2000;

bool canLift(Operation *terminator) {
  if (auto branch = dyn_cast<LLVM::SwitchOp>(terminator))
    return branch.getValue().getType().getIntOrFloatBitWidth() <= widestSwitch;
  return isa<LLVM::BrOp, LLVM::CondBrOp, LLVM::ReturnOp, LLVM::ResumeOp, LLVM::UnreachableOp>(terminator);
}

/// Whether a call may return a second time, to a place where values are as they were at the first.
bool returnsTwice(LLVM::CallOp call) {
  auto callee = call.getCalleeAttr();
  auto function = callee ? SymbolTable::lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(call, callee) : nullptr;
  auto others = function ? function.getPassthroughAttr() : nullptr;
  return others && llvm::is_contained(others, StringAttr::get(call.getContext(), "returns_twice"));
}

bool canLift(LLVM::LLVMFuncOp function) {
  for (Block &block : function.getBody())
    if (!canLift(block.getTerminator()))
      return false;
  WalkResult result = function.walk([](LLVM::CallOp call) {
    return returnsTwice(call) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !result.wasInterrupted();
}

/// Ends a block that is never left, in a form that structured flow has.
void endUnreached(OpBuilder &builder, Location location, LLVM::LLVMFuncOp function) {
  flow::UnreachableOp::create(builder, location);
  SmallVector<Value> nothing;
  Type result = function.getFunctionType().getReturnType();
  if (!isa<LLVM::LLVMVoidType>(result))
    nothing.push_back(ub::PoisonOp::create(builder, location, result, nullptr));
  LLVM::ReturnOp::create(builder, location, nothing);
}

void convertSwitch(OpBuilder &builder, LLVM::SwitchOp from) {
  SmallVector<ValueRange> operands(from.getCaseOperands().begin(), from.getCaseOperands().end());
  cf::SwitchOp::create(builder, from.getLoc(), from.getValue(), from.getDefaultDestination(),
                       from.getDefaultOperands(), from.getCaseValuesAttr(), from.getCaseDestinations(), operands);
}

void convertTerminator(Operation *terminator, LLVM::LLVMFuncOp function) {
  OpBuilder builder(terminator);
  Location location = terminator->getLoc();
  if (auto br = dyn_cast<LLVM::BrOp>(terminator))
    cf::BranchOp::create(builder, location, br.getDest(), br.getDestOperands());
  else if (auto br = dyn_cast<LLVM::CondBrOp>(terminator))
    cf::CondBranchOp::create(builder, location, br.getCondition(), br.getTrueDest(), br.getTrueDestOperands(),
                             br.getFalseDest(), br.getFalseDestOperands());
  else if (auto br = dyn_cast<LLVM::SwitchOp>(terminator))
    convertSwitch(builder, br);
  else if (isa<LLVM::UnreachableOp>(terminator))
    endUnreached(builder, location, function);
  else
    return;
  terminator->erase();
}

/// Makes structured flow, in a function of the LLVM dialect.
class Structuring : public ControlFlowToSCFTransformation {
public:
  explicit Structuring(LLVM::LLVMFuncOp function) : function(function) { noteWhatIsSaid(); }

  FailureOr<Operation *> createStructuredDoWhileLoopOp(OpBuilder &builder, Operation *replaced, ValueRange initial,
                                                       Value condition, ValueRange next, Region &&body) override {
    Attribute annotation = annotations.lookup(&body.front()), fact = facts.lookup(&body.front());
    auto loop = ControlFlowToSCFTransformation::createStructuredDoWhileLoopOp(builder, replaced, initial, condition,
                                                                              next, std::move(body));
    // Lowering hands it on to the branch at the end of the loop.
    if (succeeded(loop) && annotation)
      (*loop)->setAttr(annotationOfLoop, annotation);
    if (succeeded(loop) && fact)
      (*loop)->setAttr(loopFact, fact);
    return loop;
  }

  /// Asked for after a loop that is never left. Such a loop may have no effect but that, and tidying up would take it
  /// away, so that its function stays as it is.
  FailureOr<Operation *> createUnreachableTerminator(Location, OpBuilder &, Region &) override { return failure(); }

private:
  /// What was said of loops, by the blocks that they begin with.
  void noteWhatIsSaid() {
    DominanceInfo dominance(function);
    for (Block &block : function.getBody()) {
      Attribute annotation = block.getTerminator()->getAttr("loop_annotation");
      Attribute fact = block.getTerminator()->getAttr(loopFact);
      if (!annotation && !fact)
        continue;
      for (Block *successor : block.getSuccessors()) {
        if (!dominance.dominates(successor, &block))
          continue;
        if (annotation)
          annotations[successor] = annotation;
        if (fact)
          facts[successor] = fact;
      }
    }
  }

  LLVM::LLVMFuncOp function;
  llvm::DenseMap<Block *, Attribute> annotations, facts;
};

/// How many values there are in a function.
size_t countValues(LLVM::LLVMFuncOp function) {
  size_t values = 0;
  function.walk([&](Operation *op) { values += op->getNumResults(); });
  function.walk([&](Block *block) { values += block->getNumArguments(); });
  return values;
}

/// Whether structure makes too much of a function, as of one that can be entered in the middle of its loops: each of them
/// hands on all values then, and what optimizes it takes minutes.
bool isTooMuch(LLVM::LLVMFuncOp before, LLVM::LLVMFuncOp after) {
  size_t values = countValues(after);
  return values > fewValues && values > mostGrowth * countValues(before);
}

bool lift(LLVM::LLVMFuncOp function) {
  if (!canLift(function))
    return false;
  // What fails on the way leaves nothing to go back to.
  OwningOpRef<LLVM::LLVMFuncOp> attempt = function.clone();
  IRRewriter rewriter(function.getContext());
  (void)eraseUnreachableBlocks(rewriter, attempt->getOperation()->getRegions());
  Structuring structuring(*attempt);
  for (Block &block : attempt->getBody())
    convertTerminator(block.getTerminator(), *attempt);
  DominanceInfo dominance(*attempt);
  if (failed(transformCFGToSCF(attempt->getBody(), structuring, dominance)))
    return false;
  if (isTooMuch(function, *attempt))
    return false;
  function.getBody().takeBody(attempt->getBody());
  return true;
}

struct Lift : impl::LiftBase<Lift> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>()) {
      if (function.isExternal() || function.getBody().hasOneBlock())
        continue;
      if (lift(function))
        ++lifted;
      else
        ++kept;
    }
  }
};

} // namespace
} // namespace farside
