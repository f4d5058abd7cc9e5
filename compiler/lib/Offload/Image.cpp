#include "Farside/Offload/Image.h"

#include "Farside/Remote/Plan.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace farside {
namespace {

constexpr StringLiteral entryPrefix = "farside_entry_", baseTable = "farside_bases";
/// Values in inputs and outputs begin at multiples of this.
constexpr uint64_t slotAlignment = 64;

/// What code may call there although no source does: what the back end makes of copies.
constexpr StringLiteral behindCopies[] = {"memcpy", "memmove", "memset", "memcmp", "bcmp"};

/// Makes a module that holds nothing but functions which run elsewhere.
class Extraction {
public:
  Extraction(Module &module, const Plan &plan, ArrayRef<Offloaded> functions) : plan(plan), functions(functions) {
    for (const Offloaded &each : functions) {
      bodies.insert(each.candidate.functions.begin(), each.candidate.functions.end());
      kept.insert(each.candidate.functions.begin(), each.candidate.functions.end());
      kept.insert(each.candidate.constants.begin(), each.candidate.constants.end());
      captured.insert(each.candidate.captured.begin(), each.candidate.captured.end());
    }
    result = CloneModule(module, map, [&](const GlobalValue *value) {
      return kept.contains(value) || captured.contains(value);
    });
  }

  std::unique_ptr<Module> run(unsigned sections) {
    StripDebugInfo(*result);
    // What a unit asks of the linker, and lists for it, is not for this.
    for (StringRef name : {"llvm.global_ctors", "llvm.global_dtors", "llvm.used", "llvm.compiler.used"})
      if (GlobalVariable *list = result->getNamedGlobal(name))
        list->eraseFromParent();
    result->setModuleInlineAsm("");
    result->setRtLibUseGOT();
    addBases(sections);
    translateAccesses();
    for (const Offloaded &each : functions)
      markResults(each);
    for (auto [number, each] : enumerate(functions))
      addEntry(number, each);
    hide();
    return std::move(result);
  }

private:
  void addBases(unsigned sections) {
    auto *type = ArrayType::get(Type::getInt64Ty(result->getContext()), std::max(sections, 1u));
    bases = new GlobalVariable(*result, type, /*isConstant=*/false, GlobalValue::ExternalLinkage,
                               Constant::getNullValue(type), baseTable);
  }

  /// What has to be added to pointers into a section; found once in each function.
  Value *baseOf(Function &function, unsigned section) {
    Value *&known = found[{&function, section}];
    if (!known) {
      IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
      Value *place = builder.CreateConstInBoundsGEP2_64(bases->getValueType(), bases, 0, section);
      LoadInst *load = builder.CreateLoad(builder.getInt64Ty(), place);
      load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(function.getContext(), {}));
      known = load;
    }
    return known;
  }

  void translate(Instruction &instruction, unsigned operand, unsigned section) {
    Value *base = baseOf(*instruction.getFunction(), section);
    IRBuilder<> builder(&instruction);
    instruction.setOperand(operand, builder.CreatePtrAdd(instruction.getOperand(operand), base));
  }

  /// In the order of the program, so that the same source makes the same code.
  void translateAccesses() {
    for (const Function *body : bodies)
      for (const Instruction &original : instructions(*body)) {
        auto found = plan.accesses.find(&original);
        if (found == plan.accesses.end())
          continue;
        auto *instruction = cast<Instruction>(map[&original]);
        if (auto *load = dyn_cast<LoadInst>(instruction))
          translate(*load, LoadInst::getPointerOperandIndex(), *found->second.section);
        else if (auto *memory = dyn_cast<AnyMemTransferInst>(instruction); memory && found->second.from)
          translate(*memory, 1, *found->second.from);
      }
  }

