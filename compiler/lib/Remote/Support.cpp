#include "Farside/Remote/Support.h"

#include "Farside/Convert/Passes.h"
#include "Farside/Remote/Points.h"
#include "Farside/Remote/Versions.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace farside {
namespace {

constexpr StringLiteral plainSection = "farside_rt_plain";
constexpr StringLiteral openSection = "farside_rt_open";
constexpr StringLiteral announceSection = "farside_rt_announce";
constexpr StringLiteral openOwn = "farside_rt_own_open", beginOwn = "farside_rt_own_begin", endOwn = "farside_rt_own_end";
constexpr StringLiteral openCopy = "farside_rt_copy_open", shareSection = "farside_rt_share";
constexpr StringLiteral renewCopy = "farside_rt_renew";

constexpr StringLiteral supportPrefix = "farside_rt_";

/// How many lookups are inlined in a function. What optimizes functions takes more than twice as long for twice as much.
constexpr unsigned mostInlined = 400;

/// Before constructors of the program, which may allocate.
constexpr int openingPriority = 101;

/// `struct farside_section_options`. A section that is not used in this module shares no memory.
Constant *optionsOf(Module &module, const SectionSpec &section, bool shared) {
  IRBuilder<> builder(module.getContext());
  Constant *text = ConstantDataArray::getString(module.getContext(), section.name);
  auto *name = new GlobalVariable(module, text->getType(), true, GlobalValue::PrivateLinkage, text);
  Constant *with = section.with.empty() ? nullptr : module.getNamedGlobal((sectionPrefix + section.with).str());
  Constant *fields[] = {name, builder.getInt64(section.capacity), builder.getInt64(section.line),
                        builder.getInt32(section.ways), builder.getInt32(shared),
                        with ? with : ConstantPointerNull::get(builder.getPtrTy())};
  Constant *how = ConstantStruct::getAnon(fields);
  return new GlobalVariable(module, how->getType(), true, GlobalValue::PrivateLinkage, how);
}

/// Pairs of `struct farside_rt_capacity`.
Constant *capacitiesOf(Module &module, const SectionSpec &section) {
  IRBuilder<> builder(module.getContext());
  SmallVector<uint64_t> numbers;
  for (auto [local, capacity] : section.capacities)
    numbers.append({local, capacity});
  if (numbers.empty())
    return ConstantPointerNull::get(builder.getPtrTy());
  Constant *table = ConstantDataArray::get(module.getContext(), numbers);
  return new GlobalVariable(module, table->getType(), true, GlobalValue::PrivateLinkage, table);
}

/// A section, and what it is opened with.
struct Opening {
  GlobalVariable *section;
  Constant *options, *capacities;
  const SectionSpec *file;
  unsigned number;
  /// Of one with copies what all threads know of it, and what each knows of its own.
  GlobalVariable *copied = nullptr, *copy = nullptr;

