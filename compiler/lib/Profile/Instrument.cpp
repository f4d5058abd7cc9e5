#include "Farside/Profile/Instrument.h"

#include "Farside/Profile/Candidates.h"
#include "Farside/Remote/HeapCall.h"
#include "Farside/Remote/Support.h"
#include "Tables.h"
#include "llvm/Analysis/CFG.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include <map>
#include <tuple>

using namespace llvm;

namespace farside {
namespace {

/// A function that has fewer instructions, no loop, and calls nothing takes less time than to time it.
constexpr unsigned leastInstructions = 100;

/// What sections.c is known by.
constexpr StringLiteral runtimePrefix = "farside_rt_";

bool isOfRuntime(const Function &function) { return function.getName().starts_with(runtimePrefix); }

/// Whether it calls a function that is not the compiler's own: who knows how long that takes.
bool isCallOfOther(const Instruction &instruction) {
  auto *call = dyn_cast<CallBase>(&instruction);
  if (!call || isa<IntrinsicInst>(call) || call->isInlineAsm())
    return false;
  const Function *callee = call->getCalledFunction();
  return !callee || !isOfRuntime(*callee);
}

bool hasLoop(Function &function) {
  SmallVector<std::pair<const BasicBlock *, const BasicBlock *>> backEdges;
  FindFunctionBackedges(function, backEdges);
  return !backEdges.empty();
}

bool isTimed(Function &function) {
  if (function.isDeclaration() || function.hasAvailableExternallyLinkage() || !function.getSubprogram() ||
      function.hasFnAttribute(Attribute::Naked) || function.isPresplitCoroutine() || isOfRuntime(function))
    return false;
  return function.getInstructionCount() >= leastInstructions || hasLoop(function) ||
         any_of(instructions(function), isCallOfOther);
}

/// Has functions tell when they begin and end.
class Timing {
public:
  explicit Timing(Module &module) : module(module), builder(module.getContext()) {}

  void time(Function &function, Constant *entry) {
    SmallVector<Instruction *> ends, backs;
    for (Instruction &instruction : instructions(function))
      if (isa<ReturnInst, ResumeInst>(instruction))
        ends.push_back(&instruction);
      else if (isa<LandingPadInst>(instruction) || returnsTwice(instruction))
        backs.push_back(&instruction);
    place = DILocation::get(module.getContext(), 0, 0, function.getSubprogram());
    builder.SetInsertPoint(&*function.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
    Value *depth = call("farside_profile_enter", builder.getInt32Ty(), entry);
    for (Instruction *end : ends) {
      // Nothing may come between such a call and the end.
      Instruction *last = end->getParent()->getTerminatingMustTailCall();
      builder.SetInsertPoint(last ? last : end);
      call("farside_profile_leave", builder.getVoidTy(), depth);
    }
    for (Instruction *back : backs) {
      builder.SetInsertPoint(isa<LandingPadInst>(back) ? &*back->getParent()->getFirstInsertionPt() : back->getNextNode());
      call("farside_profile_back", builder.getVoidTy(), depth);
    }
  }

private:
  static bool returnsTwice(const Instruction &instruction) {
    auto *call = dyn_cast<CallInst>(&instruction);
    return call && call->hasFnAttr(Attribute::ReturnsTwice);
  }

  Value *call(StringRef name, Type *result, Value *argument) {
    auto callee = module.getOrInsertFunction(name, FunctionType::get(result, {argument->getType()}, false));
    CallInst *made = builder.CreateCall(callee, {argument});
    made->setDebugLoc(place);
    return made;
  }

  Module &module;
  IRBuilder<> builder;
  DebugLoc place;
};

/// Has a program tell what it allocates and frees.
class Counting {
public:
  Counting(Module &module, const Candidates &candidates, ArrayRef<Constant *> sites)
      : module(module), candidates(candidates), sites(sites), builder(module.getContext()) {}

  void run() {
    SmallVector<CallBase *> calls;
    for (Function &function : module)
      if (!isOfRuntime(function))
        for (Instruction &instruction : instructions(function))
          if (auto *call = dyn_cast<CallBase>(&instruction); call && call->getCalledFunction())
            calls.push_back(call);
    for (CallBase *call : calls)
      count(*call);
  }

private:
  void count(CallBase &call) {
    auto argument = [&](unsigned number) { return call.getArgOperand(number); };
    StringRef name = call.getCalledFunction()->getName();
    switch (heapCallOf(call)) {
    case HeapCall::malloc:
    case HeapCall::create:
      return allocated(call, {argument(0)});
    case HeapCall::calloc:
      return allocated(call, {argument(0), argument(1)});
    case HeapCall::realloc:
      freed(call, argument(0));
      return allocated(call, {argument(1)});
    case HeapCall::aligned:
    case HeapCall::alignedAt:
      return allocated(call, {argument(alignedSizeOf(name)->size)});
    case HeapCall::free:
    case HeapCall::destroy:
      return freed(call, argument(0));
    case HeapCall::no:
      break;
    }
    // Where the section has no room, `new` comes after what tries it, and where nothing is of the section `free`.
    if (name == "farside_rt_malloc" || name == "farside_rt_try_malloc" || name == "farside_rt_try_aligned")
      allocated(call, {argument(1)});
    else if (name == "farside_rt_calloc")
      allocated(call, {argument(1), argument(2)});
    else if (name == "farside_rt_realloc")
      freed(call, argument(1)), allocated(call, {argument(2)});
    else if (name == "farside_rt_release")
      freed(call, argument(0));
  }

