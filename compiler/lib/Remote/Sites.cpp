#include "Farside/Remote/Plan.h"

#include "Farside/Remote/Containers.h"
#include "Farside/Remote/HeapCall.h"
#include "Farside/Remote/Reach.h"
#include "Sites.h"
#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
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

/// Whether a section file calls a function so, by its name in the source or in the object.
bool isCalled(const DISubprogram *source, StringRef name) {
  return source && (source->getName() == name || source->getLinkageName() == name);
}

/// Whether a place in the source, which is in a function of the module, is what a section file names.
bool fits(const SiteName &site, const DILocation *place, const Function &function) {
  const DISubprogram *source = place ? place->getScope()->getSubprogram() : nullptr;
  if (!site.function.empty() && !isCalled(source, site.function) && commonName(function) != site.function)
    return false;
  if (site.file.empty())
    return true;
  return place && isNamed(place->getFilename(), site.file) && (!site.line || place->getLine() == site.line) &&
         (!site.column || place->getColumn() == site.column);
}

bool fits(const SiteName &site, const CallBase &call) {
  return fits(site, call.getDebugLoc().get(), *call.getFunction());
}

std::string nameOf(const DILocation &place) { return (place.getFilename() + ":" + Twine(place.getLine())).str(); }

/// Where a section file says that something is allocated, if a call was inlined there, over however many calls.
const DILocation *inlinedPlace(const SiteName &site, const CallBase &call) {
  const DILocation *found = nullptr;
  for (const DILocation *place = call.getDebugLoc().get(); place; place = place->getInlinedAt())
    if (fits(site, place, *call.getFunction())) {
      found = place;
      // What else was inlined to a function fits as well as its own lines.
      if (site.function.empty() || isCalled(place->getScope()->getSubprogram(), site.function))
        break;
    }
  return found;
}

/// Whether a section file speaks of this module: of a file that it is made of, or else of a function that is in it.
bool isHere(const SiteName &site, const Module &module) {
  return any_of(module, [&](const Function &function) {
    if (function.isDeclaration())
      return false;
    auto *program = function.getSubprogram();
    if (!site.file.empty())
      return program && isNamed(program->getFilename(), site.file);
    return function.getName() == site.function || (program && program->getName() == site.function);
  });
}