  /// Has what leaves results mark which bytes they are.
  void markResults(const Offloaded &each) {
    for (const Instruction *original : each.candidate.results) {
      auto *instruction = cast<Instruction>(map[original]);
      const Value *base = getUnderlyingObject(pointersOf(*original).to, 0);
      auto *lent = find_if(each.candidate.lent, [&](const Lent &some) { return some.argument == base; });
      IRBuilder<> builder(instruction);
      const DataLayout &layout = result->getDataLayout();
      auto *memory = dyn_cast<AnyMemIntrinsic>(instruction);
      Value *pointer = memory ? memory->getRawDest() : cast<StoreInst>(instruction)->getPointerOperand();
      Value *size = memory ? memory->getLength()
                           : builder.getInt64(layout.getTypeStoreSize(instruction->getOperand(0)->getType()));
      Value *marks = builder.CreatePtrAdd(pointer, builder.getInt64(marksOf(*lent)));
      builder.CreateMemSet(marks, builder.getInt8(0xff), size, Align(1));
    }
  }

  Function *copyOf(const Function &function) { return cast<Function>(map[&function]); }

  /// Takes a call apart, and puts together what it leaves behind.
  void addEntry(unsigned number, const Offloaded &each) {
    LLVMContext &context = result->getContext();
    Type *pointer = PointerType::getUnqual(context);
    auto *type = FunctionType::get(Type::getVoidTy(context), {pointer, pointer}, false);
    auto *entry = Function::Create(type, GlobalValue::ExternalLinkage, entryPrefix + Twine(number), *result);
    Function *function = copyOf(*each.function);
    for (StringRef kind : {"target-cpu", "target-features", "tune-cpu"})
      if (function->hasFnAttribute(kind))
        entry->addFnAttr(function->getFnAttribute(kind));
    IRBuilder<> builder(BasicBlock::Create(context, "", entry));
    Value *input = entry->getArg(0), *output = entry->getArg(1);
    auto in = [&](uint64_t offset) { return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), input, offset); };
    auto out = [&](uint64_t offset) { return builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), output, offset); };
    for (auto [variable, offset] : zip(each.candidate.captured, each.variables)) {
      auto *copy = cast<GlobalVariable>(map[variable]);
      builder.CreateMemCpy(copy, copy->getAlign(), in(offset), Align(slotAlignment),
                           result->getDataLayout().getTypeAllocSize(copy->getValueType()));
    }
    SmallVector<Value *> arguments;
    for (auto [argument, offset] : zip(function->args(), each.arguments)) {
      bool isLent = any_of(each.candidate.lent,
                           [&](const Lent &lent) { return lent.argument->getArgNo() == argument.getArgNo(); });
      arguments.push_back(isLent ? in(offset) : builder.CreateAlignedLoad(argument.getType(), in(offset), Align(slotAlignment)));
    }
    CallInst *call = builder.CreateCall(function, arguments);
    call->setCallingConv(function->getCallingConv());
    call->setAttributes(function->getAttributes());
    if (!function->getReturnType()->isVoidTy())
      builder.CreateAlignedStore(call, out(0), Align(slotAlignment));
    for (auto [lent, offset] : zip(each.candidate.lent, each.lent))
      if (lent.out)
        builder.CreateMemCpy(out(offset), Align(slotAlignment), arguments[lent.argument->getArgNo()],
                             Align(slotAlignment), blockOf(lent));
    builder.CreateRetVoid();
  }

  /// Nothing is known elsewhere but entries and the table, and what is not there is called as what is far away.
  void hide() {
    for (GlobalValue &value : result->global_values()) {
      if (value.isDeclaration()) {
        value.setDSOLocal(false);
        if (auto *function = dyn_cast<Function>(&value))
          function->addFnAttr(Attribute::NonLazyBind);
        continue;
      }
      bool isKnown = &value == bases || value.getName().starts_with(entryPrefix);
      value.setVisibility(GlobalValue::DefaultVisibility);
      value.setLinkage(isKnown ? GlobalValue::ExternalLinkage : GlobalValue::InternalLinkage);
      if (isKnown)
        value.setVisibility(GlobalValue::HiddenVisibility);
      if (auto *object = dyn_cast<GlobalObject>(&value)) {
        object->setComdat(nullptr);
        object->setSection("");
      }
      if (auto *function = dyn_cast<Function>(&value)) {
        function->setUWTableKind(UWTableKind::None);
        function->setDoesNotThrow();
        function->setPersonalityFn(nullptr);
        for (StringRef kind : {"stack-protector-buffer-size", "probe-stack"})
          function->removeFnAttr(kind);
        for (auto kind : {Attribute::StackProtect, Attribute::StackProtectStrong, Attribute::StackProtectReq})
          function->removeFnAttr(kind);
      }
    }
  }

  const Plan &plan;
  ArrayRef<Offloaded> functions;
  SetVector<const Function *> bodies;
  SmallPtrSet<const GlobalValue *, 16> kept, captured;
  ValueToValueMapTy map;
  std::unique_ptr<Module> result;
  GlobalVariable *bases = nullptr;
  DenseMap<std::pair<Function *, unsigned>, Value *> found;
};

