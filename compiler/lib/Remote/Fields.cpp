#include "Fields.h"

#include "Farside/Remote/HeapCall.h"
#include "Farside/Remote/LibraryCall.h"
#include "Farside/Remote/Reach.h"
#include "Farside/Remote/Versions.h"
#include "Records.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace farside {
namespace {

/// Blocks can be at multiples of no more.
constexpr uint64_t longestRecord = 64 << 10;

/// Bytes that a copy or a fill uses; 0 if that is not constant.
uint64_t lengthOf(const MemIntrinsic &memory) {
  auto *length = dyn_cast<ConstantInt>(memory.getLength());
  return length ? length->getLimitedValue() : 0;
}

std::string startOf(const Loop &loop) {
  const Function &function = *loop.getHeader()->getParent();
  if (DebugLoc place = loop.getStartLoc(); place && place->getLine())
    return (place->getFilename() + ":" + Twine(place->getLine())).str();
  return placeOf(function.getEntryBlock().front());
}

/// What a function does to one section by itself, and what it calls.
struct Body {
  SmallVector<const Instruction *> accesses;
  SmallSetVector<Function *, 4> callees;
};

/// What is done to one section by some code, with all that it calls.
struct Uses {
  SmallVector<Touch> touches;
  SmallPtrSet<const Function *, 8> called;
  /// Why more of it is used than can be said, and where.
  StringRef why;
  const Instruction *because = nullptr;

  void refuse(StringRef reason, const Instruction &where) {
    if (!why.empty())
      return;
    why = reason;
    because = &where;
  }
};

/// Looks for loops of one section.
class Selecting {
public:
  Selecting(Module &module, const SectionFile &file, unsigned section, const Reach &reach,
            function_ref<std::optional<std::string>(const Function &)> whyNot, Plan &plan)
      : module(module), spec(file.sections[section]), section(section), whyNot(whyNot), plan(plan),
        offsets(module, [&](const Value *value) { return leads(reach, value); }) {}

  void run() {
    findBodies();
    size_t before = plan.scopes.size();
    for (Function *function : callersFirst())
      if (users.contains(function) && !covered.contains(function) && !whyNot(*function))
        look(*function);
    if (plan.scopes.size() == before) {
      if (undivided.why.empty())
        undivided.why = "no loop uses it";
      plan.undivided.insert({section, undivided});
    } else if (spec.fields) {
      align();
    }
  }

private:
  bool leads(const Reach &reach, const Value *value) const {
    return any_of(reach.pointedTo(value), [&](unsigned site) {
      return plan.sites[site].section == section && plan.sites[site].stays.empty();
    });
  }

  bool isUse(const Instruction &instruction) const {
    auto found = plan.accesses.find(&instruction);
    return found != plan.accesses.end() && (found->second.section == section || found->second.from == section);
  }

  /// Also finds out which functions come to the section by what they call.
  void findBodies() {
    SmallVector<const Function *> work;
    DenseMap<const Function *, SmallVector<const Function *>> callers;
    for (Function &function : module) {
      Body &body = bodies[&function];
      for (const Instruction &instruction : instructions(function)) {
        if (isUse(instruction))
          body.accesses.push_back(&instruction);
        if (auto *call = dyn_cast<CallBase>(&instruction))
          for (Function *callee : {call->getCalledFunction(), const_cast<Function *>(callbackOf(*call))})
            if (callee && !callee->isDeclaration() && body.callees.insert(callee))
              callers[callee].push_back(&function);
      }
      if (!body.accesses.empty() && users.insert(&function).second)
        work.push_back(&function);
    }
    while (!work.empty())
      for (const Function *caller : callers.lookup(work.pop_back_val()))
        if (users.insert(caller).second)
          work.push_back(caller);
  }

  /// So that what a loop calls is known to be part of it before it is looked at.
  SmallVector<Function *> callersFirst() {
    SmallPtrSet<const Function *, 16> seen;
    SmallVector<Function *> after;
    SmallVector<std::pair<Function *, size_t>> way;
    for (Function &function : module) {
      if (seen.insert(&function).second)
        way.push_back({&function, 0});
      while (!way.empty()) {
        auto &[at, next] = way.back();
        ArrayRef<Function *> callees = bodies[at].callees.getArrayRef();
        if (next == callees.size()) {
          after.push_back(at);
          way.pop_back();
        } else if (Function *callee = callees[next++]; seen.insert(callee).second) {
          way.push_back({callee, 0});
        }
      }
    }
    return {after.rbegin(), after.rend()};
  }

  void look(Function &function) {
    if (function.isDeclaration())
      return;
    DominatorTree dominators(function);
    LoopInfo loops(dominators);
    for (Loop *loop : reverse(loops))
      look(*loop);
  }

  /// The loop, or else those in it.
  void look(const Loop &loop) {
    Uses uses = usesOf(loop);
    if (uses.touches.empty())
      return;
    Records records;
    if (uses.why.empty()) {
      records = recordsOf(uses.touches, std::min(spec.line, longestRecord));
      uses.why = records.why;
    }
    if (uses.why.empty()) {
      const Function *function = loop.getHeader()->getParent();
      plan.scopes.push_back({section, function, loop.getHeader(), startOf(loop), records.length, records.fields,
                             spec.fields});
      if (spec.fields)
        plan.functions.insert(function);
      covered.insert(uses.called.begin(), uses.called.end());
      return;
    }
    if (undivided.why.empty())
      undivided = {uses.why.str(), uses.because ? placeOf(*uses.because) : startOf(loop)};
    for (const Loop *inner : loop)
      look(*inner);
  }

