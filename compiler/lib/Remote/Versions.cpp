#include "Farside/Remote/Versions.h"

#include "Farside/Remote/Plan.h"
#include "Farside/Remote/Points.h"
#include "Farside/Sections/SectionFile.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace farside {
namespace {

constexpr StringLiteral plainSuffix = ".plain", remoteSuffix = ".remote";

/// Whether there can be a second one: no address within it is known elsewhere, and nothing else has to come first in it.
bool canHaveTwo(const Function &function) {
  if (function.hasFnAttribute(Attribute::Naked) || function.isPresplitCoroutine())
    return false;
  return none_of(function, [](const BasicBlock &block) { return block.hasAddressTaken(); });
}

void makeInternal(Function &function, const Twine &name) {
  function.setName(name);
  function.setComdat(nullptr);
  function.setLinkage(GlobalValue::InternalLinkage);
  function.setVisibility(GlobalValue::DefaultVisibility);
  function.setDLLStorageClass(GlobalValue::DefaultStorageClass);
}

/// Has what a function calls of those that have two versions be the version of its own.
void callOwn(Function &function, const MapVector<Function *, Function *> &own) {
  for (Instruction &instruction : instructions(function))
    if (auto *call = dyn_cast<CallBase>(&instruction))
      if (auto version = own.find(call->getCalledFunction()); version != own.end() && version->second)
        call->setCalledFunction(version->second);
}

CallInst *jump(IRBuilder<> &builder, Function &from, Function &to) {
  SmallVector<Value *> arguments;
  for (Argument &argument : from.args())
    arguments.push_back(&argument);
  CallInst *call = builder.CreateCall(&to, arguments);
  call->setCallingConv(to.getCallingConv());
  call->setAttributes(to.getAttributes().removeFnAttributes(from.getContext()));
  call->setTailCallKind(CallInst::TCK_MustTail);
  if (from.getReturnType()->isVoidTy())
    builder.CreateRetVoid();
  else
    builder.CreateRet(call);
  return call;
}

/// A variable of the module that has bits of sections; each thread may have one.
GlobalVariable *bitsNamed(Module &module, StringRef name, bool isOfThread) {
  if (GlobalVariable *known = module.getNamedGlobal(name))
    return known;
  Type *number = Type::getInt64Ty(module.getContext());
  return new GlobalVariable(module, number, false, GlobalValue::InternalLinkage, ConstantInt::get(number, 0), name, nullptr,
                            isOfThread ? GlobalValue::GeneralDynamicTLSModel : GlobalValue::NotThreadLocal);
}

} // namespace

StringRef nameForOthers(const Function &function) {
  StringRef name = function.getName();
  if (function.hasLocalLinkage())
    name.consume_back(remoteSuffix);
  return name;
}

uint64_t bitOf(unsigned section) { return uint64_t(1) << std::min(section, 63u); }

void Versions::keep(const Plan &plan) {
  for (Function &function : module) {
    if (!plan.functions.contains(&function) || !canHaveTwo(function))
      continue;
    kept.insert({&function, nullptr});
  }
  for (auto &[function, plain] : kept) {
    ValueToValueMapTy map;
    plain = CloneFunction(function, map);
    makeInternal(*plain, function->getName() + plainSuffix);
    copies.insert(plain);
  }
}

void Versions::look(const Plan &plan, const SectionFile &file) {
  used.clear();
  own = copied = 0;
  elsewhere = plan.elsewhere;
  for (auto [number, section] : enumerate(file.sections)) {
    if (section.own)
      own |= bitOf(number);
    if (section.copies)
      copied |= bitOf(number);
  }
  for (const auto &[instruction, access] : plan.accesses)
    for (std::optional<unsigned> section : {access.section, access.from})
      if (section)
        used[instruction->getFunction()] |= bitOf(*section);
  for (const Plan::Scope &scope : plan.scopes)
    if (scope.isSelected)
      used[scope.function] |= bitOf(scope.section);
  // Calls through pointers, and by functions that are not converted, come to a choice.
  SmallVector<std::pair<const Function *, const Function *>> calls;
  for (const Function *caller : plan.functions)
    for (const Instruction &instruction : instructions(*caller))
      if (const auto *call = dyn_cast<CallBase>(&instruction))
        if (const Function *callee = call->getCalledFunction(); callee && plan.functions.contains(callee))
          calls.push_back({caller, callee});
  for (bool changes = true; changes;) {
    changes = false;
    for (auto [caller, callee] : calls) {
      uint64_t all = used.lookup(caller) | used.lookup(callee);
      changes |= all != used.lookup(caller);
      used[caller] = all;
    }
  }
}

