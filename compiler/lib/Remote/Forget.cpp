#include "Farside/Remote/Plan.h"

#include "Sites.h"
#include "llvm/IR/AttributeMask.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace farside {
namespace {

/// What functions promise that no longer do what they did, and what is said of pointers that lead nowhere.
AttributeMask untrueOfFunctions() {
  AttributeMask mask;
  for (auto kind : {Attribute::Memory, Attribute::NoSync, Attribute::NoFree, Attribute::WillReturn,
                    Attribute::Speculatable, Attribute::NoCallback})
    mask.addAttribute(kind);
  return mask;
}

AttributeMask untrueOfPointers() {
  AttributeMask mask;
  for (auto kind : {Attribute::Dereferenceable, Attribute::DereferenceableOrNull, Attribute::NoAlias,
                    Attribute::ReadNone, Attribute::ReadOnly, Attribute::WriteOnly, Attribute::Captures,
                    Attribute::NoFree, Attribute::Initializes, Attribute::Writable, Attribute::DeadOnUnwind})
    mask.addAttribute(kind);
  return mask;
}

bool isRemotePart(const CallBase &call, const Plan &plan) { return plan.accesses.contains(&call); }

void forgetOfCall(CallBase &call, const AttributeMask &functions, const AttributeMask &pointers) {
  call.removeFnAttrs(functions);
  call.removeRetAttrs(pointers);
  for (unsigned i = 0; i < call.arg_size(); ++i)
    if (call.getArgOperand(i)->getType()->isPtrOrPtrVectorTy() && !call.isPassPointeeByValueArgument(i))
      call.removeParamAttrs(i, pointers);
}

} // namespace

void forgetUntrue(Module &module, const Plan &plan, function_ref<bool(const Function &)> isLeft) {
  if (plan.accesses.empty())
    return;
  AttributeMask functions = untrueOfFunctions(), pointers = untrueOfPointers();
  for (Function &function : module) {
    if (function.isDeclaration() || isLeft(function))
      continue;
    function.removeFnAttrs(functions);
    function.removeRetAttrs(pointers);
    for (Argument &argument : function.args())
      if (argument.getType()->isPtrOrPtrVectorTy() && !argument.hasPassPointeeByValueCopyAttr())
        argument.removeAttrs(pointers);
    for (Instruction &instruction : instructions(function)) {
      auto *call = dyn_cast<CallBase>(&instruction);
      const Function *callee = call ? call->getCalledFunction() : nullptr;
      if (call && (isRemotePart(*call, plan) || !callee || !callee->isDeclaration()))
        forgetOfCall(*call, functions, pointers);
      if (call && isRemotePart(*call, plan))
        for (unsigned i = 0; i < call->arg_size(); ++i)
          call->removeParamAttr(i, Attribute::NonNull);
      if (plan.accesses.contains(&instruction))
        instruction.dropUnknownNonDebugMetadata();
    }
  }
}

} // namespace farside
