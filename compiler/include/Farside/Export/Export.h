#ifndef FARSIDE_EXPORT_EXPORT_H
#define FARSIDE_EXPORT_EXPORT_H

#include "Farside/Import/Import.h"

namespace llvm {
class LLVMContext;
}

namespace farside {

/// Translates a program in the LLVM dialect into a module of LLVM. Nothing comes back if that fails; `trouble` then has
/// the first error.
std::unique_ptr<llvm::Module> exportModule(mlir::ModuleOp module, llvm::LLVMContext &context, Trouble &trouble);

} // namespace farside

#endif
