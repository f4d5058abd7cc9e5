#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_FUSEELEMENTWISE
#include "Farside/Tensors/Passes.h.inc"

namespace {

bool onlyMoves(linalg::LinalgOp op) { return llvm::hasSingleElement(*op.getBlock()); }

/// Whether nothing is computed more often than it was.
bool isGain(OpOperand *operand) {
  auto maker = operand->get().getDefiningOp<linalg::LinalgOp>();
  auto reader = dyn_cast<linalg::LinalgOp>(operand->getOwner());
  if (!maker || !reader || !maker->hasOneUse())
    return false;
  return onlyMoves(maker) ||
         (reader.getNumLoops() == maker.getNumLoops() && reader.getNumReductionLoops() == 0);
}

struct FuseElementwise : impl::FuseElementwiseBase<FuseElementwise> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    linalg::populateElementwiseOpsFusionPatterns(patterns, isGain);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace farside
