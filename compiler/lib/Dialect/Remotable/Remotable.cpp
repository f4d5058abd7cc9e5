#include "Farside/Dialect/Remotable/Remotable.h"

#include "Farside/Dialect/Rmem/Rmem.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/OpImplementation.h"

#include "Farside/Dialect/Remotable/RemotableDialect.cpp.inc"

#define GET_OP_CLASSES
#include "Farside/Dialect/Remotable/Remotable.cpp.inc"

using namespace mlir;

namespace farside::remotable {

void RemotableDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "Farside/Dialect/Remotable/Remotable.cpp.inc"
      >();
}

LogicalResult RemotableDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  if (attribute.getName() != offload)
    return op->emitOpError("has the attribute ") << attribute.getName() << ", which there is not";
  if (!isa<LLVM::LLVMFuncOp>(op) || !isa<UnitAttr>(attribute.getValue()))
    return op->emitOpError("has the attribute ") << offload << ", which is one of functions, and has no value";
  return success();
}

#define IN_SECTION(Name)                                                                                               \
  LogicalResult Name::verifySymbolUses(SymbolTableCollection &tables) {                                                \
    return rmem::verifySection(*this, getSectionAttr(), tables);                                                       \
  }
IN_SECTION(AllocOp)
IN_SECTION(TryAllocOp)
IN_SECTION(AllocZeroedOp)
IN_SECTION(ReallocOp)
IN_SECTION(ReleaseOp)
#undef IN_SECTION

} // namespace farside::remotable
