#include "Farside/Plugin/Trip.h"

#include "Farside/Convert/Passes.h"
#include "Farside/Dialect/Dialects.h"
#include "Farside/Dialect/Remotable/Remotable.h"
#include "Farside/Dialect/Rmem/Rmem.h"
#include "Farside/Explain/Listing.h"
#include "Farside/Export/Adopt.h"
#include "Farside/Export/Export.h"
#include "Farside/Import/Copy.h"
#include "Farside/Import/Import.h"
#include "Farside/Import/Listening.h"
#include "Farside/Import/LoopFacts.h"
#include "Farside/Import/Suits.h"
#include "Farside/Offload/Dispatch.h"
#include "Farside/Remote/Points.h"
#include "Farside/Remote/Scopes.h"
#include "Farside/Remote/Support.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/IR/DebugInfoMetadata.h"
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

/// What is known of a section's capacity. If it is only known at the start, code is for a number of sets that is no power of
/// two, and farside_rt_open() sees to it that there is none.
uint64_t capacityOf(const SectionSpec &section) {
  uint64_t least = section.leastCapacity(), set = section.line * std::max(section.ways, 1u);
  if (section.capacities.empty() || !isPowerOf2_64(least / set))
    return least;
  return least / set > 2 ? least - set : 3 * set;
}

Function *functionOf(const Numbers &numbers, unsigned number) {
  const Instruction *instruction = numbers.instruction(number);
  return instruction ? const_cast<Function *>(instruction->getFunction()) : nullptr;
}

/// Marks what a call of the C library is lent.
void markBorrows(mlir::Operation *op, const Plan::Access &access) {
  if (access.borrows.empty())
    return;
  mlir::Builder builder(op->getContext());
  SmallVector<int32_t> numbers;
  for (const Borrow &each : access.borrows)
    numbers.append({each.argument, each.length, each.factor,
                    (each.isText ? borrowsText : 0) | (each.isWritten ? borrowsToWrite : 0) |
                        (each.isCopied ? borrowsCopy : 0) | each.size << borrowsSizeShift});
  op->setAttr(borrowsOfCall, builder.getDenseI32ArrayAttr(numbers));
  if (access.returned != Borrow::none)
    op->setAttr(returnsInto, builder.getI32IntegerAttr(access.returned));
}

} // namespace

Trip::Trip(Module &module, StringRef passes) : module(module), passes(passes), versions(module) {}

Trip::Trip(Module &module, StringRef passes, const Conversion &conversion)
    : module(module), passes(passes), conversion(&conversion), versions(module) {}

void Trip::run() {
  planConversion();
  chooseBodies();
  bool done = false;
  for (unsigned attempts = 0; !done && attempts < mostAttempts && !going.empty(); ++attempts)
    done = attempt();
  if (!done)
    plan.giveUp("MLIR fails on too many functions");
  versions.forget();
  if (conversion && !isConverting())
    for (Notes::Offload &each : offloads)
      if (each.why.empty())
        each.why = "nothing of the program goes to sections";
  if (conversion)
    notes.addTo(module, conversion->file, plan, offloads, [this](unsigned section) { return isShared(section); });
}

void Trip::planConversion() {
  if (!conversion)
    return;
  versions.forget();
  plan = planRemote(module, conversion->file, conversion->isWhole, [&](const Function &function) -> std::optional<std::string> {
    if (auto found = failed.find(&function); found != failed.end())
      return found->second;
    return whyItStays(function);
  });
  chooseOffloaded();
  versions.look(plan, conversion->file);
  if (keepsPlain)
    versions.keep(plan);
  forgetUntrue(module, plan, [this](const Function &function) { return versions.isKept(function); });
}

/// Looks which functions can run where their data is, before what is known of them is forgotten.
void Trip::chooseOffloaded() {
  offloads.clear();
  offloaded.clear();
  for (Function &function : module) {
    if (function.isDeclaration() || !isOffloaded(function))
      continue;
    Candidate candidate = candidateOf(function, plan);
    refuseOwn(candidate);
    DISubprogram *source = function.getSubprogram();
    std::string place = source ? (source->getFilename() + ":" + Twine(source->getLine())).str() : "";
    offloads.push_back({sourceName(function).str(), place, candidate.why, candidate.where});
    if (candidate.why.empty())
      offloaded.push_back(layOut(function, std::move(candidate)));
  }
}

