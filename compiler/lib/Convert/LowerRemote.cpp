#include "LoopAnnotations.h"
#include "Farside/Convert/Passes.h"
#include "Farside/Dialect/Remotable/Remotable.h"
#include "Farside/Dialect/Rmem/Rmem.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_LOWERREMOTE
#include "Farside/Convert/Passes.h.inc"

namespace {

/// Bytes of `struct farside_section`.
constexpr unsigned sectionBytes = 88;
/// Lines begin at multiples of this, in sections and in local memory.
constexpr uint64_t leastLine = 64;
/// What is known of loops in which fields are selected is in variables of such names.
constexpr llvm::StringLiteral scopePrefix = "farside.scope.";
/// Of lines that are at least so long it is known which of their blocks were written.
constexpr uint64_t leastWithBlocks = 1024;

/// Makes calls of compiler/runtime/sections.c in one function.
class Lowering {
public:
  Lowering(ModuleOp module, LLVM::LLVMFuncOp function)
      : module(module), function(function), tables(module), layout(module), rewriter(module.getContext()),
        pointer(LLVM::LLVMPointerType::get(module.getContext())), i64(rewriter.getI64Type()),
        i32(rewriter.getI32Type()), none(LLVM::LLVMVoidType::get(module.getContext())) {}

  void run() {
    SmallVector<Operation *> all;
    function.walk([&](Operation *op) {
      if (isa_and_nonnull<rmem::RmemDialect, remotable::RemotableDialect>(op->getDialect()))
        all.push_back(op);
    });
    makeRoom(all);
    leaveWishesOut(all);
    for (Operation *op : all) {
      rewriter.setInsertionPoint(op);
      location = op->getLoc();
      llvm::TypeSwitch<Operation *>(op)
          .Case<remotable::AllocOp, remotable::TryAllocOp, remotable::AllocZeroedOp, remotable::ReallocOp,
                remotable::ReleaseOp, rmem::LoadOp, rmem::StoreOp, rmem::MoveOp, rmem::FillOp, rmem::BorrowOp,
                rmem::GiveBackOp, rmem::TurnsOp, rmem::HoldOp, rmem::LetGoOp, rmem::ChangedOp, rmem::DoneOp,
                rmem::FetchIfNotInCacheOp, rmem::FollowOp, rmem::FetchOp,
                rmem::WaitOp, rmem::PaddrOp, rmem::FlushOp, rmem::MissesOp, rmem::TurnsUntilHereOp, rmem::ClockOp,
                rmem::HereOp, rmem::PeekOp, rmem::AheadOp, rmem::SelectOp, rmem::SelectAllOp>(
              [&](auto each) {
                FlatSymbolRefAttr changed = changedBy(op);
                Operation *next = op->getNextNode();
                lower(each);
                if (changed)
                  tellCopies(changed, next);
              });
    }
  }

private:
  // A place on the stack that values are copied to if they lie across the end of a line, or if several threads use a section.
  void makeRoom(ArrayRef<Operation *> all) {
    uint64_t size = 0, alignment = 16;
    auto look = [&](auto access, Type type) {
      if (isInPlace(access, sizeOf(type)))
        return;
      size = std::max(size, sizeOf(type));
      alignment = std::max(alignment, alignmentOf(access));
    };
    for (Operation *op : all) {
      if (auto load = dyn_cast<rmem::LoadOp>(op))
        look(load, load.getType());
      else if (auto store = dyn_cast<rmem::StoreOp>(op))
        look(store, store.getValue().getType());
    }
    if (!size)
      return;
    rewriter.setInsertionPointToStart(&function.getBody().front());
    location = function.getLoc();
    room = LLVM::AllocaOp::create(rewriter, location, pointer, LLVM::LLVMArrayType::get(rewriter.getI8Type(), size),
                                  number(1), alignment);
  }

  /// What a program wants LLVM to do with loops is not wanted of those that look things up.
  static void leaveWishesOut(ArrayRef<Operation *> all) {
    DenseSet<Operation *> loops;
    for (Operation *op : all)
      for (auto loop = op->getParentOfType<LoopLikeOpInterface>(); loop && loops.insert(loop).second;
           loop = loop->getParentOfType<LoopLikeOpInterface>())
        keepWhatIsForbidden(loop, loop);
  }