void Versions::forget() {
  for (auto [function, plain] : kept)
    plain->eraseFromParent();
  kept.clear();
  copies.clear();
}

void Versions::choose(ArrayRef<Function *> converted) {
  MapVector<Function *, Function *> chosen;
  for (Function *function : converted)
    if (auto version = kept.find(function); version != kept.end()) {
      chosen.insert(*version);
      kept.erase(version);
    } else if (openedBy(*function)) {
      chosen.insert({function, nullptr});
    }
  for (auto [function, plain] : chosen)
    if (plain)
      callOwn(*plain, chosen);
  for (auto [function, plain] : chosen)
    callChoice(*function, put(*function, plain), chosen);
  forget();
}

void Versions::callChoice(Function &converted, Function &choice, const MapVector<Function *, Function *> &chosen) {
  converted.replaceUsesWithIf(&choice, [&](Use &use) {
    auto *instruction = dyn_cast<Instruction>(use.getUser());
    if (instruction && instruction->getFunction() == &choice)
      return false;
    auto *call = dyn_cast_or_null<CallBase>(instruction);
    if (!call || !call->isCallee(&use))
      return true;
    const Function *caller = call->getFunction();
    return !chosen.contains(const_cast<Function *>(caller)) || used.lookup(caller) != used.lookup(&converted);
  });
}

BasicBlock *Versions::open(BasicBlock &start, uint64_t sections) {
  LLVMContext &context = module.getContext();
  Function *choice = start.getParent();
  auto *opening = BasicBlock::Create(context, "", choice), *opened = BasicBlock::Create(context, "", choice);
  IRBuilder<> builder(&start);
  Value *settled = builder.CreateThreadLocalAddress(bitsNamed(module, areSettled, /*isOfThread=*/true));
  Value *known = builder.CreateAnd(builder.CreateLoad(builder.getInt64Ty(), settled), sections);
  builder.CreateCondBr(builder.CreateICmpEQ(known, builder.getInt64(sections)), opened, opening,
                       MDBuilder(context).createLikelyBranchWeights());
  builder.SetInsertPoint(opening);
  auto *type = FunctionType::get(builder.getVoidTy(), {builder.getInt64Ty()}, false);
  builder.CreateCall(module.getOrInsertFunction(settle, type), {builder.getInt64(sections)});
  builder.CreateBr(opened);
  return opened;
}

Function &Versions::put(Function &converted, Function *plain) {
  auto *choice = Function::Create(converted.getFunctionType(), converted.getLinkage(), converted.getAddressSpace(), "",
                                  &module);
  choice->copyAttributesFrom(&converted);
  choice->setPersonalityFn(nullptr);
  choice->setComdat(converted.getComdat());
  choice->takeName(&converted);
  makeInternal(converted, choice->getName() + remoteSuffix);
  LLVMContext &context = module.getContext();
  auto *start = BasicBlock::Create(context, "", choice);
  uint64_t opened = openedBy(converted), all = used.lookup(&converted);
  IRBuilder<> builder(opened ? open(*start, opened) : start);
  if (plain) {
    auto *here = BasicBlock::Create(context, "", choice), *far = BasicBlock::Create(context, "", choice);
    Value *remote = builder.CreateLoad(builder.getInt64Ty(), bitsNamed(module, areRemote, /*isOfThread=*/false));
    if (opened & own) {
      Value *flags = builder.CreateThreadLocalAddress(bitsNamed(module, areOwnRemote, /*isOfThread=*/true));
      remote = builder.CreateOr(remote, builder.CreateLoad(builder.getInt64Ty(), flags));
    }
    Value *isRemote = builder.CreateICmpNE(builder.CreateAnd(remote, all), builder.getInt64(0));
    builder.CreateCondBr(isRemote, far, here);
    builder.SetInsertPoint(here);
    jump(builder, *choice, *plain);
    builder.SetInsertPoint(far);
  }
  // Whoever calls it may have learned of what other threads have done.
  if (uint64_t copies = copiesOf(converted)) {
    auto *type = FunctionType::get(builder.getVoidTy(), {builder.getInt64Ty()}, false);
    builder.CreateCall(module.getOrInsertFunction(renewCopies, type), {builder.getInt64(copies)});
  }
  CallInst *call = jump(builder, *choice, converted);
  // What is loaded of sections is taken to be what it is always: nothing of it may come to where they are opened.
  if (opened)
    call->addFnAttr(Attribute::NoInline);
  return *choice;
}

} // namespace farside