/// What each thread has of its own has no place that is known where the program is linked.
void Trip::refuseOwn(Candidate &candidate) const {
  for (unsigned section : candidate.sections)
    if (const SectionSpec &spec = conversion->file.sections[section]; (spec.own || spec.copies) && candidate.why.empty())
      candidate.why = "it reads what is in the section '" + spec.name + "', of which each thread has " +
                      (spec.own ? "its own" : "a copy");
}

/// Code of functions that run where their data is, made of what they are before accesses are converted; empty if there is
/// none.
std::string Trip::imageOfOffloaded() {
  if (offloaded.empty())
    return "";
  std::string why, image = makeImage(module, plan, offloaded, conversion->file.sections.size(), why);
  if (image.empty())
    for (Notes::Offload &each : offloads)
      if (each.why.empty())
        each.why = why;
  return image;
}

/// If there is something to convert, only bodies in which it is go; and none if there could be something, but is not.
void Trip::chooseBodies() {
  going.clear();
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    if (isConverting()) {
      if (plan.functions.contains(&function))
        going.insert(&function);
    } else if (conversion && passes.empty()) {
      // Nothing would come back otherwise than it went.
      continue;
    } else if (auto reason = whyItStays(function)) {
      stayed.push_back({&function, std::move(*reason)});
    } else {
      going.insert(&function);
    }
  }
}

/// Leaves out the function that MLIR failed on, or all if it is not known.
void Trip::blame(const Trouble &trouble, Function *function, StringRef step) {
  std::string reason = (step + ": " + trouble.message).str();
  if (isConverting()) {
    // Not one access may be left out: what is allocated for it stays, too.
    bool isNew = function && failed.try_emplace(function, reason).second;
    if (isNew)
      planConversion();
    else
      plan.giveUp(reason);
    chooseBodies();
    return;
  }
  stayed.push_back({function, reason});
  if (function)
    going.erase(function);
  else
    going.clear();
}

/// Enters sections into the program, and marks what is to work on them.
bool Trip::markAccesses(mlir::ModuleOp program, const Numbers &numbers, Trouble &trouble) const {
  auto builder = mlir::OpBuilder::atBlockBegin(program.getBody());
  auto symbol = [](const SectionSpec &section) { return symbolPrefix.str() + section.name; };
  for (auto [number, section] : enumerate(conversion->file.sections)) {
    mlir::FlatSymbolRefAttr with;
    if (!section.with.empty())
      with = builder.getAttr<mlir::FlatSymbolRefAttr>(symbolPrefix.str() + section.with);
    mlir::IntegerAttr batch;
    if (section.batch)
      batch = builder.getI64IntegerAttr(section.batch);
    rmem::CacheSectionOp::create(builder, program.getLoc(), symbol(section), capacityOf(section), section.line,
                                 section.ways, section.ahead, batch, section.keep, with, section.own, section.copies,
                                 conversion->isWhole && !isShared(number));
  }
  auto mark = [&](mlir::Operation *op, StringRef attribute, std::optional<unsigned> section) {
    if (section)
      op->setAttr(attribute, mlir::FlatSymbolRefAttr::get(op->getContext(), symbol(conversion->file.sections[*section])));
  };
  unsigned marked = 0;
  program.walk([&](mlir::Operation *op) {
    if (!mlir::isa<mlir::LLVM::LoadOp, mlir::LLVM::StoreOp, mlir::LLVM::CallOp, mlir::LLVM::InvokeOp,
                   mlir::LLVM::MemcpyOp, mlir::LLVM::MemmoveOp, mlir::LLVM::MemsetOp>(op))
      return;
    auto access = plan.accesses.find(numbers.instruction(numberAt(op->getLoc())));
    if (access == plan.accesses.end())
      return;
    mark(op, inSection, access->second.section);
    mark(op, fromSection, access->second.from);
    markBorrows(op, access->second);
    if (access->second.alignment)
      op->setAttr(atMultiple, builder.getI64IntegerAttr(access->second.alignment));
    ++marked;
  });
  program.walk([&](mlir::LLVM::CallOp call) {
    mlir::APInt number;
    if ((call.getCallee() != selectMarker && call.getCallee() != selectAllMarker) ||
        !mlir::matchPattern(call.getCalleeOperands()[0], mlir::m_ConstantInt(&number)))
      return;
    const Plan::Scope &scope = plan.scopes[number.getZExtValue()];
    SmallVector<int32_t> fields;
    for (auto [start, length] : scope.fields)
      fields.append({int32_t(start), int32_t(length)});
    mark(call, inSection, scope.section);
    call->setAttr(rmem::SelectOp::recordName, builder.getI64IntegerAttr(scope.record));
    call->setAttr(rmem::SelectOp::fieldsName, builder.getDenseI32ArrayAttr(fields));
  });
  if (marked != plan.accesses.size())
    trouble.message = "not all accesses came to MLIR";
  return marked == plan.accesses.size();
}