  bool isOfThread() const { return file->own || file->copies; }
};

/// How a variable is linked that other units of the program may have, too, if each is converted by itself. A program that is
/// converted as a whole has its own: what other units do with theirs is of no matter to it.
GlobalValue::LinkageTypes linkageOf(bool isWhole) {
  return isWhole ? GlobalValue::InternalLinkage : GlobalValue::LinkOnceODRLinkage;
}

/// A variable that is zeros at first.
GlobalVariable *zeros(Module &module, const Twine &name, unsigned bytes, bool isWhole, GlobalValue::ThreadLocalMode mode) {
  Type *type = ArrayType::get(Type::getInt8Ty(module.getContext()), bytes);
  GlobalVariable *declared = module.getNamedGlobal(name.str());
  auto *defined =
      new GlobalVariable(module, type, false, linkageOf(isWhole), ConstantAggregateZero::get(type), "", nullptr, mode);
  if (declared) {
    defined->takeName(declared);
    declared->replaceAllUsesWith(defined);
    declared->eraseFromParent();
  } else {
    defined->setName(name);
  }
  if (!isWhole)
    defined->setVisibility(GlobalValue::HiddenVisibility);
  defined->setAlignment(Align(64));
  return defined;
}

Opening define(Module &module, GlobalVariable &declared, Constant *plain, const SectionSpec &section, unsigned number,
               bool shared, bool isWhole) {
  auto *defined = new GlobalVariable(module, plain->getType(), false, linkageOf(isWhole), plain, "", nullptr,
                                     declared.getThreadLocalMode());
  defined->takeName(&declared);
  if (!isWhole)
    defined->setVisibility(GlobalValue::HiddenVisibility);
  defined->setAlignment(Align(64));
  declared.replaceAllUsesWith(defined);
  declared.eraseFromParent();
  Opening opening{defined, optionsOf(module, section, shared), capacitiesOf(module, section), &section, number};
  if (section.copies) {
    opening.copied = zeros(module, copiedPrefix + section.name, copiedBytes, isWhole, GlobalValue::NotThreadLocal);
    opening.copy = zeros(module, copyPrefix + section.name, copyBytes, isWhole, GlobalValue::GeneralDynamicTLSModel);
  }
  return opening;
}

/// In the order in which they are opened: whose memory others share, then those, then the next one.
void order(MutableArrayRef<Opening> all, const SectionFile &file) {
  auto place = [&](const Opening &opening) {
    const SectionSpec &spec = *opening.file;
    auto first = find_if(file.sections, [&](const SectionSpec &other) {
      return other.name == (spec.with.empty() ? spec.name : spec.with);
    });
    return std::tuple(first - file.sections.begin(), !spec.with.empty(), opening.number);
  };
  llvm::sort(all, [&](const Opening &one, const Opening &other) { return place(one) < place(other); });
}

/// The place of a section as the calling thread has it.
Value *placeOf(IRBuilder<> &builder, const Opening &opening) {
  if (!opening.isOfThread())
    return opening.section;
  return builder.CreateThreadLocalAddress(opening.section);
}

/// Announces all sections, and opens those that all threads have in common, and those of which others have copies.
void open(Module &module, ArrayRef<Opening> all, uint64_t paged, Function *opening) {
  IRBuilder<> builder(opening->getEntryBlock().getTerminator());
  Type *pointer = builder.getPtrTy(), *number = builder.getInt64Ty();
  auto *announcing = FunctionType::get(builder.getVoidTy(), {pointer, pointer, number}, false);
  for (const Opening &each : all)
    builder.CreateCall(module.getOrInsertFunction(announceSection, announcing),
                       {each.options, each.capacities, builder.getInt64(each.file->capacities.size())});
  Value *remote = builder.getInt64(0);
  auto *type = FunctionType::get(builder.getInt8Ty(), {pointer, pointer, pointer, number, number, number}, false);
  for (const Opening &each : all) {
    if (each.file->own)
      continue;
    Value *isRemote = builder.CreateCall(module.getOrInsertFunction(openSection, type),
                                         {placeOf(builder, each), each.options, each.capacities,
                                          builder.getInt64(each.file->capacities.size()),
                                          builder.getInt64(each.file->holds), builder.getInt64(paged)});
    if (each.copied)
      builder.CreateCall(
          module.getOrInsertFunction(shareSection, FunctionType::get(builder.getVoidTy(), {pointer, pointer}, false)),
          {placeOf(builder, each), each.copied});
    remote = builder.CreateOr(remote, builder.CreateSelect(builder.CreateICmpNE(isRemote, builder.getInt8(0)),
                                                           builder.getInt64(bitOf(each.number)), builder.getInt64(0)));
  }
  if (GlobalVariable *flags = module.getNamedGlobal(areRemote))
    builder.CreateStore(remote, flags);
}

/// Opens one of a thread's own sections, or its copy of one.
void openOfThread(Module &module, IRBuilder<> &builder, const Opening &each) {
  Type *pointer = builder.getPtrTy(), *number = builder.getInt64Ty(), *byte = builder.getInt8Ty();
  auto placeOfVariable = [&](StringRef name) { return builder.CreateThreadLocalAddress(module.getNamedGlobal(name)); };
  Value *bit = builder.getInt64(bitOf(each.number));
  SmallVector<Value *> arguments{placeOf(builder, each), each.options, each.capacities,
                                 builder.getInt64(each.file->capacities.size())};
  if (each.copied) {
    arguments.append({each.copied, builder.CreateThreadLocalAddress(each.copy), placeOfVariable(areSettled), bit});
    SmallVector<Type *> types{pointer, pointer, pointer, number, pointer, pointer, pointer, number};
    auto *type = FunctionType::get(builder.getVoidTy(), types, false);
    builder.CreateCall(module.getOrInsertFunction(openCopy, type), arguments);
    return;
  }
  auto *type = FunctionType::get(byte, {pointer, pointer, pointer, number}, false);
  Value *isRemote = builder.CreateCall(module.getOrInsertFunction(openOwn, type), arguments);
  if (!module.getNamedGlobal(areOwnRemote))
    return;
  Value *bits = builder.CreateSelect(builder.CreateICmpNE(isRemote, builder.getInt8(0)), bit, builder.getInt64(0));
  Value *place = placeOfVariable(areOwnRemote);
  builder.CreateStore(builder.CreateOr(builder.CreateLoad(number, place), bits), place);
}

/// Fills in a function that does something for those sections whose bits it is passed.
void fillIn(Function &function, ArrayRef<Opening> all, function_ref<bool(const Opening &)> isMeant,
          function_ref<void(IRBuilder<> &, const Opening &)> what, function_ref<void(IRBuilder<> &)> atEnd) {
  function.setLinkage(GlobalValue::InternalLinkage);
  function.addFnAttr(Attribute::NoUnwind);
  LLVMContext &context = function.getContext();
  IRBuilder<> builder(BasicBlock::Create(context, "", &function));
  for (const Opening &each : all) {
    if (!isMeant(each))
      continue;
    auto *wanted = BasicBlock::Create(context, "", &function), *next = BasicBlock::Create(context, "", &function);
    Value *bits = builder.CreateAnd(function.getArg(0), bitOf(each.number));
    builder.CreateCondBr(builder.CreateICmpNE(bits, builder.getInt64(0)), wanted, next);
    builder.SetInsertPoint(wanted);
    what(builder, each);
    builder.CreateBr(next);
    builder.SetInsertPoint(next);
  }
  atEnd(builder);
  builder.CreateRetVoid();
}

/// Fills in what opens a thread's own sections and copies, and has them closed when it ends.
void openSectionsOfThreads(Module &module, ArrayRef<Opening> all, Function *opening) {
  Function *settling = module.getFunction(settle);
  if (!settling)
    return;
  for (auto kind : {Attribute::NoInline, Attribute::Cold})
    settling->addFnAttr(kind);
  auto open = [&](IRBuilder<> &builder, const Opening &each) { openOfThread(module, builder, each); };
  fillIn(*settling, all, [](const Opening &each) { return each.isOfThread(); }, open, [&](IRBuilder<> &builder) {
    Value *place = builder.CreateThreadLocalAddress(module.getNamedGlobal(areSettled));
    Value *known = builder.CreateLoad(builder.getInt64Ty(), place);
    builder.CreateStore(builder.CreateOr(known, settling->getArg(0)), place);
  });
  IRBuilder<> builder(opening->getEntryBlock().getTerminator());
  auto *plain = FunctionType::get(builder.getVoidTy(), false);
  builder.CreateCall(module.getOrInsertFunction(beginOwn, plain));
  appendToGlobalDtors(module, cast<Function>(module.getOrInsertFunction(endOwn, plain).getCallee()), openingPriority);
}

/// Fills in what makes a thread's copies as new as they have to be.
void renewCopiesOfThreads(Module &module, ArrayRef<Opening> all) {
  Function *renewing = module.getFunction(renewCopies);
  if (!renewing)
    return;
  renewing->addFnAttr(Attribute::AlwaysInline);
  auto renew = [&](IRBuilder<> &builder, const Opening &each) {
    Type *pointer = builder.getPtrTy();
    auto *type = FunctionType::get(builder.getVoidTy(), {pointer, pointer, pointer}, false);
    builder.CreateCall(module.getOrInsertFunction(renewCopy, type),
                       {placeOf(builder, each), each.copied, builder.CreateThreadLocalAddress(each.copy)});
  };
  fillIn(*renewing, all, [](const Opening &each) { return each.copied != nullptr; }, renew, [](IRBuilder<> &) {});
}

/// What opens sections, or closes them.
bool opens(const Function &function) {
  StringRef name = function.getName();
  return is_contained({openSection, announceSection, openOwn, openCopy, shareSection}, name);
}

/// Keeps only what is inlined. The rest has no state that it would share with that.
void keepInlined(Module &support) {
  for (Function &function : support)
    if (!function.isDeclaration() && !function.hasLocalLinkage() && function.hasFnAttribute(Attribute::NoInline))
      function.deleteBody();
}

/// Sections are opened before anything is looked up in them, and are what they are from then on: what is looked up in them does
/// not change by what the program does.
void markInvariant(Module &support) {
  MDNode *none = MDNode::get(support.getContext(), {});
  for (Function &function : support) {
    if (function.isDeclaration() || opens(function) || function.arg_empty())
      continue;
    for (Instruction &instruction : instructions(function)) {
      auto *load = dyn_cast<LoadInst>(&instruction);
      if (load && load->isSimple() && load->getPointerOperand()->stripInBoundsConstantOffsets() == function.getArg(0))
        load->setMetadata(LLVMContext::MD_invariant_load, none);
    }
  }
}

} // namespace

