#ifndef FARSIDE_DIALECT_FLOW_H
#define FARSIDE_DIALECT_FLOW_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"

#include "Farside/Dialect/Flow/FlowDialect.h.inc"

#define GET_OP_CLASSES
#include "Farside/Dialect/Flow/Flow.h.inc"

#endif
