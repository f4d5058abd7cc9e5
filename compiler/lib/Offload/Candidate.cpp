#include "Farside/Offload/Candidate.h"

#include "Farside/Remote/HeapCall.h"
#include "Farside/Remote/Plan.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/PointerIntPair.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace farside {
namespace {

/// Most bytes of one variable, and of what one argument leads to, that go with each call.
constexpr uint64_t mostLent = 4096;

/// Looks at a function and all that it calls.
class Search {
public:
  Search(const Function &entry, const Plan &plan) : entry(entry), plan(plan), layout(entry.getDataLayout()) {}

  Candidate run() {
    found.functions.insert(&entry);
    if (entry.isVarArg())
      refuse("the number of its arguments is not fixed", nullptr);
    // The list grows while it is gone through.
    for (unsigned i = 0; i < found.functions.size() && found.why.empty(); ++i)
      for (const Instruction &instruction : instructions(*found.functions[i])) {
        look(instruction);
        if (!found.why.empty())
          break;
      }
    if (found.why.empty())
      lookAtResults();
    if (found.why.empty() && found.sections.empty())
      refuse("it reads nothing that is in sections", nullptr);
    return std::move(found);
  }

private:
  void refuse(const Twine &why, const Instruction *where) {
    if (!found.why.empty())
      return;
    found.why = why.str();
    if (where)
      found.where = placeOf(*where);
  }

  void look(const Instruction &instruction) {
    if (auto access = plan.accesses.find(&instruction); access != plan.accesses.end())
      return lookAtRemote(instruction, access->second);
    if (auto *call = dyn_cast<CallBase>(&instruction); call && !isa<AnyMemIntrinsic>(call))
      return lookAtCall(*call);
    if (instruction.isAtomic() || instruction.isVolatile())
      return refuse("it works together with other threads, or with devices", &instruction);
    if (isa<VAArgInst, LandingPadInst, ResumeInst, IndirectBrInst>(instruction))
      return refuse("it uses exceptions, computed jumps, or arguments whose number is not fixed", &instruction);
    Pointers pointers = pointersOf(instruction);
    bool writes = isa<StoreInst, AnyMemIntrinsic>(instruction);
    if (pointers.to)
      lookAtPointer(pointers.to, instruction, !writes, writes);
    if (pointers.from)
      lookAtPointer(pointers.from, instruction, true, false);
    auto *call = dyn_cast<CallBase>(&instruction);
    for (const Use &operand : call ? call->args() : instruction.operands())
      lookAtConstant(operand, instruction);
  }

  void lookAtRemote(const Instruction &instruction, const Plan::Access &access) {
    if (auto *call = dyn_cast<CallBase>(&instruction); call && !access.borrows.empty())
      return refuse("it passes what is in a section to '" + call->getCalledFunction()->getName() + "'", &instruction);
    if (isa<CallBase>(instruction) && !isa<AnyMemIntrinsic>(instruction))
      return refuse("it allocates or frees memory", &instruction);
    bool writes = isa<StoreInst>(instruction) || (isa<AnyMemIntrinsic>(instruction) && access.section);
    if (writes)
      return refuse("it writes to a section", &instruction);
    for (auto section : {access.section, access.from})
      if (section)
        found.sections.insert(*section);
    Pointers pointers = pointersOf(instruction);
    // Of a copy, the other side is local.
    if (isa<AnyMemIntrinsic>(instruction) && !access.section)
      lookAtPointer(pointers.to, instruction, false, true);
    if (access.section && pointers.to && leadsHere(pointers.to))
      refuse("a pointer may lead to a section or to local memory", &instruction);
    if (access.from && pointers.from && leadsHere(pointers.from))
      refuse("a pointer may lead to a section or to local memory", &instruction);
  }

  /// Whether a pointer may, as can be seen, lead to a variable.
  static bool leadsHere(const Value *pointer) {
    SmallVector<const Value *> objects;
    getUnderlyingObjects(pointer, objects, nullptr, 0);
    return any_of(objects, [](const Value *object) { return isa<AllocaInst, GlobalVariable>(object); });
  }

