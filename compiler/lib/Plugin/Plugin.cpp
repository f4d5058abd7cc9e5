// What converts programs: a pass between simplification and the optimizations that are for the machine. The linker loads it, and
// clang for units that are converted by themselves.

#include "Farside/Convert/Passes.h"
#include "Farside/Lift/Passes.h"
#include "Farside/Plugin/Lines.h"
#include "Farside/Plugin/Marking.h"
#include "Farside/Plugin/Trip.h"
#include "Farside/Profile/Candidates.h"
#include "Farside/Profile/Instrument.h"
#include "Farside/Profile/Kept.h"
#include "Farside/Profile/SpecializeAll.h"
#include "Farside/Remote/Containers.h"
#include "Farside/Remote/LendableCalls.h"
#include "Farside/Remote/Specialize.h"
#include "Farside/Remote/SunkAccesses.h"
#include "Farside/Remote/TextCopies.h"
#include "Farside/Remote/Versions.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/Internalize.h"

using namespace llvm;

namespace {

cl::opt<bool> remarks("farside-remarks", cl::desc("Say which functions stay as clang made them, and why"));
cl::opt<std::string> passes("farside-passes", cl::desc("Passes of farside-opt to run on the program"));

cl::opt<std::string> sections("farside-sections", cl::desc("The section file"));
cl::opt<std::string> support("farside-support", cl::desc("What converted programs need of sections, as bitcode"));
cl::opt<bool> supportIsLinked("farside-support-linked", cl::desc("What of that is not inlined is linked with the program"));
cl::opt<std::string> containers("farside-containers",
                                cl::desc("What containers call of the C++ library, as bitcode"));
cl::opt<bool> whole("farside-whole-program", cl::desc("What is compiled is all of the program"));
cl::opt<bool> linked("farside-linked", cl::desc("The program is converted when it is linked"));

/// What a program that is profiled counts with, as bitcode. If it is given, the program is profiled.
cl::opt<std::string> profile("farside-profile", cl::desc("What programs that are profiled count with, as bitcode"));

cl::opt<std::string> emitRmem("farside-emit-rmem", cl::desc("The file that the program is appended to as it is in MLIR"));

/// Whether allocations may go to sections, or are looked at as such that may.
bool isConverting() { return !sections.empty() || !profile.empty(); }

const farside::SectionFile &sectionFile() {
  static const farside::SectionFile file = farside::readSectionsOf(sections, !profile.empty());
  return file;
}

/// What a remark that has no place of its own is about.
StringRef nameOf(const Module &module) { return linked ? "farside-cc" : StringRef(module.getSourceFileName()); }

void fail(Module &module, const farside::SectionFileError &error) { farside::fail(module, sectionFile(), error); }

void remark(const Module &module, const farside::Trip::Stayed &stayed) {
  DISubprogram *place = stayed.function ? stayed.function->getSubprogram() : nullptr;
  if (place)
    errs() << (linked ? place->getFilename() : StringRef(module.getSourceFileName())) << ':' << place->getLine();
  else
    errs() << nameOf(module);
  errs() << ": remark: ";
  if (stayed.function)
    errs() << "function '" << stayed.function->getName() << "'";
  else
    errs() << "every function";
  errs() << " stays as clang made it: " << stayed.reason << " [-Rfarside]\n";
}

void remark(const farside::Plan::Site &site) {
  StringRef section = sectionFile().sections[site.section].name;
  errs() << site.place << ": remark: what is allocated here ";
  if (site.stays.empty()) {
    errs() << "goes to the section '" << section << "' [-Rfarside]\n";
    return;
  }
  errs() << "does not go to the section '" << section << "': " << site.stays;
  if (!site.because.empty())
    errs() << " (" << site.because << ')';
  errs() << " [-Rfarside]\n";
}

/// Which fields of sections come and go in loops, or why no loop has any.
void remarkFields(const Module &module, const farside::Plan &plan) {
  for (const auto &[number, scope] : enumerate(plan.scopes)) {
    // Of a loop that was unrolled there are several.
    if (!scope.isSelected || (number && scope.isAs(plan.scopes[number - 1])))
      continue;
    errs() << scope.place << ": remark: of the section '" << sectionFile().sections[scope.section].name << "' only bytes ";
    for (auto [number, field] : enumerate(scope.fields))
      errs() << (number ? ", " : "") << field.first << '-' << field.first + field.second - 1;
    errs() << " of " << scope.record << " come and go in this loop [-Rfarside]\n";
  }
  for (const auto &[section, undivided] : plan.undivided) {
    if (!sectionFile().sections[section].fields)
      continue;
    errs() << (undivided.because.empty() ? nameOf(module) : StringRef(undivided.because))
           << ": remark: no fields of the section '" << sectionFile().sections[section].name
           << "' are selected: " << undivided.why << " [-Rfarside]\n";
  }
}

void remark(const farside::Notes::Offload &offload) {
  errs() << offload.place << ": remark: function '" << offload.function << "' ";
  if (offload.why.empty()) {
    errs() << "can run where its data is [-Rfarside]\n";
    return;
  }
  errs() << "runs here: " << offload.why;
  if (!offload.because.empty())
    errs() << " (" << offload.because << ')';
  errs() << " [-Rfarside]\n";
}

/// Before anything is inlined, so that what containers call may be, too.
void addContainers(Module &module) {
  if (containers.empty() || (profile.empty() && !farside::hasSites(module)))
    return;
  auto bitcode = MemoryBuffer::getFile(containers);
  std::string why = bitcode ? farside::defineContainers(module, **bitcode) : bitcode.getError().message();
  if (!why.empty())
    module.getContext().emitError("cannot add " + containers + ": " + why);
}

/// Comes before everything else: nothing is inlined yet.
class SitesPass : public PassInfoMixin<SitesPass> {
public:
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
    farside::markUnit(module, sectionFile(), /*isLinked=*/false);
    addContainers(module);
    if (whole)
      internalizeModule(module, [](const GlobalValue &value) { return value.getName() == "main"; });
    return PreservedAnalyses::none();
  }

