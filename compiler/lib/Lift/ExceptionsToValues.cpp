#include "Farside/Dialect/Flow/Flow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_EXCEPTIONSTOVALUES
#include "Farside/Lift/Passes.h.inc"

namespace {

/// The invokes of a function, landing pad by landing pad.
using Pads = llvm::MapVector<Block *, SmallVector<LLVM::InvokeOp>>;

/// Whether what a landing pad catches is known wherever it is asked for. Constants are at the start of a function.
bool clausesAreKnown(LLVM::LandingpadOp landing) {
  return llvm::all_of(landing->getOperands(), [](Value clause) {
    return clause.getParentBlock()->isEntryBlock();
  });
}

/// Finds the landing pads; false if one of them is not as it can be dealt with.
bool findPads(LLVM::LLVMFuncOp function, Pads &pads) {
  function.walk([&](LLVM::InvokeOp invoke) { pads[invoke.getUnwindDest()].push_back(invoke); });
  for (auto &[pad, invokes] : pads) {
    auto landing = dyn_cast<LLVM::LandingpadOp>(pad->front());
    if (!landing || !clausesAreKnown(landing))
      return false;
    for (Block *before : pad->getPredecessors())
      if (!isa<LLVM::InvokeOp>(before->getTerminator()))
        return false;
  }
  return true;
}

LLVM::CallOp callInsteadOf(LLVM::InvokeOp invoke, OpBuilder &builder) {
  auto call = LLVM::CallOp::create(builder, invoke.getLoc(), invoke.getResultTypes(), invoke.getCalleeAttr(),
                                   invoke.getCalleeOperands());
  call.setVarCalleeTypeAttr(invoke.getVarCalleeTypeAttr());
  call.setArgAttrsAttr(invoke.getArgAttrsAttr());
  call.setResAttrsAttr(invoke.getResAttrsAttr());
  call.setCConv(invoke.getCConv());
  return call;
}

void convert(LLVM::InvokeOp invoke, LLVM::LandingpadOp landing) {
  OpBuilder builder(invoke);
  LLVM::CallOp call = callInsteadOf(invoke, builder);
  auto caught = flow::CaughtOp::create(builder, invoke.getLoc(), builder.getI1Type(), landing.getType(),
                                       landing->getOperands(), landing.getCleanupAttr());
  SmallVector<Value> toPad(invoke.getUnwindDestOperands());
  toPad.push_back(caught.getException());
  LLVM::CondBrOp::create(builder, invoke.getLoc(), caught.getThrown(), invoke.getUnwindDest(), toPad,
                         invoke.getNormalDest(), invoke.getNormalDestOperands());
  invoke->replaceAllUsesWith(call->getResults());
  invoke->erase();
}

void convert(Block *pad, ArrayRef<LLVM::InvokeOp> invokes) {
  auto landing = cast<LLVM::LandingpadOp>(pad->front());
  Value exception = pad->addArgument(landing.getType(), landing.getLoc());
  for (LLVM::InvokeOp invoke : invokes)
    convert(invoke, landing);
  landing.replaceAllUsesWith(exception);
  landing->erase();
}

/// Bundles of operands are not carried over.
bool hasBundles(const Pads &pads) {
  for (auto &[pad, invokes] : pads)
    for (LLVM::InvokeOp invoke : invokes)
      if (!invoke.getOpBundleOperands().empty())
        return true;
  return false;
}

struct ExceptionsToValues : impl::ExceptionsToValuesBase<ExceptionsToValues> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>()) {
      Pads pads;
      if (!findPads(function, pads) || hasBundles(pads))
        continue;
      for (auto &[pad, invokes] : pads)
        convert(pad, invokes);
    }
  }
};

} // namespace
} // namespace farside
