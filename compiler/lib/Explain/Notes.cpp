#include "Farside/Explain/Notes.h"

#include "Farside/Convert/Passes.h"
#include "Farside/Dialect/Rmem/Rmem.h"
#include "Farside/Explain/Parts.h"
#include "Farside/Import/Numbers.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace farside {
namespace {

/// The part of the program that holds the notes.
constexpr StringLiteral part = ".farside.notes";

/// Of every instruction that an operation of a kind was made of, or for, its number.
template <typename... Kinds> DenseSet<unsigned> numbersOf(mlir::Operation *program) {
  DenseSet<unsigned> found;
  program->walk([&](mlir::Operation *op) {
    if (mlir::isa<Kinds...>(op))
      op->getLoc()->walk([&](mlir::Location part) {
        if (auto line = mlir::dyn_cast<mlir::FileLineColLoc>(part))
          found.insert(line.getLine());
        return mlir::WalkResult::advance();
      });
  });
  return found;
}

/// The units that sites are in: of what is converted when it is linked, several.
std::string unitsOf(const Plan &plan) {
  std::string units;
  SmallSet<StringRef, 4> known;
  for (const Plan::Site &site : plan.sites)
    if (known.insert(site.unit).second)
      units += (units.empty() ? "" : ", ") + site.unit;
  return units;
}

json::Object describe(const Plan::Site &site, const SectionSpec &section, bool shared) {
  json::Object object{{"place", site.place},          {"function", site.function},
                      {"section", section.name},      {"capacity", int64_t(section.capacity)},
                      {"line", int64_t(section.line)}, {"ways", int64_t(section.ways)}};
  if (shared)
    object["threads"] = true;
  if (section.own)
    object["own"] = true;
  if (section.copies)
    object["copies"] = true;
  if (!section.with.empty())
    object["with"] = section.with;
  if (!site.stays.empty())
    object["stays"] = site.stays;
  if (!site.because.empty())
    object["because"] = site.because;
  return object;
}

json::Object describe(const Notes::Offload &each) {
  json::Object object{{"function", each.function}, {"place", each.place}};
  if (!each.why.empty())
    object["stays"] = each.why;
  if (!each.because.empty())
    object["because"] = each.because;
  return object;
}

/// Of each section in which loops use only some fields, or that was asked for, what these are, or why there are none.
json::Array describeFields(const SectionFile &file, const Plan &plan) {
  json::Array all;
  for (auto [number, section] : enumerate(file.sections)) {
    json::Array scopes;
    for (auto [at, scope] : enumerate(plan.scopes)) {
      if (scope.section != number || (at && scope.isAs(plan.scopes[at - 1])))
        continue;
      json::Array fields;
      for (auto [start, length] : scope.fields)
        fields.push_back(json::Array{int64_t(start), int64_t(length)});
      scopes.push_back(json::Object{{"place", scope.place}, {"function", sourceName(*scope.function)},
                                    {"record", int64_t(scope.record)}, {"fields", std::move(fields)}});
    }
    auto undivided = plan.undivided.find(number);
    bool isNone = scopes.empty();
    if (isNone && (!section.fields || undivided == plan.undivided.end()))
      continue;
    json::Object object{{"section", section.name}, {"selected", section.fields}, {"loops", std::move(scopes)}};
    if (isNone)
      object["why"] = undivided->second.why;
    if (isNone && !undivided->second.because.empty())
      object["because"] = undivided->second.because;
    all.push_back(std::move(object));
  }
  return all;
}

} // namespace

void Notes::lookAtLoops(mlir::ModuleOp program) {
  fused.clear();
  jammed.clear();
  program.walk([&](mlir::scf::ForOp loop) {
    for (auto [attribute, numbers] : {std::pair(fusedLoop, &fused), std::pair(jammedLoop, &jammed)}) {
      if (!loop->hasAttr(attribute))
        continue;
      auto found = numbersOf<rmem::LoadOp, rmem::StoreOp>(loop);
      numbers->insert(found.begin(), found.end());
    }
  });
}

void Notes::look(mlir::ModuleOp program, const Numbers &numbers, const Plan &plan) {
  accesses.clear();
  DenseSet<unsigned> plain = numbersOf<mlir::LLVM::LoadOp, mlir::LLVM::StoreOp>(program);
  DenseSet<unsigned> ahead = numbersOf<rmem::AheadOp, rmem::FetchIfNotInCacheOp, rmem::FollowOp>(program);
  DenseSet<unsigned> done = numbersOf<rmem::DoneOp>(program);
  // In the order of the program, so that the same source makes the same notes.
  for (unsigned number = 1; const Instruction *instruction = numbers.instruction(number); ++number) {
    auto found = plan.accesses.find(instruction);
    if (found == plan.accesses.end())
      continue;
    const Plan::Access &access = found->second;
    accesses.push_back({placeOf(*instruction), sourceName(*instruction->getFunction()).str(), kindOf(*instruction),
                        access.sites, number, plain.contains(number), ahead.contains(number),
                        done.contains(number), fused.contains(number), jammed.contains(number)});
  }
}

void Notes::lookAtShared(mlir::ModuleOp program) {
  DenseSet<unsigned> plain = numbersOf<mlir::LLVM::LoadOp, mlir::LLVM::StoreOp>(program);
  DenseSet<unsigned> lookups = numbersOf<rmem::HereOp>(program);
  for (Access &access : accesses)
    access.shared = !access.held && plain.contains(access.number) && !lookups.contains(access.number);
}

void Notes::addTo(Module &module, const SectionFile &file, const Plan &plan, ArrayRef<Offload> offloads,
                  function_ref<bool(unsigned)> isShared) const {
  if (plan.sites.empty())
    return;
  json::Array sites, all;
  for (const Plan::Site &site : plan.sites)
    sites.push_back(describe(site, file.sections[site.section], isShared(site.section)));
  // What was seen before all had to be given up is not true.
  for (const Access &access : plan.accesses.empty() ? std::vector<Access>() : accesses) {
    json::Object object{{"place", access.place}, {"function", access.function}, {"kind", access.kind},
                        {"sites", json::Array(access.sites)}};
    if (access.held)
      object["held"] = true;
    if (access.ahead)
      object["ahead"] = true;
    if (access.done)
      object["done"] = true;
    if (access.fused)
      object["fused"] = true;
    if (access.jammed)
      object["jammed"] = true;
    if (access.shared)
      object["shared"] = true;
    all.push_back(std::move(object));
  }
  json::Object unit{{"version", 1},
                    {"unit", unitsOf(plan)},
                    {"threads", any_of(plan.sites, [&](const Plan::Site &site) { return isShared(site.section); })},
                    {"sites", std::move(sites)},
                    {"accesses", std::move(all)}};
  if (json::Array fields = describeFields(file, plan); !fields.empty())
    unit["fields"] = std::move(fields);
  if (!offloads.empty()) {
    json::Array functions;
    for (const Offload &each : offloads)
      functions.push_back(describe(each));
    unit["offload"] = std::move(functions);
  }
  if (!file.tuned.empty()) {
    json::Array tuned;
    for (auto [local, misses] : file.tuned)
      tuned.push_back(json::Object{{"local", int64_t(local)}, {"misses", int64_t(misses)}});
    unit["tuned"] = std::move(tuned);
  }
  addToPart(module, part, std::move(unit));
}

} // namespace farside