  /// The section with copies that an operation writes to by itself.
  FlatSymbolRefAttr changedBy(Operation *op) {
    FlatSymbolRefAttr written;
    if (auto move = dyn_cast<rmem::MoveOp>(op))
      written = move.getToSectionAttr();
    else if (auto back = dyn_cast<rmem::GiveBackOp>(op))
      written = back.getSize() ? back.getSectionAttr() : FlatSymbolRefAttr();
    else if (isa<remotable::AllocZeroedOp, remotable::ReallocOp, remotable::ReleaseOp, rmem::StoreOp, rmem::FillOp,
                 rmem::ChangedOp>(op))
      written = op->getAttrOfType<FlatSymbolRefAttr>("section");
    return written && section(written).getCopies() ? written : FlatSymbolRefAttr();
  }

  /// Comes behind what was written.
  void tellCopies(FlatSymbolRefAttr section, Operation *next) {
    rewriter.setInsertionPoint(next);
    StringRef bare = section.getValue();
    bare.consume_front(symbolPrefix);
    call("farside_rt_changed", none, {variable((copiedPrefix + bare).str(), copiedBytes, /*isOfThread=*/false)});
  }

  void lower(remotable::AllocOp op) {
    replaceAt(op, "farside_rt_malloc", {address(op.getSectionAttr()), op.getSize()}, op.getAt());
  }
  void lower(remotable::TryAllocOp op) {
    SmallVector<Value> arguments{address(op.getSectionAttr()), op.getSize()};
    if (op.getAlignment())
      arguments.push_back(op.getAlignment());
    replace(op, op.getAlignment() ? "farside_rt_try_aligned" : "farside_rt_try_malloc", arguments);
  }
  void lower(remotable::AllocZeroedOp op) {
    replaceAt(op, "farside_rt_calloc", {address(op.getSectionAttr()), op.getCount(), op.getEach()}, op.getAt());
  }
  void lower(remotable::ReallocOp op) {
    replaceAt(op, "farside_rt_realloc", {address(op.getSectionAttr()), op.getOld(), op.getSize()}, op.getAt());
  }
  void lower(remotable::ReleaseOp op) { replace(op, "farside_rt_release", {op.getPointer()}); }

  void lower(rmem::LoadOp op) {
    uint64_t size = sizeOf(op.getType());
    SmallVector<Value> arguments{address(op.getSectionAttr()), op.getPointer(), number(size), flag(isWhole(op, size)),
                                 roomFor(op, size)};
    Value at = op.getApart() ? call("farside_rt_read_apart", pointer, arguments)
                             : access("farside_rt_read_", op.getSectionAttr(), arguments, /*written=*/false);
    rewriter.replaceOpWithNewOp<LLVM::LoadOp>(op, op.getType(), at, alignmentOf(op));
  }

  void lower(rmem::StoreOp op) {
    uint64_t size = sizeOf(op.getValue().getType());
    Value section = address(op.getSectionAttr()), bytes = number(size);
    SmallVector<Value> arguments{section, op.getPointer(), bytes, flag(isWhole(op, size)), roomFor(op, size)};
    Value at = op.getApart() ? call("farside_rt_write_apart", pointer, arguments)
                             : access("farside_rt_write_", op.getSectionAttr(), arguments, /*written=*/true);
    LLVM::StoreOp::create(rewriter, location, op.getValue(), at, alignmentOf(op));
    if (!isInPlace(op, size))
      call("farside_rt_written", none, {section, op.getPointer(), bytes, at, room});
    rewriter.eraseOp(op);
  }

  void lower(rmem::MoveOp op) {
    auto either = [&](FlatSymbolRefAttr one, FlatSymbolRefAttr other) { return address(one ? one : other); };
    replace(op, "farside_rt_move",
            {either(op.getToSectionAttr(), op.getFromSectionAttr()),
             either(op.getFromSectionAttr(), op.getToSectionAttr()), op.getTo(), op.getFrom(), op.getSize()});
  }

