#include "Farside/Convert/Passes.h"
#include "Farside/Dialect/Rmem/Rmem.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_EXPANDDEREFS
#include "Farside/Convert/Passes.h.inc"

namespace {

/// Whether an operation is at an address that was looked up, and is no longer one when a line is sent for.
bool isAtLine(Operation *op) {
  Value address = isa<LLVM::LoadOp>(op) ? cast<LLVM::LoadOp>(op).getAddr() : cast<LLVM::StoreOp>(op).getAddr();
  while (auto element = address.getDefiningOp<LLVM::GEPOp>())
    address = element.getBase();
  // What comes from elsewhere may have been looked up there.
  Operation *made = address.getDefiningOp();
  return made ? isa<rmem::RmemDialect>(made->getDialect()) || made->getNumRegions() > 0
              : !isa<LLVM::LLVMFuncOp>(cast<BlockArgument>(address).getOwner()->getParentOp());
}

/// Where the line of a pointer can be sent for: as early in the block as the pointer is known, and nothing behind that could
/// have it leave again.
Operation *whereKnown(rmem::DerefOp deref) {
  Operation *known = deref.getPointer().getDefiningOp(), *at = deref;
  for (Operation *before = at->getPrevNode(); before && before != known; before = before->getPrevNode()) {
    bool isPlain = isa<LLVM::LoadOp, LLVM::StoreOp>(before) && !isAtLine(before);
    if (!isPlain && !isMemoryEffectFree(before))
      break;
    at = before;
  }
  return at;
}

struct ExpandDerefs : impl::ExpandDerefsBase<ExpandDerefs> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation().walk([&](rmem::DerefOp deref) {
      FlatSymbolRefAttr section = deref.getSectionAttr();
      rewriter.setInsertionPoint(whereKnown(deref));
      rmem::FetchIfNotInCacheOp::create(rewriter, deref.getLoc(), section, deref.getPointer());
      rewriter.setInsertionPoint(deref);
      rmem::WaitOp::create(rewriter, deref.getLoc(), section, deref.getPointer());
      rewriter.replaceOpWithNewOp<rmem::PaddrOp>(deref, deref.getAddress().getType(), section, deref.getPointer(),
                                                 deref.getSizeAttr(), deref.getWrittenAttr());
    });
  }
};

} // namespace
} // namespace farside
