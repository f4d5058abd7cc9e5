#ifndef FARSIDE_CONVERT_LASTUSE_H
#define FARSIDE_CONVERT_LASTUSE_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace farside {

/// Whether a call comes to no memory, but that it may set `errno`, as functions of the mathematical library do.
bool touchesNothing(mlir::LLVM::CallOp call, const mlir::SymbolTable &tables);

/// Whether what some accesses in a loop, or loops in one another, have come to is not come to again before the loop goes on
/// somewhere else: nothing else in it comes to their section, as far as can be seen.
bool isOnlyUse(mlir::Operation *loop, mlir::FlatSymbolRefAttr section, const mlir::SymbolTable &tables,
               llvm::function_ref<bool(mlir::Operation *)> isOne);

} // namespace farside

#endif
