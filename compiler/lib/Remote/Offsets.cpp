#include "Offsets.h"

#include "Farside/Remote/HeapCall.h"
#include "Farside/Remote/Reach.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace farside {
namespace {

/// What farside-sections aligns blocks to in any case, and at most.
constexpr uint64_t leastAlignment = 16, mostAlignment = 64 << 10;

/// The largest power of two that a number is a multiple of, of two or more bits; 0 of 0.
uint64_t lowBit(uint64_t number) { return number & (~number + 1); }

/// How many bits of a number are 0 whatever it is, from the lowest on.
unsigned zerosOf(const Value &value, const DataLayout &layout) {
  return std::min(computeKnownBits(&value, layout).countMinTrailingZeros(), 63u);
}

uint64_t leastModulus(uint64_t one, uint64_t other) { return one && other ? std::min(one, other) : one | other; }

/// Whether it is one pointer, and not several, or a part of one.
bool isPointer(const Value &value) { return value.getType()->isPointerTy(); }

} // namespace

Offset Offset::at(uint64_t bytes, uint64_t modulus) { return {known, modulus ? bytes & (modulus - 1) : bytes, modulus}; }

Offset Offset::operator|(const Offset &other) const {
  if (kind == nowhere || other.kind == anywhere)
    return other;
  if (other.kind == nowhere || kind == anywhere)
    return *this;
  return at(bytes, leastModulus(leastModulus(modulus, other.modulus), lowBit(bytes - other.bytes)));
}

Offsets::Offsets(const Module &module, function_ref<bool(const Value *)> leads) {
  for (const Function &function : module)
    for (const Instruction &instruction : instructions(function)) {
      bool matters = leads(&instruction);
      for (const Value *operand : instruction.operand_values())
        matters |= !isa<Constant, BasicBlock>(operand) && leads(operand);
      // posix_memalign() stores what it allocates.
      auto *call = dyn_cast<CallBase>(&instruction);
      if (matters || (call && heapCallOf(*call) == HeapCall::alignedAt))
        relevant.push_back(&instruction);
      if (leads(&instruction))
        values[&instruction] = {};
    }
  // Whoever calls a function by its address may pass it anything.
  for (const Function &function : module)
    if (Reach::hasAddressTaken(function))
      for (const Argument &argument : function.args())
        if (leads(&argument))
          values[&argument] = Offset::unknown();
  do {
    changes = false;
    for (const Instruction *instruction : relevant)
      add(*instruction);
  } while (changes);
}

Offset Offsets::of(const Value *value) const { return values.lookup(value); }

uint64_t Offsets::alignmentOf(const CallBase &call) {
  const DataLayout &layout = call.getDataLayout();
  HeapCall heap = heapCallOf(call);
  std::optional<AlignedSize> aligned = alignedSizeOf(call.getCalledFunction()->getName());
  unsigned zeros = 0;
  if (aligned) {
    // What is asked for is what it has, whatever its size.
    auto *asked = dyn_cast<ConstantInt>(call.getArgOperand(aligned->alignment));
    zeros = asked ? std::min(zerosOf(*asked, layout), 63u) : 0;
  } else if (heap == HeapCall::calloc) {
    zeros = zerosOf(*call.getArgOperand(0), layout) + zerosOf(*call.getArgOperand(1), layout);
  } else {
    zeros = zerosOf(*call.getArgOperand(heap == HeapCall::realloc ? 1 : 0), layout);
  }
  return std::clamp(uint64_t(1) << std::min(zeros, 63u), leastAlignment, mostAlignment);
}

void Offsets::enter(Offset &place, Offset offset) {
  Offset joined = place | offset;
  changes |= joined != place;
  place = joined;
}

void Offsets::add(const Instruction &instruction) {
  if (auto *store = dyn_cast<StoreInst>(&instruction)) {
    if (values.contains(store->getValueOperand()))
      enter(stored, of(store->getValueOperand()));
  } else if (auto *back = dyn_cast<ReturnInst>(&instruction)) {
    if (const Value *value = back->getReturnValue(); value && values.contains(value))
      enter(returns[back->getFunction()], of(value));
  } else if (isa<AtomicCmpXchgInst, AtomicRMWInst>(instruction)) {
    for (const Value *operand : instruction.operand_values())
      if (operand != instruction.getOperand(0) && isMadeOfPointers(*operand))
        enter(stored, Offset::unknown());
  } else if (auto *call = dyn_cast<CallBase>(&instruction)) {
    addCall(*call);
  }
  if (auto place = values.find(&instruction); place != values.end())
    enter(place->second, made(instruction));
}

void Offsets::addCall(const CallBase &call) {
  if (heapCallOf(call) == HeapCall::alignedAt)
    enter(stored, Offset::at(0, alignmentOf(call)));
  const Function *callee = call.getCalledFunction();
  if (!callee || callee->isDeclaration())
    return;
  for (auto [number, argument] : enumerate(call.args()))
    if (number < callee->arg_size() && values.contains(argument)) {
      Offset passed = of(argument);
      enter(values[callee->getArg(number)], passed);
    }
}

Offset Offsets::made(const Instruction &instruction) const {
  if (auto *call = dyn_cast<CallBase>(&instruction); call && !isa<IntrinsicInst>(call)) {
    if (allocates(*call)) {
      Offset block = Offset::at(0, alignmentOf(*call));
      return heapCallOf(*call) == HeapCall::realloc ? block | of(call->getArgOperand(0)) : block;
    }
    const Function *callee = call->getCalledFunction();
    return callee && !callee->isDeclaration() ? returns.lookup(callee) : Offset::unknown();
  }
  if (!isPointer(instruction)) {
    // What is loaded as characters may be a part of a pointer.
    bool isPart = isa<LoadInst>(instruction) ||
                  any_of(instruction.operand_values(), [&](const Value *each) { return isMadeOfPointers(*each); });
    return isPart ? Offset::unknown() : Offset();
  }
  if (auto *got = dyn_cast<GetElementPtrInst>(&instruction))
    return element(*got);
  if (isa<LoadInst>(instruction))
    return stored;
  Offset either;
  if (isa<PHINode, FreezeInst, AddrSpaceCastInst, BitCastInst>(instruction)) {
    for (const Value *operand : instruction.operand_values())
      either = either | of(operand);
    return either;
  }
  if (auto *select = dyn_cast<SelectInst>(&instruction))
    return of(select->getTrueValue()) | of(select->getFalseValue());
  return Offset::unknown();
}

Offset Offsets::element(const GetElementPtrInst &element) const {
  Offset base = of(element.getPointerOperand());
  if (base.kind != Offset::known)
    return base;
  const DataLayout &layout = element.getDataLayout();
  unsigned width = layout.getIndexTypeSizeInBits(element.getType());
  SmallMapVector<Value *, APInt, 4> variable;
  APInt constant(width, 0);
  if (width != 64 || !element.collectOffset(layout, width, variable, constant))
    return Offset::unknown();
  uint64_t modulus = base.modulus;
  for (const auto &[index, scale] : variable) {
    unsigned zeros = zerosOf(*index, layout) + std::min(scale.countr_zero(), 63u);
    modulus = leastModulus(modulus, uint64_t(1) << std::min(zeros, 63u));
  }
  return Offset::at(base.bytes + constant.getZExtValue(), modulus);
}

} // namespace farside
