#include "Farside/Plugin/Trip.h"

#include "Farside/Dialect/Dialects.h"
#include "Farside/Export/Adopt.h"
#include "Farside/Export/Export.h"
#include "Farside/Import/Copy.h"
#include "Farside/Import/Import.h"
#include "Farside/Import/Listening.h"
#include "Farside/Import/Suits.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/IR/Instruction.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace farside {
namespace {

/// MLIR gives up a module because of one function. How many functions are left out before all are.
constexpr unsigned mostAttempts = 20;

bool runPasses(mlir::ModuleOp program, StringRef passes, Trouble &trouble) {
  Listening listening(*program.getContext(), trouble);
  mlir::PassManager manager(program.getContext());
  std::string said;
  raw_string_ostream stream(said);
  if (mlir::failed(mlir::parsePassPipeline(passes, manager, stream))) {
    trouble.message = "cannot read the passes '" + passes.str() + "': " + said;
    return false;
  }
  if (mlir::failed(manager.run(program))) {
    if (trouble.message.empty())
      trouble.message = "a pass gave no reason";
    return false;
  }
  return true;
}

Function *functionOf(const Numbers &numbers, unsigned number) {
  const Instruction *instruction = numbers.instruction(number);
  return instruction ? const_cast<Function *>(instruction->getFunction()) : nullptr;
}

} // namespace

Trip::Trip(Module &module, StringRef passes) : module(module), passes(passes) {}

void Trip::run() {
  chooseBodies();
  for (unsigned attempts = 0; attempts < mostAttempts && !going.empty(); ++attempts)
    if (attempt())
      return;
}

void Trip::chooseBodies() {
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    if (auto reason = whyItStays(function))
      stayed.push_back({&function, std::move(*reason)});
    else
      going.insert(&function);
  }
}

/// Leaves out the function that MLIR failed on, or all if it is not known.
void Trip::blame(const Trouble &trouble, Function *function, StringRef step) {
  stayed.push_back({function, (step + ": " + trouble.message).str()});
  if (function)
    going.erase(function);
  else
    going.clear();
}

/// Whether it succeeded; if not, some bodies are left out of the next attempt.
bool Trip::attempt() {
  mlir::DialectRegistry registry;
  registerProgramDialects(registry);
  registerDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  Copy copy = copyForMlir(module, [&](const Function &function) { return going.contains(&function); });
  Trouble trouble;
  auto program = importModule(std::move(copy.module), context, trouble);
  if (!program) {
    blame(trouble, functionOf(copy.numbers, trouble.number), "MLIR cannot import it");
    return false;
  }
  if (!passes.empty() && !runPasses(*program, passes, trouble)) {
    blame(trouble, functionOf(copy.numbers, trouble.number), "a pass failed");
    return false;
  }
  auto fresh = exportModule(*program, module.getContext(), trouble);
  if (!fresh) {
    blame(trouble, functionOf(copy.numbers, trouble.number), "MLIR cannot export it");
    return false;
  }
  auto restoring = passes.empty() ? Restoring::everything : Restoring::operations;
  Adopted adopted = adoptBodies(module, *fresh, copy.originals, copy.numbers, restoring);
  same = adopted.same;
  changed = std::move(adopted.changed);
  for (auto &[function, reason] : adopted.refused)
    stayed.push_back({function, "what came back is not valid: " + reason});
  return true;
}

} // namespace farside
