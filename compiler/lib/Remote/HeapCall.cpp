#include "Farside/Remote/HeapCall.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace farside {
namespace {

bool isSize(const Value *value) { return value->getType()->isIntegerTy(64); }

} // namespace

bool isCreating(StringRef name) {
  static constexpr StringLiteral names[] = {"_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t"};
  return is_contained(names, name);
}

bool isDestroying(StringRef name) {
  static constexpr StringLiteral names[] = {"_ZdlPv",  "_ZdaPv", "_ZdlPvm", "_ZdaPvm", "_ZdlPvRKSt9nothrow_t",
                                            "_ZdaPvRKSt9nothrow_t"};
  return is_contained(names, name);
}

HeapCall heapCallOf(const CallBase &call) {
  const Function *callee = call.getCalledFunction();
  if (!callee || !callee->isDeclaration() || callee->isVarArg() || call.hasOperandBundles() || call.isMustTailCall())
    return HeapCall::no;
  StringRef name = callee->getName();
  bool pointer = call.getType()->isPointerTy();
  if (isCreating(name) && pointer && call.arg_size() >= 1 && isSize(call.getArgOperand(0)))
    return HeapCall::create;
  if (!isa<CallInst>(call))
    return HeapCall::no;
  if (isDestroying(name) && call.arg_size() >= 1 && call.getArgOperand(0)->getType()->isPointerTy())
    return HeapCall::destroy;
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

bool allocates(const CallBase &call) {
  HeapCall heap = heapCallOf(call);
  return heap != HeapCall::no && heap != HeapCall::free && heap != HeapCall::destroy;
}

} // namespace farside
