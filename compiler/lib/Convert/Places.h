#ifndef FARSIDE_LIB_CONVERT_PLACES_H
#define FARSIDE_LIB_CONVERT_PLACES_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include <cstdint>
#include <optional>

namespace farside {

/// Where a loop comes to in a turn: values that do not change in it, each so many times, and constants.
struct Place {
  llvm::MapVector<mlir::Value, int64_t> terms;
  int64_t stride = 0, offset = 0;

  /// The place of a pointer; nothing if it is not as simple as that.
  static std::optional<Place> of(mlir::Value pointer, mlir::scf::ForOp loop, const mlir::DataLayout &layout);
};

/// What a loop does with memory.
struct Access {
  mlir::Operation *op;
  mlir::Value pointer;
  /// None if it is plain memory.
  mlir::FlatSymbolRefAttr section;
  /// Of what the language says of its type; none if it says nothing.
  mlir::Attribute type;
  std::optional<int64_t> size;
  bool written;
  std::optional<Place> place;
};

/// The access that an operation of a loop is, if it is a load or a store.
std::optional<Access> accessOf(mlir::Operation *op, mlir::scf::ForOp loop, const mlir::DataLayout &layout);

/// Whether two accesses are never of the same memory, in whichever turns of loops: they are in different sections, or of
/// different objects.
bool areApart(const Access &first, const Access &second, const mlir::SymbolTable &tables);

/// Whether the same is come to if each turn of a loop does what its turn of another loop does, which is `first`, and then what
/// its own did, as if all turns of the first came before all of the second.
bool keepsOrder(const Access &first, const Access &second, const mlir::SymbolTable &tables);

/// Whether an operation only tells debuggers of a value.
bool isDebugMarker(mlir::Operation *op);

/// Whether addresses of lines are known in a function: what plain accesses come to may be in sections.
bool knowsAddresses(mlir::LLVM::LLVMFuncOp function);

} // namespace farside

#endif
