#include "Farside/Offload/Dispatch.h"

#include "Farside/Convert/Passes.h"
#include "Farside/Explain/Names.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace farside {
namespace {

/// The part of the program that holds what runs elsewhere.
constexpr StringLiteral part = ".farside.offload";
const Align slotAlignment(64);

/// Puts a function that asks where to run in the place of one that can run elsewhere.
class Dispatching {
public:
  Dispatching(Module &module, const SectionFile &file, GlobalVariable *image)
      : module(module), file(file), image(image), builder(module.getContext()), pointer(builder.getPtrTy()) {}

  void add(unsigned number, const Offloaded &each) {
    Function *local = each.function;
    auto *asking = Function::Create(local->getFunctionType(), local->getLinkage(), "", &module);
    asking->copyAttributesFrom(local);
    asking->setComdat(local->getComdat());
    asking->takeName(local);
    local->setName(asking->getName() + ".here");
    local->setLinkage(GlobalValue::InternalLinkage);
    local->setVisibility(GlobalValue::DefaultVisibility);
    local->setComdat(nullptr);
    // What it calls of itself stays where it is.
    local->replaceUsesWithIf(asking, [&](Use &use) {
      auto *user = dyn_cast<Instruction>(use.getUser());
      return !user || user->getFunction() != local;
    });
    fill(*asking, *local, descriptorOf(number, each), each);
  }

private:
  /// `struct farside_rt_offload`.
  GlobalVariable *descriptorOf(unsigned number, const Offloaded &each) {
    Constant *text = ConstantDataArray::getString(module.getContext(), sourceName(*each.function));
    auto *name = new GlobalVariable(module, text->getType(), true, GlobalValue::PrivateLinkage, text);
    SmallVector<Constant *> places(file.sections.size(), ConstantPointerNull::get(pointer));
    for (unsigned section : each.candidate.sections)
      places[section] = sectionNamed(file.sections[section].name);
    Constant *table = ConstantArray::get(ArrayType::get(pointer, places.size()), places);
    auto *sections = new GlobalVariable(module, table->getType(), true, GlobalValue::PrivateLinkage, table);
    Constant *fields[] = {image,
                          builder.getInt64(cast<ArrayType>(image->getValueType())->getNumElements()),
                          name,
                          sections,
                          builder.getInt32(places.size()),
                          builder.getInt32(number),
                          builder.getInt64(each.input),
                          builder.getInt64(each.output),
                          builder.getInt64(0)};
    Constant *value = ConstantStruct::getAnon(fields);
    return new GlobalVariable(module, value->getType(), false, GlobalValue::InternalLinkage, value,
                              "farside.offload");
  }

  /// A section is only declared where the program's own code does not use it; it is another unit's, or none.
  Constant *sectionNamed(StringRef name) {
    GlobalVariable *known = module.getNamedGlobal((sectionPrefix + name).str());
    return known ? static_cast<Constant *>(known) : ConstantPointerNull::get(pointer);
  }

  void fill(Function &asking, Function &local, Value *descriptor, const Offloaded &each) {
    LLVMContext &context = module.getContext();
    auto *start = BasicBlock::Create(context, "", &asking), *elsewhere = BasicBlock::Create(context, "", &asking),
         *here = BasicBlock::Create(context, "", &asking);
    builder.SetInsertPoint(start);
    Value *input = room(each.input), *output = room(each.output);
    pack(asking, input, each);
    auto *type = FunctionType::get(builder.getInt64Ty(), {pointer, pointer, pointer, builder.getInt32Ty()}, false);
    Value *began = builder.CreateCall(module.getOrInsertFunction("farside_rt_offload", type),
                                      {descriptor, input, output, overlapOf(asking, each)});
    builder.CreateCondBr(builder.CreateICmpEQ(began, builder.getInt64(0)), elsewhere, here);
    builder.SetInsertPoint(elsewhere);
    for (auto [lent, offset] : zip(each.candidate.lent, each.lent))
      if (lent.out)
        unpack(*asking.getArg(lent.argument->getArgNo()), lent, at(output, offset));
    if (asking.getReturnType()->isVoidTy())
      builder.CreateRetVoid();
    else
      builder.CreateRet(builder.CreateAlignedLoad(asking.getReturnType(), output, slotAlignment));
    builder.SetInsertPoint(here);
    callLocal(asking, local, descriptor, began);
  }

