#include "Farside/Remote/Specialize.h"

#include "Farside/Remote/Plan.h"
#include "Farside/Remote/Reach.h"
#include "Sites.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <map>
#include <optional>
#include <set>
#include <tuple>

using namespace llvm;

namespace farside {
namespace {

/// How often what the copies call gets copies of its own.
constexpr unsigned mostRounds = 6;
/// Most callers of a function that has copies, and most instructions of it and of all copies.
constexpr unsigned mostCallers = 16, longestFunction = 500, longestCopies = 20000;

class Specializing {
public:
  Specializing(Module &module, ArrayRef<Destined> sites) : module(module), sites(sites) {
    for (const Destined &site : sites)
      allocating.insert(site.call->getFunction());
  }

  void run() {
    unsigned before = staying(Look(module, sites));
    if (before == 0)
      return;
    for (unsigned round = 0; round < mostRounds && copyAll(Look(module, sites)); ++round)
      ;
    if (copies.empty())
      return;
    Look look(module, sites);
    if (staying(look) < before)
      joinSame(look);
    else
      for (auto [copy, original] : copies)
        copy->replaceAllUsesWith(original);
    eraseUnused();
  }

private:
  /// What is known of the module as it is.
  struct Look {
    Reach reach;
    /// Of each site, whether nobody may convert it.
    SmallVector<bool> stays;

    Look(const Module &module, ArrayRef<Destined> sites)
        : reach(module, map_to_vector(sites, [](const Destined &site) -> const CallBase * { return site.call; })) {
      for (auto [number, site, common] : enumerate(sites, reach.findCommon()))
        stays.push_back(reach.escapeOf(number).happened || (site.own && common));
    }
  };

  /// What a value may lead to: sections, and whether that is known outside, or to other threads.
  struct Target {
    std::set<unsigned> sections;
    bool isOutside = false;

    bool operator<(const Target &other) const {
      return std::tie(sections, isOutside) < std::tie(other.sections, other.isOutside);
    }
    bool isMixed() const { return sections.size() > 1 || (isOutside && !sections.empty()); }
  };

  Target targetOf(const Look &look, const Value *value) const {
    Target target;
    for (unsigned site : look.reach.pointedTo(value)) {
      target.sections.insert(sites[site].section);
      target.isOutside |= look.stays[site];
    }
    return target;
  }

  /// How many sites do not go, because they escape, other threads may come to them, or pointers to them may lead to another
  /// section.
  unsigned staying(const Look &look) const {
    unsigned count = 0;
    for (auto [number, site] : enumerate(sites))
      count += look.stays[number] || targetOf(look, site.call).sections.size() > 1;
    return count;
  }

  /// The calls of a function, other than by itself, if each may call a copy.
  std::optional<SmallVector<CallBase *>> callsOf(Function &function) const {
    if (function.isDeclaration() || !function.hasLocalLinkage() || function.isVarArg() || allocating.contains(&function) ||
        isOffloaded(function) || function.hasFnAttribute(Attribute::ReturnsTwice) ||
        function.getInstructionCount() > longestFunction)
      return std::nullopt;
    for (const BasicBlock &block : function)
      if (block.hasAddressTaken())
        return std::nullopt;
    SmallVector<CallBase *> calls;
    for (Use &use : function.uses()) {
      auto *call = dyn_cast<CallBase>(use.getUser());
      if (!call || !call->isCallee(&use) || call->getFunctionType() != function.getFunctionType())
        return std::nullopt;
      if (call->getFunction() != &function)
        calls.push_back(call);
    }
    if (calls.size() < 2 || calls.size() > mostCallers)
      return std::nullopt;
    return calls;
  }

  /// Gives all callers but one of each function that mixes what it is passed a copy. Whether there was such a function.
  bool copyAll(const Look &look) {
    SmallVector<std::pair<Function *, SmallVector<CallBase *>>> mixing;
    for (Function &function : module) {
      auto isMixed = [&](const Argument &argument) { return targetOf(look, &argument).isMixed(); };
      if (!any_of(function.args(), isMixed))
        continue;
      if (auto calls = callsOf(function))
        mixing.push_back({&function, std::move(*calls)});
    }
    bool changes = false;
    for (auto &[function, calls] : mixing) {
      unsigned length = function->getInstructionCount() * (calls.size() - 1);
      if (copied + length > longestCopies)
        continue;
      copied += length;
      // The first one in the program keeps it, so that the same source makes the same code.
      for (CallBase *call : ArrayRef(calls).drop_back())
        call->setCalledFunction(copy(*function));
      changes = true;
    }
    return changes;
  }

  Function *copy(Function &function) {
    ValueToValueMapTy map;
    Function *made = CloneFunction(&function, map);
    made->setName(function.getName() + ".for");
    made->setLinkage(GlobalValue::InternalLinkage);
    made->setComdat(nullptr);
    function.replaceUsesWithIf(made, [&](Use &use) {
      auto *user = dyn_cast<Instruction>(use.getUser());
      return user && user->getFunction() == made;
    });
    auto original = copies.find(&function);
    Function *first = original == copies.end() ? &function : original->second;
    copies.insert({made, first});
    return made;
  }

  /// Of copies that lead to the same one is enough.
  void joinSame(const Look &look) {
    std::map<std::pair<Function *, std::vector<Target>>, Function *> first;
    auto keyOf = [&](Function &function, Function *original) {
      std::vector<Target> targets;
      for (const Argument &argument : function.args())
        targets.push_back(targetOf(look, &argument));
      return std::pair(original, targets);
    };
    for (auto [copy, original] : copies)
      first.try_emplace(keyOf(*original, original), original);
    for (auto [copy, original] : copies)
      if (Function *same = first.try_emplace(keyOf(*copy, original), copy).first->second; same != copy)
        copy->replaceAllUsesWith(same);
  }

  /// What is left of copies that nobody calls, but they one another or themselves.
  void eraseUnused() {
    SmallPtrSet<Function *, 16> unused;
    for (auto [copy, original] : copies)
      unused.insert(copy);
    for (bool changes = true; changes;) {
      changes = false;
      for (auto [copy, original] : copies)
        if (unused.contains(copy) && any_of(copy->users(), [&](const User *user) {
              auto *call = dyn_cast<CallBase>(user);
              return !call || !unused.contains(call->getFunction());
            })) {
          unused.erase(copy);
          changes = true;
        }
    }
    for (Function *function : unused)
      function->deleteBody();
    for (Function *function : unused)
      function->eraseFromParent();
  }

  Module &module;
  ArrayRef<Destined> sites;
  SmallPtrSet<const Function *, 16> allocating;
  /// Of what each is a copy.
  MapVector<Function *, Function *> copies;
  unsigned copied = 0;
};

} // namespace

void specialize(Module &module, ArrayRef<Destined> sites) { Specializing(module, sites).run(); }

void specialize(Module &module, const SectionFile &file) {
  SmallVector<Plan::Site> marked = markedSites(module, file);
  specialize(module, map_to_vector(marked, [&](const Plan::Site &site) {
               return Destined{site.call, site.section, file.sections[site.section].own};
             }));
}

} // namespace farside
