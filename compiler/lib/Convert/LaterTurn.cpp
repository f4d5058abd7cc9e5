#include "LaterTurn.h"

#include "LastUse.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace farside {
namespace {

/// Whether nothing but its operands decides what an operation computes, and it cannot fail.
bool isComputed(Operation *op) {
  return op->getNumRegions() == 0 && op->getNumResults() == 1 && isMemoryEffectFree(op) &&
         !isa<LLVM::SDivOp, LLVM::UDivOp, LLVM::SRemOp, LLVM::URemOp, LLVM::CallOp, LLVM::CallIntrinsicOp,
              arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::CeilDivSIOp, arith::CeilDivUIOp,
              arith::FloorDivSIOp>(op);
}

bool mayGiveMemoryBack(scf::ForOp loop, const SymbolTable &tables) {
  return loop
      ->walk([&](Operation *op) {
        if (auto call = dyn_cast<LLVM::CallOp>(op); call && touchesNothing(call, tables))
          return WalkResult::advance();
        return isa<CallOpInterface>(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace

LaterTurn::LaterTurn(scf::ForOp loop, const SymbolTable &tables)
    : loop(loop), keepsMemory(!mayGiveMemoryBack(loop, tables)) {}

LaterTurn::Kind LaterTurn::kindOf(Value value, unsigned depth) {
  if (loop.isDefinedOutsideOfLoop(value))
    return {true};
  if (value == loop.getInductionVar())
    return {true, true};
  if (Value init = initOf(value))
    return kindOf(init, depth);
  Operation *op = value.getDefiningOp();
  if (!op || !depth || (op->getParentOfType<LoopLikeOpInterface>() != loop && !conditioned(op)))
    return {};
  if (auto load = dyn_cast<LLVM::LoadOp>(op))
    return kindOfLoad(load, depth);
  if (auto load = dyn_cast<rmem::LoadOp>(op)) {
    Kind kind = kindOf(load.getPointer(), depth - 1);
    return {kind.isKnown, kind.varies, true};
  }
  return isComputed(op) ? kindOfOperands(op, depth) : Kind();
}

/// The loop of the body whose condition an operation of it belongs to: its first turn begins with that.
scf::WhileOp LaterTurn::conditioned(Operation *op) {
  auto inner = op->getParentOfType<scf::WhileOp>();
  bool is = inner && inner.getBefore().isAncestor(op->getParentRegion()) &&
            op->getParentOfType<LoopLikeOpInterface>() == inner &&
            inner->getParentOfType<LoopLikeOpInterface>() == loop;
  return is ? inner : scf::WhileOp();
}

/// What a loop of the body begins with, of a value that it may change.
Value LaterTurn::initOf(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto inner = argument ? dyn_cast<scf::WhileOp>(argument.getOwner()->getParentOp()) : scf::WhileOp();
  bool begins = inner && argument.getOwner() == inner.getBeforeBody() && conditioned(&argument.getOwner()->front());
  return begins ? inner.getInits()[argument.getArgNumber()] : Value();
}

/// Only of what each turn loads, from an address that is known for certain, and will still be one.
LaterTurn::Kind LaterTurn::kindOfLoad(LLVM::LoadOp load, unsigned depth) {
  if (load->getBlock() != loop.getBody() || !keepsMemory || load.getVolatile_() ||
      load.getOrdering() != LLVM::AtomicOrdering::not_atomic)
    return {};
  Kind kind = kindOf(load.getAddr(), depth - 1);
  return kind.isLoaded ? Kind() : Kind{kind.isKnown, kind.varies, true};
}

LaterTurn::Kind LaterTurn::kindOfOperands(Operation *op, unsigned depth) {
  Kind all{true};
  for (Value operand : op->getOperands()) {
    Kind kind = kindOf(operand, depth - 1);
    if (!kind.isKnown)
      return {};
    all.varies |= kind.varies;
    all.isLoaded |= kind.isLoaded;
  }
  return all;
}

SmallVector<rmem::LoadOp> LaterTurn::loadsOf(Value value) {
  SmallVector<rmem::LoadOp> loads;
  SmallVector<Value> rest{value};
  llvm::SmallDenseSet<Operation *> seen;
  while (!rest.empty()) {
    Value next = rest.pop_back_val();
    if (Value init = initOf(next))
      next = init;
    Operation *op = next.getDefiningOp();
    if (loop.isDefinedOutsideOfLoop(next) || !op || !seen.insert(op).second)
      continue;
    if (auto load = dyn_cast<rmem::LoadOp>(op))
      loads.push_back(load);
    llvm::append_range(rest, op->getOperands());
  }
  return loads;
}

Value LaterTurn::valueIn(Value value, Value turn, OpBuilder &builder) {
  IRMapping copies;
  copies.map(loop.getInductionVar(), turn);
  // What memory holds now may make no sense, nor what is computed from it.
  return LLVM::FreezeOp::create(builder, loop.getLoc(), copy(value, copies, builder));
}

Value LaterTurn::copy(Value value, IRMapping &copies, OpBuilder &builder) {
  if (Value copied = copies.lookupOrNull(value))
    return copied;
  if (loop.isDefinedOutsideOfLoop(value))
    return value;
  if (Value init = initOf(value))
    return copy(init, copies, builder);
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    copies.map(operand, copy(operand, copies, builder));
  Value made;
  if (auto remote = dyn_cast<rmem::LoadOp>(op))
    made = load(remote, copies, builder);
  else if (auto plain = dyn_cast<LLVM::LoadOp>(op))
    made = LLVM::LoadOp::create(builder, loop.getLoc(), plain.getType(), copies.lookup(plain.getAddr()),
                                plain.getAlignment().value_or(1));
  else {
    // Without the number of the original: what is noted of that need not be true of a turn that may never be.
    Operation *cloned = builder.clone(*op, copies);
    cloned->setLoc(loop.getLoc());
    made = cloned->getResult(0);
  }
  copies.map(value, made);
  return made;
}

/// Goes on only if what is to be loaded is here.
Value LaterTurn::load(rmem::LoadOp load, IRMapping &copies, OpBuilder &builder) {
  Location location = loop.getLoc();
  Value pointer = LLVM::FreezeOp::create(builder, location, copies.lookup(load.getPointer()));
  uint64_t size = DataLayout::closest(load).getTypeSize(load.getType()).getFixedValue();
  Value address = rmem::PeekOp::create(builder, location, pointer.getType(), load.getSection(), pointer, size);
  Value none = LLVM::ZeroOp::create(builder, location, address.getType());
  Value isHere = LLVM::ICmpOp::create(builder, location, LLVM::ICmpPredicate::ne, address, none);
  auto when = scf::IfOp::create(builder, location, isHere, /*withElseRegion=*/false);
  builder.setInsertionPointToStart(when.thenBlock());
  return LLVM::LoadOp::create(builder, location, load.getType(), address, /*alignment=*/1);
}

} // namespace farside