void suit(Module &support, const Module &module) {
  support.setTargetTriple(module.getTargetTriple());
  support.setDataLayout(module.getDataLayout());
  if (auto *flags = support.getModuleFlagsMetadata())
    support.eraseNamedMetadata(flags);
  if (auto *ident = support.getNamedMetadata("llvm.ident"))
    support.eraseNamedMetadata(ident);
  const Function *example = nullptr;
  for (const Function &function : module)
    if (!function.isDeclaration())
      example = &function;
  static constexpr StringLiteral kinds[] = {"target-cpu", "target-features", "tune-cpu"};
  for (Function &function : support)
    for (StringRef kind : kinds) {
      function.removeFnAttr(kind);
      if (example && example->hasFnAttribute(kind))
        function.addFnAttr(example->getFnAttribute(kind));
    }
}

void boundInlining(ArrayRef<Function *> functions) {
  for (Function *function : functions) {
    SmallVector<CallBase *> lookups;
    for (Instruction &instruction : instructions(*function))
      if (auto *call = dyn_cast<CallBase>(&instruction))
        if (Function *callee = call->getCalledFunction();
            callee && callee->getName().starts_with(supportPrefix) && callee->hasFnAttribute(Attribute::AlwaysInline))
          lookups.push_back(call);
    if (lookups.size() <= mostInlined)
      continue;
    for (CallBase *call : lookups)
      call->addFnAttr(Attribute::NoInline);
  }
}

