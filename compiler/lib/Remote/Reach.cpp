#include "Farside/Remote/Reach.h"

#include "Addresses.h"
#include "Farside/Remote/Containers.h"
#include "Farside/Remote/HeapCall.h"
#include "Farside/Remote/LibraryCall.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/GlobalAlias.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace farside {
namespace {

bool isNarrow(const Type *type) {
  return type->isIntegerTy() ? type->getIntegerBitWidth() < pointerBits : type->isFloatTy() || type->isHalfTy();
}

bool canCarry(const Type *type) { return type->isFirstClassType() && !type->isLabelTy() && !type->isMetadataTy() && !type->isTokenTy(); }

/// Intrinsics that tell something of memory, and do nothing with it.
bool onlyTells(const IntrinsicInst &call) {
  switch (call.getIntrinsicID()) {
  case Intrinsic::lifetime_start:
  case Intrinsic::lifetime_end:
  case Intrinsic::invariant_start:
  case Intrinsic::invariant_end:
  case Intrinsic::assume:
  case Intrinsic::prefetch:
  case Intrinsic::experimental_noalias_scope_decl:
  case Intrinsic::dbg_value:
  case Intrinsic::dbg_declare:
  case Intrinsic::dbg_label:
  case Intrinsic::dbg_assign:
  case Intrinsic::sideeffect:
  case Intrinsic::fake_use:
  case Intrinsic::objectsize:
  case Intrinsic::is_constant:
    return true;
  default:
    return false;
  }
}

/// What tables of virtual functions have beside these: what tells of a type, which leads to nothing but others of its kind,
/// and what ends the program.
bool isOfTypes(const Constant &constant) {
  auto *variable = dyn_cast<GlobalVariable>(&constant);
  StringRef name = constant.getName();
  return (variable && variable->isConstant() && name.starts_with("_ZTI")) ||
         (isa<Function>(constant) && (name == "__cxa_pure_virtual" || name == "__cxa_deleted_virtual"));
}

/// Globals that a list in the module says are used in ways that it does not show.
SmallPtrSet<GlobalValue *, 4> listedAsUsed(const Module &module) {
  SmallVector<GlobalValue *, 4> used;
  collectUsedGlobalVariables(module, used, /*CompilerUsed=*/false);
  collectUsedGlobalVariables(module, used, /*CompilerUsed=*/true);
  return {used.begin(), used.end()};
}

} // namespace

bool Reach::isCalledFromOutside(const Function &function) {
  return !function.hasLocalLinkage() && function.getName() != "main";
}

bool Reach::hasAddressTaken(const Function &function) {
  for (const Use &use : function.uses()) {
    auto *call = dyn_cast<CallBase>(use.getUser());
    if (call && !call->isCallee(&use) && callbackOf(*call) == &function)
      continue;
    if (!call || !call->isCallee(&use) || call->getFunctionType() != function.getFunctionType())
      return true;
  }
  return false;
}

Reach::Reach(const Module &module, ArrayRef<const CallBase *> sites) : module(module), escapes(sites.size()) {
  fresh();
  nodes[outside].pointee = nodes[outside].memory = outside;
  for (auto [number, site] : enumerate(sites))
    addSite(number, *site);
  addGlobals();
  for (const Function &function : module)
    addFunction(function);
  mixKinds();
}

void Reach::addSite(unsigned number, const CallBase &site) {
  int made = of(&site);
  if (heapCallOf(site) == HeapCall::alignedAt) {
    int place = of(site.getArgOperand(0));
    // A constant that is no address of anything.
    if (place == none) {
      escapes[number] = {true, &site, "it is stored where that cannot be followed"};
      return;
    }
    nodes[find(content(memory(pointee(place)), {}))].sites.push_back(number);
    return;
  }
  nodes[find(pointee(made))].sites.push_back(number);
}

int Reach::ofConstant(const Constant *constant) {
  // The address of a constant, as far as there are addresses in it.
  if (auto *alias = dyn_cast<GlobalAlias>(constant))
    return of(alias->getAliasee());
  if (isOfTypes(*constant))
    return none;
  if (auto *function = dyn_cast<Function>(constant))
    return ofFunction(*function);
  if (isa<GlobalValue>(constant))
    return fresh();
  int node = none;
  if (isa<ConstantExpr, ConstantAggregate>(constant))
    for (const Use &operand : constant->operands())
      if (int part = of(operand); part != none) {
        if (node == none)
          node = fresh();
        join(node, part);
      }
  return node;
}

