#ifndef FARSIDE_LIB_REMOTE_OFFSETS_H
#define FARSIDE_LIB_REMOTE_OFFSETS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace llvm {
class CallBase;
class Function;
class GetElementPtrInst;
class Instruction;
class Module;
class Value;
} // namespace llvm

namespace farside {

/// Where a pointer leads, seen from the start of a block: so many bytes behind it, and any multiple of `modulus`, which is a
/// power of two; 0: nothing more.
struct Offset {
  enum Kind { nowhere, known, anywhere } kind = nowhere;
  uint64_t bytes = 0, modulus = 0;

  static Offset at(uint64_t bytes, uint64_t modulus);
  static Offset unknown() { return {anywhere, 0, 0}; }
  /// What is one or the other.
  Offset operator|(const Offset &other) const;
  bool operator==(const Offset &other) const = default;
};

/// Offsets of all pointers of a module that may lead to some blocks. Blocks are at multiples of what their sizes are multiples
/// of. What is not understood leads anywhere.
class Offsets {
public:
  /// `leads` says of a value whether it may lead to one of the blocks. Nothing of the module may change while this is in use.
  Offsets(const llvm::Module &module, llvm::function_ref<bool(const llvm::Value *)> leads);

  Offset of(const llvm::Value *value) const;

  /// What the size of what a call allocates is a multiple of, and so is the address of a block of it: a power of two, at least
  /// 16, at most 64 KiB.
  static uint64_t alignmentOf(const llvm::CallBase &call);

private:
  void add(const llvm::Instruction &instruction);
  void addCall(const llvm::CallBase &call);
  Offset made(const llvm::Instruction &instruction) const;
  Offset element(const llvm::GetElementPtrInst &element) const;
  bool isMadeOfPointers(const llvm::Value &value) const { return of(&value).kind != Offset::nowhere; }
  void enter(Offset &place, Offset offset);

  llvm::SmallVector<const llvm::Instruction *> relevant;
  llvm::DenseMap<const llvm::Value *, Offset> values;
  llvm::DenseMap<const llvm::Function *, Offset> returns;
  /// What is stored in memory, wherever.
  Offset stored;
  bool changes = false;
};

} // namespace farside

#endif
