#include "Strides.h"

#include "Farside/Convert/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace farside {
namespace {

bool isConstant(Value value, uint64_t wanted) {
  APInt bits;
  return matchPattern(value, m_ConstantInt(&bits)) && bits == wanted;
}

/// A distance is of use only if it is short.
std::optional<int64_t> product(std::optional<int64_t> distance, int64_t factor) {
  int64_t product;
  if (!distance || __builtin_mul_overflow(*distance, factor, &product))
    return std::nullopt;
  return product;
}

/// How often `unit` a value is, if it is that many times as much.
std::optional<int64_t> timesOf(Value value, Value unit) {
  if (value == unit)
    return 1;
  Operation *op = value.getDefiningOp();
  APInt factor;
  if (!op || op->getNumOperands() != 2 || !matchPattern(op->getOperand(1), m_ConstantInt(&factor)))
    return std::nullopt;
  if (isa<arith::MulIOp, LLVM::MulOp>(op))
    return product(timesOf(op->getOperand(0), unit), factor.getSExtValue());
  if (isa<arith::ShLIOp, LLVM::ShlOp>(op) && factor.ult(32))
    return product(timesOf(op->getOperand(0), unit), int64_t(1) << factor.getZExtValue());
  return std::nullopt;
}

/// So many operations behind one another a value is computed by at most.
constexpr unsigned mostSteps = 8;

bool isSameIn(Value value, scf::ForOp loop, Value known, unsigned steps) {
  if (value == known || loop.isDefinedOutsideOfLoop(value))
    return true;
  Operation *op = value.getDefiningOp();
  return op && steps && op->getNumRegions() == 0 && isPure(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isSameIn(operand, loop, known, steps - 1); });
}

bool isTurnOfLoop(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  return loop && loop.getInductionVar() == value;
}

/// What a number of turns is: clang has loops make `max(n, n - 1)` turns that make n, which is not 0.
Value countedBy(Value turns) {
  auto most = turns.getDefiningOp<arith::MaxUIOp>();
  auto less = most ? most.getRhs().getDefiningOp<arith::SubIOp>() : arith::SubIOp();
  APInt one;
  bool isOneLess = less && less.getLhs() == most.getLhs() && matchPattern(less.getRhs(), m_ConstantInt(&one)) && one == 1;
  return isOneLess ? most.getLhs() : turns;
}

} // namespace

std::optional<int64_t> offsetOf(LLVM::LLVMStructType structure, unsigned field, const DataLayout &layout) {
  uint64_t offset = 0;
  for (auto [number, type] : llvm::enumerate(structure.getBody())) {
    if (!structure.isPacked())
      offset = llvm::alignTo(offset, layout.getTypeABIAlignment(type));
    if (number == field)
      return offset;
    std::optional<int64_t> more = distanceOf(type, layout);
    if (!more)
      return std::nullopt;
    offset += *more;
  }
  return offset;
}

std::optional<int64_t> distanceOf(Type type, const DataLayout &layout) {
  if (auto array = dyn_cast<LLVM::LLVMArrayType>(type))
    return product(distanceOf(array.getElementType(), layout), array.getNumElements());
  if (auto structure = dyn_cast<LLVM::LLVMStructType>(type)) {
    std::optional<int64_t> end = offsetOf(structure, structure.getBody().size(), layout);
    return end ? std::optional<int64_t>(llvm::alignTo(*end, layout.getTypeABIAlignment(type))) : std::nullopt;
  }
  llvm::TypeSize size = layout.getTypeSize(type);
  if (size.isScalable())
    return std::nullopt;
  return llvm::alignTo(size.getFixedValue(), layout.getTypeABIAlignment(type));
}

bool isSameInTurns(Value value, scf::ForOp loop, Value known) { return isSameIn(value, loop, known, mostSteps); }

bool countsFromZero(scf::ForOp loop) {
  return loop.getUnsignedCmp() && loop.getInductionVar().getType().isInteger(64) &&
         isConstant(loop.getLowerBound(), 0) && isConstant(loop.getStep(), 1);
}

