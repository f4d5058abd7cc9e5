#include "Farside/Export/Types.h"

#include "llvm/IR/DerivedTypes.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace farside {

OriginalTypes::OriginalTypes(const Module &module) {
  for (StructType *type : module.getIdentifiedStructTypes())
    byName[type->getName()] = type;
}

void OriginalTypes::restore(Function &function) {
  if (byName.empty())
    return;
  ValueToValueMapTy nothing;
  for (Instruction &instruction : instructions(function))
    RemapInstruction(&instruction, nothing, RF_NoModuleLevelChanges | RF_IgnoreMissingLocals, this);
}

Type *OriginalTypes::remapStruct(StructType *type) {
  if (type->isLiteral()) {
    SmallVector<Type *> elements;
    for (Type *element : type->elements())
      elements.push_back(remapType(element));
    return StructType::get(type->getContext(), elements, type->isPacked());
  }
  if (byName.lookup(type->getName()) == type)
    return type;
  // A name that is taken comes back with a point and a number.
  auto [name, number] = type->getName().rsplit('.');
  StructType *original = byName.lookup(name);
  bool alike = original && original->isOpaque() == type->isOpaque() && original->isPacked() == type->isPacked() &&
               original->getNumElements() == type->getNumElements();
  return alike ? original : type;
}

Type *OriginalTypes::remapType(Type *type) {
  if (auto *structure = dyn_cast<StructType>(type))
    return remapStruct(structure);
  if (auto *array = dyn_cast<ArrayType>(type))
    return ArrayType::get(remapType(array->getElementType()), array->getNumElements());
  auto *function = dyn_cast<FunctionType>(type);
  if (!function)
    return type;
  SmallVector<Type *> parameters;
  for (Type *parameter : function->params())
    parameters.push_back(remapType(parameter));
  return FunctionType::get(remapType(function->getReturnType()), parameters, function->isVarArg());
}

} // namespace farside