  /// Whether results lie where other results do, or variables that go with the call: what is written to the one would have
  /// to be read from the other.
  Value *overlapOf(Function &asking, const Offloaded &each) {
    SmallVector<std::pair<Value *, uint64_t>> results, variables;
    for (const Lent &lent : each.candidate.lent)
      if (lent.marked)
        results.emplace_back(asking.getArg(lent.argument->getArgNo()), lent.size);
    for (const GlobalVariable *variable : each.candidate.captured)
      variables.emplace_back(const_cast<GlobalVariable *>(variable),
                             module.getDataLayout().getTypeAllocSize(variable->getValueType()));
    Value *any = builder.getFalse();
    auto compare = [&](auto &one, auto &other) {
      Value *before = builder.CreateICmpULE(builder.CreatePtrAdd(one.first, builder.getInt64(one.second)), other.first);
      Value *behind = builder.CreateICmpULE(builder.CreatePtrAdd(other.first, builder.getInt64(other.second)), one.first);
      any = builder.CreateOr(any, builder.CreateNot(builder.CreateOr(before, behind)));
    };
    for (auto [number, result] : enumerate(results)) {
      for (auto &other : drop_begin(results, number + 1))
        compare(result, other);
      for (auto &variable : variables)
        compare(result, variable);
    }
    return builder.CreateZExt(any, builder.getInt32Ty());
  }

  void unpack(Argument &argument, const Lent &lent, Value *block) {
    if (!lent.marked) {
      builder.CreateMemCpy(&argument, Align(1), block, slotAlignment, lent.size);
      return;
    }
    auto *type = FunctionType::get(builder.getVoidTy(), {pointer, pointer, pointer, builder.getInt64Ty()}, false);
    builder.CreateCall(module.getOrInsertFunction("farside_rt_unpack", type),
                       {&argument, block, at(block, marksOf(lent)), builder.getInt64(lent.size)});
  }

  void callLocal(Function &asking, Function &local, Value *descriptor, Value *began) {
    SmallVector<Value *> arguments;
    for (Argument &argument : asking.args())
      arguments.push_back(&argument);
    CallInst *call = builder.CreateCall(&local, arguments);
    call->setCallingConv(local.getCallingConv());
    call->setAttributes(local.getAttributes());
    auto *type = FunctionType::get(builder.getVoidTy(), {pointer, builder.getInt64Ty()}, false);
    builder.CreateCall(module.getOrInsertFunction("farside_rt_ran_here", type), {descriptor, began});
    if (asking.getReturnType()->isVoidTy())
      builder.CreateRetVoid();
    else
      builder.CreateRet(call);
  }

  void pack(Function &asking, Value *input, const Offloaded &each) {
    for (auto [argument, offset] : zip(asking.args(), each.arguments)) {
      auto *lent = find_if(each.candidate.lent,
                           [&](const Lent &some) { return some.argument->getArgNo() == argument.getArgNo(); });
      if (lent == each.candidate.lent.end())
        builder.CreateAlignedStore(&argument, at(input, offset), slotAlignment);
      else if (lent->in)
        builder.CreateMemCpy(at(input, offset), slotAlignment, &argument, Align(1), lent->size);
      else
        builder.CreateMemSet(at(input, offset), builder.getInt8(0), blockOf(*lent), slotAlignment);
    }
    for (auto [variable, offset] : zip(each.candidate.captured, each.variables))
      builder.CreateMemCpy(at(input, offset), slotAlignment, const_cast<GlobalVariable *>(variable),
                           variable->getAlign(), module.getDataLayout().getTypeAllocSize(variable->getValueType()));
  }

  Value *room(uint64_t size) {
    auto *type = ArrayType::get(builder.getInt8Ty(), std::max<uint64_t>(size, 1));
    AllocaInst *made = builder.CreateAlloca(type);
    made->setAlignment(slotAlignment);
    return made;
  }

  Value *at(Value *block, uint64_t offset) {
    return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), block, offset);
  }

  Module &module;
  const SectionFile &file;
  GlobalVariable *image;
  IRBuilder<> builder;
  PointerType *pointer;
};

} // namespace

void addDispatch(Module &module, const SectionFile &file, ArrayRef<Offloaded> functions, StringRef image) {
  Constant *bytes = ConstantDataArray::getString(module.getContext(), image, /*AddNull=*/false);
  auto *code = new GlobalVariable(module, bytes->getType(), true, GlobalValue::InternalLinkage, bytes,
                                  "farside.offload.code");
  code->setSection(part);
  code->setAlignment(Align(16));
  Dispatching dispatching(module, file, code);
  for (auto [number, each] : enumerate(functions))
    dispatching.add(number, each);
}

} // namespace farside