std::optional<int64_t> Strides::of(Value value) {
  if (loop.isDefinedOutsideOfLoop(value))
    return 0;
  if (value == loop.getInductionVar())
    return unit ? std::nullopt : std::optional<int64_t>(1);
  if (isTurnOfLoop(value))
    return 0;
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto element = dyn_cast<LLVM::GEPOp>(op))
    return ofElement(element);
  // Narrower numbers go round.
  if (!value.getType().isInteger(64))
    return std::nullopt;
  if (isa<arith::AddIOp, LLVM::AddOp>(op))
    return sum(of(op->getOperand(0)), of(op->getOperand(1)), 1);
  if (isa<arith::SubIOp, LLVM::SubOp>(op))
    return sum(of(op->getOperand(0)), of(op->getOperand(1)), -1);
  if (isa<arith::MulIOp, LLVM::MulOp>(op))
    return ofProduct(op->getOperand(0), op->getOperand(1));
  APInt factor;
  if (isa<arith::ShLIOp, LLVM::ShlOp>(op) && matchPattern(op->getOperand(1), m_ConstantInt(&factor)) &&
      factor.ult(32))
    return product(of(op->getOperand(0)), int64_t(1) << factor.getZExtValue());
  return std::nullopt;
}

std::optional<int64_t> Strides::ofProduct(Value one, Value other) {
  APInt factor;
  if (matchPattern(other, m_ConstantInt(&factor)))
    return product(of(one), factor.getSExtValue());
  if (of(one) == 0 && of(other) == 0)
    return 0;
  if (!unit)
    return std::nullopt;
  Strides plain(loop, layout);
  if (std::optional<int64_t> units = timesOf(other, unit))
    return product(plain.of(one), *units);
  if (std::optional<int64_t> units = timesOf(one, unit))
    return product(plain.of(other), *units);
  return std::nullopt;
}

std::optional<int64_t> Strides::inUnits(Value value, Value wanted) {
  Strides counted(loop, layout);
  counted.unit = wanted;
  return counted.of(value);
}

std::optional<int64_t> Strides::sum(std::optional<int64_t> one, std::optional<int64_t> other, int64_t sign) {
  int64_t total;
  other = product(other, sign);
  if (!one || !other || __builtin_add_overflow(*one, *other, &total))
    return std::nullopt;
  return total;
}

std::optional<int64_t> Strides::ofElement(LLVM::GEPOp element) {
  std::optional<int64_t> stride = of(element.getBase());
  Type type = element.getElemType();
  bool isFirst = true;
  for (auto index : element.getIndices()) {
    if (!isFirst) {
      if (auto array = dyn_cast<LLVM::LLVMArrayType>(type))
        type = array.getElementType();
      else if (auto structure = dyn_cast<LLVM::LLVMStructType>(type); structure && isa<IntegerAttr>(index))
        type = structure.getBody()[cast<IntegerAttr>(index).getInt()];
      else
        return std::nullopt;
    }
    isFirst = false;
    auto value = dyn_cast<Value>(index);
    if (!value)
      continue;
    std::optional<int64_t> distance = distanceOf(type, layout);
    if (!distance)
      return std::nullopt;
    stride = sum(stride, product(of(value), *distance), 1);
  }
  return stride;
}

bool isRowOn(Value pointer, int64_t stride, scf::ForOp loop, scf::ForOp outer, const DataLayout &layout, int64_t rows) {
  Strides strides(outer, layout);
  Value count = countedBy(loop.getUpperBound());
  std::optional<int64_t> length = product(stride, rows);
  APInt known;
  if (!matchPattern(count, m_ConstantInt(&known)))
    return length && strides.inUnits(pointer, count) == length;
  length = product(length, known.getSExtValue());
  return length && strides.of(pointer) == length;
}

int64_t turnsTogether(scf::ForOp loop) {
  auto turns = loop->getAttrOfType<IntegerAttr>(jammedLoop);
  return turns ? turns.getInt() : 1;
}

} // namespace farside