  static bool isRequired() { return true; }
};

/// Marks functions that are as they were simplified, and copies of such.
constexpr StringLiteral simplified = "farside-simplified";

class SimplifiedPass : public PassInfoMixin<SimplifiedPass> {
public:
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
    for (Function &function : module)
      if (!function.isDeclaration())
        function.addFnAttr(simplified);
    return PreservedAnalyses::all();
  }

  static bool isRequired() { return true; }
};

/// Runs passes on functions that are not as they were simplified any more.
class TidyingPass : public PassInfoMixin<TidyingPass> {
public:
  explicit TidyingPass(FunctionPassManager passes) : passes(std::move(passes)) {}

  PreservedAnalyses run(Module &module, ModuleAnalysisManager &analyses) {
    auto &functions = analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
    for (Function &function : module) {
      bool isSame = function.isDeclaration() || function.hasFnAttribute(simplified);
      function.removeFnAttr(simplified);
      if (!isSame)
        functions.invalidate(function, passes.run(function, functions));
    }
    return PreservedAnalyses::none();
  }

  static bool isRequired() { return true; }

private:
  FunctionPassManager passes;
};

class FarsidePass : public PassInfoMixin<FarsidePass> {
public:
  FarsidePass() = default;
  /// Of a program that is profiled, with what simplifies functions in which others were inlined.
  explicit FarsidePass(FunctionPassManager simplifying) {
    this->simplifying.addPass(createModuleToFunctionPassAdaptor(std::move(simplifying)));
  }

