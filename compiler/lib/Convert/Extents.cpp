#include "Extents.h"

#include "Rows.h"
#include "Strides.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace farside {
namespace {

/// So many operations behind one another an address is computed by at most.
constexpr unsigned mostSteps = 16;

/// Whether a value goes on by the same in each turn of the loops.
class Linear {
public:
  Linear(scf::ForOp outer, ArrayRef<scf::ForOp> inner) : outer(outer), inner(inner) {}

  bool is(Value value, unsigned steps = mostSteps) {
    auto isTurn = [&](scf::ForOp loop) { return loop.getInductionVar() == value; };
    if (outer.isDefinedOutsideOfLoop(value) || isTurn(outer) || llvm::any_of(inner, isTurn))
      return true;
    Operation *op = value.getDefiningOp();
    if (!op || !steps)
      return false;
    auto all = [&](auto operands) { return llvm::all_of(operands, [&](Value each) { return is(each, steps - 1); }); };
    if (isa<LLVM::GEPOp>(op))
      return all(op->getOperands());
    // Narrower numbers go round.
    if (!value.getType().isInteger(64))
      return false;
    if (isa<arith::AddIOp, LLVM::AddOp, arith::SubIOp, LLVM::SubOp>(op))
      return all(op->getOperands());
    APInt constant;
    if (isa<arith::ShLIOp, LLVM::ShlOp>(op))
      return matchPattern(op->getOperand(1), m_ConstantInt(&constant)) && is(op->getOperand(0), steps - 1);
    return isa<arith::MulIOp, LLVM::MulOp>(op) && all(op->getOperands()) &&
           llvm::any_of(op->getOperands(), [&](Value factor) { return isSameInTurns(factor, outer); });
  }

private:
  scf::ForOp outer;
  ArrayRef<scf::ForOp> inner;
};

} // namespace

bool hasExtent(Value pointer, scf::ForOp outer, ArrayRef<scf::ForOp> inner) { return Linear(outer, inner).is(pointer); }

Extent extentOf(OpBuilder &builder, Value pointer, int64_t size, scf::ForOp outer, ArrayRef<scf::ForOp> inner) {
  Location location = outer.getLoc();
  auto number = [&](int64_t value) {
    return arith::ConstantOp::create(builder, location, builder.getI64IntegerAttr(value)).getResult();
  };
  SmallVector<scf::ForOp> loops{outer};
  llvm::append_range(loops, inner);
  SmallVector<Value> last;
  for (scf::ForOp loop : loops) {
    IRMapping copies;
    Value turns = copyOf(builder, outer, loop.getUpperBound(), copies);
    last.push_back(arith::SubIOp::create(builder, location, turns, number(1)));
  }
  // What goes on by the same each time is farthest in the first or the last turn, of each loop.
  Extent extent;
  for (unsigned corner = 0; corner < 1u << loops.size(); ++corner) {
    IRMapping copies;
    for (auto [at, loop] : llvm::enumerate(loops))
      copies.map(loop.getInductionVar(), corner >> at & 1 ? last[at] : number(0));
    Value there = copyOf(builder, outer, pointer, copies);
    Value address = LLVM::PtrToIntOp::create(builder, location, builder.getI64Type(), there);
    if (corner) {
      extent.begin = arith::MinUIOp::create(builder, location, extent.begin, address);
      extent.end = arith::MaxUIOp::create(builder, location, extent.end, address);
    } else {
      extent = {address, address};
    }
  }
  extent.end = arith::AddIOp::create(builder, location, extent.end, number(size));
  return extent;
}

} // namespace farside
