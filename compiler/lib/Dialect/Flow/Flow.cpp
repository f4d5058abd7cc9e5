#include "Farside/Dialect/Flow/Flow.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/OpImplementation.h"

#include "Farside/Dialect/Flow/FlowDialect.cpp.inc"

#define GET_OP_CLASSES
#include "Farside/Dialect/Flow/Flow.cpp.inc"

namespace farside::flow {

void FlowDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "Farside/Dialect/Flow/Flow.cpp.inc"
      >();
}

mlir::LogicalResult CaughtOp::verify() {
  mlir::Operation *before = (*this)->getPrevNode();
  if (!before || !mlir::isa<mlir::LLVM::CallOp>(before))
    return emitOpError("must come directly after the llvm.call of which it tells");
  if (getClauses().empty() && !getCleanup())
    return emitOpError("needs a clause, or 'cleanup'");
  return mlir::success();
}

} // namespace farside::flow
