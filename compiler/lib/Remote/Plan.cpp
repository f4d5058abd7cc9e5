#include "Farside/Remote/Plan.h"

#include "Farside/Remote/HeapCall.h"
#include "Farside/Remote/LibraryCall.h"
#include "Farside/Remote/Reach.h"
#include "Fields.h"
#include "Sites.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include <tuple>

using namespace llvm;

namespace farside {
namespace {

/// The longest values that are loaded and stored in sections.
constexpr uint64_t longestValue = 64;

/// Why there is no such access to remote memory; empty if there is.
StringRef whyNoAccess(const Instruction &instruction) {
  const DataLayout &layout = instruction.getDataLayout();
  auto value = [&](const Type *type, bool simple) -> StringRef {
    if (!simple)
      return "it is accessed in one piece by several threads, or volatile";
    TypeSize size = layout.getTypeStoreSize(const_cast<Type *>(type));
    if (size.isScalable() || size > longestValue)
      return "a value in it is too long to be looked up";
    if (!isa<IntegerType, PointerType, FixedVectorType>(type) && !type->isFloatingPointTy())
      return "a value in it is made of several";
    if (layout.getTypeSizeInBits(const_cast<Type *>(type)) != size * 8)
      return "a value in it has a number of bits that makes no bytes";
    return "";
  };
  if (auto *load = dyn_cast<LoadInst>(&instruction))
    return value(load->getType(), load->isSimple());
  if (auto *store = dyn_cast<StoreInst>(&instruction))
    return value(store->getValueOperand()->getType(), store->isSimple());
  if (auto *memory = dyn_cast<MemIntrinsic>(&instruction)) {
    Intrinsic::ID kind = memory->getIntrinsicID();
    if (memory->isVolatile())
      return "it is volatile";
    bool isKnown = kind == Intrinsic::memcpy || kind == Intrinsic::memmove || kind == Intrinsic::memset;
    return isKnown ? "" : "it is copied without a call";
  }
  if (auto *call = dyn_cast<CallBase>(&instruction); call && heapCallOf(*call) != HeapCall::no)
    return heapCallOf(*call) == HeapCall::alignedAt ? "posix_memalign() stores a pointer in it" : "";
  if (auto *call = dyn_cast<CallBase>(&instruction); call && libraryCallOf(*call))
    return "";
  return "it is accessed in one piece by several threads";
}

/// Where a variable is in the source, if that is known.
std::string declarationOf(const GlobalVariable &variable) {
  SmallVector<DIGlobalVariableExpression *, 1> known;
  variable.getDebugInfo(known);
  if (known.empty())
    return "";
  const DIGlobalVariable &source = *known.front()->getVariable();
  return (source.getFilename() + ":" + Twine(source.getLine())).str();
}

bool handlesSignals(const Module &module) {
  static constexpr StringLiteral ways[] = {"signal", "sigaction", "sigset", "bsd_signal", "sysv_signal",
                                           "__sysv_signal"};
  return any_of(ways, [&](StringRef way) { return module.getFunction(way) != nullptr; });
}

/// Makes a plan, site by site and access by access.
class Planning {
public:
  Planning(Module &module, const SectionFile &file, Plan &plan, bool isWhole,
           function_ref<std::optional<std::string>(const Function &)> whyNot)
      : module(module), file(file), plan(plan), isWhole(isWhole), whyNot(whyNot), reach(module, calls(plan)) {}

  /// Looks where only some fields of records are used, when all else is planned.
  void selectFields() { planFields(module, file, reach, isWhole, whyNot, plan); }

  void run() {
    for (auto [number, site] : enumerate(plan.sites))
      if (const auto &escape = reach.escapeOf(number); escape.happened)
        stay(site, escape.how, escape.where);
    keepCommon();
    findEntries();
    keepWritten();
    forEachPointer([&](const Instruction &instruction, const Value *pointer, bool) { check(instruction, pointer); });
    forEachPointer([&](const Instruction &, const Value *pointer, bool) { checkSections(pointer); });
    for (auto [number, site] : enumerate(plan.sites))
      if (site.stays.empty()) {
        Plan::Access &access = enter(*site.call);
        access.section = site.section;
        note(access, number);
      }
    forEachPointer([&](const Instruction &instruction, const Value *pointer, bool isFrom) {
      auto section = sectionOf(pointer);
      if (!section)
        return;
      Plan::Access &access = enter(instruction);
      (isFrom ? access.from : access.section) = section;
      if (auto *call = dyn_cast<CallBase>(&instruction))
        if (auto library = libraryCallOf(*call))
          std::tie(access.borrows, access.returned) = std::tie(library->borrows, library->returned);
      ArrayRef<unsigned> sites = reach.pointedTo(pointer);
      (isFrom ? access.fromSites : access.toSites).assign(sites.begin(), sites.end());
      for (unsigned site : sites)
        note(access, site);
    });
    for (const Function &function : module)
      if (plan.functions.contains(&function) && plan.elsewhere.contains(&function))
        noteShared(function);
  }

private:
  /// What a function uses that other threads may run.
  void noteShared(const Function &function) {
    for (const Instruction &instruction : instructions(function)) {
      auto access = plan.accesses.find(&instruction);
      if (access == plan.accesses.end())
        continue;
      for (auto section : {access->second.section, access->second.from})
        if (section)
          plan.shared.insert({*section, &function});
    }
  }

