#include "Farside/Remote/TextCopies.h"

#include "Farside/Remote/HeapCall.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

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

} // namespace

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
