#include "Farside/Import/Suits.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace farside {
namespace {

std::optional<std::string> becauseOfAttributes(const Function &function) {
  if (function.hasFnAttribute(Attribute::Naked))
    return "it is naked: its assembly counts on the very registers";
  if (function.isPresplitCoroutine())
    return "it is a coroutine";
  if (function.hasFnAttribute(Attribute::StrictFP))
    return "its floating-point operations keep to the environment";
  if (function.hasGC())
    return "it has a garbage collector";
  return std::nullopt;
}

/// MLIR gives labels numbers of its own, which tables of labels in global variables would not follow.
bool hasLabelsAsValues(const Function &function) {
  for (const BasicBlock &block : function)
    if (block.hasAddressTaken())
      return true;
  return false;
}

std::optional<std::string> becauseOfTypes(const Instruction &instruction) {
  const Type *type = instruction.getType();
  if (type->isTokenTy())
    return "it has tokens";
  if (type->isScalableTy())
    return "it has vectors of unknown length";
  if (type->isX86_AMXTy())
    return "it has matrix registers";
  return std::nullopt;
}

std::optional<std::string> becauseOfCall(const CallBase &call) {
  if (isa<CallBrInst>(call))
    return "it has assembly that jumps";
  // Scopes of aliasing are the one kind of metadata that MLIR knows as an operand.
  if (!isa<NoAliasScopeDeclInst>(call))
    for (const Value *argument : call.args())
      if (isa<MetadataAsValue>(argument))
        return ("it calls " + call.getCalledOperand()->getName() + ", which takes metadata").str();
  return std::nullopt;
}

std::optional<std::string> becauseOf(const Instruction &instruction) {
  if (auto reason = becauseOfTypes(instruction))
    return reason;
  if (auto *call = dyn_cast<CallBase>(&instruction))
    return becauseOfCall(*call);
  if (isa<FuncletPadInst, CatchSwitchInst>(instruction))
    return "it handles exceptions by funclets";
  return std::nullopt;
}

} // namespace

std::optional<std::string> whyItStays(const Function &function) {
  // Such a body is only there to be inlined; the real one is elsewhere.
  if (function.hasAvailableExternallyLinkage())
    return "another unit has its body";
  if (auto reason = becauseOfAttributes(function))
    return reason;
  if (hasLabelsAsValues(function))
    return "it has labels as values";
  for (const Instruction &instruction : instructions(function))
    if (auto reason = becauseOf(instruction))
      return reason;
  return std::nullopt;
}

} // namespace farside
