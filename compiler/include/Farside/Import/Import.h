#ifndef FARSIDE_IMPORT_IMPORT_H
#define FARSIDE_IMPORT_IMPORT_H

#include "mlir/IR/OwningOpRef.h"
#include <memory>
#include <string>

namespace llvm {
class Module;
}
namespace mlir {
class DialectRegistry;
class MLIRContext;
class ModuleOp;
} // namespace mlir

namespace farside {

/// What MLIR said when it could not go on, and where.
struct Trouble {
  std::string message;
  /// The number of the instruction, or 0 if MLIR did not tell.
  unsigned number = 0;
};

/// Enters the dialects that programs are in, and how to come and go between them and LLVM.
void registerProgramDialects(mlir::DialectRegistry &registry);

/// Translates a module made by `copyForMlir`. Nothing comes back if that fails; `trouble` then has the first error.
mlir::OwningOpRef<mlir::ModuleOp> importModule(std::unique_ptr<llvm::Module> copy, mlir::MLIRContext &context,
                                               Trouble &trouble);

} // namespace farside

#endif
