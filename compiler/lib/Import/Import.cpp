#include "Farside/Import/Import.h"

#include "Farside/Import/Listening.h"
#include "mlir/Dialect/DLTI/DLTI.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMIRToLLVMTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Import.h"
#include "llvm/IR/Module.h"

namespace farside {

unsigned numberAt(mlir::Location location) {
  unsigned number = 0;
  location->walk([&](mlir::Location inner) {
    auto line = mlir::dyn_cast<mlir::FileLineColLoc>(inner);
    if (!line || line.getLine() == 0)
      return mlir::WalkResult::advance();
    number = line.getLine();
    return mlir::WalkResult::interrupt();
  });
  return number;
}

Listening::Listening(mlir::MLIRContext &context, Trouble &trouble)
    : mlir::ScopedDiagnosticHandler(&context, [&trouble](mlir::Diagnostic &said) {
        bool first = trouble.message.empty();
        if (said.getSeverity() != mlir::DiagnosticSeverity::Error || !first)
          return mlir::success();
        trouble.message = said.str();
        trouble.number = numberAt(said.getLocation());
        return mlir::success();
      }) {}

void registerProgramDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::DLTIDialect, mlir::LLVM::LLVMDialect>();
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerLLVMDialectImport(registry);
}

mlir::OwningOpRef<mlir::ModuleOp> importModule(std::unique_ptr<llvm::Module> copy, mlir::MLIRContext &context,
                                               Trouble &trouble) {
  Listening listening(context, trouble);
  auto module = mlir::translateLLVMIRToModule(std::move(copy), &context, /*emitExpensiveWarnings=*/false);
  if (!module && trouble.message.empty())
    trouble.message = "MLIR gave no reason";
  return module;
}

} // namespace farside