/// Whether several threads may use a section, or one that it shares memory with: whoever misses there has its lines leave.
bool Trip::isShared(unsigned section) const {
  const SectionFile &file = conversion->file;
  if (file.sections[section].own || file.sections[section].copies)
    return false;
  if (file.threads >= 0)
    return file.threads;
  return any_of(plan.shared, [&](const auto &shared) { return file.groupOf(shared.first) == file.groupOf(section); });
}

/// Makes a program that is marked use sections.
bool Trip::convert(mlir::ModuleOp program, const Numbers &numbers, Trouble &trouble) {
  if (!runPasses(program, farside::conversion, trouble))
    return false;
  notes.lookAtLoops(program);
  if (!runPasses(program, farside::holding, trouble))
    return false;
  notes.look(program, numbers, plan);
  if (!runPasses(program, farside::sharing, trouble))
    return false;
  notes.lookAtShared(program);
  if (isListed)
    listing = listingOf(program, numbers);
  return runPasses(program, farside::lowering, trouble);
}

/// Whether it succeeded; if not, some bodies are left out of the next attempt.
bool Trip::attempt() {
  mlir::DialectRegistry registry;
  registerProgramDialects(registry);
  registerDialects(registry);
  registerLoopFacts(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  Copy copy = copyForMlir(module, [&](const Function &function) { return going.contains(&function); });
  Trouble trouble;
  if (std::string why = markScopes(*copy.module, copy.originals, plan); !why.empty()) {
    trouble.message = why;
    blame(trouble, nullptr, "it cannot be converted");
    return false;
  }
  markPoints(*copy.module, copy.originals, [&](const Function &function) { return versions.copiesOf(function); });
  if (isConverting())
    tellLoopFacts(*copy.module, [&](const Instruction &copied) {
      const DILocation *place = copied.getDebugLoc().get();
      return place && plan.accesses.contains(copy.numbers.instruction(place->getLine()));
    });
  auto program = importModule(std::move(copy.module), context, trouble);
  if (!program) {
    blame(trouble, functionOf(copy.numbers, trouble.number), "MLIR cannot import it");
    return false;
  }
  for (const Offloaded &each : offloaded)
    if (auto function = program->lookupSymbol<mlir::LLVM::LLVMFuncOp>(each.function->getName()))
      function->setAttr(remotable::RemotableDialect::offload, mlir::UnitAttr::get(&context));
  if (isConverting() && !markAccesses(*program, copy.numbers, trouble)) {
    blame(trouble, nullptr, "it cannot be converted");
    return false;
  }
  if ((isConverting() && !convert(*program, copy.numbers, trouble)) ||
      (!passes.empty() && !runPasses(*program, passes, trouble))) {
    blame(trouble, functionOf(copy.numbers, trouble.number), "a pass failed");
    return false;
  }
  auto fresh = exportModule(*program, module.getContext(), trouble);
  if (!fresh) {
    blame(trouble, functionOf(copy.numbers, trouble.number), "MLIR cannot export it");
    return false;
  }
  std::string image = isConverting() ? imageOfOffloaded() : "";
  auto restoring = passes.empty() && !isConverting() ? Restoring::everything : Restoring::operations;
  Adopted adopted = adoptBodies(module, *fresh, copy.originals, copy.numbers, restoring, isConverting());
  if (isConverting() && !adopted.refused.empty()) {
    trouble.message = adopted.refused.front().reason;
    blame(trouble, adopted.refused.front().function, "what came back is not valid");
    return false;
  }
  same = adopted.same;
  changed = std::move(adopted.changed);
  for (auto &[function, reason] : adopted.refused)
    stayed.push_back({function, "what came back is not valid: " + reason});
  versions.choose(changed);
  if (!image.empty())
    addDispatch(module, conversion->file, offloaded, image);
  if (isConverting()) {
    broken = addSupport(
        module, conversion->file, conversion->isWhole, [this](unsigned section) { return isShared(section); },
        conversion->bitcode, conversion->isLinked);
    boundInlining(changed);
  }
  return true;
}

} // namespace farside
