#ifndef FARSIDE_LIB_CONVERT_BYTES_H
#define FARSIDE_LIB_CONVERT_BYTES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"
#include <cstdint>
#include <utility>

namespace mlir {
class OpBuilder;
} // namespace mlir

namespace farside {

/// Goes back over constant numbers of bytes to where a pointer comes from; returns that, and how many there are between.
std::pair<mlir::Value, int64_t> baseOf(mlir::Value pointer);

/// A pointer so many bytes on.
mlir::Value moved(mlir::OpBuilder &builder, mlir::Location location, mlir::Value pointer, int64_t by);

/// What a load or store comes to, and the section, if it is one in a section.
std::pair<mlir::Value, mlir::FlatSymbolRefAttr> accessedBy(mlir::Operation *op);

/// Has all accesses in an operation look their lines up by calls.
void setApart(mlir::Operation *op);

} // namespace farside

#endif
