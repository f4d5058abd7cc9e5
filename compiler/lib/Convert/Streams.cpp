#include "Streams.h"

#include "Bytes.h"
#include "LastUse.h"
#include "Strides.h"
#include "Farside/Dialect/Rmem/Rmem.h"
#include "Farside/Import/LoopFacts.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <optional>

using namespace mlir;

namespace farside {
namespace {

/// So many lines are held at once at most; sections have room for a few more than are full.
constexpr size_t mostStreams = 8;

/// So many operations a body with loops may have: it is there twice then, and what is in it may be already.
constexpr unsigned mostWithLoops = 128;

} // namespace

bool isOrdered(Operation *op) {
  if (auto load = dyn_cast<LLVM::LoadOp>(op))
    return load.getVolatile_() || load.getOrdering() != LLVM::AtomicOrdering::not_atomic;
  if (auto store = dyn_cast<LLVM::StoreOp>(op))
    return store.getVolatile_() || store.getOrdering() != LLVM::AtomicOrdering::not_atomic;
  return false;
}

bool linesStayIn(scf::ForOp loop, const SymbolTable &tables) {
  unsigned count = 0;
  bool hasLoops = false;
  WalkResult result = loop.getBody()->walk([&](Operation *op) {
    ++count;
    hasLoops |= isa<scf::ForOp, scf::WhileOp>(op);
    if (auto call = dyn_cast<LLVM::CallOp>(op); call && touchesNothing(call, tables))
      return WalkResult::advance();
    bool isKnown = isa<rmem::LoadOp, rmem::StoreOp, rmem::FollowOp, LLVM::LoadOp, LLVM::StoreOp, scf::ForOp,
                       scf::WhileOp, scf::IfOp, scf::IndexSwitchOp, scf::YieldOp, scf::ConditionOp>(op);
    return !isOrdered(op) && (isKnown || isMemoryEffectFree(op)) ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted() && !(hasLoops && count > mostWithLoops);
}

namespace {

/// What scalar evolution has told of an access, if it is of this loop: that may have been another one.
std::optional<int64_t> strideToldOf(Operation *access, scf::ForOp loop) {
  auto about = access->getAttrOfType<DenseI64ArrayAttr>(accessFact);
  auto its = loop->getAttrOfType<DenseI64ArrayAttr>(loopFact);
  bool isTold = about && its && about.size() == 2 && its.size() == 1 && about[0] == its[0];
  return isTold ? std::optional<int64_t>(about[1]) : std::nullopt;
}

void add(SmallVectorImpl<Stream> &streams, Stream::Access access, const Stream &made, int64_t line) {
  for (Stream &stream : streams) {
    int64_t low = std::min(stream.low, made.low), high = std::max(stream.high, made.high);
    if (stream.base != made.base || stream.section != made.section || stream.stride != made.stride || high - low > line)
      continue;
    stream.low = low;
    stream.high = high;
    stream.written |= made.written;
    stream.accesses.push_back(access);
    return;
  }
  streams.push_back(made);
  streams.back().accesses.push_back(access);
}

} // namespace

Location Stream::location() const {
  SmallVector<Location> each;
  for (const Access &access : accesses)
    each.push_back(access.op->getLoc());
  return FusedLoc::get(section.getContext(), each);
}

SmallVector<Stream> streamsOf(scf::ForOp loop, const SymbolTable &tables, const DataLayout &layout) {
  SmallVector<Stream> streams;
  if (!countsFromZero(loop) || !linesStayIn(loop, tables))
    return streams;
  for (Operation &op : *loop.getBody()) {
    auto [pointer, section] = accessedBy(&op);
    if (!section)
      continue;
    auto store = dyn_cast<rmem::StoreOp>(op);
    Type type = store ? store.getValue().getType() : cast<rmem::LoadOp>(op).getType();
    std::optional<int64_t> stride = Strides(loop, layout).of(pointer);
    if (!stride && isSameInTurns(pointer, loop, loop.getInductionVar()))
      stride = strideToldOf(&op, loop);
    int64_t line = tables.lookup<rmem::CacheSectionOp>(section.getAttr()).getLine();
    int64_t size = layout.getTypeSize(type).getFixedValue();
    // A line has to last for some turns.
    if (!stride || *stride == 0 || *stride > line / 4 || *stride < -line / 4 || size > line)
      continue;
    auto [base, offset] = baseOf(pointer);
    add(streams, {&op, offset}, {base, section, offset, offset + size, *stride, bool(store), {}}, line);
  }
  return streams.size() > mostStreams ? SmallVector<Stream>() : streams;
}

} // namespace farside
