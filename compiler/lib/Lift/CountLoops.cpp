#include "Farside/Import/LoopFacts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_COUNTLOOPS
#include "Farside/Lift/Passes.h.inc"

namespace {

/// The turns of a loop are counted in integers of this width.
constexpr unsigned countWidth = 64;

/// How a loop counts: its body makes `next` of a value that it carries by adding `step`, and it goes on while the
/// comparison of `next` with `bound` holds. Pointers are counted in bytes.
struct Counting {
  /// Which of the values that the loop carries.
  unsigned index;
  APInt step;
  Value bound;
  LLVM::ICmpPredicate predicate;
};

/// What adds a constant to a value.
struct Addition {
  Value value;
  APInt step;
  /// Whether it is undefined to go round past the largest number.
  bool noSignedWrap, noUnsignedWrap;
};

/// A value that does not change in the loop.
bool isOutside(scf::WhileOp loop, Value value) {
  return !loop.getBefore().isAncestor(value.getParentRegion());
}

/// Whether all that the second half of the loop does is to hand on, as in loops that farside-lift made.
bool onlyHandsOn(scf::WhileOp loop) {
  Block *after = loop.getAfterBody();
  return llvm::hasSingleElement(*after) && llvm::equal(loop.getYieldOp().getResults(), after->getArguments()) &&
         loop.getConditionOp().getArgs().size() == loop.getInits().size();
}

std::optional<Addition> additionOf(LLVM::AddOp add) {
  APInt step;
  // That of a vector in which all are the same would be one, too.
  if (!isa<IntegerType>(add.getType()) || !matchPattern(add.getRhs(), m_ConstantInt(&step)))
    return std::nullopt;
  LLVM::IntegerOverflowFlags flags = add.getOverflowFlags();
  return Addition{add.getLhs(), step, bitEnumContainsAny(flags, LLVM::IntegerOverflowFlags::nsw),
                  bitEnumContainsAny(flags, LLVM::IntegerOverflowFlags::nuw)};
}

/// By a constant number of elements that are no structures, as optimized programs have it.
std::optional<Addition> additionOf(LLVM::GEPOp element) {
  Type type = element.getElemType();
  if (!element.getDynamicIndices().empty() || element.getRawConstantIndices().size() != 1 ||
      !(type.isIntOrFloat() || isa<LLVM::LLVMPointerType>(type)) || isa<VectorType>(element.getType()))
    return std::nullopt;
  int64_t size = DataLayout::closest(element).getTypeSize(type).getFixedValue();
  int64_t step = size * element.getRawConstantIndices().front();
  // Memory does not go round.
  LLVM::GEPNoWrapFlags flags = element.getNoWrapFlags();
  bool isInside = bitEnumContainsAny(flags, LLVM::GEPNoWrapFlags::inboundsFlag);
  return Addition{element.getBase(), APInt(countWidth, step, /*isSigned=*/true), isInside,
                  isInside || bitEnumContainsAny(flags, LLVM::GEPNoWrapFlags::nuw)};
}

std::optional<Addition> additionOf(Value value) {
  if (auto add = value.getDefiningOp<LLVM::AddOp>())
    return additionOf(add);
  if (auto element = value.getDefiningOp<LLVM::GEPOp>())
    return additionOf(element);
  return std::nullopt;
}

/// Which of the carried values `next` is made of, which is handed on.
std::optional<unsigned> countedBy(scf::WhileOp loop, Value next, const Addition &addition) {
  auto value = dyn_cast<BlockArgument>(addition.value);
  if (!value || value.getOwner() != loop.getBeforeBody() ||
      loop.getConditionOp().getArgs()[value.getArgNumber()] != next)
    return std::nullopt;
  return value.getArgNumber();
}

/// Whether counting comes to an end only at the bound: to go round past the largest number is undefined.
bool endsAtBound(const Counting &counting, const Addition &addition) {
  const APInt &step = counting.step;
  switch (counting.predicate) {
  case LLVM::ICmpPredicate::ne:
    if (step.isOne() || step.isAllOnes())
      return true;
    // In steps of a power of two it is met in the first round or never.
    return !step.isZero() && step.getBitWidth() == countWidth &&
           (step.abs().isPowerOf2() || addition.noSignedWrap || addition.noUnsignedWrap);
  case LLVM::ICmpPredicate::slt:
    return step.isStrictlyPositive() && addition.noSignedWrap && isa<IntegerType>(addition.value.getType());
  case LLVM::ICmpPredicate::ult:
    return step.isStrictlyPositive() && addition.noUnsignedWrap;
  default:
    return false;
  }
}

/// The opposite of a comparison that ends a loop.
LLVM::ICmpPredicate opposite(LLVM::ICmpPredicate predicate) {
  switch (predicate) {
  case LLVM::ICmpPredicate::eq:
    return LLVM::ICmpPredicate::ne;
  case LLVM::ICmpPredicate::sge:
    return LLVM::ICmpPredicate::slt;
  case LLVM::ICmpPredicate::uge:
    return LLVM::ICmpPredicate::ult;
  default:
    // None that counts.
    return LLVM::ICmpPredicate::eq;
  }
}

std::optional<Counting> countingOf(scf::WhileOp loop) {
  Value condition = loop.getConditionOp().getCondition();
  auto inverted = condition.getDefiningOp<arith::XOrIOp>();
  if (inverted && !matchPattern(inverted.getRhs(), m_One()))
    return std::nullopt;
  auto compare = (inverted ? inverted.getLhs() : condition).getDefiningOp<LLVM::ICmpOp>();
  std::optional<Addition> next = compare ? additionOf(compare.getLhs()) : std::nullopt;
  if (!onlyHandsOn(loop) || !next || !isOutside(loop, compare.getRhs()))
    return std::nullopt;
  auto index = countedBy(loop, compare.getLhs(), *next);
  if (!index || next->step.getBitWidth() > countWidth)
    return std::nullopt;
  Counting counting{*index, next->step, compare.getRhs(),
                    inverted ? opposite(compare.getPredicate()) : compare.getPredicate()};
  return endsAtBound(counting, *next) ? std::optional(counting) : std::nullopt;
}

/// Makes the operations around and in a loop that counts from 0 to the number of its turns.
class Turns {
public:
  Turns(IRRewriter &rewriter, Location location, const Counting &counting, Value start)
      : rewriter(rewriter), location(location), counting(counting), start(start),
        type(rewriter.getIntegerType(counting.step.getBitWidth())), first(numberOf(start)),
        bound(numberOf(counting.bound)) {}