  /// Whether each thread has a section of its own. If it is not asked for sections, there are none.
  bool isOwn(unsigned section) const { return section < file.sections.size() && file.sections[section].own; }

  /// Of what is to be each thread's own, what is not stays.
  void keepCommon() {
    if (none_of(plan.sites, [&](const Plan::Site &site) { return isOwn(site.section); }))
      return;
    const Function *switching = Reach::switchingStacks(module);
    for (auto [site, variable] : zip(plan.sites, reach.findCommon())) {
      if (!isOwn(site.section) || !site.stays.empty())
        continue;
      if (switching) {
        stay(site, ("the program calls '" + switching->getName() +
                    "', so that one thread may go on with what another one has begun").str(), nullptr);
      } else if (variable) {
        stay(site, ("other threads may come to it by the variable '" + variable->getName() + "'").str(), nullptr);
        site.because = declarationOf(*variable);
      }
    }
  }

  /// Whether a section has copies, in all threads but the main one. If it is not asked for sections, none has.
  bool hasCopies(unsigned section) const { return section < file.sections.size() && file.sections[section].copies; }

  /// Why no section of the program has copies; empty if it may.
  std::string whyNoCopies() const {
    if (const Function *switching = Reach::switchingStacks(module))
      return ("the program calls '" + switching->getName() +
              "', so that one thread may go on with what another one has begun").str();
    const Function *main = module.getFunction("main");
    if (!isWhole || !main || main->isDeclaration())
      return "sections have copies only in programs that are converted when they are linked";
    return "";
  }

  /// Of what is to have copies, what other threads may write to stays.
  void keepWritten() {
    if (none_of(plan.sites, [&](const Plan::Site &site) { return hasCopies(site.section); }))
      return;
    std::string none = whyNoCopies();
    auto keep = [&](unsigned number, const Instruction &instruction, StringRef what) {
      Plan::Site &site = plan.sites[number];
      const Function &function = *instruction.getFunction();
      if (hasCopies(site.section) && plan.elsewhere.contains(&function))
        stay(site, ("it " + what + " in '" + function.getName() + "', which other threads may run").str(), &instruction);
    };
    for (auto [number, site] : enumerate(plan.sites)) {
      if (hasCopies(site.section) && !none.empty())
        stay(site, none, nullptr);
      keep(number, *site.call, "is allocated");
    }
    forEachPointer([&](const Instruction &instruction, const Value *pointer, bool isFrom) {
      if (changes(instruction, isFrom))
        for (unsigned site : reach.pointedTo(pointer))
          keep(site, instruction, "may be written or freed");
    });
  }

  /// Whether an instruction may change what one of its pointers leads to.
  static bool changes(const Instruction &instruction, bool isFrom) {
    if (isa<LoadInst>(instruction))
      return false;
    if (isa<AnyMemIntrinsic>(instruction))
      return !isFrom;
    auto *call = dyn_cast<CallBase>(&instruction);
    auto library = call && heapCallOf(*call) == HeapCall::no ? libraryCallOf(*call) : std::nullopt;
    return !library || library->borrows[isFrom].isWritten;
  }

  static SmallVector<const CallBase *> calls(const Plan &plan) {
    SmallVector<const CallBase *> calls;
    for (const Plan::Site &site : plan.sites)
      calls.push_back(site.call);
    return calls;
  }

  void stay(Plan::Site &site, StringRef why, const Instruction *because) {
    if (!site.stays.empty())
      return;
    site.stays = why;
    if (because)
      site.because = placeOf(*because);
  }

  Plan::Access &enter(const Instruction &instruction) {
    plan.functions.insert(instruction.getFunction());
    return plan.accesses[&instruction];
  }

  static void note(Plan::Access &access, unsigned site) {
    if (!is_contained(access.sites, site))
      access.sites.push_back(site);
  }

