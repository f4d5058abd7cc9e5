#include "Farside/Dialect/Rmem/Rmem.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/Support/MathExtras.h"

#include "Farside/Dialect/Rmem/RmemDialect.cpp.inc"

#define GET_OP_CLASSES
#include "Farside/Dialect/Rmem/Rmem.cpp.inc"

using namespace mlir;

namespace farside::rmem {

constexpr int64_t longestLine = 2 << 20;

void RmemDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "Farside/Dialect/Rmem/Rmem.cpp.inc"
      >();
}

LogicalResult CacheSectionOp::verify() {
  int64_t line = getLine();
  if (line < 64 || line > longestLine || !llvm::isPowerOf2_64(line))
    return emitOpError("has lines of ") << line << " bytes: a line has 64 bytes to 2 MiB, and a power of two of them";
  if (int64_t(getWays()) < 0 || int64_t(getCapacity()) / line < std::max<int64_t>(getWays(), 1))
    return emitOpError("has no room for one set of lines");
  return success();
}

LogicalResult verifySection(Operation *op, FlatSymbolRefAttr section, SymbolTableCollection &tables) {
  if (section && !tables.lookupNearestSymbolFrom<CacheSectionOp>(op, section))
    return op->emitOpError("is of the section ") << section << ", which there is not";
  return success();
}

namespace {

LogicalResult verifyAlignment(Operation *op, int64_t alignment) {
  if (alignment < 1 || !llvm::isPowerOf2_64(alignment))
    return op->emitOpError("has an alignment of ") << alignment << ", which is no power of two";
  return success();
}

LogicalResult verifySize(Operation *op, int64_t size) {
  if (size < 1)
    return op->emitOpError("uses ") << size << " bytes with each turn";
  return success();
}

LogicalResult verifyWithin(Operation *op, int64_t size) {
  if (size < 1 || size > longestLine)
    return op->emitOpError("uses ") << size << " bytes, which are those of no line";
  return success();
}

} // namespace

LogicalResult LoadOp::verify() { return verifyAlignment(*this, getAlignment()); }
LogicalResult StoreOp::verify() { return verifyAlignment(*this, getAlignment()); }
LogicalResult TurnsOp::verify() { return verifySize(*this, getSize()); }
LogicalResult HoldOp::verify() { return verifySize(*this, getSize()); }
LogicalResult PaddrOp::verify() { return verifyWithin(*this, getSize()); }
LogicalResult DerefOp::verify() { return verifyWithin(*this, getSize()); }
LogicalResult AheadOp::verify() {
  if (getStride() == 0)
    return emitOpError("comes to nothing new");
  return verifySize(*this, getSize());
}

LogicalResult SelectOp::verify() {
  int64_t record = getRecord(), end = 0;
  ArrayRef<int32_t> fields = getFields();
  if (record < 1 || record > longestLine || !llvm::isPowerOf2_64(record))
    return emitOpError("has records of ") << record << " bytes, of which a line is no multiple";
  if (fields.empty() || fields.size() % 2)
    return emitOpError("has no fields with a start and a length each");
  for (size_t number = 0; number < fields.size(); number += 2) {
    int64_t start = fields[number], length = fields[number + 1];
    if (start < end || length < 1 || start + length > record)
      return emitOpError("has fields that are not in order, or go beyond their record");
    end = start + length;
  }
  return success();
}

LogicalResult SelectOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (failed(verifySection(*this, getSectionAttr(), tables)))
    return failure();
  if (tables.lookupNearestSymbolFrom<CacheSectionOp>(*this, getSectionAttr()).getLine() < uint64_t(getRecord()))
    return emitOpError("has records that are longer than a line");
  return success();
}

LogicalResult BorrowOp::verify() {
  if (!getSize() && !getText())
    return emitOpError("has no end");
  if (getText() && getCopied())
    return emitOpError("is copied, and its length is not known");
  return success();
}

LogicalResult MoveOp::verify() {
  if (!getToSection() && !getFromSection())
    return emitOpError("has no section");
  return success();
}

LogicalResult MoveOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (failed(verifySection(*this, getToSectionAttr(), tables)))
    return failure();
  return verifySection(*this, getFromSectionAttr(), tables);
}

#define IN_SECTION(Name)                                                                                               \
  LogicalResult Name::verifySymbolUses(SymbolTableCollection &tables) {                                                \
    return verifySection(*this, getSectionAttr(), tables);                                                             \
  }
IN_SECTION(LoadOp)
IN_SECTION(StoreOp)
IN_SECTION(FillOp)
IN_SECTION(BorrowOp)
IN_SECTION(GiveBackOp)
IN_SECTION(TurnsOp)
IN_SECTION(HoldOp)
IN_SECTION(LetGoOp)
IN_SECTION(ChangedOp)
IN_SECTION(DoneOp)
IN_SECTION(AheadOp)
IN_SECTION(FetchIfNotInCacheOp)
IN_SECTION(FollowOp)
IN_SECTION(FetchOp)
IN_SECTION(WaitOp)
IN_SECTION(PaddrOp)
IN_SECTION(DerefOp)
IN_SECTION(FlushOp)
IN_SECTION(MissesOp)
IN_SECTION(TurnsUntilHereOp)
IN_SECTION(HereOp)
IN_SECTION(PeekOp)
IN_SECTION(SelectAllOp)
#undef IN_SECTION

} // namespace farside::rmem