  void lower(rmem::FillOp op) {
    Value byte = LLVM::ZExtOp::create(rewriter, location, i32, op.getByte());
    replace(op, "farside_rt_fill", {address(op.getSectionAttr()), op.getTo(), byte, op.getSize()});
  }

  void lower(rmem::BorrowOp op) {
    Value size = op.getSize() ? op.getSize() : number(UINT64_MAX);
    replace(op, op.getCopied() ? "farside_rt_borrow_copy" : op.getText() ? "farside_rt_borrow_text" : "farside_rt_borrow",
            {address(op.getSectionAttr()), op.getPointer(), size});
  }

  void lower(rmem::GiveBackOp op) {
    SmallVector<Value> arguments{address(op.getSectionAttr()), op.getPointer(), op.getHere()};
    if (op.getSize())
      arguments.push_back(op.getSize());
    replace(op, op.getSize() ? "farside_rt_give_back_written" : "farside_rt_give_back", arguments);
  }

  void lower(rmem::TurnsOp op) {
    replace(op, "farside_rt_turns",
            {address(op.getSectionAttr()), op.getPointer(), number(op.getSize()), number(op.getStride())});
  }

  void lower(rmem::HoldOp op) {
    replace(op, "farside_rt_hold",
            {address(op.getSectionAttr()), op.getPointer(), number(op.getSize()), number(op.getStride()),
             op.getTurns(), flag(op.getWritten())});
  }

  void lower(rmem::LetGoOp op) { replace(op, "farside_rt_let_go", {address(op.getSectionAttr()), op.getAddress()}); }

  void lower(rmem::ChangedOp op) { rewriter.eraseOp(op); }

  void lower(rmem::DoneOp op) {
    replace(op, "farside_rt_done",
            {address(op.getSectionAttr()), op.getPointer(), number(op.getStride()), op.getTurns(), op.getAll()});
  }

  void lower(rmem::FetchIfNotInCacheOp op) {
    SmallVector<Value> arguments{address(op.getSectionAttr()), op.getPointer(), flag(op.getTogether())};
    if (unsigned ways = section(op.getSectionAttr()).getWays(); ways == 1 || ways == 2)
      lookup("farside_rt_want_", op.getSectionAttr(), arguments, /*written=*/false, none);
    else
      call("farside_rt_want", none, arguments);
    rewriter.eraseOp(op);
  }

  void lower(rmem::FetchOp op) {
    replace(op, "farside_rt_fetch", {address(op.getSectionAttr()), op.getPointer(), op.getSize()});
  }

  void lower(rmem::WaitOp op) { replace(op, "farside_rt_wait", {address(op.getSectionAttr()), op.getPointer()}); }

  void lower(rmem::PaddrOp op) {
    replace(op, "farside_rt_address",
            {address(op.getSectionAttr()), op.getPointer(), number(op.getSize()), flag(op.getWritten())});
  }

  void lower(rmem::FlushOp op) {
    replace(op, "farside_rt_flush", {address(op.getSectionAttr()), op.getPointer(), op.getSize()});
  }

  void lower(rmem::FollowOp op) {
    SmallVector<Value> arguments{address(op.getSectionAttr()), op.getAt()};
    access("farside_rt_follow_", op.getSectionAttr(), arguments, /*written=*/false, none);
    rewriter.eraseOp(op);
  }

  void lower(rmem::MissesOp op) {
    Value misses = call("farside_rt_misses", i32, {address(op.getSectionAttr())});
    rewriter.replaceOpWithNewOp<LLVM::TruncOp>(op, rewriter.getI1Type(), misses);
  }

  void lower(rmem::TurnsUntilHereOp op) {
    replace(op, "farside_rt_turns_until_here", {address(op.getSectionAttr()), op.getSince(), number(op.getTurns())});
  }

  void lower(rmem::ClockOp op) { replace(op, "farside_rt_clock", {}); }

