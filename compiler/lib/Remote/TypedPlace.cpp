#include "Farside/Remote/TypedPlace.h"

#include "Addresses.h"
#include "Farside/Remote/HeapCall.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Type.h"
#include <utility>

using namespace llvm;

namespace farside {
namespace {

/// What is said of an access: the record, the type of what is accessed, and where that is in the record; of what is in none, the
/// type is the record.
struct Tag {
  const MDNode *record = nullptr, *type = nullptr;
  uint64_t offset = 0;
};

Tag tagOf(const Instruction &access) {
  const MDNode *tag = access.getMetadata(LLVMContext::MD_tbaa);
  if (!tag || tag->getNumOperands() < 3)
    return {};
  auto *record = dyn_cast<MDNode>(tag->getOperand(0)), *type = dyn_cast<MDNode>(tag->getOperand(1));
  auto *offset = mdconst::dyn_extract<ConstantInt>(tag->getOperand(2));
  if (!record || !type || !offset || type->getNumOperands() < 2)
    return {};
  return {record, type, offset->getZExtValue()};
}

StringRef nameOf(const MDNode &type) {
  auto *name = type.getNumOperands() ? dyn_cast<MDString>(type.getOperand(0)) : nullptr;
  return name ? name->getString() : "";
}

/// A pointer of a certain type; those of any have other names.
bool isCertain(const MDNode &type) {
  StringRef name = nameOf(type);
  return name.size() > 1 && name[0] == 'p' && isDigit(name[1]);
}

bool isPointer(const MDNode &type) { return isCertain(type) || nameOf(type) == "any pointer"; }

/// The field of a record that a byte is in, and how far from its start; null if there is none.
std::pair<const MDNode *, uint64_t> fieldAt(const MDNode &record, uint64_t byte) {
  std::pair<const MDNode *, uint64_t> found{nullptr, 0};
  for (unsigned at = 1; at + 1 < record.getNumOperands(); at += 2) {
    auto *field = dyn_cast<MDNode>(record.getOperand(at));
    auto *start = mdconst::dyn_extract<ConstantInt>(record.getOperand(at + 1));
    if (!field || !start)
      return {nullptr, 0};
    if (start->getZExtValue() <= byte)
      found = {field, byte - start->getZExtValue()};
  }
  return found;
}

/// Types that are no records, other than numbers, have names of several words.
bool isRecord(const MDNode &type) { return !nameOf(type).empty() && !nameOf(type).contains(' '); }

} // namespace

bool isOfPointer(const Instruction &access, const Type *type) {
  const MDNode *accessed = tagOf(access).type;
  return type->isIntegerTy(pointerBits) && accessed && isPointer(*accessed);
}

TypedPlace typedPlaceOf(const Instruction &access, const Type *type) {
  auto [record, accessed, offset] = type->isPointerTy() || isOfPointer(access, type) ? tagOf(access) : Tag();
  if (!accessed)
    return {};
  if (record == accessed)
    return isCertain(*accessed) ? TypedPlace{nullptr, 0, accessed} : TypedPlace();
  // A record may be in others; it is known by itself.
  for (;;) {
    auto [field, rest] = fieldAt(*record, offset);
    if (!field || !isRecord(*record))
      return {};
    if (field == accessed && rest == 0)
      return {record, offset, accessed};
    record = field, offset = rest;
  }
}

const MDNode *languageOf(const TypedPlace &place) {
  const MDNode *type = place.type;
  while (type->getNumOperands() >= 2)
    if (auto *parent = dyn_cast_or_null<MDNode>(type->getOperand(1)))
      type = parent;
    else
      break;
  return type;
}

bool isNumber(const Instruction &access, const Type *type) {
  if (type->isPtrOrPtrVectorTy() || type->isAggregateType())
    return false;
  const MDNode *accessed = tagOf(access).type;
  static constexpr StringLiteral numbers[] = {"int",   "long",  "long long", "short", "float",
                                              "double", "bool", "_Bool", "__int128"};
  return accessed && is_contained(numbers, nameOf(*accessed));
}

namespace {

/// How much of what is made of a number is looked at.
constexpr size_t mostFollowed = 64;

enum class Made { number, nothing, something };

/// What a user makes of a number.
Made madeBy(const Use &use) {
  const User *user = use.getUser();
  if (isa<BinaryOperator, PHINode, FreezeInst, TruncInst, ZExtInst, SExtInst>(user))
    return Made::number;
  if (isa<SelectInst>(user))
    return use.getOperandNo() == 0 ? Made::nothing : Made::number;
  if (isa<ICmpInst, BranchInst, SwitchInst, SIToFPInst, UIToFPInst>(user))
    return Made::nothing;
  if (isa<GetElementPtrInst>(user))
    return use.getOperandNo() == 0 ? Made::something : Made::nothing;
  auto *call = dyn_cast<CallBase>(user);
  if (call && heapCallOf(*call) != HeapCall::no)
    return use->getType()->isIntegerTy() ? Made::nothing : Made::something;
  if (auto *length = dyn_cast<MemIntrinsic>(user))
    return use.get() == length->getLength() ? Made::nothing : Made::something;
  if (auto *intrinsic = dyn_cast<IntrinsicInst>(user))
    return intrinsic->doesNotAccessMemory() && intrinsic->getType()->isIntegerTy() ? Made::number : Made::something;
  return Made::something;
}

/// Whether the same place is accessed as a number elsewhere: a load that was put before a loop has lost what was said of it.
bool isAtNumber(const LoadInst &load) {
  return any_of(load.getPointerOperand()->users(), [&](const User *user) {
    auto *access = dyn_cast<Instruction>(user);
    return access && access != &load && access->getFunction() == load.getFunction() &&
           getLoadStorePointerOperand(access) == load.getPointerOperand() && getLoadStoreType(access) == load.getType() &&
           isNumber(*access, load.getType());
  });
}

} // namespace

bool isUsedAsNumber(const LoadInst &loaded) {
  if (!loaded.getType()->isIntegerTy())
    return false;
  if (isAtNumber(loaded))
    return true;
  SmallSetVector<const Value *, 16> followed;
  followed.insert(&loaded);
  for (size_t at = 0; at < followed.size(); ++at) {
    for (const Use &use : followed[at]->uses()) {
      Made made = madeBy(use);
      if (made == Made::something || followed.size() > mostFollowed)
        return false;
      if (made == Made::number)
        followed.insert(use.getUser());
    }
  }
  return true;
}

} // namespace farside
