#include "Farside/Remote/TextCopies.h"

#include "Farside/Remote/HeapCall.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace farside {
namespace {

enum class TextCopy { no, copy, copyToEnd, append, bytes };

TextCopy kindOf(const CallBase &call) {
  const Function *callee = call.getCalledFunction();
  if (!callee || !callee->isDeclaration() || !isa<CallInst>(call) || call.hasOperandBundles() || call.isMustTailCall() ||
      call.isNoBuiltin() || callee->isVarArg() || !call.getType()->isPointerTy())
    return TextCopy::no;
  auto kind = StringSwitch<TextCopy>(callee->getName())
                  .Case("strcpy", TextCopy::copy)
                  .Case("stpcpy", TextCopy::copyToEnd)
                  .Case("strcat", TextCopy::append)
                  .Cases({"mempcpy", "__mempcpy"}, TextCopy::bytes)
                  .Default(TextCopy::no);
  bool hasLength = kind == TextCopy::bytes;
  bool suits = kind != TextCopy::no && call.arg_size() == (hasLength ? 3 : 2) &&
               call.getArgOperand(0)->getType()->isPointerTy() && call.getArgOperand(1)->getType()->isPointerTy() &&
               (!hasLength || call.getArgOperand(2)->getType()->isIntegerTy(64));
  return suits ? kind : TextCopy::no;
}

class TakingApart {
public:
  explicit TakingApart(CallBase &call) : call(call), builder(&call), to(call.getArgOperand(0)), from(call.getArgOperand(1)) {}

  void run(TextCopy kind) {
    Value *length = kind == TextCopy::bytes ? call.getArgOperand(2) : lengthOf(from);
    Value *start = kind == TextCopy::append ? behind(lengthOf(to)) : to;
    bool isText = kind != TextCopy::bytes;
    builder.CreateMemCpy(start, MaybeAlign(), from, MaybeAlign(),
                         isText ? builder.CreateAdd(length, builder.getInt64(1)) : length);
    bool isEnd = kind == TextCopy::copyToEnd || kind == TextCopy::bytes;
    Value *result = isEnd ? behind(length) : to;
    call.replaceAllUsesWith(result);
    call.eraseFromParent();
  }

private:
  Value *behind(Value *length) { return builder.CreateInBoundsGEP(builder.getInt8Ty(), to, length); }

  Value *lengthOf(Value *text) {
    auto *type = FunctionType::get(builder.getInt64Ty(), {builder.getPtrTy()}, false);
    CallInst *made = builder.CreateCall(call.getModule()->getOrInsertFunction("strlen", type), {text});
    made->setDoesNotThrow();
    made->setOnlyReadsMemory();
    return made;
  }

