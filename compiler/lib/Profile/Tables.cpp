#include "Tables.h"

#include "Farside/Explain/Names.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace farside {
namespace {

/// With the constructors that open sections, before those of the program.
constexpr int enteringPriority = 101;

/// Numbers that are counted for each site.
constexpr unsigned siteCounts = 8;

/// Makes structures of compiler/runtime/profile/state.h.
class Builder {
public:
  explicit Builder(Module &module)
      : module(module), builder(module.getContext()), pointer(builder.getPtrTy()),
        function(StructType::get(pointer, pointer, builder.getInt32Ty())),
        site(StructType::get(pointer, pointer, builder.getInt32Ty(), builder.getInt32Ty(),
                             ArrayType::get(builder.getInt64Ty(), siteCounts))) {}

  Tables add(ArrayRef<Function *> functions, ArrayRef<SiteName> sites) {
    SmallVector<Constant *> functionEntries, siteEntries;
    for (const Function *each : functions)
      functionEntries.push_back(entryOf(*each));
    for (const SiteName &each : sites)
      siteEntries.push_back(entryOf(each));
    GlobalVariable *functionTable = table(function, functionEntries), *siteTable = table(site, siteEntries);
    Constant *fields[] = {functionTable, builder.getInt64(functions.size()), siteTable, builder.getInt64(sites.size()),
                          ConstantPointerNull::get(pointer)};
    enter(variable(ConstantStruct::getAnon(fields)));
    return {placesIn(*functionTable, functions.size()), placesIn(*siteTable, sites.size())};
  }

private:
  Constant *text(StringRef text) {
    Constant *&known = texts[text];
    if (!known) {
      Constant *bytes = ConstantDataArray::getString(module.getContext(), text);
      known = new GlobalVariable(module, bytes->getType(), true, GlobalValue::PrivateLinkage, bytes);
    }
    return known;
  }

  Constant *entryOf(const Function &each) {
    return ConstantStruct::get(function, {text(sourceName(each)), text(each.getSubprogram()->getFilename()),
                                          builder.getInt32(0)});
  }

  Constant *entryOf(const SiteName &each) {
    return ConstantStruct::get(site, {text(each.file), text(each.function), builder.getInt32(each.line),
                                      builder.getInt32(each.column),
                                      Constant::getNullValue(site->getElementType(4))});
  }

  GlobalVariable *variable(Constant *value) {
    return new GlobalVariable(module, value->getType(), false, GlobalValue::InternalLinkage, value, "farside.profile");
  }

  GlobalVariable *table(StructType *type, ArrayRef<Constant *> entries) {
    return variable(ConstantArray::get(ArrayType::get(type, entries.size()), entries));
  }

  std::vector<Constant *> placesIn(GlobalVariable &table, unsigned count) {
    std::vector<Constant *> places;
    for (unsigned i = 0; i < count; ++i)
      places.push_back(ConstantExpr::getInBoundsGetElementPtr(
          table.getValueType(), &table, ArrayRef<Constant *>{builder.getInt32(0), builder.getInt32(i)}));
    return places;
  }

  void enter(GlobalVariable *unit) {
    auto *entering = Function::Create(FunctionType::get(builder.getVoidTy(), false), GlobalValue::InternalLinkage,
                                      "farside.profile.enter", module);
    entering->setDoesNotThrow();
    IRBuilder<> body(BasicBlock::Create(module.getContext(), "", entering));
    auto *type = FunctionType::get(builder.getVoidTy(), {pointer}, false);
    body.CreateCall(module.getOrInsertFunction("farside_profile_register", type), {unit});
    body.CreateRetVoid();
    appendToGlobalCtors(module, entering, enteringPriority);
  }

  Module &module;
  IRBuilder<> builder;
  PointerType *pointer;
  StructType *function, *site;
  StringMap<Constant *> texts;
};

} // namespace

Tables addTables(Module &module, ArrayRef<Function *> functions, ArrayRef<SiteName> sites) {
  return Builder(module).add(functions, sites);
}

} // namespace farside
