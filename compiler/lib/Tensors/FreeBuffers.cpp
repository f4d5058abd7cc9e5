#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_FREEBUFFERS
#include "Farside/Tensors/Passes.h.inc"

namespace {

struct FreeBuffers : impl::FreeBuffersBase<FreeBuffers> {
  using FreeBuffersBase::FreeBuffersBase;

  void runOnOperation() override {
    WalkResult found = getOperation().walk([](memref::DeallocOp) { return WalkResult::interrupt(); });
    if (found.wasInterrupted())
      return;
    OpPassManager manager(ModuleOp::getOperationName());
    if (failed(parsePassPipeline("buffer-deallocation-pipeline, func.func(optimize-allocation-liveness)", manager)) ||
        failed(runPipeline(manager, getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace farside
