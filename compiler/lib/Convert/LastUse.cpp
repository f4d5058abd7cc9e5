#include "LastUse.h"

#include "Bytes.h"
#include "Farside/Dialect/Rmem/Rmem.h"
#include "Farside/Import/Numbers.h"

using namespace mlir;

namespace farside {
namespace {

bool touchesNothing(LLVM::MemoryEffectsAttr effects) {
  return effects && effects.getOther() == LLVM::ModRefInfo::NoModRef &&
         effects.getArgMem() == LLVM::ModRefInfo::NoModRef && effects.getInaccessibleMem() == LLVM::ModRefInfo::NoModRef;
}

/// Whether an operation may come to a section. Those that only send for lines are there for others.
bool mayUse(Operation *op, FlatSymbolRefAttr section, const SymbolTable &tables) {
  if (auto call = dyn_cast<LLVM::CallOp>(op))
    return !farside::touchesNothing(call, tables);
  if (auto move = dyn_cast<rmem::MoveOp>(op))
    return move.getToSectionAttr() == section || move.getFromSectionAttr() == section;
  if (FlatSymbolRefAttr accessed = accessedBy(op).second)
    return accessed == section;
  if (auto fill = dyn_cast<rmem::FillOp>(op))
    return fill.getSectionAttr() == section;
  if (auto borrow = dyn_cast<rmem::BorrowOp>(op))
    return borrow.getSectionAttr() == section;
  // Another loop that was converted.
  if (auto hold = dyn_cast<rmem::HoldOp>(op))
    return hold.getSectionAttr() == section;
  return isa<LLVM::InvokeOp>(op);
}

} // namespace

bool touchesNothing(LLVM::CallOp call, const SymbolTable &tables) {
  if (call.getCallee() == debugMarker || touchesNothing(call.getMemoryEffectsAttr()))
    return true;
  auto callee = call.getCallee() ? tables.lookup<LLVM::LLVMFuncOp>(*call.getCallee()) : LLVM::LLVMFuncOp();
  return callee && touchesNothing(callee.getMemoryEffectsAttr());
}

bool isOnlyUse(Operation *loop, FlatSymbolRefAttr section, const SymbolTable &tables,
               llvm::function_ref<bool(Operation *)> isOne) {
  return !loop->walk([&](Operation *op) {
                return mayUse(op, section, tables) && !isOne(op) ? WalkResult::interrupt() : WalkResult::advance();
              })
              .wasInterrupted();
}

} // namespace farside
