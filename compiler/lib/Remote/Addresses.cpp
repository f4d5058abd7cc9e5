// Numbers that are addresses.

#include "Addresses.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/KnownBits.h"

using namespace llvm;

namespace farside {

const Value *unmarked(const BinaryOperator &binary) {
  const Value *left = binary.getOperand(0), *right = binary.getOperand(1);
  if (!binary.getType()->isIntegerTy(pointerBits))
    return nullptr;
  auto *constant = dyn_cast<ConstantInt>(right);
  auto isMark = [&](const Value *value) {
    return computeKnownBits(value, binary.getDataLayout()).getMaxValue().ult(leastPointer);
  };
  switch (binary.getOpcode()) {
  case Instruction::And:
    return constant && (~constant->getValue()).ult(leastPointer) ? left : nullptr;
  case Instruction::Add:
    return constant && constant->getValue().abs().ult(leastPointer) ? left : nullptr;
  case Instruction::Or:
  case Instruction::Xor:
    return isMark(right) ? left : isMark(left) ? right : nullptr;
  default:
    return nullptr;
  }
}

bool isAddress(const Value *value) {
  SmallVector<const Value *, 4> rest{value};
  SmallPtrSet<const Value *, 4> seen;
  bool isOne = false;
  while (!rest.empty()) {
    const Value *next = rest.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    if (isa<PHINode, FreezeInst>(next))
      append_range(rest, cast<User>(next)->operands());
    else if (auto *select = dyn_cast<SelectInst>(next))
      rest.append({select->getTrueValue(), select->getFalseValue()});
    else if (isa<PtrToIntOperator>(next))
      isOne = true;
    else if (auto *binary = dyn_cast<BinaryOperator>(next); binary && unmarked(*binary))
      rest.push_back(unmarked(*binary));
    else if (auto *number = dyn_cast<ConstantInt>(next); !number || !number->isZero())
      return false;
  }
  return isOne;
}

} // namespace farside