  void forEachPointer(function_ref<void(const Instruction &, const Value *, bool)> what) {
    for (const Function &function : module)
      for (const Instruction &instruction : instructions(function)) {
        Pointers pointers = pointersOf(instruction);
        if (pointers.to && !reach.pointedTo(pointers.to).empty())
          what(instruction, pointers.to, false);
        if (pointers.from && !reach.pointedTo(pointers.from).empty())
          what(instruction, pointers.from, true);
      }
  }

  /// Functions that are reached from some.
  SmallPtrSet<const Function *, 16> reachedFrom(SmallVector<const Function *> work) const {
    SmallPtrSet<const Function *, 16> reached(work.begin(), work.end());
    auto reach = [&](const Function *callee) {
      if (callee && reached.insert(callee).second)
        work.push_back(callee);
    };
    while (!work.empty()) {
      const Function *function = work.pop_back_val();
      for (const Instruction &instruction : instructions(*function))
        if (auto *call = dyn_cast<CallBase>(&instruction)) {
          reach(call->getCalledFunction());
          reach(callbackOf(*call));
          if (!call->getCalledFunction())
            for (const Function *callee : pointed.lookup(this->reach.functionsAt(call->getCalledOperand())))
              reach(callee);
        }
    }
    return reached;
  }

  /// Whether a function is called when the program ends, by the thread that ends it.
  static bool isCalledAtEnd(const Function &function) {
    return any_of(function.users(), [&](const User *user) {
      auto *call = dyn_cast<CallBase>(user);
      auto library = call ? libraryCallOf(*call) : std::nullopt;
      return library && library->callback == &function && library->handed != Borrow::none;
    });
  }

  /// What a program, which has a main function, does before that: nobody else calls it. Others may load a library.
  SmallPtrSet<const Function *, 4> functionsAtStart() const {
    SmallPtrSet<const Function *, 4> found;
    const Function *main = module.getFunction("main");
    const GlobalVariable *list = module.getNamedGlobal("llvm.global_ctors");
    if (!main || main->isDeclaration() || !list || !list->hasInitializer())
      return found;
    for (const Use &entry : list->getInitializer()->operands())
      if (auto *parts = dyn_cast<ConstantStruct>(entry))
        if (auto *function = dyn_cast<Function>(parts->getOperand(1)); function && function->hasOneUse())
          found.insert(function);
    return found;
  }

  /// Whether the thread that runs a function may end the program there.
  static bool endsProgram(const Function *function) {
    static constexpr StringLiteral names[] = {"exit", "quick_exit", "err", "errx", "verr", "verrx", "error"};
    return any_of(instructions(*function), [&](const Instruction &instruction) {
      auto *call = dyn_cast<CallBase>(&instruction);
      const Function *callee = call ? call->getCalledFunction() : nullptr;
      return callee && callee->isDeclaration() && is_contained(names, callee->getName());
    });
  }

  /// Functions that what cannot be seen may call, in which case other threads may, or a signal handler. What is called at the
  /// end is called by the main thread, unless others end the program.
  void findEntries() {
    SmallVector<const Function *> all, taken, atEnd;
    const auto atStart = functionsAtStart();
    for (const Function &function : module) {
      if (function.isDeclaration())
        continue;
      bool isTaken = Reach::hasAddressTaken(function) && !atStart.contains(&function);
      const void *functions = reach.functionsAt(&function);
      if (isTaken && functions && Reach::isAddressSeen(function)) {
        pointed[functions].push_back(&function);
        isTaken = false;
      }
      if (isTaken || Reach::isCalledFromOutside(function))
        all.push_back(&function);
      else if (isCalledAtEnd(function))
        atEnd.push_back(&function);
      if (isTaken)
        taken.push_back(&function);
    }
    plan.elsewhere = reachedFrom(all);
    if (any_of(plan.elsewhere, endsProgram)) {
      append_range(all, atEnd);
      plan.elsewhere = reachedFrom(all);
    }
    if (handlesSignals(module))
      handlers = reachedFrom(taken);
  }

  void check(const Instruction &instruction, const Value *pointer) {
    std::string why(whyNoAccess(instruction));
    const Function *function = instruction.getFunction();
    if (auto reason = why.empty() ? whyNot(*function) : std::nullopt)
      why = ("it is used in '" + function->getName() + "', which stays as clang made it: " + *reason).str();
    if (why.empty() && handlers.contains(function))
      why = ("it is used in '" + function->getName() + "', which may be a signal handler's").str();
    if (!why.empty())
      for (unsigned site : reach.pointedTo(pointer))
        stay(plan.sites[site], why, &instruction);
  }

