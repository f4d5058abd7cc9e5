#include "Farside/Remote/Plan.h"

#include "Farside/Remote/HeapCall.h"
#include "Farside/Remote/Reach.h"
#include "Sites.h"
#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace farside {
namespace {

/// Whether a path is, or ends in, what a section file calls it.
bool isNamed(StringRef path, StringRef name) {
  return path == name || (path.ends_with(name) && path.drop_back(name.size()).ends_with("/"));
}

StringRef functionAt(const CallBase &call) {
  if (const DebugLoc &place = call.getDebugLoc())
    return place->getScope()->getSubprogram()->getName();
  return call.getFunction()->getName();
}

bool fits(const SiteName &site, const CallBase &call) {
  const DebugLoc &place = call.getDebugLoc();
  if (!site.function.empty() && functionAt(call) != site.function && call.getFunction()->getName() != site.function)
    return false;
  if (site.file.empty())
    return true;
  return place && isNamed(place->getFilename(), site.file) && (!site.line || place.getLine() == site.line) &&
         (!site.column || place.getCol() == site.column);
}

/// Whether a section file speaks of this module: of a file that it is made of, or else of a function that is in it.
bool isHere(const SiteName &site, const Module &module) {
  if (site.file.empty()) {
    auto *function = module.getFunction(site.function);
    return function && !function->isDeclaration();
  }
  for (const Function &function : module)
    if (auto *program = function.getSubprogram(); program && isNamed(program->getFilename(), site.file))
      return true;
  return false;
}

bool allocates(const CallBase &call) {
  HeapCall heap = heapCallOf(call);
  return heap == HeapCall::malloc || heap == HeapCall::calloc || heap == HeapCall::realloc;
}

bool isOtherAllocation(const CallBase &call) {
  static constexpr StringLiteral others[] = {"aligned_alloc", "memalign", "posix_memalign", "valloc", "pvalloc",
                                             "reallocarray",  "strdup",   "mmap",           "malloc", "calloc",
                                             "realloc"};
  const Function *callee = call.getCalledFunction();
  return callee && (is_contained(others, callee->getName()) || callee->getName().starts_with("_Znw") ||
                    callee->getName().starts_with("_Zna"));
}

std::string describe(const SiteName &site) {
  std::string text = site.function.empty() ? "" : "function '" + site.function + "'";
  if (!site.file.empty())
    text += (text.empty() ? "" : " of ") + site.file;
  if (site.line)
    text += ", line " + std::to_string(site.line);
  if (site.column)
    text += ", column " + std::to_string(site.column);
  return text;
}

} // namespace

void markSites(Module &module, const SectionFile &file, std::vector<SectionFileError> &errors) {
  DenseMap<const CallBase *, unsigned> marked;
  unsigned kind = module.getMDKindID(siteMetadata);
  for (auto [number, section] : enumerate(file.sections))
    for (const SiteName &site : section.sites) {
      bool found = false;
      const CallBase *other = nullptr;
      for (Function &function : module)
        for (Instruction &instruction : instructions(function)) {
          auto *call = dyn_cast<CallBase>(&instruction);
          if (!call || !call->getCalledFunction() || !fits(site, *call))
            continue;
          if (!allocates(*call)) {
            if (isOtherAllocation(*call))
              other = call;
            continue;
          }
          found = true;
          auto [place, isNew] = marked.try_emplace(call, number);
          if (!isNew && place->second != number)
            errors.push_back({site.place, 0, describe(site) + ": '" + file.sections[place->second].name +
                                                 "' has this allocation already"});
          // By its name: what is linked later may have them in another order.
          auto *name = MDString::get(module.getContext(), file.sections[number].name);
          call->setMetadata(kind, MDNode::get(module.getContext(), name));
        }
      if (found || !isHere(site, module))
        continue;
      if (other)
        errors.push_back({site.place, 0, describe(site) + ": '" + other->getCalledFunction()->getName().str() +
                                             "' allocates there, and only malloc, calloc and realloc that are called "
                                             "directly can be in sections"});
      else
        errors.push_back({site.place, 0, "nothing is allocated in " + describe(site)});
    }
}

std::string placeOf(const Instruction &instruction) {
  if (const DebugLoc &place = instruction.getDebugLoc(); place && place->getLine())
    return (place->getFilename() + ":" + Twine(place->getLine())).str();
  return instruction.getModule()->getSourceFileName();
}

namespace {

/// The file that was compiled: a module that is linked from several has none of its own.
std::string unitOf(const CallBase &call) {
  const DISubprogram *function = call.getFunction()->getSubprogram();
  if (const DebugLoc &place = call.getDebugLoc())
    function = place->getScope()->getSubprogram();
  return function && function->getUnit() ? function->getUnit()->getFilename().str() : call.getModule()->getSourceFileName();
}

/// The section that a call is marked with.
StringRef markOf(const CallBase &call, unsigned kind) {
  const MDNode *mark = call.getMetadata(kind);
  auto *name = mark && mark->getNumOperands() == 1 ? dyn_cast<MDString>(mark->getOperand(0)) : nullptr;
  return name ? name->getString() : "";
}

std::optional<unsigned> numberOf(StringRef name, const SectionFile &file) {
  for (auto [number, section] : enumerate(file.sections))
    if (section.name == name)
      return number;
  return std::nullopt;
}

void forEachMark(Module &module, function_ref<void(CallInst &, StringRef)> what) {
  unsigned kind = module.getMDKindID(siteMetadata);
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallInst>(&instruction))
        if (StringRef name = markOf(*call, kind); !name.empty() && allocates(*call))
          what(*call, name);
}

} // namespace

SmallVector<Plan::Site> markedSites(Module &module, const SectionFile &file) {
  SmallVector<Plan::Site> sites;
  forEachMark(module, [&](CallInst &call, StringRef name) {
    if (auto section = numberOf(name, file))
      sites.push_back({&call, placeOf(call), functionAt(call).str(), unitOf(call), *section, "", ""});
  });
  return sites;
}

std::set<std::string> unknownSections(Module &module, const SectionFile &file) {
  std::set<std::string> unknown;
  forEachMark(module, [&](CallInst &, StringRef name) {
    if (!numberOf(name, file))
      unknown.insert(name.str());
  });
  return unknown;
}

} // namespace farside
