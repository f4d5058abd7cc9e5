#include "Farside/Convert/Passes.h"
#include "Farside/Dialect/Rmem/Rmem.h"
#include "Farside/Remote/HeapCall.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_TOREMOTE
#define GEN_PASS_DECL
#include "Farside/Convert/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "Farside/Convert/Passes.h.inc"

namespace {

/// Converts one operation to the section that it is marked with.
class Conversion {
public:
  Conversion(IRRewriter &rewriter, Operation *op)
      : rewriter(rewriter), op(op), location(op->getLoc()), section(op->getAttrOfType<FlatSymbolRefAttr>(inSection)),
        from(op->getAttrOfType<FlatSymbolRefAttr>(fromSection)) {
    rewriter.setInsertionPoint(op);
  }

  LogicalResult convert() {
    if (auto copy = dyn_cast<LLVM::MemcpyOp>(op))
      return move(copy.getDst(), copy.getSrc(), copy.getLen(), copy.getIsVolatile());
    if (auto copy = dyn_cast<LLVM::MemmoveOp>(op))
      return move(copy.getDst(), copy.getSrc(), copy.getLen(), copy.getIsVolatile());
    if (!section || from)
      return op->emitOpError("reads and writes no memory");
    if (auto load = dyn_cast<LLVM::LoadOp>(op))
      return convert(load);
    if (auto store = dyn_cast<LLVM::StoreOp>(op))
      return convert(store);
    if (auto fill = dyn_cast<LLVM::MemsetOp>(op))
      return convert(fill);
    if (auto call = dyn_cast<LLVM::CallOp>(op))
      return convert(call);
    if (auto call = dyn_cast<LLVM::InvokeOp>(op))
      return convert(call);
    return op->emitOpError("cannot be converted to remote memory");
  }

private:
  LogicalResult convert(LLVM::LoadOp load) {
    if (load.getVolatile_() || load.getOrdering() != LLVM::AtomicOrdering::not_atomic)
      return load.emitOpError("is volatile or atomic, and cannot be converted to remote memory");
    rewriter.replaceOpWithNewOp<rmem::LoadOp>(load, load.getType(), section, load.getAddr(),
                                              rewriter.getI64IntegerAttr(load.getAlignment().value_or(1)));
    return success();
  }

  LogicalResult convert(LLVM::StoreOp store) {
    if (store.getVolatile_() || store.getOrdering() != LLVM::AtomicOrdering::not_atomic)
      return store.emitOpError("is volatile or atomic, and cannot be converted to remote memory");
    rewriter.replaceOpWithNewOp<rmem::StoreOp>(store, section, store.getValue(), store.getAddr(),
                                               rewriter.getI64IntegerAttr(store.getAlignment().value_or(1)));
    return success();
  }

  LogicalResult convert(LLVM::MemsetOp fill) {
    if (fill.getIsVolatile())
      return fill.emitOpError("is volatile, and cannot be converted to remote memory");
    rewriter.replaceOpWithNewOp<rmem::FillOp>(fill, section, fill.getDst(), fill.getVal(), size(fill.getLen()));
    return success();
  }

  LogicalResult move(Value to, Value what, Value length, bool isVolatile) {
    if (isVolatile)
      return op->emitOpError("is volatile, and cannot be converted to remote memory");
    rmem::MoveOp::create(rewriter, location, section, from, to, what, size(length));
    rewriter.eraseOp(op);
    return success();
  }

  LogicalResult convert(LLVM::CallOp call) {
    StringRef callee = call.getCallee().value_or("");
    ValueRange arguments = call.getCalleeOperands();
    if (callee == "malloc" && arguments.size() == 1)
      rewriter.replaceOpWithNewOp<rmem::AllocOp>(call, call.getResult().getType(), section, arguments[0]);
    else if (callee == "calloc" && arguments.size() == 2)
      rewriter.replaceOpWithNewOp<rmem::AllocZeroedOp>(call, call.getResult().getType(), section, arguments[0],
                                                       arguments[1]);
    else if (callee == "realloc" && arguments.size() == 2)
      rewriter.replaceOpWithNewOp<rmem::ReallocOp>(call, call.getResult().getType(), section, arguments[0],
                                                   arguments[1]);
    else if ((callee == "free" && arguments.size() == 1) || (isDestroying(callee) && !arguments.empty()))
      release(call, arguments[0]);
    else if (isCreating(callee) && !arguments.empty())
      create(call, arguments[0]);
    else
      return call.emitOpError("cannot be converted to remote memory");
    return success();
  }