/// The node of a value; `none` if there is no pointer in it.
int Reach::of(const Value *value) {
  if (auto found = values.find(value); found != values.end())
    return found->second;
  int node;
  if (auto *constant = dyn_cast<Constant>(value))
    node = ofConstant(constant);
  else if (isa<Argument, Instruction>(value) && canCarry(value->getType()))
    node = fresh();
  else
    node = none;
  values[value] = node;
  return node;
}

int Reach::ofReturn(const Function *function) {
  auto [place, isNew] = returns.try_emplace(function, none);
  if (isNew) {
    int node = fresh();
    returns[function] = node;
    return node;
  }
  return place->second;
}

void Reach::flow(const Value *from, const Value *to) {
  int one = of(from), other = of(to);
  if (one != none && other != none)
    join(one, other);
}

/// The place of an access, if that is told from others.
TypedPlace Reach::placeOf(const Instruction &access, const Type *type) {
  TypedPlace place = typedPlaceOf(access, type);
  if (!place)
    return {};
  if (!language)
    language = languageOf(place);
  return language == languageOf(place) ? place : TypedPlace();
}

/// Something is made of a number that may be a pointer; nobody can tell what.
void Reach::compute(const Value *value) {
  if (!isNarrow(value->getType()))
    escape(of(value), "its address is computed with as a number");
}

void Reach::addGlobals() {
  auto used = listedAsUsed(module);
  for (const GlobalVariable &variable : module.globals()) {
    int node = of(&variable);
    if (node == none)
      continue;
    if (!variable.hasLocalLinkage() || used.contains(&variable))
      escape(node, "it is in the variable '" + variable.getName() + "', which other units of the program know");
    if (variable.hasInitializer())
      if (int content = of(variable.getInitializer()); content != none)
        access(node, {}, content);
  }
  for (const GlobalAlias &alias : module.aliases())
    if (!alias.hasLocalLinkage() || used.contains(&alias))
      escape(of(&alias), "other units of the program know it as '" + alias.getName() + "'");
  for (const Function &function : module)
    if (used.contains(&function))
      for (const Argument &argument : function.args())
        escape(of(&argument), "'" + function.getName() + "' is called in ways that cannot be seen");
}

void Reach::addFunction(const Function &function) {
  current = nullptr;
  bool known = isCalledFromOutside(function) || function.getName() == "main" || !isAddressSeen(function);
  std::string how = ("it is passed to or returned by '" + function.getName() +
                     "', which may also be called from elsewhere").str();
  if (known) {
    for (const Argument &argument : function.args())
      escape(of(&argument), how);
    currentHow = how;
    join(ofReturn(&function), outside);
  }
  for (const Instruction &instruction : instructions(function)) {
    current = &instruction;
    currentHow = "it comes together here with what is not compiled here";
    add(instruction);
  }
  current = nullptr;
}

void Reach::addLoad(const LoadInst &load) {
  int from = of(load.getPointerOperand());
  if (isNumber(load, load.getType()) || isUsedAsNumber(load) || isOfCharacters(load))
    values[&load] = none;
  else if (from != none)
    access(from, placeOf(load, load.getType()), of(&load));
}

void Reach::addStore(const StoreInst &store) {
  const Value *value = store.getValueOperand();
  int to = of(store.getPointerOperand()), what = of(value);
  if (what == none || isOfCharacters(store))
    return;
  if (isNumber(store, value->getType()))
    return compute(value);
  if (to != none)
    access(to, placeOf(store, value->getType()), what);
  else
    escape(what, "it is stored where that cannot be followed");
}

void Reach::addIntrinsic(const IntrinsicInst &call) {
  if (onlyTells(call))
    return;
  if (auto *copy = dyn_cast<AnyMemTransferInst>(&call)) {
    int to = of(copy->getRawDest()), from = of(copy->getRawSource());
    if (isOfCharacters(*copy))
      return compute(copy->getLength());
    if (to != none && from != none)
      copyContent(to, from);
    else
      escape(from, "it is copied to where that cannot be followed");
    return compute(copy->getLength());
  }
  if (auto *fill = dyn_cast<AnyMemSetInst>(&call))
    return compute(fill->getLength());
  // A pointer that is made of a pointer, or a number.
  bool moves = call.getType()->isPtrOrPtrVectorTy();
  if (!call.doesNotAccessMemory()) {
    currentHow = ("it is used by the intrinsic '" + call.getCalledFunction()->getName() + "'").str();
    for (const Value *argument : call.args())
      if (int node = of(argument); node != none)
        escape(node, currentHow);
    if (int node = of(&call); node != none)
      join(node, outside);
    return;
  }
  for (const Value *argument : call.args())
    if (moves && argument->getType()->isPtrOrPtrVectorTy())
      flow(argument, &call);
    else
      compute(argument);
}

