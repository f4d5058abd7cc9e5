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

} // namespace

void keepWhatIsForbidden(Operation *from, Operation *to) {
  LLVM::LoopAnnotationAttr said = annotationOf(from);
  if (!said)
    return;
  LLVM::LoopVectorizeAttr vectorize = forbids(said.getVectorize()) ? said.getVectorize() : LLVM::LoopVectorizeAttr();
  // That turns do not depend on one another is no longer so where some of them are taken together.
  ArrayRef<LLVM::AccessGroupAttr> noneParallel;
  to->setAttr(annotationOfLoop,
              LLVM::LoopAnnotationAttr::get(
                  from->getContext(), said.getDisableNonforced(), vectorize, said.getInterleave(),
                  ifForbidden(said.getUnroll()), ifForbidden(said.getUnrollAndJam()), said.getLicm(),
                  ifForbidden(said.getDistribute()), ifForbidden(said.getPipeline()), said.getPeeled(), said.getUnswitch(),
                  said.getMustProgress(), said.getIsVectorized(), said.getStartLoc(), said.getEndLoc(), noneParallel));
}

void interleave(Operation *loop, int32_t turns) {
  LLVM::LoopAnnotationAttr said = annotationOf(loop);
  if (said && (said.getVectorize() || said.getInterleave() || said.getUnroll()))
    return;
  MLIRContext *context = loop->getContext();
  auto times = LLVM::LoopInterleaveAttr::get(context, Builder(context).getI32IntegerAttr(turns));
  auto annotation = LLVM::LoopAnnotationAttr::get(context, {}, {}, times, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {});
  if (said)
    annotation = LLVM::LoopAnnotationAttr::get(
        context, said.getDisableNonforced(), said.getVectorize(), times, said.getUnroll(), said.getUnrollAndJam(),
        said.getLicm(), said.getDistribute(), said.getPipeline(), said.getPeeled(), said.getUnswitch(),
        said.getMustProgress(), said.getIsVectorized(), said.getStartLoc(), said.getEndLoc(), said.getParallelAccesses());
  loop->setAttr(annotationOfLoop, annotation);
}

} // namespace farside
