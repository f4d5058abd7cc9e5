#include "Bytes.h"

#include "Farside/Dialect/Rmem/Rmem.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace farside {

std::pair<Value, int64_t> baseOf(Value pointer) {
  int64_t offset = 0;
  while (auto element = pointer.getDefiningOp<LLVM::GEPOp>()) {
    if (!element.getElemType().isInteger(8) || element.getIndices().size() != 1)
      break;
    auto index = dyn_cast<IntegerAttr>(element.getIndices()[0]);
    int64_t more;
    if (!index || __builtin_add_overflow(offset, index.getInt(), &more))
      break;
    offset = more;
    pointer = element.getBase();
  }
  return {pointer, offset};
}

Value moved(OpBuilder &builder, Location location, Value pointer, int64_t by) {
  if (by == 0)
    return pointer;
  Value bytes = LLVM::ConstantOp::create(builder, location, builder.getI64Type(), by);
  return LLVM::GEPOp::create(builder, location, pointer.getType(), builder.getI8Type(), pointer, ValueRange{bytes});
}

std::pair<Value, FlatSymbolRefAttr> accessedBy(Operation *op) {
  if (auto load = dyn_cast<rmem::LoadOp>(op))
    return {load.getPointer(), load.getSectionAttr()};
  if (auto store = dyn_cast<rmem::StoreOp>(op))
    return {store.getPointer(), store.getSectionAttr()};
  return {};
}

void setApart(Operation *op) {
  op->walk([](Operation *each) {
    if (auto load = dyn_cast<rmem::LoadOp>(each))
      load.setApart(true);
    else if (auto store = dyn_cast<rmem::StoreOp>(each))
      store.setApart(true);
  });
}

} // namespace farside
