#include "AllSites.h"

#include "Farside/Import/Suits.h"
#include "Farside/Remote/Containers.h"
#include "Farside/Remote/HeapCall.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace farside {

SmallVector<CallBase *> allocatingCalls(Module &module) {
  SmallVector<CallBase *> calls;
  for (Function &function : module)
    if (!isForOthers(function))
      for (Instruction &instruction : instructions(function))
        if (auto *call = dyn_cast<CallBase>(&instruction); call && allocates(*call))
          calls.push_back(call);
  return calls;
}

AllSites allSites(Module &module) {
  AllSites all;
  all.calls = allocatingCalls(module);
  // Asked for each access, and found by looking at all of a function.
  DenseMap<const Function *, std::optional<std::string>> reasons;
  all.plan = planAll(module, all.calls, [&](const Function &function) -> std::optional<std::string> {
    auto [known, isNew] = reasons.try_emplace(&function);
    if (isNew)
      known->second = whyItStays(function);
    return known->second;
  });
  return all;
}

} // namespace farside