  void lower(rmem::HereOp op) {
    SmallVector<Value> arguments{address(op.getSectionAttr()), op.getPointer(), number(op.getSize()),
                                 flag(op.getWritten())};
    rewriter.replaceOp(op, access("farside_rt_here_", op.getSectionAttr(), arguments, /*written=*/true));
  }

  void lower(rmem::PeekOp op) {
    SmallVector<Value> arguments{address(op.getSectionAttr()), op.getPointer(), number(op.getSize())};
    rewriter.replaceOp(op, access("farside_rt_peek_", op.getSectionAttr(), arguments, /*written=*/false));
  }

  void lower(rmem::AheadOp op) {
    Value start = LLVM::ZExtOp::create(rewriter, location, i32, op.getStart());
    replace(op, "farside_rt_ahead",
            {address(op.getSectionAttr()), op.getPointer(), number(op.getSize()), number(op.getStride()),
             op.getTurns(), number(section(op.getSectionAttr()).getAhead()), start});
  }

  void lower(rmem::SelectOp op) { replace(op, "farside_rt_select", {address(op.getSectionAttr()), scopeOf(op)}); }

  void lower(rmem::SelectAllOp op) {
    replace(op, "farside_rt_select_all", {address(op.getSectionAttr()), op.getSelected()});
  }

  /// A variable that is `struct farside_rt_scope`.
  Value scopeOf(rmem::SelectOp op) {
    SmallVector<int32_t> numbers{int32_t(op.getRecord()), int32_t(op.getFields().size() / 2), 0, 0};
    llvm::append_range(numbers, op.getFields());
    std::string name;
    for (unsigned number = 0; name.empty() || module.lookupSymbol(name); ++number)
      name = (scopePrefix + Twine(number)).str();
    auto builder = OpBuilder::atBlockBegin(module.getBody());
    auto type = LLVM::LLVMArrayType::get(i32, numbers.size());
    auto values = DenseElementsAttr::get(RankedTensorType::get(numbers.size(), i32), ArrayRef<int32_t>(numbers));
    LLVM::GlobalOp::create(builder, module.getLoc(), type, /*isConstant=*/false, LLVM::Linkage::Internal, name, values);
    return LLVM::AddressOfOp::create(rewriter, location, pointer, name);
  }

  Value number(uint64_t value) { return LLVM::ConstantOp::create(rewriter, location, i64, int64_t(value)); }
  Value flag(int32_t value) { return LLVM::ConstantOp::create(rewriter, location, i32, value); }

  /// Bytes that are loaded or stored. MLIR's size of a vector is that of the next power of two of elements.
  uint64_t sizeOf(Type type) {
    if (auto vector = dyn_cast<VectorType>(type))
      return llvm::divideCeil(vector.getNumElements() * layout.getTypeSizeInBits(vector.getElementType()).getFixedValue(), 8);
    return layout.getTypeSize(type).getFixedValue();
  }

  template <typename Access> uint64_t alignmentOf(Access op) {
    return std::min<uint64_t>(op.getAlignment(), leastLine);
  }

  /// Whether a value never lies across the end of a line.
  template <typename Access> bool isWhole(Access op, uint64_t size) {
    return llvm::isPowerOf2_64(size) && size <= leastLine && uint64_t(op.getAlignment()) >= size;
  }

  /// Whether a value is never copied to be read or written.
  template <typename Access> bool isInPlace(Access op, uint64_t size) {
    return isWhole(op, size) && section(op.getSectionAttr()).getAlone();
  }

  template <typename Access> Value roomFor(Access op, uint64_t size) {
    return isInPlace(op, size) ? LLVM::ZeroOp::create(rewriter, location, pointer) : room;
  }

  rmem::CacheSectionOp section(FlatSymbolRefAttr name) { return tables.lookup<rmem::CacheSectionOp>(name.getAttr()); }

  /// Looks something up that other threads may use, too, unless it is known that they do not.
  Value access(const std::string &kind, FlatSymbolRefAttr name, SmallVector<Value> &arguments, bool written,
               Type result = {}) {
    arguments.push_back(flag(section(name).getAlone()));
    return lookup(kind, name, arguments, written, result);
  }

