#include "Strides.h"

#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Function.h"

using namespace llvm;

namespace farside {

Stride strideOf(Instruction &access, Value &pointer, FunctionAnalysisManager &analyses) {
  Function &function = *access.getFunction();
  const Loop *loop = analyses.getResult<LoopAnalysis>(function).getLoopFor(access.getParent());
  if (!loop)
    return {};
  ScalarEvolution &evolution = analyses.getResult<ScalarEvolutionAnalysis>(function);
  const SCEV *address = evolution.getSCEV(&pointer);
  if (evolution.isLoopInvariant(address, loop))
    return {true, 0};
  auto *moving = dyn_cast<SCEVAddRecExpr>(address);
  auto *step = moving && moving->getLoop() == loop && moving->isAffine()
                   ? dyn_cast<SCEVConstant>(moving->getStepRecurrence(evolution))
                   : nullptr;
  if (!step)
    return {true, std::nullopt};
  return {true, step->getAPInt().getSExtValue()};
}

} // namespace farside
