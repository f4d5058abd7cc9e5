#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_ORDERLOOPS
#include "Farside/Tensors/Passes.h.inc"

namespace {

/// The loops of one operation.
class Loops {
public:
  explicit Loops(linalg::GenericOp op) : op(op) {}

  /// From the outermost to the innermost.
  SmallVector<unsigned> inOrder() {
    unsigned innermost = findInnermost();
    SmallVector<unsigned> order;
    auto add = [&](unsigned loop) {
      if (loop != innermost && !llvm::is_contained(order, loop))
        order.push_back(loop);
    };
    for (AffineExpr index : op.getMatchingIndexingMap(largestOperand()).getResults())
      for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
        if (index.isFunctionOfDim(loop))
          add(loop);
    for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
      add(loop);
    order.push_back(innermost);
    return order;
  }

private:
  static int64_t sizeOf(OpOperand &operand) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    return type && type.hasStaticShape() ? type.getNumElements() : 0;
  }

  /// Of several that are as large, the one that is read.
  OpOperand *largestOperand() {
    OpOperand *largest = nullptr;
    for (OpOperand &operand : op->getOpOperands())
      if (!largest || sizeOf(operand) > sizeOf(*largest))
        largest = &operand;
    return largest;
  }

  /// Whether an operand goes on by one element, or stays, when a loop does.
  bool isNear(OpOperand &operand, unsigned loop) {
    ArrayRef<AffineExpr> indices = op.getMatchingIndexingMap(&operand).getResults();
    for (AffineExpr index : indices.drop_back(indices.empty() ? 0 : 1))
      if (index.isFunctionOfDim(loop))
        return false;
    return indices.empty() || !indices.back().isFunctionOfDim(loop) || isa<AffineDimExpr>(indices.back());
  }

  /// Of several that are as good, the one that is innermost already.
  unsigned findInnermost() {
    unsigned best = 0, most = 0;
    for (unsigned loop = 0; loop < op.getNumLoops(); ++loop) {
      unsigned near = llvm::count_if(op->getOpOperands(), [&](OpOperand &operand) { return isNear(operand, loop); });
      // A sum has to wait for the last addition, and what goes on is better than what stays.
      bool isSum = op.getIteratorTypesArray()[loop] == utils::IteratorType::reduction;
      unsigned worth = 2 * near + (isSum ? 0 : 1);
      if (worth >= most) {
        best = loop;
        most = worth;
      }
    }
    return best;
  }

  linalg::GenericOp op;
};

struct OrderLoops : impl::OrderLoopsBase<OrderLoops> {
  void runOnOperation() override {
    SmallVector<linalg::GenericOp> operations;
    getOperation().walk([&](linalg::GenericOp op) {
      if (op.hasPureBufferSemantics() && op.getNumLoops() > 1)
        operations.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::GenericOp op : operations) {
      SmallVector<unsigned> order = Loops(op).inOrder();
      if (llvm::is_sorted(order))
        continue;
      rewriter.setInsertionPoint(op);
      if (failed(linalg::interchangeGenericOp(rewriter, op, order)))
        return signalPassFailure();
      ++reordered;
    }
  }
};

} // namespace
} // namespace farside