  /// Bytes are the product of some factors.
  void allocated(CallBase &call, ArrayRef<Value *> factors) {
    std::optional<unsigned> site = candidates.siteOf(call);
    if (!site)
      return;
    builder.SetInsertPoint(after(call));
    builder.SetCurrentDebugLocation(call.getDebugLoc());
    Value *size = factors.front();
    for (Value *factor : factors.drop_front())
      size = builder.CreateMul(size, factor);
    builder.CreateCall(hook("farside_profile_allocated", {builder.getPtrTy(), builder.getPtrTy(), builder.getInt64Ty()}),
                       {sites[*site], blockOf(call), size});
  }

  /// The pointer to what was allocated, or null.
  Value *blockOf(CallBase &call) {
    if (call.getType()->isPointerTy())
      return &call;
    // posix_memalign() has stored it unless it failed.
    Value *stored = builder.CreateLoad(builder.getPtrTy(), call.getArgOperand(0));
    return builder.CreateSelect(builder.CreateIsNull(&call), stored, ConstantPointerNull::get(builder.getPtrTy()));
  }

  void freed(CallBase &call, Value *block) {
    builder.SetInsertPoint(&call);
    builder.SetCurrentDebugLocation(call.getDebugLoc());
    builder.CreateCall(hook("farside_profile_freed", {builder.getPtrTy()}), {block});
  }

  /// Where the result of a call is known, and nothing else leads to.
  static Instruction *after(CallBase &call) {
    auto *invoke = dyn_cast<InvokeInst>(&call);
    if (!invoke)
      return call.getNextNode();
    BasicBlock *next = invoke->getNormalDest();
    if (!next->getSinglePredecessor())
      next = SplitEdge(invoke->getParent(), next);
    return &*next->getFirstInsertionPt();
  }

  FunctionCallee hook(StringRef name, ArrayRef<Type *> arguments) {
    return module.getOrInsertFunction(name, FunctionType::get(builder.getVoidTy(), arguments, false));
  }

  Module &module;
  const Candidates &candidates;
  ArrayRef<Constant *> sites;
  IRBuilder<> builder;
};

/// Adds what the program counts with: once, in however many units it is.
std::string addRuntime(Module &module, const MemoryBuffer &bitcode) {
  auto runtime = parseBitcodeFile(bitcode.getMemBufferRef(), module.getContext());
  if (!runtime)
    return toString(runtime.takeError());
  suit(**runtime, module);
  SmallVector<std::string> names;
  for (const GlobalValue &value : (*runtime)->global_values())
    if (!value.isDeclaration() && !value.hasLocalLinkage())
      names.push_back(value.getName().str());
  if (Linker::linkModules(module, std::move(*runtime)))
    return "it cannot be linked with what it needs to be profiled";
  for (const std::string &name : names)
    if (GlobalValue *value = module.getNamedValue(name); value && value->hasExternalLinkage())
      value->setLinkage(GlobalValue::LinkOnceODRLinkage);
  return "";
}

} // namespace

std::string instrument(Module &module, const Candidates &candidates, const MemoryBuffer &bitcode) {
  SmallVector<Function *> timed;
  // All copies of one function count as it.
  std::map<std::tuple<StringRef, unsigned, StringRef>, unsigned> numbers;
  auto keyOf = [](const Function &function) {
    const DISubprogram &source = *function.getSubprogram();
    return std::tuple(source.getFilename(), source.getLine(), source.getName());
  };
  SmallVector<Function *> firsts;
  for (Function &function : module)
    if (isTimed(function)) {
      timed.push_back(&function);
      if (numbers.try_emplace(keyOf(function), firsts.size()).second)
        firsts.push_back(&function);
    }
  Tables tables = addTables(module, firsts, candidates.names());
  Counting(module, candidates, tables.sites).run();
  Timing timing(module);
  for (Function *function : timed)
    timing.time(*function, tables.functions[numbers.at(keyOf(*function))]);
  return addRuntime(module, bitcode);
}

} // namespace farside
