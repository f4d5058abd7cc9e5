#include "Farside/Lift/RegionsToBlocks.h"

#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace farside {
namespace {

/// scf.index_switch becomes a switch of all bits that an index has: MLIR's own pattern makes one of the lower 32.
struct LowerSwitch : OpRewritePattern<scf::IndexSwitchOp> {
  static constexpr unsigned width = 64;

  explicit LowerSwitch(MLIRContext *context) : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(scf::IndexSwitchOp from, PatternRewriter &rewriter) const override {
    Location place = from.getLoc();
    Block *before = from->getBlock();
    Block *after = rewriter.splitBlock(before, Block::iterator(from));
    for (Type type : from.getResultTypes())
      after->addArgument(type, place);

    SmallVector<Block *> blocks;
    SmallVector<APInt> values;
    for (auto [region, value] : llvm::zip_equal(from.getCaseRegions(), from.getCases())) {
      blocks.push_back(endWith(rewriter, region, after));
      values.emplace_back(width, static_cast<uint64_t>(value));
    }
    Block *otherwise = endWith(rewriter, from.getDefaultRegion(), after);

    rewriter.setInsertionPointToEnd(before);
    Value flag = arith::IndexCastOp::create(rewriter, place, rewriter.getIntegerType(width), from.getArg());
    SmallVector<ValueRange> none(blocks.size());
    cf::SwitchOp::create(rewriter, place, flag, otherwise, ValueRange(), values, blocks, none);
    rewriter.replaceOp(from, after->getArguments());
    return success();
  }

private:
  /// Puts a region before the block that comes after it, and makes it go there.
  static Block *endWith(PatternRewriter &rewriter, Region &region, Block *after) {
    Block *begin = &region.front();
    auto yield = cast<scf::YieldOp>(region.back().getTerminator());
    rewriter.setInsertionPoint(yield);
    rewriter.replaceOpWithNewOp<cf::BranchOp>(yield, after, yield.getOperands());
    rewriter.inlineRegionBefore(region, after);
    return begin;
  }
};

} // namespace

LogicalResult regionsToBlocks(ModuleOp module) {
  RewritePatternSet patterns(module.getContext());
  populateSCFToControlFlowConversionPatterns(patterns);
  patterns.add<LowerSwitch>(module.getContext());
  ConversionTarget target(*module.getContext());
  target.addIllegalOp<scf::ForallOp, scf::ForOp, scf::IfOp, scf::IndexSwitchOp, scf::ParallelOp, scf::WhileOp,
                      scf::ExecuteRegionOp>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  return applyPartialConversion(module, target, std::move(patterns));
}

} // namespace farside
