#ifndef FARSIDE_REMOTE_TYPEDPLACE_H
#define FARSIDE_REMOTE_TYPEDPLACE_H

#include <cstdint>

namespace llvm {
class Instruction;
class LoadInst;
class MDNode;
class Type;
} // namespace llvm

namespace farside {

/// Where a pointer is in memory, as the language tells places apart: in a field of all records of a type; or, without a record,
/// wherever there are pointers of its type.
struct TypedPlace {
  const llvm::MDNode *record = nullptr;
  uint64_t offset = 0;
  /// The type of the pointer; null if nothing tells it from others.
  const llvm::MDNode *type = nullptr;

  explicit operator bool() const { return type; }
  bool operator==(const TypedPlace &other) const {
    return record == other.record && offset == other.offset && type == other.type;
  }
};

/// Whether a load or store of a value of type `type`, which is a number, is one of a pointer in the source: so are copies of
/// records with nothing but a pointer in them, as of iterators.
bool isOfPointer(const llvm::Instruction &access, const llvm::Type *type);

/// The place of a load or store of a value of type `type`: none if it is no pointer in the source, or may be one of any type,
/// as those that `void **` leads to and those in unions may.
TypedPlace typedPlaceOf(const llvm::Instruction &access, const llvm::Type *type);

/// The language of a place. What is of different ones may be the same.
const llvm::MDNode *languageOf(const TypedPlace &place);

/// Whether the language rules out that what is accessed as a number is, or is a part of, a pointer. Characters may be parts of
/// anything, and so may be what nothing is said of.
bool isNumber(const llvm::Instruction &access, const llvm::Type *type);

/// Whether all that is made of a number, as far as it is followed, is other numbers, comparisons and places in arrays. What is or
/// was a pointer is kept, passed on or made one again. What is loaded earlier than it was in the source has no type any more; it
/// is that of other accesses to the same place.
bool isUsedAsNumber(const llvm::LoadInst &loaded);

} // namespace farside

#endif