  Value number(uint64_t value, IntegerType type) {
    APInt bits(type.getWidth(), value, false, true);
    return arith::ConstantOp::create(rewriter, location, type, rewriter.getIntegerAttr(type, bits));
  }

  IntegerType countType() { return rewriter.getIntegerType(countWidth); }

  /// How many turns the loop takes. It takes one before it looks.
  Value turns() { return counting.predicate == LLVM::ICmpPredicate::ne ? turnsUntilEqual() : turnsWhileLess(); }

  /// The value that the body sees in turn `turn`.
  Value valueIn(Value turn) {
    Value narrow = type.getWidth() < countWidth ? arith::TruncIOp::create(rewriter, location, type, turn) : turn;
    Value step = number(counting.step.getZExtValue(), type);
    Value steps = arith::MulIOp::create(rewriter, location, narrow, step);
    if (isa<LLVM::LLVMPointerType>(start.getType()))
      return LLVM::GEPOp::create(rewriter, location, start.getType(), rewriter.getI8Type(), start, ValueRange{steps});
    return arith::AddIOp::create(rewriter, location, first, steps);
  }

private:
  Value numberOf(Value value) {
    if (isa<LLVM::LLVMPointerType>(value.getType()))
      return LLVM::PtrToIntOp::create(rewriter, location, type, value);
    return value;
  }

  /// A distance of 0 is all the way round.
  Value turnsUntilEqual() {
    bool isDown = counting.step.isNegative();
    Value distance = arith::SubIOp::create(rewriter, location, isDown ? first : bound, isDown ? bound : first);
    if (!counting.step.abs().isOne())
      return turnsInSteps(distance);
    if (type.getWidth() == countWidth) {
      Value less = arith::SubIOp::create(rewriter, location, distance, number(1, type));
      return arith::MaxUIOp::create(rewriter, location, distance, less);
    }
    Value none = arith::CmpIOp::create(rewriter, location, arith::CmpIPredicate::eq, distance, number(0, type));
    Value wide = arith::ExtUIOp::create(rewriter, location, countType(), distance);
    Value round = number(uint64_t(1) << type.getWidth(), countType());
    return arith::SelectOp::create(rewriter, location, none, round, wide);
  }

  /// Where the bound lies between two steps it is never met.
  Value turnsInSteps(Value distance) {
    Value step = number(counting.step.abs().getZExtValue(), type);
    Value less = arith::SubIOp::create(rewriter, location, distance, step);
    Value steps = arith::DivUIOp::create(rewriter, location, less, step);
    Value turns = arith::AddIOp::create(rewriter, location, steps, number(1, type));
    Value rest = arith::RemUIOp::create(rewriter, location, distance, step);
    Value meets = arith::CmpIOp::create(rewriter, location, arith::CmpIPredicate::eq, rest, number(0, type));
    return arith::SelectOp::create(rewriter, location, meets, turns, number(~uint64_t(0), type));
  }

