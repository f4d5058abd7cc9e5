#include "Farside/Remote/HeapCall.h"

#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace farside {
namespace {

bool isSize(const Value *value) { return value->getType()->isIntegerTy(64); }

} // namespace

HeapCall heapCallOf(const CallBase &call) {
  const Function *callee = call.getCalledFunction();
  if (!callee || !callee->isDeclaration() || callee->isVarArg() || !isa<CallInst>(call) || call.hasOperandBundles() ||
      cast<CallInst>(call).isMustTailCall())
    return HeapCall::no;
  StringRef name = callee->getName();
  bool pointer = call.getType()->isPointerTy();
  if (name == "malloc" && pointer && call.arg_size() == 1 && isSize(call.getArgOperand(0)))
    return HeapCall::malloc;
  if (name == "calloc" && pointer && call.arg_size() == 2 && isSize(call.getArgOperand(0)) &&
      isSize(call.getArgOperand(1)))
    return HeapCall::calloc;
  if (name == "realloc" && pointer && call.arg_size() == 2 && call.getArgOperand(0)->getType()->isPointerTy() &&
      isSize(call.getArgOperand(1)))
    return HeapCall::realloc;
  if (name == "free" && call.arg_size() == 1 && call.getArgOperand(0)->getType()->isPointerTy())
    return HeapCall::free;
  return HeapCall::no;
}

} // namespace farside
