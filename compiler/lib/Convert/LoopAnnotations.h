#ifndef FARSIDE_LIB_CONVERT_LOOPANNOTATIONS_H
#define FARSIDE_LIB_CONVERT_LOOPANNOTATIONS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Operation.h"

namespace farside {

/// Says of `to` what a program says of `from`, of which it is a part or does several turns: what it forbids LLVM, and nothing
/// that it asks for, as to vectorize or to unroll. That was meant for plain accesses and for as many turns as the loop had, and
/// LLVM warns where it cannot do it. How many turns go on at once is no such wish.
void keepWhatIsForbidden(mlir::Operation *from, mlir::Operation *to);

/// Has so many turns of a loop go on at once where it is vectorized, if nothing else is said of that.
void interleave(mlir::Operation *loop, int32_t turns);

} // namespace farside

#endif
