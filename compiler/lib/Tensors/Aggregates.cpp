#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_TAKEAPART
#include "Farside/Tensors/Passes.h.inc"

namespace {

struct TakeApart : impl::TakeApartBase<TakeApart> {
  void runOnOperation() override {
    SmallVector<linalg::AggregatedOpInterface> operations;
    getOperation().walk([&](linalg::AggregatedOpInterface op) { operations.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (linalg::AggregatedOpInterface op : operations) {
      rewriter.setInsertionPoint(op);
      FailureOr<SmallVector<Value>> parts = op.decomposeOperation(rewriter);
      if (succeeded(parts))
        rewriter.replaceOp(op, *parts);
    }
  }
};

} // namespace
} // namespace farside