  /// Rounded up, and 1 if the bound is reached at once.
  Value turnsWhileLess() {
    auto predicate = counting.predicate == LLVM::ICmpPredicate::slt ? arith::CmpIPredicate::slt
                                                                    : arith::CmpIPredicate::ult;
    Value some = arith::CmpIOp::create(rewriter, location, predicate, first, bound);
    Value distance = arith::SubIOp::create(rewriter, location, bound, first);
    Value less = arith::SubIOp::create(rewriter, location, distance, number(1, type));
    Value step = number(counting.step.getZExtValue(), type);
    Value steps = arith::DivUIOp::create(rewriter, location, less, step);
    if (type.getWidth() < countWidth)
      steps = arith::ExtUIOp::create(rewriter, location, countType(), steps);
    Value turns = arith::AddIOp::create(rewriter, location, steps, number(1, countType()));
    return arith::SelectOp::create(rewriter, location, some, turns, number(1, countType()));
  }

  IRRewriter &rewriter;
  Location location;
  const Counting &counting;
  Value start;
  IntegerType type;
  /// What is counted, as numbers.
  Value first, bound;
};

/// What else a loop carries and changes by a constant is computed from the turn, too, so that nothing depends on the turn
/// before.
void countCarried(scf::ForOp loop, unsigned counted, IRRewriter &rewriter) {
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  for (auto [index, argument] : llvm::enumerate(loop.getRegionIterArgs())) {
    std::optional<Addition> next = additionOf(yield.getOperand(index));
    if (index == counted || !next || next->value != argument || next->step.getBitWidth() != countWidth)
      continue;
    rewriter.setInsertionPoint(loop);
    Counting counting{unsigned(index), next->step, loop.getInitArgs()[index], LLVM::ICmpPredicate::ne};
    Turns turns(rewriter, loop.getLoc(), counting, loop.getInitArgs()[index]);
    rewriter.setInsertionPointToStart(loop.getBody());
    rewriter.replaceAllUsesWith(argument, turns.valueIn(loop.getInductionVar()));
  }
}

void count(scf::WhileOp loop, const Counting &counting, IRRewriter &rewriter) {
  rewriter.setInsertionPoint(loop);
  Turns turns(rewriter, loop.getLoc(), counting, loop.getInits()[counting.index]);
  auto none = [](OpBuilder &, Location, Value, ValueRange) {};
  auto counted = scf::ForOp::create(rewriter, loop.getLoc(), turns.number(0, turns.countType()), turns.turns(),
                                    turns.number(1, turns.countType()), loop.getInits(), none, /*unsignedCmp=*/true);
  if (Attribute annotation = loop->getAttr(annotationOfLoop))
    counted->setAttr(annotationOfLoop, annotation);
  if (Attribute fact = loop->getAttr(loopFact))
    counted->setAttr(loopFact, fact);
  rewriter.setInsertionPointToStart(counted.getBody());
  // The value that is carried for the count only has the result of the loop; the body counts from the turn.
  SmallVector<Value> values(counted.getRegionIterArgs());
  values[counting.index] = turns.valueIn(counted.getInductionVar());
  SmallVector<Value> next(loop.getConditionOp().getArgs());
  // What is handed on as it came is an argument of the block that goes.
  for (Value &value : next)
    if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == loop.getBeforeBody())
      value = values[argument.getArgNumber()];
  Location end = loop.getConditionOp().getLoc();
  rewriter.eraseOp(loop.getConditionOp());
  rewriter.inlineBlockBefore(loop.getBeforeBody(), counted.getBody(), counted.getBody()->end(), values);
  rewriter.setInsertionPointToEnd(counted.getBody());
  scf::YieldOp::create(rewriter, end, next);
  countCarried(counted, counting.index, rewriter);
  rewriter.replaceOp(loop, counted.getResults());
}

struct CountLoops : impl::CountLoopsBase<CountLoops> {
  void runOnOperation() override {
    SmallVector<scf::WhileOp> loops;
    getOperation().walk([&](scf::WhileOp loop) { loops.push_back(loop); });
    IRRewriter rewriter(&getContext());
    for (scf::WhileOp loop : loops) {
      if (auto counting = countingOf(loop)) {
        count(loop, *counting, rewriter);
        ++counted;
      } else {
        ++others;
      }
    }
  }
};

} // namespace
} // namespace farside
