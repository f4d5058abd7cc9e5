#include "Farside/Dialect/Flow/Flow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_VALUESTOEXCEPTIONS
#include "Farside/Lift/Passes.h.inc"

namespace {

Value flag(OpBuilder &builder, Location location, bool value) {
  return LLVM::ConstantOp::create(builder, location, builder.getI1Type(), builder.getBoolAttr(value));
}

LLVM::InvokeOp invokeInsteadOf(LLVM::CallOp call, OpBuilder &builder, Block *normal, Block *unwind) {
  auto invoke = LLVM::InvokeOp::create(builder, call.getLoc(), call.getResultTypes(), call.getCalleeAttr(),
                                       call.getCalleeOperands(), normal, ValueRange(), unwind, ValueRange());
  invoke.setVarCalleeTypeAttr(call.getVarCalleeTypeAttr());
  invoke.setArgAttrsAttr(call.getArgAttrsAttr());
  invoke.setResAttrsAttr(call.getResAttrsAttr());
  invoke.setCConv(call.getCConv());
  return invoke;
}

/// What goes on after a call is told how the call ended: whether it threw, what, and what it returned if it did not.
Block *splitAfter(flow::CaughtOp caught, LLVM::CallOp call) {
  Block *on = caught->getBlock()->splitBlock(std::next(caught->getIterator()));
  caught.getThrown().replaceAllUsesWith(on->addArgument(caught.getThrown().getType(), caught.getLoc()));
  caught.getException().replaceAllUsesWith(on->addArgument(caught.getException().getType(), caught.getLoc()));
  for (Value result : call->getResults())
    result.replaceAllUsesWith(on->addArgument(result.getType(), call.getLoc()));
  return on;
}

/// The way on after a call that returned.
void addNormalWay(Block *normal, Block *on, flow::CaughtOp caught, ValueRange results) {
  auto builder = OpBuilder::atBlockEnd(normal);
  Location location = caught.getLoc();
  Value none = LLVM::PoisonOp::create(builder, location, caught.getException().getType());
  SmallVector<Value> told{flag(builder, location, false), none};
  llvm::append_range(told, results);
  LLVM::BrOp::create(builder, location, told, on);
}

/// The way on after a call that threw.
void addUnwindWay(Block *unwind, Block *on, flow::CaughtOp caught, TypeRange results) {
  auto builder = OpBuilder::atBlockEnd(unwind);
  Location location = caught.getLoc();
  Value landing = LLVM::LandingpadOp::create(builder, location, caught.getException().getType(),
                                             caught.getCleanupAttr(), caught.getClauses());
  SmallVector<Value> told{flag(builder, location, true), landing};
  for (Type type : results)
    told.push_back(LLVM::PoisonOp::create(builder, location, type));
  LLVM::BrOp::create(builder, location, told, on);
}

void convert(flow::CaughtOp caught) {
  auto call = cast<LLVM::CallOp>(caught->getPrevNode());
  Block *on = splitAfter(caught, call);
  auto *normal = new Block, *unwind = new Block;
  normal->insertBefore(on);
  unwind->insertBefore(on);
  OpBuilder builder(call);
  LLVM::InvokeOp invoke = invokeInsteadOf(call, builder, normal, unwind);
  addNormalWay(normal, on, caught, invoke->getResults());
  addUnwindWay(unwind, on, caught, invoke.getResultTypes());
  caught->erase();
  call->erase();
}

struct ValuesToExceptions : impl::ValuesToExceptionsBase<ValuesToExceptions> {
  void runOnOperation() override {
    SmallVector<flow::CaughtOp> all;
    getOperation().walk([&](flow::CaughtOp caught) { all.push_back(caught); });
    for (flow::CaughtOp caught : all) {
      if (!isa<LLVM::LLVMFuncOp>(caught->getParentOp())) {
        caught.emitOpError("is in a region: the function is still structured");
        return signalPassFailure();
      }
      convert(caught);
    }
  }
};

} // namespace
} // namespace farside
