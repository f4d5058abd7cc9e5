#include "Farside/Dialect/Flow/Flow.h"
#include "Farside/Import/LoopFacts.h"
#include "Farside/Lift/RegionsToBlocks.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_LOWER
#include "Farside/Lift/Passes.h.inc"

namespace {

LogicalResult blocksToLLVM(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  LLVMTypeConverter types(module.getContext());
  arith::populateArithToLLVMConversionPatterns(types, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
  ub::populateUBToLLVMConversionPatterns(types, patterns);
  LLVMConversionTarget target(*module.getContext());
  target.addIllegalDialect<arith::ArithDialect, cf::ControlFlowDialect, ub::UBDialect>();
  target.addLegalDialect<flow::FlowDialect>();
  return applyPartialConversion(module, target, std::move(patterns));
}

/// Ends blocks where they are never left. What comes after is gone.
void endUnreached(LLVM::LLVMFuncOp function) {
  SmallVector<flow::UnreachableOp> ends;
  function.walk([&](flow::UnreachableOp end) { ends.push_back(end); });
  for (flow::UnreachableOp end : ends) {
    end->getBlock()->splitBlock(std::next(end->getIterator()));
    OpBuilder builder(end);
    LLVM::UnreachableOp::create(builder, end.getLoc());
    end->erase();
  }
  IRRewriter rewriter(function.getContext());
  (void)eraseUnreachableBlocks(rewriter, function->getRegions());
}

/// Says of loops what is said of them where LLVM looks for it: MLIR hands it on to the branch at the end of a loop by the name
/// that it has there, which is not translated.
void tellOfLoops(ModuleOp module) {
  module.walk([](Operation *end) {
    auto said = end->getAttrOfType<LLVM::LoopAnnotationAttr>(annotationOfLoop);
    if (!said)
      return;
    end->removeAttr(annotationOfLoop);
    if (auto branch = dyn_cast<LLVM::BrOp>(end))
      branch.setLoopAnnotationAttr(said);
    else if (auto either = dyn_cast<LLVM::CondBrOp>(end))
      either.setLoopAnnotationAttr(said);
  });
}

struct Lower : impl::LowerBase<Lower> {
  void runOnOperation() override {
    if (failed(regionsToBlocks(getOperation())) || failed(blocksToLLVM(getOperation())))
      return signalPassFailure();
    tellOfLoops(getOperation());
    for (auto function : getOperation().getOps<LLVM::LLVMFuncOp>())
      endUnreached(function);
  }
};

} // namespace
} // namespace farside
