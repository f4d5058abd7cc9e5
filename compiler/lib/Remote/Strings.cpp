// A std::string has its characters or, if they are many, its capacity beside the pointer to them. By the rules of the
// language characters may be parts of pointers, and so may what is in a union; what members of strings do is known.

#include "Farside/Remote/Containers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace farside {
namespace {

/// Members of std::basic_string, of whatever characters.
bool isOfStrings(const Function &function) {
  static constexpr StringLiteral starts[] = {"_ZNSt7__cxx1112basic_stringI", "_ZNKSt7__cxx1112basic_stringI"};
  return any_of(starts, [&](StringRef start) { return function.getName().starts_with(start); });
}

/// Of an access to what may be of any type: this type.
MDNode *anyTypeOf(const Instruction &access) {
  MDNode *tag = access.getMetadata(LLVMContext::MD_tbaa);
  auto *record = tag && tag->getNumOperands() >= 3 ? dyn_cast<MDNode>(tag->getOperand(0)) : nullptr;
  if (!record || record != tag->getOperand(1))
    return nullptr;
  auto *name = record->getNumOperands() ? dyn_cast<MDString>(record->getOperand(0)) : nullptr;
  return name && name->getString() == "omnipotent char" ? record : nullptr;
}

bool handlesCharacters(const Function &function) { return function.getName().starts_with("_ZNSt11char_traitsI"); }

constexpr StringLiteral characters = "farside.characters";

} // namespace

void markAsCharacters(CallInst &copy) { copy.addFnAttr(Attribute::get(copy.getContext(), characters)); }

namespace {

/// What copies characters copies nothing else.
void markCharacters(Instruction &instruction) {
  if (auto *copy = dyn_cast<AnyMemTransferInst>(&instruction))
    markAsCharacters(*copy);
  else if (isa<LoadInst, StoreInst>(instruction) && getLoadStoreType(&instruction)->isIntegerTy(8))
    instruction.setMetadata(characters, MDNode::get(instruction.getContext(), {}));
}

} // namespace

bool isOfCharacters(const Instruction &instruction) {
  auto *copy = dyn_cast<AnyMemTransferInst>(&instruction);
  return copy ? copy->hasFnAttr(characters) : instruction.hasMetadata(characters);
}

void markStrings(Module &module) {
  MDBuilder builder(module.getContext());
  for (Function &function : module) {
    if (!isOfStrings(function) && !handlesCharacters(function))
      continue;
    for (Instruction &instruction : instructions(function)) {
      markCharacters(instruction);
      if (!isa<LoadInst, StoreInst>(instruction) || !getLoadStoreType(&instruction)->isIntegerTy(64))
        continue;
      if (MDNode *any = anyTypeOf(instruction)) {
        MDNode *number = builder.createTBAAScalarTypeNode("long", any);
        instruction.setMetadata(LLVMContext::MD_tbaa, builder.createTBAAStructTagNode(number, number, 0));
      }
    }
  }
}

} // namespace farside
