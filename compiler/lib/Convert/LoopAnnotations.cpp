#include "LoopAnnotations.h"
#include "Farside/Import/LoopFacts.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace farside {
namespace {

LLVM::LoopAnnotationAttr annotationOf(Operation *loop) {
  return loop->getAttrOfType<LLVM::LoopAnnotationAttr>(annotationOfLoop);
}

bool isTrue(BoolAttr value) { return value && value.getValue(); }

/// Clang says of what is not to be vectorized that it has a width of one.
bool forbids(LLVM::LoopVectorizeAttr said) {
  return said && (isTrue(said.getDisable()) || (said.getWidth() && said.getWidth().getInt() == 1));
}

template <typename Attribute> Attribute ifForbidden(Attribute said) {
  return said && isTrue(said.getDisable()) ? said : Attribute();
}

/// What is said of a loop that may be another thing here; all else stays.
struct Wishes {
  LLVM::LoopVectorizeAttr vectorize;
  LLVM::LoopInterleaveAttr interleave;
  LLVM::LoopUnrollAttr unroll;
  LLVM::LoopUnrollAndJamAttr unrollAndJam;
  LLVM::LoopDistributeAttr distribute;
  LLVM::LoopPipelineAttr pipeline;
  ArrayRef<LLVM::AccessGroupAttr> parallelAccesses;
};

Wishes wishesOf(LLVM::LoopAnnotationAttr said) {
  return {said.getVectorize(),  said.getInterleave(), said.getUnroll(),           said.getUnrollAndJam(),
          said.getDistribute(), said.getPipeline(),   said.getParallelAccesses()};
}

LLVM::LoopAnnotationAttr with(LLVM::LoopAnnotationAttr said, const Wishes &wishes) {
  return LLVM::LoopAnnotationAttr::get(said.getContext(), said.getDisableNonforced(), wishes.vectorize, wishes.interleave,
                                       wishes.unroll, wishes.unrollAndJam, said.getLicm(), wishes.distribute, wishes.pipeline,
                                       said.getPeeled(), said.getUnswitch(), said.getMustProgress(), said.getIsVectorized(),
                                       said.getStartLoc(), said.getEndLoc(), wishes.parallelAccesses);
}

LLVM::LoopAnnotationAttr nothingSaid(MLIRContext *context) {
  return LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {});
}

} // namespace

void keepWhatIsForbidden(Operation *from, Operation *to) {
  LLVM::LoopAnnotationAttr said = annotationOf(from);
  if (!said)
    return;
  Wishes wishes = wishesOf(said);
  if (!forbids(wishes.vectorize))
    wishes.vectorize = {};
  wishes.unroll = ifForbidden(wishes.unroll);
  wishes.unrollAndJam = ifForbidden(wishes.unrollAndJam);
  wishes.distribute = ifForbidden(wishes.distribute);
  wishes.pipeline = ifForbidden(wishes.pipeline);
  // That turns do not depend on one another is no longer so where some of them are taken together.
  wishes.parallelAccesses = {};
  to->setAttr(annotationOfLoop, with(said, wishes));
}

void interleave(Operation *loop, int32_t turns) {
  MLIRContext *context = loop->getContext();
  LLVM::LoopAnnotationAttr said = annotationOf(loop);
  if (!said)
    said = nothingSaid(context);
  Wishes wishes = wishesOf(said);
  if (wishes.vectorize || wishes.interleave || wishes.unroll)
    return;
  wishes.interleave = LLVM::LoopInterleaveAttr::get(context, Builder(context).getI32IntegerAttr(turns));
  loop->setAttr(annotationOfLoop, with(said, wishes));
}

} // namespace farside
