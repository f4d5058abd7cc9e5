#include "Farside/Profile/Candidates.h"

#include "AllSites.h"
#include "Farside/Explain/Names.h"
#include "Farside/Explain/Parts.h"
#include "Farside/Offload/Candidate.h"
#include "SiteNames.h"
#include "Strides.h"
#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include <set>

using namespace llvm;

namespace farside {
namespace {

/// The part of the program that holds them.
constexpr StringLiteral part = ".farside.candidates";

/// The files that were compiled, other than what is linked in of the library.
std::string unitsOf(const Module &module) {
  SetVector<StringRef> names;
  for (const DICompileUnit *unit : module.debug_compile_units())
    if (!isOfSystem(*unit->getFile()))
      names.insert(unit->getFilename());
  return names.empty() ? module.getSourceFileName() : join(names, ", ");
}

/// Bytes of one access, if that is a constant.
std::optional<uint64_t> sizeOf(const Instruction &access) {
  const DataLayout &layout = access.getDataLayout();
  if (auto *load = dyn_cast<LoadInst>(&access))
    return layout.getTypeStoreSize(load->getType()).getKnownMinValue();
  if (auto *store = dyn_cast<StoreInst>(&access))
    return layout.getTypeStoreSize(store->getValueOperand()->getType()).getKnownMinValue();
  if (auto *memory = dyn_cast<AnyMemIntrinsic>(&access))
    if (auto *length = dyn_cast<ConstantInt>(memory->getLength()))
      return length->getZExtValue();
  return std::nullopt;
}

/// Functions of the program, by their names in the source, which of them each calls, and whether it can run where its data
/// is, if all is in sections that can be.
json::Array describeFunctions(const Module &module, const Plan &plan) {
  MapVector<StringRef, SetVector<StringRef>> functions;
  SmallSet<StringRef, 8> offloadable;
  auto isOurs = [](const Function *function) {
    return function && !function->isDeclaration() && !function->hasAvailableExternallyLinkage();
  };
  for (const Function &function : module) {
    if (!isOurs(&function))
      continue;
    auto &calls = functions[sourceName(function)];
    if (plan.functions.contains(&function) && candidateOf(function, plan).why.empty())
      offloadable.insert(sourceName(function));
    for (const Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallBase>(&instruction); call && isOurs(call->getCalledFunction()))
        calls.insert(sourceName(*call->getCalledFunction()));
  }
  json::Array all;
  for (const auto &[name, calls] : functions) {
    json::Object object{{"name", name}, {"calls", json::Array(calls.getArrayRef())}};
    if (offloadable.contains(name))
      object["offload"] = true;
    all.push_back(std::move(object));
  }
  return all;
}

/// Sites that one pointer of an access may lead to have to be in the same section. The class of each.
std::vector<unsigned> classesOf(const Plan &plan, ArrayRef<unsigned> siteOfCall, unsigned count) {
  IntEqClasses classes(count);
  for (const auto &[instruction, access] : plan.accesses)
    for (ArrayRef<unsigned> led : {ArrayRef(access.toSites), ArrayRef(access.fromSites)})
      for (unsigned call : led)
        classes.join(siteOfCall[call], siteOfCall[led.front()]);
  classes.compress();
  std::vector<unsigned> numbers;
  for (unsigned site = 0; site < count; ++site)
    numbers.push_back(classes[site]);
  return numbers;
}

} // namespace

Candidates::Candidates(Module &module, FunctionAnalysisManager &analyses) {
  auto [calls, plan] = allSites(module);
  SmallVector<unsigned> siteOfCall;
  for (CallBase *call : calls)
    siteOfCall.push_back(enter(siteNameOf(*call)));
  description = json::Object{{"version", 1},
                             {"unit", unitsOf(module)},
                             {"sites", describeSites(plan, siteOfCall)},
                             {"accesses", describeAccesses(module, plan, siteOfCall, analyses)},
                             {"functions", describeFunctions(module, plan)}};
}

bool Candidates::allowsLessThan(const Candidates &other) const {
  const json::Array &own = *description.getArray("sites"), &others = *other.description.getArray("sites");
  // Classes of the other, by those of this one: each is to be found in one of them at most.
  std::map<int64_t, int64_t> classes;
  for (auto [site, object] : zip(other.sites, others)) {
    auto known = numbers.find(keyOf(site));
    if (known == numbers.end() || object.getAsObject()->get("stays"))
      continue;
    const json::Object &here = *own[known->second].getAsObject();
    if (here.get("stays"))
      return true;
    int64_t there = *object.getAsObject()->getInteger("class");
    if (classes.try_emplace(*here.getInteger("class"), there).first->second != there)
      return true;
  }
  return false;
}

void Candidates::addTo(Module &module) { addToPart(module, part, std::move(description)); }

std::optional<unsigned> Candidates::siteOf(const CallBase &call) const {
  auto found = numbers.find(keyOf(siteNameOf(call)));
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

/// Calls that come from the same place, as copies of what was inlined, are of one site.
unsigned Candidates::enter(const SiteName &site) {
  auto [known, isNew] = numbers.try_emplace(keyOf(site), sites.size());
  if (isNew)
    sites.push_back(site);
  return known->second;
}

json::Array Candidates::describeSites(const Plan &plan, ArrayRef<unsigned> siteOfCall) const {
  std::vector<unsigned> classes = classesOf(plan, siteOfCall, sites.size());
  // A site stays if all calls of it do.
  std::vector<const Plan::Site *> staying(sites.size()), going(sites.size());
  for (auto [call, site] : zip(siteOfCall, plan.sites)) {
    auto &first = (site.stays.empty() ? going : staying)[call];
    first = first ? first : &site;
  }
  json::Array all;
  for (auto [number, site] : enumerate(sites)) {
    json::Object object{{"file", site.file},
                        {"function", site.function},
                        {"line", int64_t(site.line)},
                        {"column", int64_t(site.column)},
                        {"class", classes[number]}};
    if (site.file.empty())
      object["source"] = sourceName(*(going[number] ? going : staying)[number]->call->getFunction());
    if (!going[number]) {
      object["stays"] = staying[number]->stays;
      if (!staying[number]->because.empty())
        object["because"] = staying[number]->because;
    }
    all.push_back(std::move(object));
  }
  return all;
}

json::Array Candidates::describeAccesses(Module &module, const Plan &plan, ArrayRef<unsigned> siteOfCall,
                                         FunctionAnalysisManager &analyses) const {
  json::Array all;
  auto describe = [&](Instruction &instruction, const Plan::Access &access) {
    Pointers pointers = pointersOf(instruction);
    // Of a copy, what it writes if that may be in a section.
    const Value *pointer = access.section ? pointers.to : pointers.from;
    Stride stride = strideOf(instruction, const_cast<Value &>(*pointer), analyses);
    std::set<unsigned> accessed;
    for (unsigned call : access.sites)
      accessed.insert(siteOfCall[call]);
    json::Object object{{"place", placeOf(instruction)},
                        {"function", sourceName(*instruction.getFunction())},
                        {"kind", kindOf(instruction)},
                        {"sites", json::Array(accessed)},
                        {"loop", stride.isInLoop}};
    if (auto size = sizeOf(instruction))
      object["size"] = int64_t(*size);
    if (stride.bytes)
      object["stride"] = *stride.bytes;
    all.push_back(std::move(object));
  };
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      auto found = plan.accesses.find(&instruction);
      if (found != plan.accesses.end() && kindOf(instruction) != "allocation")
        describe(instruction, found->second);
    }
  return all;
}

} // namespace farside
