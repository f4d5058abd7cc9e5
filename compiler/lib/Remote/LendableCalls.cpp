#include "Farside/Remote/LendableCalls.h"

#include "Farside/Remote/HeapCall.h"
#include "Farside/Remote/LibraryCall.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

namespace farside {
namespace {

/// Whether an exception may come out of a call after all: of what it calls, or since another thread ends this one.
bool mayThrow(const LibraryCall &library, const Module &module) {
  return module.getFunction("pthread_cancel") || (library.callback && !library.callback->doesNotThrow());
}

void callWhatThrowsNothing(Module &module) {
  SmallVector<InvokeInst *> invokes;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *invoke = dyn_cast<InvokeInst>(&instruction))
        if (auto library = libraryCallOf(*invoke); library && !mayThrow(*library, module))
          invokes.push_back(invoke);
  for (InvokeInst *invoke : invokes)
    changeToCall(invoke)->setDoesNotThrow();
}

/// Copies what a call is passed and reads, and frees it behind.
class Copying {
public:
  explicit Copying(CallBase &call) : call(call), module(*call.getModule()) {}

  void run(const Borrow &text) {
    Value *original = call.getArgOperand(text.argument);
    auto *none = ConstantPointerNull::get(cast<PointerType>(original->getType()));
    Value *isText = IRBuilder<>(&call).CreateICmpNE(original, none);
    BasicBlock *before = call.getParent();
    Instruction *then = SplitBlockAndInsertIfThen(isText, &call, /*Unreachable=*/false);
    Value *copy = copyOf(text, original, then);
    PHINode *either = IRBuilder<>(&call.getParent()->front()).CreatePHI(original->getType(), 2);
    either->addIncoming(none, before);
    either->addIncoming(copy, then->getParent());
    call.setArgOperand(text.argument, either);
    IRBuilder<> behind(call.getNextNode());
    behind.CreateCall(function("free", behind.getVoidTy(), {either->getType()}), {either})->setDoesNotThrow();
  }

private:
  FunctionCallee function(StringRef name, Type *result, ArrayRef<Type *> arguments) {
    return module.getOrInsertFunction(name, FunctionType::get(result, arguments, false));
  }

  Value *copyOf(const Borrow &text, Value *original, Instruction *at) {
    IRBuilder<> builder(at);
    Type *pointer = original->getType(), *number = builder.getInt64Ty();
    CallInst *copy;
    if (text.length == Borrow::none) {
      copy = builder.CreateCall(function("strdup", pointer, {pointer}), {original});
    } else {
      // A negative one, which limits nothing, is a very large one.
      Value *most = builder.CreateSExt(call.getArgOperand(text.length), number);
      copy = builder.CreateCall(function("strndup", pointer, {pointer, number}), {original, most});
    }
    copy->setDoesNotThrow();
    Value *failed = builder.CreateIsNull(copy);
    Instruction *end = SplitBlockAndInsertIfThen(failed, at, /*Unreachable=*/true);
    IRBuilder<>(end).CreateCall(function("abort", builder.getVoidTy(), {}))->setDoesNotThrow();
    return copy;
  }

  CallBase &call;
  Module &module;
};

void copyTextsBeyond(Module &module) {
  SmallVector<std::pair<CallBase *, LibraryCall>> calls;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallInst>(&instruction))
        if (auto library = libraryCallOf(*call); library && !library->others.empty())
          calls.push_back({call, *library});
  for (auto &[call, library] : calls)
    for (const Borrow &text : library.others)
      Copying(*call).run(text);
}

} // namespace

void makeLendable(Module &module) {
  copyShown(module);
  callWhatThrowsNothing(module);
  copyTextsBeyond(module);
}

} // namespace farside