  std::optional<unsigned> sectionOf(const Value *pointer) {
    for (unsigned site : reach.pointedTo(pointer))
      if (plan.sites[site].stays.empty())
        return plan.sites[site].section;
    return std::nullopt;
  }

  /// What a pointer leads to can be in one section only.
  void checkSections(const Value *pointer) {
    std::optional<unsigned> section = sectionOf(pointer);
    if (!section)
      return;
    for (unsigned site : reach.pointedTo(pointer))
      if (plan.sites[site].section != section)
        stay(plan.sites[site], "pointers to it may also lead to the section '" + file.sections[*section].name + "'",
             nullptr);
  }

  Module &module;
  const SectionFile &file;
  Plan &plan;
  /// Whether nothing that is compiled elsewhere uses these sections.
  bool isWhole;
  function_ref<std::optional<std::string>(const Function &)> whyNot;
  Reach reach;
  SmallPtrSet<const Function *, 16> handlers;
  /// Those that only calls that are seen may call by their addresses.
  DenseMap<const void *, SmallVector<const Function *>> pointed;
};

} // namespace

Pointers pointersOf(const Instruction &instruction) {
  if (auto *load = dyn_cast<LoadInst>(&instruction))
    return {load->getPointerOperand()};
  if (auto *store = dyn_cast<StoreInst>(&instruction))
    return {store->getPointerOperand()};
  if (auto *copy = dyn_cast<AnyMemTransferInst>(&instruction))
    return {copy->getRawDest(), copy->getRawSource()};
  if (auto *fill = dyn_cast<AnyMemSetInst>(&instruction))
    return {fill->getRawDest()};
  if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction))
    return {exchange->getPointerOperand()};
  if (auto *change = dyn_cast<AtomicRMWInst>(&instruction))
    return {change->getPointerOperand()};
  if (auto *call = dyn_cast<CallBase>(&instruction))
    switch (heapCallOf(*call)) {
    case HeapCall::free:
    case HeapCall::destroy:
    case HeapCall::realloc:
    case HeapCall::alignedAt:
      return {call->getArgOperand(0)};
    default:
      if (auto library = libraryCallOf(*call)) {
        ArrayRef<Borrow> borrows = library->borrows;
        auto pointer = [&](size_t number) {
          return number < borrows.size() ? call->getArgOperand(borrows[number].argument) : nullptr;
        };
        return {pointer(0), pointer(1)};
      }
    }
  return {};
}

void Plan::giveUp(const std::string &why) {
  for (Site &site : sites)
    if (site.stays.empty())
      site.stays = why;
  accesses.clear();
  functions.clear();
  shared.clear();
  elsewhere.clear();
  scopes.clear();
  undivided.clear();
}

namespace {

/// Plans for sites that are known. Fields are looked for if it is known whether all of the program `isWhole`.
void planSites(Module &module, const SectionFile &file, Plan &plan, std::optional<bool> isWhole,
               function_ref<std::optional<std::string>(const Function &)> whyNot) {
  if (module.getDataLayout().getPointerSizeInBits() != 64 || !module.getDataLayout().isLittleEndian())
    return plan.giveUp("sections are for 64-bit machines");
  if (plan.sites.empty())
    return;
  Planning planning(module, file, plan, isWhole.value_or(false), whyNot);
  planning.run();
  if (isWhole)
    planning.selectFields();
}

std::string allocatedIn(const CallBase &call, const std::string &why) {
  return "it is allocated in '" + call.getFunction()->getName().str() + "', which stays as clang made it: " + why;
}

} // namespace

Plan planRemote(Module &module, const SectionFile &file, bool isWhole,
                function_ref<std::optional<std::string>(const Function &)> whyNot) {
  Plan plan;
  plan.sites = markedSites(module, file);
  planSites(module, file, plan, isWhole, whyNot);
  for (Plan::Site &site : plan.sites)
    if (site.stays.empty())
      if (auto why = whyNot(*site.call->getFunction()))
        plan.giveUp(allocatedIn(*site.call, *why));
  return plan;
}

Plan planAll(Module &module, ArrayRef<CallBase *> calls,
             function_ref<std::optional<std::string>(const Function &)> whyNot) {
  Plan plan;
  for (CallBase *call : calls)
    plan.sites.push_back({call, "", "", "", 0, "", ""});
  // That two sites are for different sections does not happen, so that the names of sections are not asked for.
  planSites(module, SectionFile(), plan, std::nullopt, whyNot);
  for (Plan::Site &site : plan.sites)
    if (site.stays.empty())
      if (auto why = whyNot(*site.call->getFunction()))
        site.stays = allocatedIn(*site.call, *why);
  return plan;
}

} // namespace farside
