#include "Farside/Profile/Kept.h"

#include "AllSites.h"
#include "Farside/Offload/Candidate.h"
#include "Farside/Profile/Candidates.h"
#include "SiteNames.h"
#include "llvm/Analysis/InlineCost.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace farside {
namespace {

/// Marks functions that are kept.
constexpr StringLiteral keptAttribute = "farside-kept";
/// A loop of fewer turns reads too little to run elsewhere.
constexpr unsigned leastTurns = 16;

bool isKept(const Function &function) { return function.hasFnAttribute(keptAttribute); }

void keep(Function &function) {
  function.addFnAttr(keptAttribute);
  function.addFnAttr(Attribute::NoInline);
}

void letGo(Function &function) {
  function.removeFnAttr(keptAttribute);
  function.removeFnAttr(Attribute::NoInline);
}

/// Calls of a function by others; none if its address is used otherwise.
std::optional<SmallVector<CallBase *>> callsOf(const Function &function) {
  SmallVector<CallBase *> calls;
  for (const Use &use : function.uses()) {
    auto *call = dyn_cast<CallBase>(use.getUser());
    if (!call || !call->isCallee(&use) || call->getFunctionType() != function.getFunctionType())
      return std::nullopt;
    if (call->getFunction() != &function)
      calls.push_back(call);
  }
  return calls;
}

/// Whether a function is called at one place at most. Of one that is called at several, what is passed to it at each would
/// be taken for the same, so that less could go to sections than where it is inlined. A call that was copied is at one place.
bool isCalledOnce(const Function &function) {
  auto calls = callsOf(function);
  if (!calls || (calls->empty() && function.hasLocalLinkage()))
    return false;
  return all_of(*calls, [&](const CallBase *call) {
    return call == calls->front() || (call->getDebugLoc() && call->getDebugLoc() == calls->front()->getDebugLoc());
  });
}

/// Whether it is a function of the program that would otherwise be inlined, if that is worthwhile.
bool canBeKept(const Function &function) {
  const DISubprogram *source = function.getSubprogram();
  return !function.isDeclaration() && !function.hasAvailableExternallyLinkage() && source && !isOfSystem(*source) &&
         function.getName() != "main" && !function.hasFnAttribute(Attribute::AlwaysInline) &&
         (isKept(function) || !function.hasFnAttribute(Attribute::NoInline));
}

bool hasPointers(const Type *type) {
  return type->isPtrOrPtrVectorTy() ||
         any_of(type->subtypes(), [](const Type *part) { return hasPointers(part); });
}

/// Whether it is passed the address of a variable that has pointers in it, which it cannot read elsewhere. Where it is
/// inlined such a variable is taken apart, so that it is known which of them lead where.
bool takesPointersToPointers(const Function &function) {
  return any_of(*callsOf(function), [](const CallBase *call) {
    return any_of(call->args(), [&](const Use &argument) {
      bool isAddress = argument->getType()->isPointerTy() &&
                       !call->isPassPointeeByValueArgument(call->getArgOperandNo(&argument));
      auto *variable = isAddress ? dyn_cast<AllocaInst>(getUnderlyingObject(argument)) : nullptr;
      return variable && hasPointers(variable->getAllocatedType());
    });
  });
}

/// What a pointer may lead to besides variables: nobody knows yet what goes to sections.
bool mayLeadAway(const Value *pointer) {
  SmallVector<const Value *> objects;
  getUnderlyingObjects(pointer, objects, nullptr, 0);
  return none_of(objects, [](const Value *object) { return isa<AllocaInst, GlobalVariable>(object); });
}

/// As if all was in one section that is read through pointers and may be there.
Plan hopefulPlan(const Module &module) {
  Plan plan;
  for (const Function &function : module)
    for (const Instruction &instruction : instructions(function)) {
      auto *load = dyn_cast<LoadInst>(&instruction);
      auto *copy = dyn_cast<AnyMemTransferInst>(&instruction);
      if (load && load->isSimple() && mayLeadAway(load->getPointerOperand()))
        plan.accesses[load].section = 0;
      else if (copy && mayLeadAway(copy->getRawSource()))
        plan.accesses[copy].from = 0;
    }
  return plan;
}

/// Whether a loop goes to its end, and that is not near: what searches is called often, and is over soon.
bool isLong(const Loop &loop, ScalarEvolution &evolution) {
  unsigned most = evolution.getSmallConstantMaxTripCount(&loop);
  return loop.getExitingBlock() && (!most || most >= leastTurns);
}

/// Whether a function is called in a loop within a loop: too often to run elsewhere, or to be timed each time.
bool isCalledDeep(const Function &function, FunctionAnalysisManager &analyses) {
  return any_of(*callsOf(function), [&](CallBase *call) {
    return analyses.getResult<LoopAnalysis>(*call->getFunction()).getLoopDepth(call->getParent()) > 1;
  });
}

/// Whether a function reads what may be in sections in a long loop.
bool readsInLoop(Function &function, const Plan &plan, FunctionAnalysisManager &analyses) {
  const LoopInfo &loops = analyses.getResult<LoopAnalysis>(function);
  if (loops.empty())
    return false;
  ScalarEvolution &evolution = analyses.getResult<ScalarEvolutionAnalysis>(function);
  for (const Instruction &instruction : instructions(function))
    if (plan.accesses.contains(&instruction))
      for (const Loop *loop = loops.getLoopFor(instruction.getParent()); loop; loop = loop->getParentLoop())
        if (isLong(*loop, evolution))
          return true;
  return false;
}

SmallVector<Function *> keptIn(Module &module) {
  SmallVector<Function *> kept;
  for (Function &function : module)
    if (isKept(function))
      kept.push_back(&function);
  return kept;
}

/// Those of some functions that are the likeliest reason why less can go to sections: what they are passed by value is in
/// memory, where it is not told apart. If there are none, all.
SmallVector<Function *> likeliest(SmallVector<Function *> functions) {
  auto takesMemory = [](const Function *function) {
    return any_of(function->args(), [](const Argument &argument) { return argument.hasPassPointeeByValueCopyAttr(); });
  };
  if (any_of(functions, takesMemory))
    erase_if(functions, [&](const Function *function) { return !takesMemory(function); });
  return functions;
}

void inlineAll(ArrayRef<Function *> functions) {
  for (Function *function : functions) {
    letGo(*function);
    if (!isInlineViable(*function).isSuccess())
      continue;
    if (auto calls = callsOf(*function))
      for (CallBase *call : *calls) {
        InlineFunctionInfo info;
        InlineFunction(*call, info);
      }
    if (function->hasLocalLinkage() && function->use_empty())
      function->eraseFromParent();
  }
}

void keepOffloadable(Module &module, FunctionAnalysisManager &analyses) {
  SmallVector<Function *> possible;
  for (Function &function : module) {
    bool had = isKept(function);
    if (canBeKept(function) && isCalledOnce(function) && !takesPointersToPointers(function))
      possible.push_back(&function);
    else if (had)
      letGo(function);
  }
  if (possible.empty())
    return;
  Plan plan = hopefulPlan(module);
  SmallPtrSet<const Function *, 16> able;
  for (Function *function : possible)
    if (!isCalledDeep(*function, analyses) && readsInLoop(*function, plan, analyses) &&
        candidateOf(*function, plan).why.empty())
      able.insert(function);
  for (Function *function : possible) {
    // What another one calls runs there with it.
    bool isPart = any_of(*callsOf(*function), [&](const CallBase *call) { return able.contains(call->getFunction()); });
    if (able.contains(function) && !isPart)
      keep(*function);
    else if (isKept(*function))
      letGo(*function);
  }
}

} // namespace

PreservedAnalyses KeepingPass::run(Module &module, ModuleAnalysisManager &analyses) {
  keepOffloadable(module, analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager());
  return PreservedAnalyses::none();
}

void inlineOthers(Module &module, FunctionAnalysisManager &analyses, function_ref<void(Module &)> simplify) {
  SmallVector<Function *> others = keptIn(module);
  if (others.empty())
    return;
  Plan plan = allSites(module).plan;
  erase_if(others, [&](const Function *function) {
    return plan.functions.contains(function) && candidateOf(*function, plan).why.empty();
  });
  if (!others.empty()) {
    inlineAll(others);
    simplify(module);
  }
  if (keptIn(module).empty())
    return;
  std::unique_ptr<Module> inlined = CloneModule(module);
  inlineAll(keptIn(*inlined));
  simplify(*inlined);
  Candidates all(*inlined, analyses);
  while (!keptIn(module).empty() && Candidates(module, analyses).allowsLessThan(all)) {
    inlineAll(likeliest(keptIn(module)));
    simplify(module);
  }
  // What is known of the other module's functions must not be taken for what is known of ones that come to lie there.
  analyses.clear();
}

} // namespace farside
