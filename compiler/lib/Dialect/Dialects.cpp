#include "Farside/Dialect/Dialects.h"

#include "Farside/Dialect/Flow/Flow.h"
#include "Farside/Dialect/Remotable/Remotable.h"
#include "Farside/Dialect/Rmem/Rmem.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

namespace farside {

void registerDialects(mlir::DialectRegistry &registry) {
  registry.insert<flow::FlowDialect, remotable::RemotableDialect, rmem::RmemDialect, mlir::arith::ArithDialect,
                  mlir::cf::ControlFlowDialect, mlir::DLTIDialect, mlir::LLVM::LLVMDialect, mlir::scf::SCFDialect,
                  mlir::ub::UBDialect>();
}

} // namespace farside
