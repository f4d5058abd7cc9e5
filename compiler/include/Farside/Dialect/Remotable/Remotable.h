#ifndef FARSIDE_DIALECT_REMOTABLE_H
#define FARSIDE_DIALECT_REMOTABLE_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/LLVMIR/LLVMTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"

#include "Farside/Dialect/Remotable/RemotableDialect.h.inc"

#define GET_OP_CLASSES
#include "Farside/Dialect/Remotable/Remotable.h.inc"

#endif
