#ifndef FARSIDE_PROFILE_KEPT_H
#define FARSIDE_PROFILE_KEPT_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/PassManager.h"

namespace llvm {
class Module;
} // namespace llvm

namespace farside {

/// Has functions that may be able to run where their data is stay functions in a program that is profiled, so that what
/// they cost is known: a section file that names them has them so. It comes before anything is inlined, of a unit and of
/// units that are linked.
class KeepingPass : public llvm::PassInfoMixin<KeepingPass> {
public:
  llvm::PreservedAnalyses run(llvm::Module &module, llvm::ModuleAnalysisManager &analyses);

  static bool isRequired() { return true; }
};

/// Inlines those that turn out not to be able to, and all if less could go to sections than where they are inlined.
/// `simplify` simplifies a module in which something was inlined. It comes before what can go to sections is looked at.
void inlineOthers(llvm::Module &module, llvm::FunctionAnalysisManager &analyses,
                  llvm::function_ref<void(llvm::Module &)> simplify);

} // namespace farside

#endif