  /// The one that throws is called where the section has no room.
  LogicalResult convert(LLVM::InvokeOp call) {
    ValueRange arguments = call.getCalleeOperands();
    if (!isCreating(call.getCallee().value_or("")) || arguments.empty())
      return call.emitOpError("cannot be converted to remote memory");
    Block *normal = call.getNormalDest();
    Block *plain = rewriter.splitBlock(call->getBlock(), call->getIterator());
    Block *rest = rewriter.createBlock(normal, call.getResult().getType(), location);
    LLVM::BrOp::create(rewriter, location, call.getNormalDestOperands(), normal);
    Block *made = rewriter.createBlock(rest);
    LLVM::BrOp::create(rewriter, location, call.getResult(), rest);
    call.getNormalDestOperandsMutable().clear();
    call->setSuccessor(made, 0);
    tryFirst(plain, rest, arguments[0], call.getResult());
    return success();
  }

  void create(LLVM::CallOp call, Value size) {
    Block *plain = rewriter.splitBlock(call->getBlock(), call->getIterator());
    Block *rest = rewriter.splitBlock(plain, std::next(call->getIterator()));
    rest->addArgument(call.getResult().getType(), location);
    rewriter.setInsertionPointToEnd(plain);
    LLVM::BrOp::create(rewriter, location, call.getResult(), rest);
    tryFirst(plain, rest, size, call.getResult());
  }

  /// Before `plain`, which allocates otherwise; the one or the other pointer is what `rest` gets.
  void tryFirst(Block *plain, Block *rest, Value size, Value otherwise) {
    Value either = rest->getArgument(0);
    rewriter.replaceUsesWithIf(otherwise, either, [&](OpOperand &use) {
      return !isa<LLVM::BrOp>(use.getOwner()) || use.getOwner()->getSuccessor(0) != rest;
    });
    rewriter.setInsertionPointToEnd(plain->getPrevNode());
    Value block = rmem::TryAllocOp::create(rewriter, location, either.getType(), section, size);
    Value null = LLVM::ZeroOp::create(rewriter, location, either.getType());
    Value has = LLVM::ICmpOp::create(rewriter, location, LLVM::ICmpPredicate::ne, block, null);
    LLVM::CondBrOp::create(rewriter, location, has, rest, ValueRange(block), plain, ValueRange());
    op->removeAttr(inSection);
  }

  void release(LLVM::CallOp call, Value pointer) {
    Value plain = rmem::ReleaseOp::create(rewriter, location, pointer.getType(), section, pointer);
    call.getCalleeOperandsMutable()[0].set(plain);
    call->removeAttr(inSection);
  }

  Value size(Value length) {
    Type wide = rewriter.getI64Type();
    return length.getType() == wide ? length : LLVM::ZExtOp::create(rewriter, location, wide, length).getResult();
  }

  IRRewriter &rewriter;
  Operation *op;
  Location location;
  FlatSymbolRefAttr section, from;
};

struct ToRemote : impl::ToRemoteBase<ToRemote> {
  void runOnOperation() override {
    SmallVector<Operation *> marked;
    getOperation().walk([&](Operation *op) {
      if (op->hasAttr(inSection) || op->hasAttr(fromSection))
        marked.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (Operation *op : marked)
      if (failed(Conversion(rewriter, op).convert()))
        return signalPassFailure();
  }
};

} // namespace

void registerConvertPasses() { registerFarsideConvertPasses(); }

} // namespace farside