std::unique_ptr<TargetMachine> machineFor(const Module &module, const Function &function, std::string &why) {
  const Target *target = TargetRegistry::lookupTarget(module.getTargetTriple(), why);
  if (!target)
    return nullptr;
  auto text = [&](StringRef kind) { return function.getFnAttribute(kind).getValueAsString(); };
  std::unique_ptr<TargetMachine> machine(target->createTargetMachine(
      module.getTargetTriple(), text("target-cpu"), text("target-features"), TargetOptions(), Reloc::PIC_,
      CodeModel::Small, CodeGenOptLevel::Default));
  if (!machine)
    why = "there is no code for " + module.getTargetTriple().str();
  return machine;
}

void optimize(Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2).run(module, modules);
}

/// What code refers to that is not offered; empty if nothing.
std::string unknownIn(StringRef code) {
  auto object = object::ObjectFile::createObjectFile(MemoryBufferRef(code, "image"));
  if (!object)
    return toString(object.takeError());
  for (const object::SymbolRef &symbol : (*object)->symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (!flags || !name)
      return "?";
    bool isUndefined = *flags & object::SymbolRef::SF_Undefined;
    if (isUndefined && !name->empty() && *name != "_GLOBAL_OFFSET_TABLE_" && !isOffered(*name) &&
        !is_contained(behindCopies, *name))
      return name->str();
  }
  return "";
}

} // namespace

uint64_t marksOf(const Lent &lent) { return alignTo(lent.size, slotAlignment); }

uint64_t blockOf(const Lent &lent) { return lent.marked ? marksOf(lent) + lent.size : lent.size; }

Offloaded layOut(Function &function, Candidate candidate) {
  const DataLayout &layout = function.getDataLayout();
  Offloaded made;
  made.function = &function;
  made.candidate = std::move(candidate);
  auto take = [](uint64_t &end, uint64_t size) {
    uint64_t start = alignTo(end, slotAlignment);
    end = start + size;
    return start;
  };
  for (const Argument &argument : function.args()) {
    auto *lent = find_if(made.candidate.lent, [&](const Lent &each) { return each.argument == &argument; });
    uint64_t size = lent == made.candidate.lent.end() ? layout.getTypeStoreSize(argument.getType()).getFixedValue()
                                                      : blockOf(*lent);
    made.arguments.push_back(take(made.input, size));
  }
  for (const GlobalVariable *variable : made.candidate.captured)
    made.variables.push_back(take(made.input, layout.getTypeAllocSize(variable->getValueType())));
  if (Type *type = function.getReturnType(); !type->isVoidTy())
    take(made.output, layout.getTypeStoreSize(type));
  for (const Lent &lent : made.candidate.lent)
    made.lent.push_back(take(made.output, blockOf(lent)));
  return made;
}

std::string makeImage(Module &module, const Plan &plan, ArrayRef<Offloaded> functions, unsigned sections,
                      std::string &why) {
  std::unique_ptr<Module> image = Extraction(module, plan, functions).run(sections);
  raw_string_ostream complaints(why);
  if (verifyModule(*image, &complaints))
    return "";
  std::unique_ptr<TargetMachine> machine = machineFor(module, *functions.front().function, why);
  if (!machine)
    return "";
  optimize(*image, *machine);
  SmallString<0> code;
  raw_svector_ostream stream(code);
  legacy::PassManager emitting;
  if (machine->addPassesToEmitFile(emitting, stream, nullptr, CodeGenFileType::ObjectFile)) {
    why = "no object files can be made for " + module.getTargetTriple().str();
    return "";
  }
  emitting.run(*image);
  if (std::string unknown = unknownIn(code); !unknown.empty()) {
    why = "it needs '" + unknown + "'";
    return "";
  }
  return std::string(code);
}

} // namespace farside