void Reach::addDirectCall(const CallBase &call, const Function &callee) {
  for (auto [number, argument] : enumerate(call.args())) {
    if (call.isPassPointeeByValueArgument(number))
      escape(of(argument), "it is copied to the arguments of a call");
    if (number < callee.arg_size())
      flow(argument, callee.getArg(number));
    else if (!isNarrow(argument->getType()))
      escape(of(argument), "it is one of a number of arguments that is not fixed");
  }
  if (int node = of(&call); node != none)
    join(node, ofReturn(&callee));
}

/// What is lent for the time of the call does not escape. Characters are no parts of pointers that anybody could follow.
void Reach::addLibraryCall(const CallBase &call, const LibraryCall &library) {
  std::string how = ("it is passed to or comes from '" + call.getCalledFunction()->getName() +
                     "', which is not compiled here").str();
  for (auto [number, argument] : enumerate(call.args())) {
    int node = of(argument);
    if (!library.of(number)) {
      bool isKnown = argument.get() == library.callback || int32_t(number) == library.made ||
                     int32_t(number) == library.handed;
      if (!isKnown && !isNarrow(argument->getType()))
        escape(node, how);
    } else if (node != none && library.content != LibraryCall::stays) {
      escapeContent(node, how);
    }
  }
  if (library.callback) {
    int32_t passed = library.handed != Borrow::none ? library.handed : library.borrows.front().argument;
    for (const Argument &argument : library.callback->args())
      flow(call.getArgOperand(passed), &argument);
  }
  if (library.returned != Borrow::none)
    flow(call.getArgOperand(library.returned), &call);
  else if (!call.getType()->isPointerTy())
    values[&call] = none;
}

void Reach::addCall(const CallBase &call) {
  if (auto *intrinsic = dyn_cast<IntrinsicInst>(&call))
    return addIntrinsic(*intrinsic);
  HeapCall heap = heapCallOf(call);
  if (heap == HeapCall::realloc)
    flow(call.getArgOperand(0), &call);
  if (heap != HeapCall::no) {
    // Sizes.
    for (const Value *argument : call.args())
      if (argument->getType()->isIntegerTy())
        compute(argument);
    return;
  }
  if (auto library = libraryCallOf(call))
    return addLibraryCall(call, *library);
  const Function *callee = call.getCalledFunction();
  // The arguments of what is called from elsewhere, too, have escaped already.
  if (callee && !callee->isDeclaration() && callee->getFunctionType() == call.getFunctionType() &&
      !call.hasOperandBundles())
    return addDirectCall(call, *callee);
  if (addIndirectCall(call))
    return;
  std::string how;
  if (call.isInlineAsm())
    how = "it is used by assembly";
  else if (callee)
    how = ("it is passed to or comes from '" + callee->getName() + "', which is not compiled here").str();
  else
    how = "it is passed to or comes from a function that is known only at run time";
  for (const Use &operand : call.data_ops())
    if (!isNarrow(operand->getType()))
      escape(of(operand), how);
  // No part of a pointer is passed there by itself, and so none comes back.
  if (isNarrow(call.getType()))
    values[&call] = none;
  currentHow = how;
  if (int node = of(&call); node != none)
    join(node, outside);
}

