#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_COUNTLOOPS
#include "Farside/Lift/Passes.h.inc"

namespace {

/// The turns of a loop are counted in integers of this width.
constexpr unsigned countWidth = 64;

/// How a loop counts: its body makes `next` of a value that it carries by adding `step`, and it goes on while the
/// comparison of `next` with `bound` holds.
struct Counting {
  /// Which of the values that the loop carries.
  unsigned index;
  APInt step;
  Value bound;
  LLVM::ICmpPredicate predicate;
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

/// Which of the carried values `next` is made of by adding a constant; the constant goes to `step`.
std::optional<unsigned> countedBy(scf::WhileOp loop, LLVM::AddOp next, APInt &step) {
  auto value = dyn_cast<BlockArgument>(next.getLhs());
  if (!value || value.getOwner() != loop.getBeforeBody() || !matchPattern(next.getRhs(), m_ConstantInt(&step)))
    return std::nullopt;
  unsigned index = value.getArgNumber();
  if (loop.getConditionOp().getArgs()[index] != next.getResult())
    return std::nullopt;
  return index;
}

/// Whether counting comes to an end only at the bound: to go round past the largest number is undefined.
bool endsAtBound(const Counting &counting, LLVM::AddOp next) {
  bool noSignedWrap = bitEnumContainsAny(next.getOverflowFlags(), LLVM::IntegerOverflowFlags::nsw);
  bool noUnsignedWrap = bitEnumContainsAny(next.getOverflowFlags(), LLVM::IntegerOverflowFlags::nuw);
  if (!counting.step.isStrictlyPositive())
    return false;
  switch (counting.predicate) {
  case LLVM::ICmpPredicate::ne:
    return counting.step.isOne();
  case LLVM::ICmpPredicate::slt:
    return noSignedWrap;
  case LLVM::ICmpPredicate::ult:
    return noUnsignedWrap;
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
  auto next = compare ? compare.getLhs().getDefiningOp<LLVM::AddOp>() : nullptr;
  if (!onlyHandsOn(loop) || !next || !isOutside(loop, compare.getRhs()))
    return std::nullopt;
  auto type = dyn_cast<IntegerType>(next.getType());
  Counting counting;
  auto index = countedBy(loop, next, counting.step);
  if (!index || !type || type.getWidth() > countWidth)
    return std::nullopt;
  counting.index = *index;
  counting.bound = compare.getRhs();
  counting.predicate = inverted ? opposite(compare.getPredicate()) : compare.getPredicate();
  return endsAtBound(counting, next) ? std::optional(counting) : std::nullopt;
}

/// Makes the operations around and in a loop that counts from 0 to the number of its turns.
class Turns {
public:
  Turns(IRRewriter &rewriter, Location location, const Counting &counting, Value first)
      : rewriter(rewriter), location(location), counting(counting), first(first),
        type(cast<IntegerType>(first.getType())) {}

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
    return arith::AddIOp::create(rewriter, location, first, steps);
  }

private:
  /// A distance of 0 is all the way round.
  Value turnsUntilEqual() {
    Value distance = arith::SubIOp::create(rewriter, location, counting.bound, first);
    if (type.getWidth() == countWidth) {
      Value less = arith::SubIOp::create(rewriter, location, distance, number(1, type));
      return arith::MaxUIOp::create(rewriter, location, distance, less);
    }
    Value none = arith::CmpIOp::create(rewriter, location, arith::CmpIPredicate::eq, distance, number(0, type));
    Value wide = arith::ExtUIOp::create(rewriter, location, countType(), distance);
    Value round = number(uint64_t(1) << type.getWidth(), countType());
    return arith::SelectOp::create(rewriter, location, none, round, wide);
  }

  /// Rounded up, and 1 if the bound is reached at once.
  Value turnsWhileLess() {
    auto predicate = counting.predicate == LLVM::ICmpPredicate::slt ? arith::CmpIPredicate::slt
                                                                    : arith::CmpIPredicate::ult;
    Value some = arith::CmpIOp::create(rewriter, location, predicate, first, counting.bound);
    Value distance = arith::SubIOp::create(rewriter, location, counting.bound, first);
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
  Value first;
  IntegerType type;
};

void count(scf::WhileOp loop, const Counting &counting, IRRewriter &rewriter) {
  rewriter.setInsertionPoint(loop);
  Turns turns(rewriter, loop.getLoc(), counting, loop.getInits()[counting.index]);
  auto none = [](OpBuilder &, Location, Value, ValueRange) {};
  auto counted = scf::ForOp::create(rewriter, loop.getLoc(), turns.number(0, turns.countType()), turns.turns(),
                                    turns.number(1, turns.countType()), loop.getInits(), none, /*unsignedCmp=*/true);
  if (Attribute annotation = loop->getAttr("llvm.loop_annotation"))
    counted->setAttr("llvm.loop_annotation", annotation);
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
