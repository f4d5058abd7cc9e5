#include "Farside/Remote/HeapCall.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace farside {
namespace {

bool isSize(const Value *value) { return value->getType()->isIntegerTy(64); }

/// What follows the name of `operator new` or `operator delete` whose object has an alignment of its own.
constexpr StringLiteral alignedSuffix = "St11align_val_t", nothrowSuffix = "RKSt9nothrow_t";

constexpr StringLiteral posixMemalign = "posix_memalign";

bool hasAlignment(StringRef name) {
  name.consume_back(nothrowSuffix);
  return name.ends_with(alignedSuffix);
}

bool hasSizes(const CallBase &call, AlignedSize sizes) {
  return call.arg_size() > std::max(sizes.size, sizes.alignment) && isSize(call.getArgOperand(sizes.size)) &&
         isSize(call.getArgOperand(sizes.alignment));
}

/// Functions of the C library that take an alignment.
HeapCall alignedCallOf(const CallBase &call, StringRef name) {
  if (name != posixMemalign)
    return call.getType()->isPointerTy() && call.arg_size() == 2 ? HeapCall::aligned : HeapCall::no;
  bool fits = call.getType()->isIntegerTy(32) && call.arg_size() == 3 && call.getArgOperand(0)->getType()->isPointerTy();
  return fits ? HeapCall::alignedAt : HeapCall::no;
}

} // namespace

bool isCreating(StringRef name) {
  name.consume_back(nothrowSuffix);
  name.consume_back(alignedSuffix);
  return name == "_Znwm" || name == "_Znam";
}

bool isDestroying(StringRef name) {
  bool isNothrow = name.consume_back(nothrowSuffix);
  name.consume_back(alignedSuffix);
  // With the size, too.
  if (!isNothrow)
    name.consume_back("m");
  return name == "_ZdlPv" || name == "_ZdaPv";
}

std::optional<AlignedSize> alignedSizeOf(StringRef name) {
  if (isCreating(name))
    return hasAlignment(name) ? std::optional(AlignedSize{0, 1}) : std::nullopt;
  return StringSwitch<std::optional<AlignedSize>>(name)
      .Cases({"aligned_alloc", "memalign"}, AlignedSize{1, 0})
      .Case(posixMemalign, AlignedSize{2, 1})
      .Default(std::nullopt);
}

HeapCall heapCallOf(const CallBase &call) {
  const Function *callee = call.getCalledFunction();
  if (!callee || !callee->isDeclaration() || callee->isVarArg() || call.hasOperandBundles() || call.isMustTailCall())
    return HeapCall::no;
  StringRef name = callee->getName();
  bool pointer = call.getType()->isPointerTy();
  std::optional<AlignedSize> aligned = alignedSizeOf(name);
  if (aligned && !hasSizes(call, *aligned))
    return HeapCall::no;
  if (isCreating(name) && pointer && call.arg_size() >= 1 && isSize(call.getArgOperand(0)))
    return HeapCall::create;
  if (!isa<CallInst>(call))
    return HeapCall::no;
  if (isDestroying(name) && call.arg_size() >= 1 && call.getArgOperand(0)->getType()->isPointerTy())
    return HeapCall::destroy;
  if (aligned)
    return alignedCallOf(call, name);
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

bool mayBeAllocated(const Value *pointer) {
  SmallVector<const Value *> objects;
  getUnderlyingObjects(pointer, objects, nullptr, /*MaxLookup=*/0);
  return any_of(objects, [](const Value *object) { return !isa<AllocaInst, GlobalVariable>(object); });
}

} // namespace farside
