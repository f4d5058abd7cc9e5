// What clang loads for units that are converted when they are linked. It needs nothing of MLIR, which takes as long to load
// as clang takes for a small unit.

#include "Farside/Plugin/Lines.h"
#include "Farside/Plugin/Marking.h"
#include "Farside/Profile/Kept.h"
#include "Farside/Remote/Plan.h"
#include "Farside/Remote/Support.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/EmbedBitcodePass.h"

using namespace llvm;

namespace {

cl::opt<std::string> sections("farside-sections", cl::desc("The section file"));
cl::opt<bool> profiled("farside-profiled", cl::desc("The program is profiled"));

cl::opt<bool> withLines("farside-lines", cl::desc("The program is to have its line tables"));

cl::opt<bool> withoutCode("farside-without-code", cl::desc("Only the linker that converts the unit will see it"));

const farside::SectionFile &sectionFile() {
  static const farside::SectionFile file = farside::readSectionsOf(sections, profiled);
  return file;
}

/// Comes before everything else: nothing is inlined yet.
class MarkingPass : public PassInfoMixin<MarkingPass> {
public:
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
    farside::markUnit(module, sectionFile(), /*isLinked=*/true);
    if (withLines)
      farside::keepLines(module);
    return PreservedAnalyses::none();
  }

  static bool isRequired() { return true; }
};

/// Has the linker take what sections need from the library that has it, if anything may go to one.
class AskingPass : public PassInfoMixin<AskingPass> {
public:
  explicit AskingPass(bool asks) : asks(asks) {}

  PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
    if (!profiled && farside::hasSites(module)) {
      if (asks)
        farside::askForSupport(module);
      else
        farside::forgetSupport(module);
    }
    return PreservedAnalyses::all();
  }

  static bool isRequired() { return true; }

private:
  bool asks;
};

/// Leaves nothing to compile of a unit of which only the linker will see what is kept beside its code.
class EmptyingPass : public PassInfoMixin<EmptyingPass> {
public:
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
    StripDebugInfo(module);
    module.setModuleInlineAsm("");
    for (GlobalAlias &alias : make_early_inc_range(module.aliases()))
      remove(alias);
    for (GlobalIFunc &function : make_early_inc_range(module.ifuncs()))
      remove(function);
    for (Function &function : module)
      function.deleteBody();
    for (GlobalVariable &variable : make_early_inc_range(module.globals()))
      if (!isKept(variable))
        empty(variable);
    for (GlobalObject &object : module.global_objects())
      object.setComdat(nullptr);
    return PreservedAnalyses::none();
  }

  static bool isRequired() { return true; }

private:
  /// What is embedded, and what keeps that.
  static bool isKept(const GlobalVariable &variable) {
    return variable.getName() == "llvm.embedded.object" || variable.getName() == "llvm.compiler.used";
  }

  static void remove(GlobalValue &value) {
    value.replaceAllUsesWith(PoisonValue::get(value.getType()));
    value.eraseFromParent();
  }

  static void empty(GlobalVariable &variable) {
    variable.setInitializer(nullptr);
    variable.setLinkage(GlobalValue::ExternalLinkage);
    variable.removeDeadConstantUsers();
    if (variable.use_empty())
      variable.eraseFromParent();
  }
};

/// A unit stays as it is once it is simplified, and is kept beside its code for the linker to find.
void keepUnit(ModulePassManager &manager, ThinOrFullLTOPhase phase) {
  manager.addPass(AskingPass(true));
  if (phase != ThinOrFullLTOPhase::None)
    return;
  manager.addPass(EmbedBitcodePass(/*IsThinLTO=*/false, /*EmitLTOSummary=*/false));
  manager.addPass(AskingPass(false));
  if (withoutCode)
    manager.addPass(EmptyingPass());
}

void registerPasses(PassBuilder &builder) {
  builder.registerPipelineStartEPCallback(
      [](ModulePassManager &manager, OptimizationLevel) { manager.addPass(MarkingPass()); });
  builder.registerPipelineEarlySimplificationEPCallback(
      [](ModulePassManager &manager, OptimizationLevel, ThinOrFullLTOPhase) {
        if (profiled)
          manager.addPass(farside::KeepingPass());
      });
  builder.registerOptimizerEarlyEPCallback(
      [](ModulePassManager &manager, OptimizationLevel level, ThinOrFullLTOPhase phase) {
        // Without optimization nothing else inlines before this.
        if (level == OptimizationLevel::O0)
          manager.addPass(AlwaysInlinerPass());
        keepUnit(manager, phase);
      });
}

} // namespace

extern "C" __attribute__((visibility("default"))) PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "farside-units", "1", registerPasses};
}