  void lookAtCall(const CallBase &call) {
    if (call.isInlineAsm())
      return refuse("it contains assembly", &call);
    const Function *callee = call.getCalledFunction();
    if (!callee)
      return refuse("it calls what is known only at run time", &call);
    if (isa<InvokeInst>(call))
      return refuse("it uses exceptions, computed jumps, or arguments whose number is not fixed", &call);
    if (heapCallOf(call) != HeapCall::no)
      return refuse("it allocates or frees memory", &call);
    for (const Use &operand : call.args())
      lookAtConstant(operand, call);
    if (callee->isIntrinsic()) {
      if (!isQuiet(cast<IntrinsicInst>(call)))
        refuse("it uses the intrinsic '" + callee->getName() + "'", &call);
      return;
    }
    if (!callee->isDeclaration() && !callee->isInterposable()) {
      if (callee->isVarArg() || callee->getFunctionType() != call.getFunctionType())
        return refuse("it calls '" + callee->getName() + "' with a number of arguments that is not fixed", &call);
      found.functions.insert(callee);
      return;
    }
    if (!isOffered(callee->getName()))
      refuse("it calls '" + callee->getName() + "'", &call);
  }

  static bool isQuiet(const IntrinsicInst &call) {
    switch (call.getIntrinsicID()) {
    case Intrinsic::lifetime_start:
    case Intrinsic::lifetime_end:
    case Intrinsic::assume:
    case Intrinsic::experimental_noalias_scope_decl:
    case Intrinsic::prefetch:
    case Intrinsic::sideeffect:
    case Intrinsic::invariant_start:
    case Intrinsic::invariant_end:
      return true;
    default:
      return isa<DbgInfoIntrinsic>(call) || call.doesNotAccessMemory();
    }
  }

  /// Memory that is not in sections: the function's own, or what goes with a call.
  void lookAtPointer(const Value *pointer, const Instruction &instruction, bool reads, bool writes) {
    SmallVector<const Value *> objects;
    getUnderlyingObjects(pointer, objects, nullptr, 0);
    for (const Value *object : objects)
      if (seen.insert({object, writes}).second || isa<Argument>(object))
        lookAtObject(object, pointer, instruction, reads, writes);
  }

  void lookAtObject(const Value *object, const Value *pointer, const Instruction &instruction, bool reads,
                    bool writes) {
    if (isa<AllocaInst, UndefValue, ConstantPointerNull>(object))
      return;
    if (auto *variable = dyn_cast<GlobalVariable>(object)) {
      if (writes)
        return refuse("it writes to the variable '" + variable->getName() + "'", &instruction);
      return lookAtVariable(*variable, instruction);
    }
    auto *argument = dyn_cast<Argument>(object);
    if (!argument)
      return refuse("it comes to local memory by pointers in memory", &instruction);
    if (argument->getParent() == &entry)
      return lend(*argument, pointer, instruction, writes);
    if (!arguments.insert({argument, writes}).second)
      return;
    for (const User *user : argument->getParent()->users())
      if (auto *call = dyn_cast<CallBase>(user);
          call && call->getCalledFunction() == argument->getParent() && found.functions.contains(call->getFunction()))
        lookAtPointer(call->getArgOperand(argument->getArgNo()), *call, reads, writes);
  }

  void lookAtVariable(const GlobalVariable &variable, const Instruction &instruction) {
    if (variable.isThreadLocal() || !variable.hasInitializer() || variable.isInterposable())
      return refuse("it uses the variable '" + variable.getName() + "', which is elsewhere or each thread's own",
                    &instruction);
    if (variable.isConstant()) {
      if (found.constants.insert(&variable))
        lookAtConstant(variable.getInitializer(), instruction);
      return;
    }
    if (layout.getTypeAllocSize(variable.getValueType()) > mostLent)
      return refuse("it reads the variable '" + variable.getName() + "', which is too large to go with each call",
                    &instruction);
    found.captured.insert(&variable);
  }

  /// Addresses of variables and functions that are used as values.
  void lookAtConstant(const Value *value, const Instruction &instruction) {
    auto *constant = dyn_cast<Constant>(value);
    if (!constant || !examined.insert(constant).second)
      return;
    if (auto *variable = dyn_cast<GlobalVariable>(constant))
      return lookAtVariable(*variable, instruction);
    if (isa<GlobalValue, BlockAddress>(constant))
      return refuse("it uses the address of '" + constant->getName() + "'", &instruction);
    for (const Use &operand : constant->operands())
      lookAtConstant(operand, instruction);
  }

  /// Bytes that an argument leads to, by the way in which it is passed; 0 if that does not say.
  uint64_t passedSize(const Argument &argument) const {
    if (Type *type = argument.getParamByValType())
      return layout.getTypeAllocSize(type);
    if (Type *type = argument.getParamStructRetType())
      return layout.getTypeAllocSize(type);
    return 0;
  }

