#ifndef FARSIDE_LIB_CONVERT_LATERTURN_H
#define FARSIDE_LIB_CONVERT_LATERTURN_H

#include "Farside/Dialect/Rmem/Rmem.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"

namespace farside {

/// What values of a loop will be in a later turn of it, as far as that can be told now: nothing is fetched for it, and nothing
/// is read that the program might not read.
class LaterTurn {
public:
  struct Kind {
    /// Whether it can be told.
    bool isKnown = false;
    /// Whether it is not the same in all turns.
    bool varies = false;
    /// Whether it depends on what memory holds, and so may be something else by then.
    bool isLoaded = false;
  };

  LaterTurn(mlir::scf::ForOp loop, const mlir::SymbolTable &tables);

  /// What is in the condition of a loop of the body is known as it is when that loop begins.
  Kind kindOf(mlir::Value value) { return kindOf(value, deepest); }

  /// The loads from sections that it takes.
  llvm::SmallVector<rmem::LoadOp> loadsOf(mlir::Value value);

  /// Computes a value as it will be in turn `turn`, where the builder is; it is then where the value is known.
  mlir::Value valueIn(mlir::Value value, mlir::Value turn, mlir::OpBuilder &builder);

  /// The loop is another one now, with the same body.
  void moveTo(mlir::scf::ForOp other) { loop = other; }

private:
  /// Longer computations are not done twice.
  static constexpr unsigned deepest = 12;

  Kind kindOf(mlir::Value value, unsigned depth);
  Kind kindOfLoad(mlir::LLVM::LoadOp load, unsigned depth);
  mlir::scf::WhileOp conditioned(mlir::Operation *op);
  mlir::Value initOf(mlir::Value value);
  Kind kindOfOperands(mlir::Operation *op, unsigned depth);
  mlir::Value copy(mlir::Value value, mlir::IRMapping &copies, mlir::OpBuilder &builder);
  mlir::Value load(rmem::LoadOp load, mlir::IRMapping &copies, mlir::OpBuilder &builder);

  mlir::scf::ForOp loop;
  /// Whether all memory that is there when the loop starts is there until it ends.
  bool keepsMemory;
};

} // namespace farside

#endif
