#include "Farside/Import/Copy.h"

#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace farside {
namespace {

/// Gives everything in the copy a name, and notes what it stands for.
void nameAll(Module &module, ValueToValueMapTy &copies, Copy &copy) {
  unsigned nameless = 0;
  for (GlobalValue &original : module.global_values()) {
    auto *copied = dyn_cast_or_null<GlobalValue>(copies.lookup(&original));
    if (!copied)
      continue;
    if (!copied->hasName())
      copied->setName("farside.nameless." + Twine(nameless++));
    copy.originals[copied->getName()] = &original;
  }
}

/// Takes away what is not about bodies.
void strip(Module &copy) {
  StripDebugInfo(copy);
  copy.setModuleInlineAsm("");
  for (NamedMDNode &node : make_early_inc_range(copy.named_metadata()))
    copy.eraseNamedMetadata(&node);
  // Lists of constructors and the like, whose content is in the module.
  for (GlobalVariable &variable : make_early_inc_range(copy.globals()))
    if (variable.getName().starts_with("llvm.") && variable.use_empty())
      variable.eraseFromParent();
  for (GlobalObject &object : copy.global_objects()) {
    object.setComdat(nullptr);
    object.clearMetadata();
  }
  for (Function &function : copy) {
    function.setPrefixData(nullptr);
    function.setPrologueData(nullptr);
  }
}

/// The values that a debug record speaks of and that a call can have as arguments. Constants stay in the record.
SmallVector<Value *> valuesOf(const DbgVariableRecord &record) {
  SmallVector<Value *> values;
  for (Value *value : record.location_ops())
    if (value && !isa<Constant>(value))
      values.push_back(value);
  if (record.isDbgAssign())
    if (Value *address = record.getAddress(); address && !isa<Constant>(address))
      values.push_back(address);
  return values;
}

/// Numbers the instructions and the debug records of one function in its copy.
class Numbering {
public:
  Numbering(Module &module, Numbers &numbers, ValueToValueMapTy &copies)
      : numbers(numbers), copies(copies), debug(module),
        file(debug.createFile("farside", ".")),
        type(debug.createSubroutineType(debug.getOrCreateTypeArray({}))) {
    debug.createCompileUnit(dwarf::DW_LANG_C, file, "farside", false, "", 0);
    auto *number = Type::getInt32Ty(module.getContext());
    auto *markerType = FunctionType::get(Type::getVoidTy(module.getContext()), {number}, true);
    marker = Function::Create(markerType, GlobalValue::ExternalLinkage, debugMarker, module);
    marker->setDoesNotThrow();
  }

  void number(const Function &function, Function &copied) {
    scope = debug.createFunction(file, copied.getName(), copied.getName(), file, 0, type, 0, DINode::FlagZero,
                                 DISubprogram::SPFlagDefinition);
    copied.setSubprogram(scope);
    dominators.recalculate(const_cast<Function &>(function));
    for (const BasicBlock &block : function)
      for (const Instruction &instruction : block)
        number(instruction, *cast<Instruction>(copies.lookup(&instruction)));
  }

  void finish() { debug.finalize(); }

private:
  void number(const Instruction &instruction, Instruction &copied) {
    for (DbgRecord &record : instruction.getDbgRecordRange())
      mark(record, instruction, copied);
    unsigned line = numbers.add(instruction);
    copied.setDebugLoc(DILocation::get(copied.getContext(), line, 0, scope));
  }

  void mark(DbgRecord &record, const Instruction &original, Instruction &before) {
    bool leads = isa<PHINode>(before) || before.isEHPad();
    const Instruction &user = leads ? *original.getParent()->getFirstInsertionPt() : original;
    auto place = leads ? before.getParent()->getFirstInsertionPt() : before.getIterator();
    IRBuilder<> builder(before.getParent(), place);
    SmallVector<Value *> arguments{builder.getInt32(numbers.add(record))};
    if (auto *variable = dyn_cast<DbgVariableRecord>(&record))
      for (Value *value : valuesOf(*variable))
        arguments.push_back(isThere(value, user) ? copyOf(value) : PoisonValue::get(value->getType()));
    builder.CreateCall(marker, arguments);
  }

  /// Whether a value has been computed. A record may speak of one that has not, which tells nothing; a call may not.
  bool isThere(const Value *value, const Instruction &user) const {
    auto *made = dyn_cast<Instruction>(value);
    return !made || dominators.dominates(made, &user);
  }

  Value *copyOf(Value *value) {
    if (Value *copied = copies.lookup(value))
      return copied;
    return value;
  }

  Numbers &numbers;
  ValueToValueMapTy &copies;
  DIBuilder debug;
  DIFile *file;
  DISubroutineType *type;
  Function *marker = nullptr;
  DISubprogram *scope = nullptr;
  DominatorTree dominators;
};

} // namespace

Copy copyForMlir(Module &module, function_ref<bool(const Function &)> goes) {
  ValueToValueMapTy copies;
  Copy copy;
  copy.module = CloneModule(module, copies, [&](const GlobalValue *value) {
    auto *function = dyn_cast<Function>(value);
    return function && goes(*function);
  });
  nameAll(module, copies, copy);
  strip(*copy.module);
  Numbering numbering(*copy.module, copy.numbers, copies);
  for (Function &function : module)
    if (!function.isDeclaration() && goes(function))
      numbering.number(function, *cast<Function>(copies.lookup(&function)));
  numbering.finish();
  return copy;
}

} // namespace farside
