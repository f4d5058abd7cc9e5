#include "Places.h"

#include "Bytes.h"
#include "Strides.h"
#include "Farside/Convert/Passes.h"
#include "Farside/Dialect/Remotable/Remotable.h"
#include "Farside/Dialect/Rmem/Rmem.h"
#include "Farside/Import/Numbers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace farside {
namespace {

/// So many operations are looked at for a place at most.
constexpr unsigned mostSteps = 64;

/// Takes a pointer apart.
class Taking {
public:
  Taking(scf::ForOp loop, const DataLayout &layout) : loop(loop), layout(layout) {}

  bool pointer(Value value) {
    auto element = value.getDefiningOp<LLVM::GEPOp>();
    if (!element)
      return term(value, 1);
    return pointer(element.getBase()) && indices(element);
  }

  Place place;

private:
  bool indices(LLVM::GEPOp element) {
    Type type = element.getElemType();
    bool isFirst = true;
    for (auto index : element.getIndices()) {
      auto constant = dyn_cast<IntegerAttr>(index);
      auto structure = dyn_cast<LLVM::LLVMStructType>(type);
      if (!isFirst && structure) {
        std::optional<int64_t> offset =
            constant ? offsetOf(structure, constant.getInt(), layout) : std::optional<int64_t>();
        if (!offset || !add(place.offset, 1, *offset))
          return false;
        type = structure.getBody()[constant.getInt()];
        continue;
      }
      if (!isFirst) {
        auto array = dyn_cast<LLVM::LLVMArrayType>(type);
        if (!array)
          return false;
        type = array.getElementType();
      }
      isFirst = false;
      std::optional<int64_t> distance = distanceOf(type, layout);
      if (!distance || !(constant ? add(place.offset, constant.getInt(), *distance)
                                  : number(cast<Value>(index), *distance)))
        return false;
    }
    return true;
  }

  bool number(Value value, int64_t times) {
    APInt constant;
    // Narrower numbers go round.
    if (++steps > mostSteps || !value.getType().isInteger(64))
      return term(value, times);
    if (matchPattern(value, m_ConstantInt(&constant)))
      return add(place.offset, constant.getSExtValue(), times);
    if (value == loop.getInductionVar())
      return add(place.stride, 1, times);
    Operation *op = value.getDefiningOp();
    int64_t product;
    if (op && isa<arith::AddIOp, LLVM::AddOp>(op))
      return number(op->getOperand(0), times) && number(op->getOperand(1), times);
    if (op && isa<arith::SubIOp, LLVM::SubOp>(op))
      return number(op->getOperand(0), times) && times != INT64_MIN && number(op->getOperand(1), -times);
    if (op && isa<arith::MulIOp, LLVM::MulOp>(op) && matchPattern(op->getOperand(1), m_ConstantInt(&constant)))
      return !__builtin_mul_overflow(times, constant.getSExtValue(), &product) && number(op->getOperand(0), product);
    if (op && isa<arith::ShLIOp, LLVM::ShlOp>(op) && matchPattern(op->getOperand(1), m_ConstantInt(&constant)) &&
        constant.ult(32))
      return !__builtin_mul_overflow(times, int64_t(1) << constant.getZExtValue(), &product) &&
             number(op->getOperand(0), product);
    return term(value, times);
  }

  bool term(Value value, int64_t times) {
    return loop.isDefinedOutsideOfLoop(value) && add(place.terms[value], 1, times);
  }

  static bool add(int64_t &sum, int64_t times, int64_t each) {
    int64_t more;
    return !__builtin_mul_overflow(times, each, &more) && !__builtin_add_overflow(sum, more, &sum);
  }