  PreservedAnalyses run(Module &module, ModuleAnalysisManager &analyses) {
    auto &functions = analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
    // What is known of functions holds on to their instructions, which may be gone afterwards.
    functions.clear();
    markInlined(module);
    if (isConverting()) {
      farside::takeTextCopiesApart(module);
      farside::printApart(module);
      farside::makeLendable(module);
      farside::raiseSunkAccesses(module);
    }
    std::optional<farside::Candidates> candidates;
    if (!profile.empty()) {
      farside::inlineOthers(module, functions, [&](Module &changed) {
        simplifying.run(changed, analyses);
        analyses.clear(changed, changed.getName());
      });
      farside::raiseSunkAccesses(module);
      farside::specializeAll(module);
      candidates.emplace(module, functions);
      functions.clear();
    }
    if (isConverting() && sectionFile().errors.empty())
      farside::specialize(module, sectionFile());
    farside::Trip trip = makeTrip(module);
    trip.keepsPlain = profile.empty();
    trip.isListed = !emitRmem.empty();
    trip.run();
    if (trip.isListed)
      list(module, trip);
    if (candidates && trip.broken.empty())
      addProfile(module, *candidates);
    if (!trip.broken.empty())
      module.getContext().emitError(trip.broken);
    for (Function *function : trip.changed)
      function->removeFnAttr(simplified);
    // Whatever is profiled has been added to.
    if (candidates)
      for (Function &function : module)
        function.removeFnAttr(simplified);
    if (remarks) {
      for (const auto &site : trip.plan.sites)
        remark(site);
      remarkFields(module, trip.plan);
      for (const auto &each : trip.offloads)
        remark(each);
      if (sectionFile().threads < 0)
        for (auto [section, function] : trip.plan.shared)
          if (const auto &spec = sectionFile().sections[section]; !spec.own && !spec.copies)
            errs() << nameOf(module) << ": remark: several threads may use the section '"
                   << sectionFile().sections[section].name << "', which makes each access dearer: '"
                   << farside::nameForOthers(*function) << "' may be called from elsewhere [-Rfarside]\n";
      for (const auto &stayed : trip.stayed)
        remark(module, stayed);
      errs() << nameOf(module) << ": remark: " << trip.same << " functions came back the very same, "
             << trip.changed.size() << " changed, " << trip.stayed.size() << " stayed [-Rfarside]\n";
    }
    if (linked)
      farside::dropLines(module);
    return trip.changed.empty() && !candidates ? PreservedAnalyses::all() : PreservedAnalyses::none();
  }

  static bool isRequired() { return true; }

private:
  ModulePassManager simplifying;

  void list(Module &module, const farside::Trip &trip) {
    std::error_code error;
    raw_fd_ostream file(emitRmem, error, sys::fs::OF_Append | sys::fs::OF_Text);
    if (!error) {
      file << "// " << module.getSourceFileName() << '\n';
      file << (trip.listing.empty() ? "// Nothing of it goes to sections; see -Rfarside.\n" : trip.listing);
      file.close();
      error = file.error();
      file.clear_error();
    }
    if (error)
      module.getContext().emitError("cannot write " + emitRmem + ": " + error.message());
  }

  void addProfile(Module &module, farside::Candidates &candidates) {
    candidates.addTo(module);
    auto bitcode = MemoryBuffer::getFile(profile);
    std::string why = bitcode ? farside::instrument(module, candidates, **bitcode) : bitcode.getError().message();
    if (!why.empty())
      module.getContext().emitError("cannot add " + profile + ": " + why);
  }

  void markInlined(Module &module) {
    if (!isConverting() || !sectionFile().errors.empty())
      return;
    farside::MissingSites missing = farside::markInlinedSites(module, sectionFile());
    for (const auto &warning : missing.warnings)
      errs() << sectionFile().show(warning, "warning") << '\n';
    for (const auto &error : missing.errors)
      fail(module, error);
    // Other units may have it, if they are not here.
    if (linked || whole)
      warnOfMissing(module);
  }

  void warnOfMissing(Module &module) {
    for (const farside::OffloadName &name : sectionFile().offload) {
      bool isThere = any_of(module, [&](const Function &function) {
        return farside::isOffloaded(function) &&
               (function.getName() == name.function || farside::sourceName(function) == name.function);
      });
      if (!isThere)
        errs() << sectionFile().show({name.line, name.column, "the program has no function '" + name.function + "'"},
                                     "warning")
               << '\n';
    }
  }

  farside::Trip makeTrip(Module &module) {
    if (!isConverting() || !sectionFile().errors.empty())
      return farside::Trip(module, passes);
    for (const std::string &name : farside::unknownSections(module, sectionFile()))
      fail(module, {0, 0, "there is no section '" + name + "', for which objects were compiled; compile them again"});
    static const auto bitcode = MemoryBuffer::getFile(support);
    if (!bitcode) {
      module.getContext().emitError("cannot read " + support + ": " + bitcode.getError().message());
      return farside::Trip(module, passes);
    }
    static const farside::Conversion conversion{sectionFile(), **bitcode, linked || whole, supportIsLinked};
    return farside::Trip(module, passes, conversion);
  }
};