/// Anything but memory and calls.
void Reach::addOperation(const Instruction &instruction) {
  if (isa<GetElementPtrInst>(instruction)) {
    auto &element = cast<GetElementPtrInst>(instruction);
    flow(element.getPointerOperand(), &instruction);
    for (const Use &index : element.indices())
      if (!isa<Constant>(index))
        compute(index);
      else if (of(index) != none)
        compute(index);
    return;
  }
  if (isa<PHINode, FreezeInst, BitCastInst, AddrSpaceCastInst, PtrToIntInst, ExtractValueInst, InsertValueInst,
          ExtractElementInst, InsertElementInst, ShuffleVectorInst>(instruction)) {
    for (const Use &operand : instruction.operands())
      flow(operand, &instruction);
    return;
  }
  if (auto *select = dyn_cast<SelectInst>(&instruction)) {
    flow(select->getTrueValue(), select);
    flow(select->getFalseValue(), select);
    return;
  }
  if (isa<IntToPtrInst>(instruction)) {
    const Value *number = instruction.getOperand(0);
    if (isAddress(number))
      return flow(number, &instruction);
    compute(number);
    currentHow = "it is made of a number";
    join(of(&instruction), outside);
    return;
  }
  if (isa<ICmpInst, FCmpInst>(instruction)) {
    values[&instruction] = none;
    return;
  }
  if (auto *binary = dyn_cast<BinaryOperator>(&instruction)) {
    const Value *left = binary->getOperand(0), *right = binary->getOperand(1);
    if (isNarrow(binary->getType())) {
      flow(left, binary);
      flow(right, binary);
      return;
    }
    // How far it goes is no pointer, nor computed from one that is not seen: else that is in the same place as what it is of.
    if (const Value *address = movedFrom(*binary)) {
      compute(address == left ? right : left);
      return flow(address, binary);
    }
    values[binary] = none;
    if (binary->getOpcode() == Instruction::Sub && isAddress(left) && isAddress(right))
      return flow(left, right);
    auto *mask = dyn_cast<ConstantInt>(right);
    if (binary->getOpcode() == Instruction::And && mask && mask->getValue().ult(leastPointer))
      return;
  } else if (isa<TruncInst>(instruction)) {
    // A part alone is no pointer; others are not come to without computing.
    if (isNarrow(instruction.getOperand(0)->getType()))
      flow(instruction.getOperand(0), &instruction);
    else
      values[&instruction] = none;
    return;
  } else {
    if (int node = of(&instruction); node != none && !isNarrow(instruction.getType()))
      values[&instruction] = none;
  }
  for (const Use &operand : instruction.operands())
    if (!isa<BasicBlock>(operand))
      compute(operand);
}

void Reach::add(const Instruction &instruction) {
  if (auto *load = dyn_cast<LoadInst>(&instruction))
    return addLoad(*load);
  if (auto *store = dyn_cast<StoreInst>(&instruction))
    return addStore(*store);
  if (auto *call = dyn_cast<CallBase>(&instruction))
    return addCall(*call);
  if (auto *exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) {
    if (int to = of(exchange->getPointerOperand()); to != none)
      for (const Value *value : {exchange->getCompareOperand(), exchange->getNewValOperand(), (const Value *)exchange})
        if (int node = of(value); node != none)
          access(to, {}, node);
    return;
  }
  if (auto *change = dyn_cast<AtomicRMWInst>(&instruction)) {
    int to = of(change->getPointerOperand());
    for (const Value *value : {change->getValOperand(), (const Value *)change})
      if (int node = of(value); node != none && to != none)
        access(to, {}, node);
    return;
  }
  if (auto *back = dyn_cast<ReturnInst>(&instruction)) {
    if (const Value *value = back->getReturnValue())
      if (int node = of(value); node != none)
        join(node, ofReturn(back->getFunction()));
    return;
  }
  if (isa<AllocaInst>(instruction)) {
    of(&instruction);
    return;
  }
  if (isa<BranchInst, SwitchInst, UnreachableInst, FenceInst>(instruction))
    return;
  if (isa<LandingPadInst, VAArgInst, ResumeInst, CatchPadInst, CleanupPadInst, IndirectBrInst>(instruction) ||
      instruction.isTerminator() || instruction.mayReadOrWriteMemory()) {
    currentHow = "it is used in a way that cannot be followed";
    for (const Use &operand : instruction.operands())
      if (!isa<BasicBlock>(operand))
        if (int node = of(operand); node != none)
          escape(node, currentHow);
    if (int node = of(&instruction); node != none)
      join(node, outside);
    return;
  }
  addOperation(instruction);
}

ArrayRef<unsigned> Reach::pointedTo(const Value *value) const {
  auto found = values.find(value);
  if (found == values.end() || found->second == none)
    return {};
  int pointee = nodes[find(found->second)].pointee;
  if (pointee == none)
    return {};
  return nodes[find(pointee)].sites;
}

} // namespace farside
