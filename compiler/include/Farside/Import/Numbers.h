#ifndef FARSIDE_IMPORT_NUMBERS_H
#define FARSIDE_IMPORT_NUMBERS_H

#include "llvm/ADT/StringRef.h"
#include <vector>

namespace llvm {
class DbgRecord;
class Instruction;
} // namespace llvm

namespace farside {

/// What each number stands for that goes through MLIR in place of a source location. MLIR keeps locations through
/// all that is done to operations, so that numbers tell where each instruction that comes out came from.
class Numbers {
public:
  /// The number of an instruction; never 0, which is the line of what has no place of its own.
  unsigned add(const llvm::Instruction &instruction);
  /// The number of a debug record.
  unsigned add(llvm::DbgRecord &record);

  /// The instruction with this number, if there is one.
  const llvm::Instruction *instruction(unsigned number) const;
  /// The debug record with this number, if there is one.
  llvm::DbgRecord *record(unsigned number) const;

private:
  std::vector<const llvm::Instruction *> instructions;
  std::vector<llvm::DbgRecord *> records;
};

/// What stands for a debug record on the way: a call of this function with the number of the record and the values
/// that it speaks of.
inline constexpr llvm::StringLiteral debugMarker = "farside.debug";

} // namespace farside

#endif
