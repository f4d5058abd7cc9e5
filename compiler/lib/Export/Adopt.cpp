#include "Farside/Export/Adopt.h"

#include "Farside/Export/Types.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/FunctionComparator.h"

using namespace llvm;

namespace farside {
namespace {

/// A body that came back, and the function it is for.
struct Arrival {
  Function *fresh;
  Function *original;
};

/// Has everything in `fresh` speak of the globals of the module.
SmallVector<Arrival> useOriginals(Module &fresh, const StringMap<GlobalValue *> &originals) {
  SmallVector<Arrival> arrivals;
  for (GlobalValue &value : fresh.global_values()) {
    GlobalValue *original = originals.lookup(value.getName());
    if (!original)
      continue;
    value.replaceAllUsesWith(original);
    auto *function = dyn_cast<Function>(&value);
    if (function && !function->isDeclaration())
      arrivals.push_back({function, cast<Function>(original)});
  }
  return arrivals;
}

/// Moves what is new and used into the module: intrinsics, and what passes made.
void addNew(Module &module, Module &fresh, const StringMap<GlobalValue *> &originals) {
  auto isNew = [&](GlobalValue &value) { return !originals.contains(value.getName()) && !value.use_empty(); };
  for (Function &function : make_early_inc_range(fresh))
    if (isNew(function)) {
      function.removeFromParent();
      module.getFunctionList().push_back(&function);
    }
  for (GlobalVariable &variable : make_early_inc_range(fresh.globals()))
    if (isNew(variable)) {
      fresh.removeGlobalVariable(&variable);
      module.insertGlobalVariable(&variable);
    }
}

/// Whether a body came back as it went. What belongs to the function itself is not compared.
bool isTheSame(Function &original, Function &fresh, GlobalNumberState &globals) {
  fresh.copyAttributesFrom(&original);
  return FunctionComparator(&original, &fresh, &globals).compare() == 0;
}

/// A function with a new body, and where the one it had is kept until the new one is known to be valid.
struct Exchange {
  Arrival arrival;
  Function *kept;
};

/// What debug records say of arguments would be lost between functions.
void replaceInRecords(Function &function, Value &value, Value &replacement) {
  for (Instruction &instruction : instructions(function))
    for (DbgVariableRecord &record : filterDbgVars(instruction.getDbgRecordRange())) {
      record.replaceVariableLocationOp(&value, &replacement, /*AllowEmpty=*/true);
      if (record.isDbgAssign() && record.getAddress() == &value)
        record.setAddress(&replacement);
    }
}

/// What links assignments to what is said of them is of one function, while the old body is still there.
void renewAssignments(Function &function) {
  DenseMap<DIAssignID *, DIAssignID *> renewed;
  for (Instruction &instruction : instructions(function))
    at::remapAssignID(renewed, instruction);
}

Exchange exchange(Arrival arrival) {
  auto [fresh, original] = arrival;
  renewAssignments(*fresh);
  auto *kept = Function::Create(original->getFunctionType(), GlobalValue::InternalLinkage, "", original->getParent());
  kept->splice(kept->begin(), original);
  for (auto [argument, replacement] : zip(fresh->args(), original->args())) {
    replaceInRecords(*fresh, argument, replacement);
    argument.replaceAllUsesWith(&replacement);
  }
  original->splice(original->begin(), fresh);
  return {arrival, kept};
}

/// Why the new body is not valid; empty if it is.
std::string whyInvalid(const Exchange &exchange) {
  std::string reason;
  raw_string_ostream stream(reason);
  if (!verifyFunction(*exchange.arrival.original, &stream))
    reason.clear();
  return reason;
}

/// Keeps the new body, or the one that was kept meanwhile.
void settle(const Exchange &exchange, bool isValid) {
  auto [fresh, original] = exchange.arrival;
  if (!isValid) {
    fresh->splice(fresh->begin(), original);
    original->splice(original->begin(), exchange.kept);
    fresh->deleteBody();
  }
  exchange.kept->eraseFromParent();
}

} // namespace

Adopted adoptBodies(Module &module, Module &fresh, const StringMap<GlobalValue *> &originals, const Numbers &numbers,
                    Restoring restoring, bool together) {
  Adopted adopted;
  OriginalTypes types(module);
  GlobalNumberState globals;
  SmallVector<Arrival> arrivals = useOriginals(fresh, originals);
  for (auto [body, original] : arrivals) {
    types.restore(*body);
    restoreInstructions(*body, numbers, restoring);
    restoreDebugInfo(*body, original->getSubprogram(), numbers);
  }
  addNew(module, fresh, originals);
  SmallVector<Exchange> exchanges;
  for (Arrival arrival : arrivals)
    if (isTheSame(*arrival.original, *arrival.fresh, globals)) {
      ++adopted.same;
      arrival.fresh->deleteBody();
    } else {
      exchanges.push_back(exchange(arrival));
    }
  // Only now does nothing of the module have users elsewhere.
  SmallVector<std::string> reasons;
  for (const Exchange &each : exchanges)
    reasons.push_back(whyInvalid(each));
  bool all = all_of(reasons, [](const std::string &reason) { return reason.empty(); });
  for (auto [each, reason] : zip(exchanges, reasons)) {
    bool isValid = together ? all : reason.empty();
    settle(each, isValid);
    if (isValid)
      adopted.changed.push_back(each.arrival.original);
    else if (!reason.empty())
      adopted.refused.push_back({each.arrival.original, std::move(reason)});
  }
  return adopted;
}

} // namespace farside
