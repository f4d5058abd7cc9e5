#ifndef FARSIDE_IMPORT_COPY_H
#define FARSIDE_IMPORT_COPY_H

#include "Farside/Import/Numbers.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include <memory>

namespace llvm {
class Function;
class GlobalValue;
class Module;
} // namespace llvm

namespace farside {

/// A copy of a module that is given to MLIR: the bodies that go, and declarations of all else. What MLIR knows only in
/// part - initial values, aliases, module assembly, debug information - stays in the module and cannot be lost.
struct Copy {
  std::unique_ptr<llvm::Module> module;
  Numbers numbers;
  /// From names in the copy, where everything has one, to what they stand for in the module.
  llvm::StringMap<llvm::GlobalValue *> originals;
};

/// Copies the bodies for which `goes` holds.
Copy copyForMlir(llvm::Module &module, llvm::function_ref<bool(const llvm::Function &)> goes);

} // namespace farside

#endif