  CallBase &call;
  IRBuilder<> builder;
  Value *to, *from;
};

/// Whether a call allocates a copy of a text; of a part of it, if it has a length, too.
bool isDuplicating(const CallBase &call) {
  const Function *callee = call.getCalledFunction();
  if (!callee || !callee->isDeclaration() || !isa<CallInst>(call) || call.hasOperandBundles() || call.isMustTailCall() ||
      call.isNoBuiltin() || callee->isVarArg() || !call.getType()->isPointerTy() || call.arg_empty() ||
      !call.getArgOperand(0)->getType()->isPointerTy())
    return false;
  StringRef name = callee->getName();
  bool isWhole = name == "strdup" || name == "__strdup";
  bool isPart = name == "strndup" || name == "__strndup";
  return (isWhole && call.arg_size() == 1) ||
         (isPart && call.arg_size() == 2 && call.getArgOperand(1)->getType()->isIntegerTy(64));
}

void takeDuplicateApart(CallBase &call) {
  Module &module = *call.getModule();
  IRBuilder<> builder(&call);
  Type *number = builder.getInt64Ty(), *pointer = builder.getPtrTy();
  bool isPart = call.arg_size() == 2;
  Value *text = call.getArgOperand(0);
  SmallVector<Type *, 2> types{pointer};
  SmallVector<Value *, 2> arguments(call.args());
  if (isPart)
    types.push_back(number);
  CallInst *length = builder.CreateCall(
      module.getOrInsertFunction(isPart ? "strnlen" : "strlen", FunctionType::get(number, types, false)), arguments);
  length->setDoesNotThrow();
  length->setOnlyReadsMemory();
  Value *size = builder.CreateAdd(length, builder.getInt64(1));
  CallInst *made = builder.CreateCall(
      module.getOrInsertFunction("malloc", FunctionType::get(pointer, {number}, false)), {size});
  made->setDoesNotThrow();
  builder.SetInsertPoint(SplitBlockAndInsertIfThen(builder.CreateIsNotNull(made), &call, /*Unreachable=*/false));
  builder.SetCurrentDebugLocation(call.getDebugLoc());
  builder.CreateMemCpy(made, MaybeAlign(), text, MaybeAlign(), length);
  builder.CreateStore(builder.getInt8(0), builder.CreateInBoundsGEP(builder.getInt8Ty(), made, length));
  made->takeName(&call);
  call.replaceAllUsesWith(made);
  call.eraseFromParent();
}

/// Whether a call prints to memory and does not say how much room is there.
bool prints(const CallBase &call) {
  const Function *callee = call.getCalledFunction();
  return callee && callee->isDeclaration() && isa<CallInst>(call) && !call.hasOperandBundles() && !call.isMustTailCall() &&
         !call.isNoBuiltin() && callee->isVarArg() && call.getType()->isIntegerTy(32) &&
         callee->getName() == "sprintf" && callee->arg_size() == 2;
}

/// Prints to memory of its own instead, which is copied to where the text is to be, and freed.
void printApart(CallBase &call) {
  Module &module = *call.getModule();
  Type *pointer = PointerType::get(module.getContext(), 0), *number = Type::getInt32Ty(module.getContext());
  IRBuilder<> entry(&*call.getFunction()->getEntryBlock().getFirstInsertionPt());
  Value *place = entry.CreateAlloca(pointer);
  IRBuilder<> builder(&call);
  SmallVector<Value *> arguments(drop_begin(call.args()));
  arguments.insert(arguments.begin(), place);
  auto *type = FunctionType::get(number, {pointer, pointer}, /*isVarArg=*/true);
  CallInst *printed = builder.CreateCall(module.getOrInsertFunction("asprintf", type), arguments);
  Instruction *copying =
      SplitBlockAndInsertIfThen(builder.CreateICmpSGE(printed, builder.getInt32(0)), &call, /*Unreachable=*/false);
  builder.SetInsertPoint(copying);
  builder.SetCurrentDebugLocation(call.getDebugLoc());
  Value *text = builder.CreateLoad(pointer, place);
  Value *size = builder.CreateAdd(builder.CreateZExt(printed, builder.getInt64Ty()), builder.getInt64(1));
  builder.CreateMemCpy(call.getArgOperand(0), MaybeAlign(), text, MaybeAlign(), size);
  builder.CreateCall(module.getOrInsertFunction("free", FunctionType::get(builder.getVoidTy(), {pointer}, false)), {text});
  call.replaceAllUsesWith(printed);
  call.eraseFromParent();
}

} // namespace

void printApart(Module &module) {
  SmallVector<CallBase *> calls;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallBase>(&instruction))
        if (prints(*call) && mayBeAllocated(call->getArgOperand(0)))
          calls.push_back(call);
  for (CallBase *call : calls)
    printApart(*call);
}

void takeDuplicatesApart(Module &module) {
  SmallVector<CallBase *> calls;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallBase>(&instruction); call && isDuplicating(*call))
        calls.push_back(call);
  for (CallBase *call : calls)
    takeDuplicateApart(*call);
}

void takeTextCopiesApart(Module &module) {
  SmallVector<std::pair<CallBase *, TextCopy>> calls;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      auto *call = dyn_cast<CallBase>(&instruction);
      TextCopy kind = call ? kindOf(*call) : TextCopy::no;
      if (kind != TextCopy::no && (mayBeAllocated(call->getArgOperand(0)) || mayBeAllocated(call->getArgOperand(1))))
        calls.push_back({call, kind});
    }
  for (auto [call, kind] : calls)
    TakingApart(*call).run(kind);
}

} // namespace farside
