#include "Farside/Remote/Points.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace farside {
namespace {

/// Whether an instruction that is no call may be one by which a thread learns of others.
bool isOrdered(const Instruction &instruction) {
  if (auto *load = dyn_cast<LoadInst>(&instruction))
    return load->isVolatile() || load->isAtomic();
  return isa<FenceInst, AtomicRMWInst, AtomicCmpXchgInst>(instruction);
}

/// Marks a module.
class Marking {
public:
  Marking(Module &copy, const StringMap<GlobalValue *> &originals, function_ref<uint64_t(const Function &)> bitsOf)
      : copy(copy), originals(originals), bitsOf(bitsOf) {}

  void run() {
    SmallVector<std::pair<Function *, uint64_t>> reading;
    for (Function &function : copy)
      if (const Function *original = originalOf(function); original && !function.isDeclaration())
        if (uint64_t bits = bitsOf(*original))
          reading.push_back({&function, bits});
    if (reading.empty())
      return;
    findQuiet(*originalOf(*reading.front().first)->getParent());
    for (auto [function, bits] : reading)
      mark(*function, bits);
  }

private:
  const Function *originalOf(const Function &function) const {
    return dyn_cast_or_null<Function>(originals.lookup(function.getName()));
  }

  /// Whether a call may be one by which a thread learns of others, and nothing in what is called renews copies behind that.
  /// What does not even write to memory does not wait for others.
  bool mayWait(const CallBase &call, function_ref<bool(const Function &)> isCovered) const {
    if (auto *memory = dyn_cast<MemIntrinsic>(&call))
      return memory->isVolatile();
    if (call.onlyReadsMemory() || call.hasFnAttr(Attribute::NoSync))
      return false;
    const Function *callee = call.getCalledFunction();
    return !callee || !isCovered(*callee);
  }

  /// Finds the functions in which nothing is ordered, and in all that they call.
  void findQuiet(const Module &module) {
    for (const Function &function : module)
      if (function.isDefinitionExact() && !function.isDeclaration())
        quiet.insert(&function);
    auto isQuiet = [&](const Function &function) { return quiet.contains(&function); };
    for (bool changes = true; changes;) {
      changes = false;
      for (const Function &function : module) {
        bool isNot = quiet.contains(&function) && any_of(instructions(function), [&](const Instruction &instruction) {
                       auto *call = dyn_cast<CallBase>(&instruction);
                       return isOrdered(instruction) || (call && mayWait(*call, isQuiet));
                     });
        if (isNot)
          changes |= quiet.erase(&function);
      }
    }
  }

  /// Whether a function renews copies with such bits behind all in it that is ordered. Nothing comes behind calls that have
  /// to be its last.
  bool renews(const Function &function, uint64_t bits) const {
    if (!function.isDefinitionExact() || (bitsOf(function) & bits) != bits)
      return false;
    return none_of(instructions(function), [](const Instruction &instruction) {
      auto *call = dyn_cast<CallInst>(&instruction);
      return call && call->isMustTailCall();
    });
  }

  void mark(Function &function, uint64_t bits) {
    auto isCovered = [&](const Function &callee) {
      const Function *original = originalOf(callee);
      return original && (quiet.contains(original) || renews(*original, bits));
    };
    SmallVector<Instruction *> points;
    for (Instruction &instruction : instructions(function)) {
      auto *call = dyn_cast<CallBase>(&instruction);
      if (isa<LandingPadInst>(instruction) || isOrdered(instruction))
        points.push_back(instruction.getNextNode());
      else if (auto *invoke = dyn_cast<InvokeInst>(&instruction); invoke && mayWait(*invoke, isCovered))
        points.push_back(&*invoke->getNormalDest()->getFirstInsertionPt());
      else if (call && !isa<InvokeInst>(call) && !call->isMustTailCall() && mayWait(*call, isCovered))
        points.push_back(call->getNextNode());
    }
    IRBuilder<> builder(copy.getContext());
    auto *type = FunctionType::get(builder.getVoidTy(), {builder.getInt64Ty()}, false);
    FunctionCallee renew = copy.getOrInsertFunction(renewCopies, type);
    for (Instruction *point : points) {
      builder.SetInsertPoint(point);
      DISubprogram *scope = function.getSubprogram();
      builder.SetCurrentDebugLocation(scope ? DILocation::get(copy.getContext(), 0, 0, scope) : nullptr);
      builder.CreateCall(renew, {builder.getInt64(bits)})->setDoesNotThrow();
    }
  }

  Module &copy;
  const StringMap<GlobalValue *> &originals;
  function_ref<uint64_t(const Function &)> bitsOf;
  SmallPtrSet<const Function *, 32> quiet;
};

} // namespace

void markPoints(Module &copy, const StringMap<GlobalValue *> &originals,
                function_ref<uint64_t(const Function &)> bitsOf) {
  Marking(copy, originals, bitsOf).run();
}

} // namespace farside
