// What clang loads: a pass between simplification and the optimizations that are for the machine.

#include "Farside/Lift/Passes.h"
#include "Farside/Plugin/Trip.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace {

cl::opt<bool> remarks("farside-remarks", cl::desc("Say which functions stay as clang made them, and why"));
cl::opt<std::string> passes("farside-passes", cl::desc("Passes of farside-opt to run on the program"));

void remark(const Module &module, const farside::Trip::Stayed &stayed) {
  errs() << module.getSourceFileName();
  DISubprogram *place = stayed.function ? stayed.function->getSubprogram() : nullptr;
  if (place)
    errs() << ':' << place->getLine();
  errs() << ": remark: ";
  if (stayed.function)
    errs() << "function '" << stayed.function->getName() << "'";
  else
    errs() << "every function";
  errs() << " stays as clang made it: " << stayed.reason << " [-Rfarside]\n";
}

class FarsidePass : public PassInfoMixin<FarsidePass> {
public:
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &analyses) {
    auto &functions = analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
    // What is known of functions holds on to their instructions, which may be gone afterwards.
    functions.clear();
    farside::Trip trip(module, passes);
    trip.run();
    if (remarks) {
      for (const auto &stayed : trip.stayed)
        remark(module, stayed);
      errs() << module.getSourceFileName() << ": remark: " << trip.same << " functions came back the very same, "
             << trip.changed.size() << " changed, " << trip.stayed.size() << " stayed [-Rfarside]\n";
    }
    return trip.changed.empty() ? PreservedAnalyses::all() : PreservedAnalyses::none();
  }

  static bool isRequired() { return true; }
};

/// Tidies up what passes leave behind, as clang does with what it makes of the source.
void addTidying(PassBuilder &builder, ModulePassManager &manager, OptimizationLevel level) {
  if (passes.empty() || level == OptimizationLevel::O0)
    return;
  auto tidying = builder.buildFunctionSimplificationPipeline(level, ThinOrFullLTOPhase::None);
  manager.addPass(createModuleToFunctionPassAdaptor(std::move(tidying)));
}

void registerPasses(PassBuilder &builder) {
  static const bool once = [] {
    farside::registerLiftPasses();
    return true;
  }();
  (void)once;
  builder.registerOptimizerEarlyEPCallback(
      [&builder](ModulePassManager &manager, OptimizationLevel level, ThinOrFullLTOPhase) {
        manager.addPass(FarsidePass());
        addTidying(builder, manager, level);
      });
  builder.registerPipelineParsingCallback(
      [](StringRef name, ModulePassManager &manager, ArrayRef<PassBuilder::PipelineElement>) {
        if (name != "farside")
          return false;
        manager.addPass(FarsidePass());
        return true;
      });
}

} // namespace

extern "C" __attribute__((visibility("default"))) PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "farside", "1", registerPasses};
}
