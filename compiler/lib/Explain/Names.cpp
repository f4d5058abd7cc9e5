#include "Farside/Explain/Names.h"

#include "Farside/Remote/HeapCall.h"
#include "Farside/Remote/LibraryCall.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace farside {

StringRef kindOf(const Instruction &instruction) {
  if (isa<LoadInst>(instruction))
    return "load";
  if (isa<StoreInst>(instruction))
    return "store";
  if (isa<AnyMemTransferInst>(instruction))
    return "copy";
  if (isa<AnyMemSetInst>(instruction))
    return "fill";
  if (auto *call = dyn_cast<CallBase>(&instruction))
    return allocates(*call) ? "allocation" : libraryCallOf(*call) ? "call" : "free";
  return "access";
}

StringRef sourceName(const Function &function) {
  DISubprogram *place = function.getSubprogram();
  return place ? place->getName() : function.getName();
}

} // namespace farside