/// Comes first when a program is linked: all units are together, and what allocates may be in another one than what calls
/// it.
class LinkedSitesPass : public PassInfoMixin<LinkedSitesPass> {
public:
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
    for (const auto &stale : farside::staleSites(module, sectionFile()))
      fail(module, stale);
    if (!profile.empty() || farside::hasSites(module))
      farside::copyCommon(module);
    farside::inlineAllocating(module, sectionFile());
    addContainers(module);
    return PreservedAnalyses::none();
  }

  static bool isRequired() { return true; }
};

FarsidePass makePass(PassBuilder &builder, OptimizationLevel level) {
  if (profile.empty() || level == OptimizationLevel::O0)
    return FarsidePass();
  return FarsidePass(builder.buildFunctionSimplificationPipeline(level, ThinOrFullLTOPhase::None));
}

/// Tidies up what is left behind, as clang does with what it makes of the source, unless what comes next does so anyhow.
void addConverting(PassBuilder &builder, ModulePassManager &manager, OptimizationLevel level, bool isTidiedUpLater) {
  bool tidies = (!passes.empty() || isConverting()) && level != OptimizationLevel::O0 && !isTidiedUpLater;
  if (tidies)
    manager.addPass(SimplifiedPass());
  manager.addPass(makePass(builder, level));
  if (isConverting())
    manager.addPass(AlwaysInlinerPass());
  if (tidies)
    manager.addPass(TidyingPass(builder.buildFunctionSimplificationPipeline(level, ThinOrFullLTOPhase::None)));
}

/// A program of which the section file names nothing, as a library's tests or what a configure script tries out, needs none of
/// the passes that make it ready. The linker optimizes it anyhow.
class ConvertingPasses : public PassInfoMixin<ConvertingPasses> {
public:
  explicit ConvertingPasses(ModulePassManager passes) : passes(std::move(passes)) {}

  PreservedAnalyses run(Module &module, ModuleAnalysisManager &analyses) {
    bool needed = !profile.empty() || ::passes.getNumOccurrences() > 0 || farside::hasSites(module);
    return needed ? passes.run(module, analyses) : FarsidePass().run(module, analyses);
  }

  static bool isRequired() { return true; }

private:
  ModulePassManager passes;
};

/// All units together: what they call of one another is inlined as far as it would be within one, and converted.
void addLinking(PassBuilder &builder, ModulePassManager &manager, OptimizationLevel level) {
  if (!isConverting())
    return;
  manager.addPass(LinkedSitesPass());
  ModulePassManager converting;
  converting.addPass(AlwaysInlinerPass());
  if (level != OptimizationLevel::O0)
    converting.addPass(builder.buildModuleSimplificationPipeline(level, ThinOrFullLTOPhase::None));
  // The linker simplifies functions once more, unless it is told to do little.
  addConverting(builder, converting, level, /*isTidiedUpLater=*/level.getSpeedupLevel() > 1);
  manager.addPass(ConvertingPasses(std::move(converting)));
}

void registerPasses(PassBuilder &builder) {
  static const bool once = [] {
    farside::registerConvertPasses();
    farside::registerLiftPasses();
    return true;
  }();
  (void)once;
  builder.registerPipelineStartEPCallback([](ModulePassManager &manager, OptimizationLevel) {
    if (isConverting())
      manager.addPass(SitesPass());
  });
  builder.registerPipelineEarlySimplificationEPCallback(
      [](ModulePassManager &manager, OptimizationLevel, ThinOrFullLTOPhase) {
        if (!profile.empty())
          manager.addPass(farside::KeepingPass());
      });
  builder.registerOptimizerEarlyEPCallback(
      [&builder](ModulePassManager &manager, OptimizationLevel level, ThinOrFullLTOPhase) {
        // Without optimization nothing else inlines before this.
        if (isConverting() && level == OptimizationLevel::O0)
          manager.addPass(AlwaysInlinerPass());
        addConverting(builder, manager, level, /*isTidiedUpLater=*/false);
      });
  builder.registerFullLinkTimeOptimizationEarlyEPCallback(
      [&builder](ModulePassManager &manager, OptimizationLevel level) { addLinking(builder, manager, level); });
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
