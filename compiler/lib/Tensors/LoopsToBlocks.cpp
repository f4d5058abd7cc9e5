#include "Farside/Lift/RegionsToBlocks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_LOOPSTOBLOCKS
#include "Farside/Tensors/Passes.h.inc"

namespace {

struct LoopsToBlocks : impl::LoopsToBlocksBase<LoopsToBlocks> {
  using LoopsToBlocksBase::LoopsToBlocksBase;

  void runOnOperation() override {
    if (failed(regionsToBlocks(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace farside