void askForSupport(Module &module) {
  auto *type = FunctionType::get(Type::getVoidTy(module.getContext()), false);
  appendToCompilerUsed(module, {cast<GlobalValue>(module.getOrInsertFunction(openSection, type).getCallee())});
}

void forgetSupport(Module &module) {
  Function *asked = module.getFunction(openSection);
  if (!asked)
    return;
  removeFromUsedLists(module, [&](Constant *used) { return used == asked; });
  if (asked->use_empty())
    asked->eraseFromParent();
}

std::string addSupport(Module &module, const SectionFile &file, bool isWhole, function_ref<bool(unsigned)> isShared,
                       const MemoryBuffer &bitcode, bool isLinked) {
  auto support = parseBitcodeFile(bitcode.getMemBufferRef(), module.getContext());
  if (!support)
    return toString(support.takeError());
  suit(**support, module);
  markInvariant(**support);
  // What was compiled before the linker could be asked, or by other means, brings along all.
  if (isLinked && module.getFunction(openSection))
    keepInlined(**support);
  forgetSupport(module);
  auto *opening = Function::Create(FunctionType::get(Type::getVoidTy(module.getContext()), false),
                                   GlobalValue::InternalLinkage, "farside.open", module);
  opening->setDoesNotThrow();
  ReturnInst::Create(module.getContext(), BasicBlock::Create(module.getContext(), "", opening));
  // What a section is at first is taken from there.
  Type *type = (*support)->getNamedGlobal(plainSection)->getValueType();
  auto *wanted = new GlobalVariable(module, type, true, GlobalValue::ExternalLinkage, nullptr, plainSection);
  auto *keeping = new GlobalVariable(module, wanted->getType(), true, GlobalValue::InternalLinkage, wanted);
  SmallVector<GlobalVariable *> keepingFunctions;
  SmallVector<StringRef> needed{openSection, announceSection};
  if (module.getFunction(settle))
    needed.append({openOwn, beginOwn, endOwn, openCopy, shareSection});
  if (module.getFunction(renewCopies))
    needed.push_back(renewCopy);
  for (StringRef name : needed) {
    FunctionType *its = (*support)->getFunction(name)->getFunctionType();
    auto *function = Function::Create(its, GlobalValue::ExternalLinkage, name, module);
    keepingFunctions.push_back(
        new GlobalVariable(module, function->getType(), true, GlobalValue::InternalLinkage, function));
  }
  bool failed = Linker::linkModules(module, std::move(*support), Linker::Flags::LinkOnlyNeeded,
                                    [](Module &linked, const StringSet<> &names) {
                                      for (const auto &name : names)
                                        if (auto *value = linked.getNamedValue(name.getKey()))
                                          if (!value->isDeclaration()) {
                                            value->setVisibility(GlobalValue::DefaultVisibility);
                                            value->setLinkage(GlobalValue::InternalLinkage);
                                          }
                                    });
  if (failed)
    return "it cannot be linked with what it needs of sections";
  Constant *plain = module.getNamedGlobal(plainSection)->getInitializer();
  SmallVector<Opening> all;
  for (auto [number, section] : enumerate(file.sections))
    if (auto *declared = module.getNamedGlobal((sectionPrefix + section.name).str()))
      all.push_back(define(module, *declared, plain, section, number, isShared(number), isWhole));
  order(all, file);
  open(module, all, file.paged, opening);
  openSectionsOfThreads(module, all, opening);
  renewCopiesOfThreads(module, all);
  keeping->eraseFromParent();
  for (GlobalVariable *each : keepingFunctions)
    each->eraseFromParent();
  appendToGlobalCtors(module, opening, openingPriority);
  return "";
}

} // namespace farside