  scf::ForOp loop;
  const DataLayout &layout;
  unsigned steps = 0;
};

/// What a pointer is to an element of.
Value rootOf(Value pointer) {
  while (auto element = pointer.getDefiningOp<LLVM::GEPOp>())
    pointer = element.getBase();
  return pointer;
}

/// What a pointer leads to that leads to nothing that other such pointers lead to: an object, or nothing.
const void *objectOf(Value pointer, const SymbolTable &tables) {
  Operation *op = rootOf(pointer).getDefiningOp();
  if (op && isa<remotable::AllocOp, remotable::AllocZeroedOp, LLVM::AllocaOp>(op))
    return op;
  auto address = dyn_cast_or_null<LLVM::AddressOfOp>(op);
  // Others are names of what has another name.
  return address ? tables.lookup<LLVM::GlobalOp>(address.getGlobalName()).getOperation() : nullptr;
}

bool haveSameTerms(const Place &one, const Place &other) {
  auto isIn = [](const Place &part, const Place &whole) {
    return llvm::all_of(part.terms, [&](auto &term) { return whole.terms.lookup(term.first) == term.second; });
  };
  return isIn(one, other) && isIn(other, one);
}

/// Whether two parts of what lies `stride` bytes apart are never the same, of whichever two turns.
bool areDifferentParts(int64_t distance, int64_t stride, int64_t firstSize, int64_t secondSize) {
  if (stride == 0)
    return distance >= firstSize || distance <= -secondSize;
  int64_t each = std::abs(stride), behind = ((distance % each) + each) % each;
  return firstSize <= behind && behind + secondSize <= each;
}

/// Whether what a turn comes to is none of what later turns of another loop come to, `distance` bytes before it in the
/// same turn.
bool isBehind(int64_t distance, int64_t stride, int64_t firstSize, int64_t secondSize) {
  return stride > 0 ? distance + secondSize <= stride : stride < 0 && firstSize + stride <= distance;
}

template <typename Op> bool isSimple(Op op) {
  return !op.getVolatile_() && op.getOrdering() == LLVM::AtomicOrdering::not_atomic;
}

std::optional<Access> plainAccess(Operation *op) {
  if (auto load = dyn_cast<LLVM::LoadOp>(op); load && isSimple(load))
    return Access{op, load.getAddr(), {}, load.getTBAATagsOrNull(), {}, false, {}};
  if (auto store = dyn_cast<LLVM::StoreOp>(op); store && isSimple(store))
    return Access{op, store.getAddr(), {}, store.getTBAATagsOrNull(), {}, true, {}};
  return std::nullopt;
}

} // namespace

std::optional<Place> Place::of(Value pointer, scf::ForOp loop, const DataLayout &layout) {
  Taking taking(loop, layout);
  if (!taking.pointer(pointer))
    return std::nullopt;
  return std::move(taking.place);
}

std::optional<Access> accessOf(Operation *op, scf::ForOp loop, const DataLayout &layout) {
  std::optional<Access> access = plainAccess(op);
  if (auto [pointer, section] = accessedBy(op); section)
    access = {op, pointer, section, op->getAttr(typeOfAccess), {}, isa<rmem::StoreOp>(op), {}};
  if (!access)
    return std::nullopt;
  Type type = access->written ? op->getOperand(0).getType() : op->getResult(0).getType();
  if (llvm::TypeSize size = layout.getTypeSize(type); !size.isScalable())
    access->size = size.getFixedValue();
  access->place = Place::of(access->pointer, loop, layout);
  return access;
}

bool areApart(const Access &first, const Access &second, const SymbolTable &tables) {
  // What is in a section is in no other, and what may be is not accessed as plain memory.
  if (first.section != second.section)
    return true;
  const void *object = objectOf(first.pointer, tables), *other = objectOf(second.pointer, tables);
  return object && other && object != other;
}

bool keepsOrder(const Access &first, const Access &second, const SymbolTable &tables) {
  if ((!first.written && !second.written) || areApart(first, second, tables))
    return true;
  if (!first.size || !second.size || !first.place || !second.place || first.place->stride != second.place->stride ||
      !haveSameTerms(*first.place, *second.place))
    return false;
  int64_t distance, stride = first.place->stride;
  if (__builtin_sub_overflow(second.place->offset, first.place->offset, &distance) || !llvm::isInt<32>(stride) ||
      !llvm::isInt<32>(distance))
    return false;
  if (areDifferentParts(distance, stride, *first.size, *second.size))
    return true;
  // What follows one another in a turn is taken to be of different memory if it is of different types, which before it need
  // not be.
  bool haveTypes = first.type && second.type;
  return isBehind(distance, stride, *first.size, *second.size) && (!haveTypes || first.type == second.type);
}

bool isDebugMarker(Operation *op) {
  auto call = dyn_cast<LLVM::CallOp>(op);
  return call && call.getCallee() == debugMarker;
}

bool knowsAddresses(LLVM::LLVMFuncOp function) {
  return function
      .walk([](Operation *op) {
        return isa<rmem::HoldOp, rmem::PaddrOp, rmem::DerefOp, rmem::HereOp>(op) ? WalkResult::interrupt()
                                                                                 : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace farside
