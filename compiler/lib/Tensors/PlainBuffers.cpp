#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_PLAINBUFFERS
#include "Farside/Tensors/Passes.h.inc"

namespace {

bool liesTogether(Value buffer) {
  auto type = dyn_cast<MemRefType>(buffer.getType());
  return !type || type.getLayout().isIdentity();
}

struct PlainBuffers : impl::PlainBuffersBase<PlainBuffers> {
  void runOnOperation() override {
    SmallVector<memref::AssumeAlignmentOp> assumptions;
    SmallVector<memref::CopyOp> copies;
    getOperation().walk([&](Operation *op) {
      if (auto allocation = dyn_cast<memref::AllocOp>(op))
        allocation.removeAlignmentAttr();
      else if (auto assumption = dyn_cast<memref::AssumeAlignmentOp>(op))
        assumptions.push_back(assumption);
      else if (auto copy = dyn_cast<memref::CopyOp>(op);
               copy && !(liesTogether(copy.getSource()) && liesTogether(copy.getTarget())))
        copies.push_back(copy);
    });
    for (memref::AssumeAlignmentOp assumption : assumptions) {
      assumption.replaceAllUsesWith(assumption.getMemref());
      assumption.erase();
    }
    for (memref::CopyOp copy : copies) {
      OpBuilder builder(copy);
      linalg::CopyOp::create(builder, copy.getLoc(), copy.getSource(), copy.getTarget());
      copy.erase();
    }
  }
};

} // namespace
} // namespace farside
