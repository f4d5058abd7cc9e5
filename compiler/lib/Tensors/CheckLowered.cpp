#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_CHECKLOWERED
#include "Farside/Tensors/Passes.h.inc"

namespace {

struct CheckLowered : impl::CheckLoweredBase<CheckLowered> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      // Casts are between what is lowered and what is not.
      if (isa<ModuleOp, UnrealizedConversionCastOp>(op) || isa_and_present<LLVM::LLVMDialect>(op->getDialect()))
        return;
      op->emitError() << "'" << op->getName() << "' cannot be turned into code";
      signalPassFailure();
    });
  }
};

} // namespace
} // namespace farside
