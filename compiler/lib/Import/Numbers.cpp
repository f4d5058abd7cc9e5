#include "Farside/Import/Numbers.h"

namespace farside {

unsigned Numbers::add(const llvm::Instruction &instruction) {
  instructions.push_back(&instruction);
  return instructions.size();
}

unsigned Numbers::add(llvm::DbgRecord &record) {
  records.push_back(&record);
  return records.size();
}

const llvm::Instruction *Numbers::instruction(unsigned number) const {
  return number >= 1 && number <= instructions.size() ? instructions[number - 1] : nullptr;
}

llvm::DbgRecord *Numbers::record(unsigned number) const {
  return number >= 1 && number <= records.size() ? records[number - 1] : nullptr;
}

} // namespace farside
