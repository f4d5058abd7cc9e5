// Numbers that are addresses.

#include "Addresses.h"

#include "Farside/Remote/TypedPlace.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/KnownBits.h"
#include <initializer_list>

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

namespace {

/// So many values are looked at.
constexpr unsigned mostSeen = 64;

/// What a number is. Zero, and what only leads back to itself, may be either.
enum class Kind { either, address, number };

class Kinds {
public:
  Kind of(const Value *value) {
    auto [known, isNew] = kinds.try_emplace(value, Kind::either);
    if (!isNew)
      return known->second;
    Kind kind = kinds.size() > mostSeen ? Kind::number : find(value);
    return kinds[value] = kind;
  }

private:
  Kind find(const Value *value) {
    if (auto *number = dyn_cast<ConstantInt>(value))
      return number->isZero() ? Kind::either : Kind::number;
    if (isa<PtrToIntOperator>(value))
      return Kind::address;
    if (auto *load = dyn_cast<LoadInst>(value))
      return isOfPointer(*load, load->getType()) ? Kind::address : Kind::number;
    if (isa<PHINode, FreezeInst>(value))
      return ofOneOf(cast<User>(value)->operand_values());
    if (auto *select = dyn_cast<SelectInst>(value))
      return ofOneOf({select->getTrueValue(), select->getFalseValue()});
    auto *binary = dyn_cast<BinaryOperator>(value);
    return binary ? ofBinary(*binary) : Kind::number;
  }

  template <typename Values> Kind ofOneOf(Values &&values) {
    bool isOne = false, isNone = false;
    for (const Value *value : values) {
      Kind kind = of(value);
      isOne |= kind == Kind::address;
      isNone |= kind == Kind::number;
    }
    return isNone ? Kind::number : isOne ? Kind::address : Kind::either;
  }
  Kind ofOneOf(std::initializer_list<const Value *> values) { return ofOneOf(ArrayRef<const Value *>(values)); }

  Kind ofBinary(const BinaryOperator &binary) {
    if (const Value *value = unmarked(binary))
      return of(value);
    bool adds = binary.getOpcode() == Instruction::Add, subtracts = binary.getOpcode() == Instruction::Sub;
    if (!adds && !subtracts)
      return Kind::number;
    Kind left = of(binary.getOperand(0)), right = of(binary.getOperand(1));
    if (left == Kind::address || right == Kind::address)
      return left == right || (subtracts && right == Kind::address) ? Kind::number : Kind::address;
    return left == Kind::either || (adds && right == Kind::either) ? Kind::either : Kind::number;
  }

  SmallDenseMap<const Value *, Kind> kinds;
};

} // namespace

bool isAddress(const Value *value) { return Kinds().of(value) == Kind::address; }

const Value *movedFrom(const BinaryOperator &binary) {
  const Value *left = binary.getOperand(0), *right = binary.getOperand(1);
  if (!isAddress(&binary))
    return nullptr;
  if (const Value *value = unmarked(binary))
    return value;
  return isAddress(left) ? left : right;
}

} // namespace farside