  uint64_t accessSize(const Instruction &access) const {
    if (auto *load = dyn_cast<LoadInst>(&access))
      return layout.getTypeStoreSize(load->getType());
    if (auto *store = dyn_cast<StoreInst>(&access))
      return layout.getTypeStoreSize(store->getValueOperand()->getType());
    auto *memory = dyn_cast<AnyMemIntrinsic>(&access);
    auto *length = memory ? dyn_cast<ConstantInt>(memory->getLength()) : nullptr;
    return length ? length->getLimitedValue() : UINT64_MAX;
  }

  /// Of memory that the caller lends: by its argument, if it is passed so; else, the function may only leave results there.
  void lend(const Argument &argument, const Value *pointer, const Instruction &instruction, bool writes) {
    if (uint64_t size = passedSize(argument)) {
      if (size > mostLent)
        return refuse("its argument " + Twine(argument.getArgNo() + 1) + " is too large to go with each call",
                      &instruction);
      bool isKept = argument.hasByValAttr();
      Lent *known = find_if(found.lent, [&](const Lent &each) { return each.argument == &argument; });
      if (known == found.lent.end())
        found.lent.push_back({&argument, size, !argument.hasStructRetAttr(), writes && !isKept, false});
      else
        known->out |= writes && !isKept;
      return;
    }
    APInt offset(layout.getIndexTypeSizeInBits(argument.getType()), 0);
    const Value *base = pointer->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true);
    uint64_t size = accessSize(instruction);
    if (base != &argument || offset.ugt(mostLent) || size > mostLent - offset.getZExtValue())
      return refuse("it comes to local memory by its argument " + Twine(argument.getArgNo() + 1), &instruction);
    (writes ? written : read).push_back({&argument, &instruction, offset.getZExtValue(), size});
  }

  /// Results that are left where arguments lead to. What is read there was written before.
  void lookAtResults() {
    DominatorTree order(const_cast<Function &>(entry));
    for (const Touch &touch : read)
      if (none_of(written, [&](const Touch &earlier) { return earlier.holds(touch) && order.dominates(earlier.by, touch.by); }))
        return refuse("it reads local memory by its argument " + Twine(touch.argument->getArgNo() + 1), touch.by);
    for (const Touch &touch : written) {
      Lent *known = find_if(found.lent, [&](const Lent &each) { return each.argument == touch.argument; });
      if (known == found.lent.end()) {
        found.lent.push_back({touch.argument, 0, false, true, true});
        known = &found.lent.back();
      }
      known->size = std::max(known->size, touch.offset + touch.size);
      found.results.push_back(touch.by);
    }
  }

  /// Some bytes of what an argument leads to.
  struct Touch {
    const Argument *argument;
    const Instruction *by;
    uint64_t offset, size;

    bool holds(const Touch &other) const {
      return argument == other.argument && offset <= other.offset && other.offset + other.size <= offset + size;
    }
  };

  const Function &entry;
  const Plan &plan;
  const DataLayout &layout;
  Candidate found;
  SmallVector<Touch> read, written;
  SmallPtrSet<const Constant *, 16> examined;
  /// With whether it is written to.
  DenseSet<PointerIntPair<const Value *, 1, bool>> seen, arguments;
};

} // namespace

bool isOffered(StringRef name) {
  static constexpr StringLiteral offered[] = {
      "memcmp", "bcmp",    "strlen", "strcmp", "strncmp",
      "abs",    "labs",    "sqrt",   "sqrtf",  "exp",   "expf",   "exp2",   "exp2f",   "log",    "logf",
      "log2",   "log2f",   "log10",  "log10f", "pow",   "powf",   "sin",    "sinf",    "cos",    "cosf",
      "tan",    "tanf",    "asin",   "acos",   "atan",  "atanf",  "atan2",  "atan2f",  "sinh",   "cosh",
      "tanh",   "tanhf",   "floor",  "floorf", "ceil",  "ceilf",  "round",  "roundf",  "trunc",  "truncf",
      "rint",   "rintf",   "fmod",   "fmodf",  "fabs",  "fabsf",  "fma",    "fmaf",    "hypot",  "hypotf",
      "cbrt",   "cbrtf",   "erf",    "erff",   "fmin",  "fmax",   "fminf",  "fmaxf",   "ldexp",  "ldexpf"};
  return is_contained(offered, name);
}

Candidate candidateOf(const Function &function, const Plan &plan) { return Search(function, plan).run(); }

} // namespace farside