  Uses usesOf(const Loop &loop) const {
    Uses uses;
    for (const BasicBlock *block : loop.blocks())
      for (const Instruction &instruction : *block)
        add(instruction, uses);
    // Why it cannot be left in good order is of no interest if nothing is used.
    if (!uses.touches.empty())
      checkExits(loop, uses);
    return uses;
  }

  void checkExits(const Loop &loop, Uses &uses) const {
    const Function &function = *loop.getHeader()->getParent();
    for (const BasicBlock *block : loop.blocks()) {
      for (const Instruction &instruction : *block)
        if (auto *call = dyn_cast<CallInst>(&instruction);
            call && !isa<IntrinsicInst>(call) && !call->doesNotThrow() && !function.doesNotThrow())
          uses.refuse("an exception may leave the loop", *call);
      for (const BasicBlock *next : successors(block)) {
        const Instruction *last = block->getTerminator();
        if (!loop.contains(next) && next->isEHPad())
          uses.refuse("an exception may leave the loop", *last);
        else if (!loop.contains(next) && !isa<BranchInst, SwitchInst, InvokeInst>(last))
          uses.refuse("the loop is left in a way that cannot be followed", *last);
      }
    }
  }

  void add(const Instruction &instruction, Uses &uses) const {
    if (isUse(instruction))
      addAccess(instruction, plan.accesses.find(&instruction)->second, uses);
    if (auto *call = dyn_cast<CallBase>(&instruction))
      for (const Function *callee : {static_cast<const Function *>(call->getCalledFunction()), callbackOf(*call)})
        if (callee)
          add(*callee, uses);
  }

  void add(const Function &function, Uses &uses) const {
    if (!users.contains(&function) || !uses.called.insert(&function).second)
      return;
    const Body &body = bodies.find(&function)->second;
    for (const Instruction *access : body.accesses)
      addAccess(*access, plan.accesses.find(access)->second, uses);
    for (const Function *callee : body.callees)
      add(*callee, uses);
  }

  void addAccess(const Instruction &instruction, const Plan::Access &access, Uses &uses) const {
    Pointers pointers = pointersOf(instruction);
    auto touch = [&](const Value *pointer, uint64_t size) {
      Offset offset = offsets.of(pointer);
      if (offset.kind == Offset::nowhere)
        return;
      if (offset.kind == Offset::anywhere)
        uses.refuse("it is not known which part of a record is used", instruction);
      uses.touches.push_back({offset, size});
    };
    const DataLayout &layout = instruction.getDataLayout();
    if (auto *call = dyn_cast<CallBase>(&instruction); call && !isa<IntrinsicInst>(call)) {
      HeapCall heap = heapCallOf(*call);
      if (access.section == section && (heap == HeapCall::calloc || heap == HeapCall::realloc))
        uses.refuse("all of what is allocated in it is written", instruction);
      else if (!access.borrows.empty())
        uses.refuse("a function of the C library uses it", instruction);
    } else if (auto *memory = dyn_cast<MemIntrinsic>(&instruction)) {
      if (access.section == section)
        touch(pointers.to, lengthOf(*memory));
      if (access.from == section)
        touch(pointers.from, lengthOf(*memory));
    } else if (access.section == section) {
      Type *type = isa<StoreInst>(instruction) ? instruction.getOperand(0)->getType() : instruction.getType();
      touch(pointers.to, layout.getTypeStoreSize(type));
    }
  }

  /// Records of blocks that are no longer than a line begin where they are to only if the block does.
  void align() const {
    uint64_t longest = 0;
    for (const Plan::Scope &scope : plan.scopes)
      if (scope.section == section)
        longest = std::max(longest, scope.record);
    for (auto &[instruction, access] : plan.accesses)
      if (auto *call = dyn_cast<CallBase>(instruction); call && access.section == section && allocates(*call))
        access.alignment = std::min(longest, Offsets::alignmentOf(*call));
  }

  Module &module;
  const SectionSpec &spec;
  unsigned section;
  function_ref<std::optional<std::string>(const Function &)> whyNot;
  Plan &plan;
  Offsets offsets;
  DenseMap<const Function *, Body> bodies;
  /// Functions that use the section, or call such.
  SmallPtrSet<const Function *, 16> users;
  /// What is called by loops that were found.
  SmallPtrSet<const Function *, 8> covered;
  Plan::Undivided undivided;
};

/// Whether something may come back to where it was in another function.
bool jumps(const Module &module) {
  return any_of(module, [](const Function &function) { return function.hasFnAttribute(Attribute::ReturnsTwice); });
}

/// Why there is no looking at what loops use of a section; empty if there is.
std::string whyUndivided(const Module &module, const SectionFile &file, unsigned section, bool isWhole, const Plan &plan) {
  if (!isWhole)
    return "units are converted one by one, so that others may use it, too";
  for (auto [other, function] : plan.shared)
    if (file.groupOf(other) == file.groupOf(section))
      return ("'" + nameForOthers(*function) + "' may be called from elsewhere, by another thread").str();
  if (file.threads > 0)
    return "several threads may use it";
  return jumps(module) ? "the program has setjmp() or its like" : "";
}

} // namespace

void planFields(Module &module, const SectionFile &file, const Reach &reach, bool isWhole,
                function_ref<std::optional<std::string>(const Function &)> whyNot, Plan &plan) {
  for (unsigned section = 0; section < file.sections.size(); ++section) {
    auto goes = [&](const Plan::Site &site) { return site.section == section && site.stays.empty(); };
    if (none_of(plan.sites, goes))
      continue;
    std::string why = whyUndivided(module, file, section, isWhole, plan);
    if (why.empty())
      Selecting(module, file, section, reach, whyNot, plan).run();
    else
      plan.undivided.insert({section, {why, ""}});
  }
}

} // namespace farside