  /// Of small sets the shape is told, so that only what it is not known of has to be looked at.
  Value lookup(const std::string &kind, FlatSymbolRefAttr name, SmallVector<Value> &arguments, bool written,
               Type result = {}) {
    rmem::CacheSectionOp shape = section(name);
    result = result ? result : pointer;
    if (shape.getWays() == 0)
      return call(kind + "full", result, arguments);
    if (shape.getWays() > 2)
      return call(kind + "set", result, arguments);
    uint64_t line = shape.getLine(), sets = shape.getCapacity() / line / shape.getWays();
    for (uint32_t number : {llvm::Log2_64(line), unsigned(shape.getWays()), unsigned(llvm::isPowerOf2_64(sets))})
      arguments.push_back(LLVM::ConstantOp::create(rewriter, location, i32, int32_t(number)));
    if (written)
      arguments.push_back(flag(line >= leastWithBlocks));
    return call(kind + "known", result, arguments);
  }

  Value address(FlatSymbolRefAttr name) {
    StringRef bare = name.getValue();
    bare.consume_front(symbolPrefix);
    return variable((sectionPrefix + bare).str(), sectionBytes, section(name).getOwn() || section(name).getCopies());
  }

  /// A variable that addSupport() defines.
  Value variable(const std::string &symbol, unsigned bytes, bool isOfThread) {
    if (!module.lookupSymbol<LLVM::GlobalOp>(symbol)) {
      auto builder = OpBuilder::atBlockBegin(module.getBody());
      auto type = LLVM::LLVMArrayType::get(builder.getI8Type(), bytes);
      auto global = LLVM::GlobalOp::create(builder, module.getLoc(), type, /*isConstant=*/false,
                                           LLVM::Linkage::External, symbol, Attribute());
      global.setVisibility_(LLVM::Visibility::Hidden);
      global.setThreadLocal_(isOfThread);
    }
    Value place = LLVM::AddressOfOp::create(rewriter, location, pointer, symbol);
    return isOfThread ? LLVM::ThreadlocalAddressOp::create(rewriter, location, pointer, place) : place;
  }

  Value call(const std::string &name, Type result, ValueRange arguments) {
    auto callee = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
    if (!callee) {
      auto builder = OpBuilder::atBlockBegin(module.getBody());
      auto type = LLVM::LLVMFunctionType::get(result, llvm::to_vector(arguments.getTypes()));
      callee = LLVM::LLVMFuncOp::create(builder, module.getLoc(), name, type);
    }
    auto made = LLVM::CallOp::create(rewriter, location, callee, arguments);
    return made->getNumResults() ? made.getResult() : Value();
  }

  /// What allocates at a multiple of some number of bytes has one more argument, and another name.
  void replaceAt(Operation *op, std::string callee, SmallVector<Value> arguments, std::optional<uint64_t> at) {
    if (at) {
      callee += "_at";
      arguments.push_back(number(*at));
    }
    replace(op, callee, arguments);
  }

  void replace(Operation *op, const std::string &callee, ValueRange arguments) {
    Value result = call(callee, op->getNumResults() ? op->getResult(0).getType() : none, arguments);
    if (result)
      rewriter.replaceOp(op, result);
    else
      rewriter.eraseOp(op);
  }

  ModuleOp module;
  LLVM::LLVMFuncOp function;
  SymbolTable tables;
  DataLayout layout;
  IRRewriter rewriter;
  Type pointer, i64, i32, none;
  Location location = UnknownLoc::get(module.getContext());
  Value room;
};

struct LowerRemote : impl::LowerRemoteBase<LowerRemote> {
  void runOnOperation() override {
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<LLVM::LLVMFuncOp>()))
      if (!function.isExternal()) {
        Lowering(getOperation(), function).run();
        function->removeAttr(remotable::RemotableDialect::offload);
      }
    for (auto section : llvm::make_early_inc_range(getOperation().getOps<rmem::CacheSectionOp>()))
      section.erase();
  }
};

} // namespace
} // namespace farside
