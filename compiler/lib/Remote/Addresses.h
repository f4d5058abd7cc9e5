#ifndef FARSIDE_LIB_REMOTE_ADDRESSES_H
#define FARSIDE_LIB_REMOTE_ADDRESSES_H

#include <cstdint>

namespace llvm {
class BinaryOperator;
class Value;
} // namespace llvm

namespace farside {

constexpr unsigned pointerBits = 64;
/// A mask of less than this leaves nothing of a pointer, and changes nothing of what it leads to.
constexpr uint64_t leastPointer = 4096;

/// What a number is made of by setting, changing or clearing its last bits, so that an address leads to the same object as
/// before if it leads to anything; null if something else is computed.
const llvm::Value *unmarked(const llvm::BinaryOperator &binary);

/// Whether a number is nothing but the address that a pointer has, or that of one of several, and 0 for none, whatever is
/// marked in its last bits; or so many bytes from there, which is in the same object if it is anywhere.
bool isAddress(const llvm::Value *value);

/// The address that another one is made of, by marks or as many bytes as the other operand says; null if it is none.
const llvm::Value *movedFrom(const llvm::BinaryOperator &binary);

} // namespace farside

#endif
