#include "Farside/Convert/Passes.h"
#include "Farside/Dialect/Remotable/Remotable.h"
#include "Farside/Dialect/Rmem/Rmem.h"
#include "Farside/Import/LoopFacts.h"
#include "Farside/Remote/HeapCall.h"
#include "Farside/Remote/Scopes.h"
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
    if (auto borrows = op->getAttrOfType<DenseI32ArrayAttr>(borrowsOfCall))
      return lend(borrows);
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
    Attribute type = load.getTBAATagsOrNull(), fact = load->getAttr(accessFact);
    tell(rewriter.replaceOpWithNewOp<rmem::LoadOp>(load, load.getType(), section, load.getAddr(),
                                                   rewriter.getI64IntegerAttr(load.getAlignment().value_or(1))),
         type, fact);
    return success();
  }

  LogicalResult convert(LLVM::StoreOp store) {
    if (store.getVolatile_() || store.getOrdering() != LLVM::AtomicOrdering::not_atomic)
      return store.emitOpError("is volatile or atomic, and cannot be converted to remote memory");
    Attribute type = store.getTBAATagsOrNull(), fact = store->getAttr(accessFact);
    tell(rewriter.replaceOpWithNewOp<rmem::StoreOp>(store, section, store.getValue(), store.getAddr(),
                                                    rewriter.getI64IntegerAttr(store.getAlignment().value_or(1))),
         type, fact);
    return success();
  }

  static void tell(Operation *access, Attribute type, Attribute fact) {
    if (type)
      access->setAttr(typeOfAccess, type);
    if (fact)
      access->setAttr(accessFact, fact);
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
    auto at = call->getAttrOfType<IntegerAttr>(atMultiple);
    if (callee == selectMarker || callee == selectAllMarker)
      return select(call, arguments);
    if (callee == "malloc" && arguments.size() == 1)
      rewriter.replaceOpWithNewOp<remotable::AllocOp>(call, call.getResult().getType(), section, arguments[0], at);
    else if (callee == "calloc" && arguments.size() == 2)
      rewriter.replaceOpWithNewOp<remotable::AllocZeroedOp>(call, call.getResult().getType(), section, arguments[0],
                                                            arguments[1], at);
    else if (callee == "realloc" && arguments.size() == 2)
      rewriter.replaceOpWithNewOp<remotable::ReallocOp>(call, call.getResult().getType(), section, arguments[0],
                                                        arguments[1], at);
    else if ((callee == "free" && arguments.size() == 1) || (isDestroying(callee) && !arguments.empty()))
      release(call, arguments[0]);
    else if (callee == "posix_memalign" && arguments.size() == 3)
      createAt(call, arguments[0]);
    else if (((callee == "aligned_alloc" || callee == "memalign") && arguments.size() == 2) || isCreate(call))
      create(call);
    else
      return call.emitOpError("cannot be converted to remote memory");
    return success();
  }

  LogicalResult select(LLVM::CallOp call, ValueRange arguments) {
    if (call.getCallee() == selectAllMarker) {
      rewriter.replaceOpWithNewOp<rmem::SelectAllOp>(call, section, arguments.back());
      return success();
    }
    auto record = call->getAttrOfType<IntegerAttr>(rmem::SelectOp::recordName);
    auto fields = call->getAttrOfType<DenseI32ArrayAttr>(rmem::SelectOp::fieldsName);
    if (!record || !fields)
      return call.emitOpError("does not say which fields");
    rewriter.replaceOpWithNewOp<rmem::SelectOp>(call, call.getResult().getType(), section, record, fields);
    return success();
  }

  /// A call of the C library gets local memory.
  LogicalResult lend(ArrayRef<int32_t> borrows) {
    auto call = dyn_cast<LLVM::CallOp>(op);
    constexpr size_t numbers = 4;
    if (!call || borrows.empty() || borrows.size() % numbers || borrows.size() > 2 * numbers)
      return op->emitOpError("does not say what is lent to it");
    rewriter.setInsertionPointAfter(call);
    Operation *end = call->getNextNode();
    auto returned = call->getAttrOfType<IntegerAttr>(returnsInto);
    for (size_t at = 0; at < borrows.size(); at += numbers) {
      FlatSymbolRefAttr its = at ? from : section;
      ArrayRef<int32_t> borrow = borrows.slice(at, numbers);
      if (!its)
        continue;
      unsigned count = call.getCalleeOperands().size();
      if (llvm::any_of(borrow.take_front(3), [&](int32_t number) { return number >= int32_t(count); }) || borrow[0] < 0)
        return op->emitOpError("has no such argument");
      Value pointer = call.getCalleeOperands()[borrow[0]];
      rewriter.setInsertionPoint(call);
      Value length = lengthOf(call, borrow[1], borrow[2], borrow[3] >> borrowsSizeShift);
      Value here = rmem::BorrowOp::create(rewriter, location, pointer.getType(), its, pointer, length,
                                          flag(borrow[3] & borrowsText), flag(borrow[3] & borrowsCopy));
      call.getCalleeOperandsMutable()[borrow[0]].set(here);
      rewriter.setInsertionPoint(end);
      if (returned && returned.getInt() == borrow[0])
        leadBack(call, pointer, here);
      rmem::GiveBackOp::create(rewriter, location, its, pointer, here, borrow[3] & borrowsToWrite ? length : Value());
    }
    for (StringRef name : {StringRef(inSection), StringRef(fromSection), StringRef(borrowsOfCall), StringRef(returnsInto)})
      call->removeAttr(name);
    return success();
  }

  UnitAttr flag(bool isSet) { return isSet ? rewriter.getUnitAttr() : UnitAttr(); }

  /// How long what is lent is, if that is known.
  Value lengthOf(LLVM::CallOp call, int32_t length, int32_t factor, int32_t fixed) {
    if (fixed > 0)
      return LLVM::ConstantOp::create(rewriter, location, rewriter.getI64Type(), fixed);
    if (length < 0)
      return {};
    Value bytes = size(call.getCalleeOperands()[length]);
    if (factor < 0)
      return bytes;
    return LLVM::MulOp::create(rewriter, location, bytes, size(call.getCalleeOperands()[factor]));
  }

  /// A result that leads into what was lent leads there in what it was lent for.
  void leadBack(LLVM::CallOp call, Value pointer, Value here) {
    Type wide = rewriter.getI64Type();
    Value result = call.getResult();
    Operation *first = nullptr;
    auto keep = [&](auto made) {
      first = first ? first : made.getOperation();
      return made.getResult();
    };
    Value start = keep(LLVM::PtrToIntOp::create(rewriter, location, wide, here));
    Value at = keep(LLVM::PtrToIntOp::create(rewriter, location, wide, result));
    Value distance = LLVM::SubOp::create(rewriter, location, at, start);
    Value there = LLVM::GEPOp::create(rewriter, location, pointer.getType(), rewriter.getI8Type(), pointer,
                                      ValueRange{distance});
    Value null = LLVM::ZeroOp::create(rewriter, location, result.getType());
    Value isNone = LLVM::ICmpOp::create(rewriter, location, LLVM::ICmpPredicate::eq, result, null);
    Value back = LLVM::SelectOp::create(rewriter, location, isNone, null, there);
    Operation *last = back.getDefiningOp();
    rewriter.replaceUsesWithIf(result, back, [&](OpOperand &use) {
      Operation *user = use.getOwner();
      bool isOwn = user->getBlock() == call->getBlock() && !user->isBeforeInBlock(first) && !last->isBeforeInBlock(user);
      return !isOwn;
    });
  }

  /// The one that throws is called where the section has no room.
  LogicalResult convert(LLVM::InvokeOp call) {
    ValueRange arguments = call.getCalleeOperands();
    if (!isCreate(call))
      return call.emitOpError("cannot be converted to remote memory");
    Block *normal = call.getNormalDest();
    Block *plain = rewriter.splitBlock(call->getBlock(), call->getIterator());
    Block *rest = rewriter.createBlock(normal, call.getResult().getType(), location);
    LLVM::BrOp::create(rewriter, location, call.getNormalDestOperands(), normal);
    Block *made = rewriter.createBlock(rest);
    LLVM::BrOp::create(rewriter, location, call.getResult(), rest);
    call.getNormalDestOperandsMutable().clear();
    call->setSuccessor(made, 0);
    join(call.getResult(), rest);
    tryFirst(plain, rest, arguments, *call.getCallee());
    return success();
  }

  void create(LLVM::CallOp call) {
    auto [plain, rest] = split(call);
    join(call.getResult(), rest);
    tryFirst(plain, rest, call.getCalleeOperands(), *call.getCallee());
  }

  /// The same for what stores the pointer at a place, and returns why it could not.
  void createAt(LLVM::CallOp call, Value place) {
    auto [plain, rest] = split(call);
    join(call.getResult(), rest);
    Block *made = rewriter.createBlock(rest, place.getType(), location);
    LLVM::StoreOp::create(rewriter, location, made->getArgument(0), place, /*alignment=*/1);
    Value none = LLVM::ConstantOp::create(rewriter, location, call.getResult().getType(), 0);
    LLVM::BrOp::create(rewriter, location, none, rest);
    tryFirst(plain, made, call.getCalleeOperands(), *call.getCallee());
  }

  /// Whether a call is one of `operator new`, with as many arguments as that has.
  template <typename Call> static bool isCreate(Call call) {
    StringRef callee = call.getCallee().value_or("");
    return isCreating(callee) && call.getCalleeOperands().size() > (alignedSizeOf(callee) ? 1 : 0);
  }

  /// Puts a call into a block of its own, whose successor gets what the call returns.
  std::pair<Block *, Block *> split(LLVM::CallOp call) {
    Block *plain = rewriter.splitBlock(call->getBlock(), call->getIterator());
    Block *rest = rewriter.splitBlock(plain, std::next(call->getIterator()));
    rest->addArgument(call.getResult().getType(), location);
    rewriter.setInsertionPointToEnd(plain);
    LLVM::BrOp::create(rewriter, location, call.getResult(), rest);
    return {plain, rest};
  }

  /// Has what comes behind use the argument of `rest` in place of a result, which is one of its values.
  void join(Value result, Block *rest) {
    rewriter.replaceUsesWithIf(result, rest->getArgument(0), [&](OpOperand &use) {
      return !isa<LLVM::BrOp>(use.getOwner()) || use.getOwner()->getSuccessor(0) != rest;
    });
  }

  /// Before `plain`, which calls a function that allocates otherwise; what the section gives goes on to `taken`.
  void tryFirst(Block *plain, Block *taken, ValueRange arguments, StringRef callee) {
    rewriter.setInsertionPointToEnd(plain->getPrevNode());
    std::optional<AlignedSize> aligned = alignedSizeOf(callee);
    Value alignment = aligned ? alignmentFor(callee, arguments[aligned->alignment]) : Value();
    if (auto at = op->getAttrOfType<IntegerAttr>(atMultiple); at && !alignment)
      alignment = LLVM::ConstantOp::create(rewriter, location, rewriter.getI64Type(), at.getInt());
    Type pointer = taken->getArgument(0).getType();
    Value size = arguments[aligned ? aligned->size : 0];
    Value block = remotable::TryAllocOp::create(rewriter, location, pointer, section, size, alignment);
    Value null = LLVM::ZeroOp::create(rewriter, location, pointer);
    Value has = LLVM::ICmpOp::create(rewriter, location, LLVM::ICmpPredicate::ne, block, null);
    LLVM::CondBrOp::create(rewriter, location, has, taken, ValueRange(block), plain, ValueRange());
    op->removeAttr(inSection);
    op->removeAttr(atMultiple);
  }

  /// The alignment that a section is asked for. posix_memalign() refuses some that others take: none is asked for, then.
  Value alignmentFor(StringRef callee, Value asked) {
    if (callee != "posix_memalign")
      return asked;
    Type type = asked.getType();
    Value least = LLVM::ConstantOp::create(rewriter, location, type, int64_t(sizeof(void *)));
    Value none = LLVM::ConstantOp::create(rewriter, location, type, 0);
    Value isLess = LLVM::ICmpOp::create(rewriter, location, LLVM::ICmpPredicate::ult, asked, least);
    return LLVM::SelectOp::create(rewriter, location, isLess, none, asked);
  }

  void release(LLVM::CallOp call, Value pointer) {
    Value plain = remotable::ReleaseOp::create(rewriter, location, pointer.getType(), section, pointer);
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
