#ifndef FARSIDE_DIALECT_RMEM_H
#define FARSIDE_DIALECT_RMEM_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"

#include "Farside/Dialect/Rmem/RmemDialect.h.inc"

#define GET_OP_CLASSES
#include "Farside/Dialect/Rmem/Rmem.h.inc"

namespace farside::rmem {

/// Whether an operation's section, if it has one, is there.
mlir::LogicalResult verifySection(mlir::Operation *op, mlir::FlatSymbolRefAttr section,
                                  mlir::SymbolTableCollection &tables);

} // namespace farside::rmem

#endif
