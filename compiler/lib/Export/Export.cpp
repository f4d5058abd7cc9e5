#include "Farside/Export/Export.h"

#include "Farside/Import/Listening.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Module.h"

namespace farside {

std::unique_ptr<llvm::Module> exportModule(mlir::ModuleOp module, llvm::LLVMContext &context, Trouble &trouble) {
  Listening listening(*module.getContext(), trouble);
  // Bodies are verified one by one when they have back what they lack now.
  auto fresh = mlir::translateModuleToLLVMIR(module, context, "farside", /*disableVerification=*/true);
  if (!fresh && trouble.message.empty())
    trouble.message = "MLIR gave no reason";
  return fresh;
}

} // namespace farside
