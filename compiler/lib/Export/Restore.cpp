#include "Farside/Export/Restore.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace farside {
namespace {

bool sameAssembly(const InlineAsm &one, const InlineAsm &other) {
  return one.getAsmString() == other.getAsmString() && one.getConstraintString() == other.getConstraintString();
}

/// Whether two calls call the same thing in the same way, as far as MLIR keeps it.
bool callTheSame(const CallBase &call, const CallBase &original) {
  if (call.getFunctionType() != original.getFunctionType() || call.arg_size() != original.arg_size())
    return false;
  const Value *callee = call.getCalledOperand();
  const Value *before = original.getCalledOperand();
  if (auto *assembly = dyn_cast<InlineAsm>(callee))
    return isa<InlineAsm>(before) && sameAssembly(*assembly, *cast<InlineAsm>(before));
  return callee == before || (!isa<Constant>(callee) && !isa<Constant>(before));
}

void restoreCall(CallBase &call, const CallBase &original) {
  call.setAttributes(original.getAttributes());
  call.setCallingConv(original.getCallingConv());
  if (original.isInlineAsm())
    call.setCalledOperand(original.getCalledOperand());
  // Scopes are known by identity. All of a function's are the original ones, or none.
  if (isa<NoAliasScopeDeclInst>(call))
    call.setArgOperand(0, original.getArgOperand(0));
  auto *plain = dyn_cast<CallInst>(&call);
  auto *plainBefore = dyn_cast<CallInst>(&original);
  if (plain && plainBefore)
    plain->setTailCallKind(plainBefore->getTailCallKind());
}

void restore(Instruction &instruction, const Instruction &original, Restoring restoring) {
  auto *call = dyn_cast<CallBase>(&instruction);
  auto *callBefore = dyn_cast<CallBase>(&original);
  bool sameCall = call && callBefore && callTheSame(*call, *callBefore);
  if (sameCall)
    restoreCall(*call, *callBefore);
  if (instruction.getOpcode() != original.getOpcode() || (call && !sameCall))
    return;
  if (restoring == Restoring::everything)
    instruction.copyIRFlags(&original);
  else if (instruction.isTerminator())
    return;
  DebugLoc place = instruction.getDebugLoc();
  instruction.copyMetadata(original);
  instruction.setDebugLoc(place);
}

} // namespace

void restoreInstructions(Function &fresh, const Numbers &numbers, Restoring restoring) {
  for (Instruction &instruction : instructions(fresh))
    if (const DebugLoc &place = instruction.getDebugLoc())
      if (const Instruction *original = numbers.instruction(place.getLine()))
        restore(instruction, *original, restoring);
}

} // namespace farside
