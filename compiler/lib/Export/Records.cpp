#include "Farside/Export/Restore.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/DebugProgramInstruction.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace farside {
namespace {

/// Has a copy of a record speak of the values that a marker has, in the order in which the marker was given them.
void point(DbgVariableRecord &record, ArrayRef<Value *> values) {
  SmallVector<Value *> before(record.location_ops());
  for (auto [index, value] : enumerate(before))
    if (value && !isa<Constant>(value) && !values.empty()) {
      record.replaceVariableLocationOp(index, values.front());
      values = values.drop_front();
    }
  if (record.isDbgAssign() && !values.empty())
    record.setAddress(values.front());
}

void restoreRecord(CallInst &marker, const Numbers &numbers) {
  auto *number = dyn_cast<ConstantInt>(marker.getArgOperand(0));
  DbgRecord *original = number ? numbers.record(number->getZExtValue()) : nullptr;
  if (original) {
    DbgRecord *record = original->clone();
    SmallVector<Value *> values(drop_begin(marker.args()));
    if (auto *variable = dyn_cast<DbgVariableRecord>(record))
      point(*variable, values);
    marker.getParent()->insertDbgRecordBefore(record, marker.getIterator());
  }
  marker.eraseFromParent();
}

/// The place of an instruction in the source, of whose number only calls can do without in a function with places.
DebugLoc placeOf(const Instruction &instruction, DISubprogram *subprogram, const Numbers &numbers) {
  if (!subprogram)
    return DebugLoc();
  if (const DebugLoc &number = instruction.getDebugLoc())
    if (const Instruction *original = numbers.instruction(number.getLine()))
      return original->getDebugLoc();
  if (isa<CallBase>(instruction))
    return DILocation::get(instruction.getContext(), 0, 0, subprogram);
  return DebugLoc();
}

bool isMarker(const Instruction &instruction) {
  auto *call = dyn_cast<CallInst>(&instruction);
  return call && call->getCalledFunction() && call->getCalledFunction()->getName() == debugMarker;
}

} // namespace

void restoreDebugInfo(Function &fresh, DISubprogram *subprogram, const Numbers &numbers) {
  for (Instruction &instruction : make_early_inc_range(instructions(fresh)))
    if (isMarker(instruction))
      restoreRecord(cast<CallInst>(instruction), numbers);
  for (Instruction &instruction : instructions(fresh))
    instruction.setDebugLoc(placeOf(instruction, subprogram, numbers));
}

} // namespace farside
