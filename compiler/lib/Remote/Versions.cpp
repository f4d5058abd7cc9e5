#include "Farside/Remote/Versions.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
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
      if (auto version = own.find(call->getCalledFunction()); version != own.end())
        call->setCalledFunction(version->second);
}

/// What others call leads to the choice from now on. Converted functions call each other without one.
void callChoice(Function &converted, Function &choice, const MapVector<Function *, Function *> &own) {
  converted.replaceUsesWithIf(&choice, [&](Use &use) {
    auto *instruction = dyn_cast<Instruction>(use.getUser());
    if (instruction && instruction->getFunction() == &choice)
      return false;
    auto *call = dyn_cast_or_null<CallBase>(instruction);
    return !call || !call->isCallee(&use) || !own.contains(call->getFunction());
  });
}

void jump(IRBuilder<> &builder, Function &from, Function &to) {
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
}

} // namespace

StringRef nameForOthers(const Function &function) {
  StringRef name = function.getName();
  if (function.hasLocalLinkage())
    name.consume_back(remoteSuffix);
  return name;
}

void Versions::keep(const SmallPtrSetImpl<const Function *> &functions) {
  for (Function &function : module) {
    if (!functions.contains(&function) || !canHaveTwo(function))
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
    }
  if (!chosen.empty()) {
    Type *byte = Type::getInt8Ty(module.getContext());
    auto *flag = new GlobalVariable(module, byte, false, GlobalValue::InternalLinkage, ConstantInt::get(byte, 0),
                                    anyRemote);
    for (auto [function, plain] : chosen)
      callOwn(*plain, chosen);
    for (auto [function, plain] : chosen)
      callChoice(*function, put(*function, *plain, *flag), chosen);
  }
  forget();
}

Function &Versions::put(Function &converted, Function &plain, Value &flag) {
  auto *choice = Function::Create(converted.getFunctionType(), converted.getLinkage(), converted.getAddressSpace(), "",
                                  &module);
  choice->copyAttributesFrom(&converted);
  choice->setPersonalityFn(nullptr);
  choice->setComdat(converted.getComdat());
  choice->takeName(&converted);
  makeInternal(converted, choice->getName() + remoteSuffix);
  LLVMContext &context = module.getContext();
  auto *start = BasicBlock::Create(context, "", choice), *here = BasicBlock::Create(context, "", choice),
       *far = BasicBlock::Create(context, "", choice);
  IRBuilder<> builder(start);
  Value *isRemote = builder.CreateICmpNE(builder.CreateLoad(builder.getInt8Ty(), &flag), builder.getInt8(0));
  builder.CreateCondBr(isRemote, far, here);
  builder.SetInsertPoint(here);
  jump(builder, *choice, plain);
  builder.SetInsertPoint(far);
  jump(builder, *choice, converted);
  return *choice;
}

} // namespace farside