bool isOtherAllocation(const CallBase &call) {
  static constexpr StringLiteral others[] = {"aligned_alloc", "memalign", "posix_memalign", "valloc", "pvalloc",
                                             "reallocarray",  "strdup",   "strndup",        "mmap",   "malloc", "calloc",
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

namespace {

/// Sites of units that are linked: what was found in one of them, or what is called there, or that there is nothing.
constexpr StringLiteral foundList = "farside.found", soughtList = "farside.sought", absentList = "farside.absent";

/// The section that a call is marked with.
StringRef markOf(const CallBase &call) { return call.getFnAttr(siteAttribute).getValueAsString(); }

/// Goes from site to site of a section file.
class Marking {
public:
  Marking(Module &module, const SectionFile &file) : module(module), file(file) {}

  /// Marks what is allocated where the file says, before anything is inlined; what may be once it is, is sought.
  void markDirect(bool linked, std::vector<SectionFileError> &errors) {
    forEachSite([&](unsigned number, const SiteName &site) {
      Found found = find(site);
      for (CallBase *call : found.allocations)
        if (!mark(*call, number))
          errors.push_back({site.place, 0, describe(site) + ": '" + markOf(*call).str() +
                                               "' has this allocation already"});
      if (!found.allocations.empty())
        return list(foundList, site);
      if (!isHere(site, module))
        return;
      if (found.other)
        errors.push_back({site.place, 0, describe(site) + ": '" + found.other->getCalledFunction()->getName().str() +
                                             "' allocates there, and only malloc, calloc, realloc, "
                                             "aligned_alloc, memalign, posix_memalign, strdup and new can be in sections"});
      else if ((site.line || !site.function.empty()) && !found.calls.empty())
        seek(site, found.calls);
      else if (linked)
        list(absentList, site);
      else
        errors.push_back({site.place, 0, "nothing is allocated in " + describe(site)});
    });
  }

  /// Marks what came to a place that is sought by being inlined there. A line says more than a function that it is in or that
  /// was inlined to it.
  MissingSites markInlined() {
    MissingSites missing;
    for (bool hasLine : {true, false})
      forEachSite([&](unsigned number, const SiteName &site) {
        if ((site.line != 0) == hasLine)
          markInlined(number, site, missing);
      });
    return missing;
  }

  /// Sites that no unit was compiled with although the file or the function is there.
  std::vector<SectionFileError> findStale() {
    std::vector<SectionFileError> stale;
    forEachSite([&](unsigned, const SiteName &site) {
      bool isKnown = any_of(ArrayRef<StringRef>{foundList, soughtList, absentList},
                            [&](StringRef list) { return isListed(list, site); });
      if (!isKnown && isHere(site, module))
        stale.push_back({site.place, 0, describe(site) + ": objects were compiled without this site; compile them again"});
    });
    return stale;
  }

  /// Has functions that allocate, and that are called where something is sought, inlined there.
  void inlineAllocating() {
    forEachSite([&](unsigned, const SiteName &site) {
      if (!isListed(soughtList, site))
        return;
      for (CallBase *call : find(site).calls)
        inlineIfAllocating(*call, mostInlined);
    });
  }

private:
  /// How deep functions may lie within one another, of which only the innermost allocates.
  static constexpr unsigned mostInlined = 4;

  struct Found {
    SmallVector<CallBase *> allocations, calls;
    const CallBase *other = nullptr;
  };

  void forEachSite(function_ref<void(unsigned, const SiteName &)> what) {
    for (auto [number, section] : enumerate(file.sections))
      for (const SiteName &site : section.sites)
        what(number, site);
  }

  void forEachCall(function_ref<void(CallBase &)> what) {
    for (Function &function : module)
      if (!isForOthers(function))
        for (Instruction &instruction : instructions(function))
          if (auto *call = dyn_cast<CallBase>(&instruction); call && call->getCalledFunction())
            what(*call);
  }

  void markInlined(unsigned number, const SiteName &site, MissingSites &missing) {
    bool found = isListed(foundList, site), isSought = isListed(soughtList, site);
    if (!isSought) {
      if (!found && isListed(absentList, site))
        missing.errors.push_back({site.place, 0, "nothing is allocated in " + describe(site)});
      return;
    }
    forEachCall([&](CallBase &call) {
      if (!allocates(call))
        return;
      const DILocation *place = inlinedPlace(site, call);
      if (!place && (call.getDebugLoc() || !fits(site, nullptr, *call.getFunction())))
        return;
      found = true;
      if (mark(call, number) && place)
        call.addFnAttr(Attribute::get(module.getContext(), placeAttribute, nameOf(*place)));
    });
    if (!found)
      missing.warnings.push_back({site.place, 0, "nothing is allocated in " + describe(site) +
                                                     ", nor by what could be inlined there"});
  }

  Found find(const SiteName &site) {
    Found found;
    forEachCall([&](CallBase &call) {
      if (!fits(site, call) || isa<IntrinsicInst>(call))
        return;
      if (allocates(call))
        found.allocations.push_back(&call);
      else if (isOtherAllocation(call))
        found.other = &call;
      else
        found.calls.push_back(&call);
    });
    return found;
  }

  /// False if another section has it.
  bool mark(CallBase &call, unsigned number) {
    // By its name: what is linked later may have them in another order.
    StringRef name = file.sections[number].name, had = markOf(call);
    if (had.empty())
      call.addFnAttr(Attribute::get(module.getContext(), siteAttribute, name));
    return had.empty() || had == name;
  }

  /// Modules that are linked keep what is sought in each.
  void seek(const SiteName &site, ArrayRef<CallBase *> calls) {
    list(soughtList, site);
    for (CallBase *call : calls)
      inlineIfAllocating(*call, mostInlined);
  }

  void list(StringRef name, const SiteName &site) {
    auto *text = MDString::get(module.getContext(), describe(site));
    module.getOrInsertNamedMetadata(name)->addOperand(MDNode::get(module.getContext(), text));
  }

  bool isListed(StringRef name, const SiteName &site) {
    NamedMDNode *list = module.getNamedMetadata(name);
    return list && any_of(list->operands(), [&](const MDNode *each) {
             return cast<MDString>(each->getOperand(0))->getString() == describe(site);
           });
  }

  /// Whether what a call returns is allocated by what it calls.
  bool inlineIfAllocating(CallBase &call, unsigned depth) {
    Function *callee = call.getCalledFunction();
    if (!callee || callee->isDeclaration() || !call.getType()->isPointerTy() || callee == call.getFunction() || !depth)
      return false;
    bool does = false;
    for (Instruction &instruction : instructions(*callee))
      if (auto *inner = dyn_cast<CallBase>(&instruction))
        does |= allocates(*inner) || inlineIfAllocating(*inner, depth - 1);
    if (does) {
      call.removeFnAttr(Attribute::NoInline);
      call.addFnAttr(Attribute::AlwaysInline);
    }
    return does;
  }

  Module &module;
  const SectionFile &file;
};

} // namespace

void markSites(Module &module, const SectionFile &file, bool linked, std::vector<SectionFileError> &errors) {
  Marking(module, file).markDirect(linked, errors);
}

MissingSites markInlinedSites(Module &module, const SectionFile &file) {
  return Marking(module, file).markInlined();
}

std::vector<SectionFileError> staleSites(Module &module, const SectionFile &file) {
  return Marking(module, file).findStale();
}

void inlineAllocating(Module &module, const SectionFile &file) { Marking(module, file).inlineAllocating(); }

std::string placeOf(const Instruction &instruction) {
  if (const DebugLoc &place = instruction.getDebugLoc(); place && place->getLine())
    return nameOf(*place);
  // The file at least: the name of a module that is linked from several says nothing.
  const DISubprogram *function = instruction.getFunction()->getSubprogram();
  return function && function->getUnit() ? function->getUnit()->getFilename().str()
                                         : instruction.getModule()->getSourceFileName();
}

void markOffloaded(Module &module, const SectionFile &file) {
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    DISubprogram *program = function.getSubprogram();
    bool isMeant = any_of(file.offload, [&](const OffloadName &name) {
      return function.getName() == name.function || (program && program->getName() == name.function);
    });
    if (!isMeant)
      continue;
    function.addFnAttr(offloadAttribute);
    function.removeFnAttr(Attribute::AlwaysInline);
    function.addFnAttr(Attribute::NoInline);
  }
}

bool isOffloaded(const Function &function) { return function.hasFnAttribute(offloadAttribute); }

namespace {

/// The file that was compiled: a module that is linked from several has none of its own.
std::string unitOf(const CallBase &call) {
  const DISubprogram *function = call.getFunction()->getSubprogram();
  if (const DebugLoc &place = call.getDebugLoc())
    function = place->getScope()->getSubprogram();
  return function && function->getUnit() ? function->getUnit()->getFilename().str() : call.getModule()->getSourceFileName();
}

std::optional<unsigned> numberOf(StringRef name, const SectionFile &file) {
  for (auto [number, section] : enumerate(file.sections))
    if (section.name == name)
      return number;
  return std::nullopt;
}

std::string sitePlaceOf(const CallBase &call) {
  StringRef place = call.getFnAttr(placeAttribute).getValueAsString();
  return place.empty() ? placeOf(call) : place.str();
}

void forEachMark(Module &module, function_ref<void(CallBase &, StringRef)> what) {
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<CallBase>(&instruction))
        if (StringRef name = markOf(*call); !name.empty() && allocates(*call))
          what(*call, name);
}

} // namespace

void forgetSites(Function &function) {
  for (Instruction &instruction : instructions(function))
    if (auto *call = dyn_cast<CallBase>(&instruction))
      for (StringRef kind : {siteAttribute, placeAttribute})
        call->removeFnAttr(kind);
}

bool hasSites(Module &module) {
  bool has = module.getNamedMetadata(foundList) || module.getNamedMetadata(soughtList);
  forEachMark(module, [&](CallBase &, StringRef) { has = true; });
  return has;
}

SmallVector<Plan::Site> markedSites(Module &module, const SectionFile &file) {
  SmallVector<Plan::Site> sites;
  forEachMark(module, [&](CallBase &call, StringRef name) {
    if (auto section = numberOf(name, file))
      sites.push_back({&call, sitePlaceOf(call), functionAt(call).str(), unitOf(call), *section, "", ""});
  });
  return sites;
}

std::set<std::string> unknownSections(Module &module, const SectionFile &file) {
  std::set<std::string> unknown;
  forEachMark(module, [&](CallBase &, StringRef name) {
    if (!numberOf(name, file))
      unknown.insert(name.str());
  });
  return unknown;
}

} // namespace farside
