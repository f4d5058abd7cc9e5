#include "Bytes.h"
#include "Streams.h"
#include "Farside/Convert/Passes.h"
#include "Farside/Dialect/Rmem/Rmem.h"
#include "Farside/Import/Numbers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include <optional>

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_SHARELOOKUPS
#include "Farside/Convert/Passes.h.inc"

namespace {

/// Everything in a stretch is there twice afterwards.
constexpr size_t longestStretch = 96;
/// So many lines are looked for at once at most: if one is missing, all accesses look theirs up.
constexpr size_t mostGroups = 4;

/// What takes at most such a part of a line seldom lies across the end of one.
constexpr int64_t leastShare = 8;

/// A load or store in a section.
struct Access {
  Operation *op;
  FlatSymbolRefAttr section;
  /// What it accesses is so many bytes behind that.
  Value base;
  int64_t offset;
  int64_t size;
  bool written;
};

/// Accesses to one line, if it is one that they lie in.
struct Group {
  FlatSymbolRefAttr section;
  Value base;
  int64_t low, high;
  bool written;
  Location location;

  bool takes(const Access &access, int64_t line) const {
    return access.section == section && access.base == base &&
           std::max(high, access.offset + access.size) - std::min(low, access.offset) <= line;
  }

  void add(const Access &access) {
    low = std::min(low, access.offset);
    high = std::max(high, access.offset + access.size);
    written |= access.written;
  }
};

/// What follows one another in a block, and can be done with plain accesses if all its lines are here: nothing in it
/// can send one away.
class Stretch {
public:
  Stretch(Operation *first, const SymbolTable &tables, const DataLayout &layout)
      : first(first), tables(tables), layout(layout) {}

  /// Takes as much as it can. What is sent for in it is sent for behind it, since a line may have to leave for that.
  void grow() {
    SmallVector<Operation *> sending;
    for (Operation *op = first; op && ops.size() < longestStretch; op = op->getNextNode()) {
      if (isa<rmem::FollowOp>(op))
        sending.push_back(op);
      else if (take(op))
        ops.push_back(op);
      else
        break;
    }
    while (!ops.empty() && !accesses.contains(ops.back()))
      ops.pop_back();
    for (Operation *op : llvm::reverse(sending))
      if (!ops.empty() && op->isBeforeInBlock(ops.back()))
        op->moveAfter(ops.back());
  }

  bool isWorthwhile() const { return accesses.size() > groups.size(); }

  /// What comes behind it.
  Operation *next() const { return ops.empty() ? first->getNextNode() : ops.back()->getNextNode(); }

  void convert() {
    OpBuilder builder(first);
    SmallVector<Value> lines;
    Value all;
    for (const Group &group : groups) {
      Value start = moved(builder, group.location, group.base, group.low);
      Value line = rmem::HereOp::create(builder, group.location, start.getType(), group.section.getValue(), start,
                                        group.high - group.low, group.written);
      Value none = LLVM::ZeroOp::create(builder, group.location, line.getType());
      Value is = LLVM::ICmpOp::create(builder, group.location, LLVM::ICmpPredicate::ne, line, none);
      all = all ? arith::AndIOp::create(builder, group.location, all, is).getResult() : is;
      lines.push_back(line);
    }
    SmallVector<Value> results = usedBehind();
    auto either = scf::IfOp::create(builder, first->getLoc(), ValueRange(results).getTypes(), all, /*withElse=*/true);
    fill(either.thenBlock(), results, lines);
    fill(either.elseBlock(), results, {});
    for (auto [before, after] : llvm::zip(results, either.getResults()))
      before.replaceAllUsesWith(after);
    for (Operation *op : llvm::reverse(ops))
      op->erase();
  }

  /// What is apart is seldom done.
  static std::optional<Access> accessOf(Operation *op, const DataLayout &layout) {
    auto make = [&](Value pointer, FlatSymbolRefAttr section, Type type, bool written) {
      auto [base, offset] = baseOf(pointer);
      return Access{op, section, base, offset, int64_t(layout.getTypeSize(type).getFixedValue()), written};
    };
    if (auto load = dyn_cast<rmem::LoadOp>(op); load && !load.getApart())
      return make(load.getPointer(), load.getSectionAttr(), load.getType(), false);
    if (auto store = dyn_cast<rmem::StoreOp>(op); store && !store.getApart())
      return make(store.getPointer(), store.getSectionAttr(), store.getValue().getType(), true);
    return std::nullopt;
  }

private:
  bool take(Operation *op) {
    if (auto access = accessOf(op, layout))
      return take(*access);
    if (auto call = dyn_cast<LLVM::CallOp>(op))
      return call.getCallee() == debugMarker;
    return op->getNumRegions() == 0 && !op->hasTrait<OpTrait::IsTerminator>() &&
           !isOrdered(op) && (isa<LLVM::LoadOp, LLVM::StoreOp>(op) || isMemoryEffectFree(op));
  }

  bool take(const Access &access) {
    // Lines are looked for before anything else is done.
    Operation *made = access.base.getDefiningOp();
    if (made && made->getBlock() == first->getBlock() && !made->isBeforeInBlock(first))
      return false;
    int64_t line = lineOf(access.section);
    for (auto [number, group] : llvm::enumerate(groups))
      if (group.takes(access, line)) {
        group.add(access);
        accesses[access.op] = number;
        return true;
      }
    if (groups.size() == mostGroups || access.size > line)
      return false;
    accesses[access.op] = groups.size();
    groups.push_back({access.section, access.base, access.offset, access.offset + access.size, access.written,
                      access.op->getLoc()});
    return true;
  }

  SmallVector<Value> usedBehind() {
    llvm::SmallPtrSet<Operation *, 32> inside(ops.begin(), ops.end());
    SmallVector<Value> used;
    for (Operation *op : ops)
      for (Value result : op->getResults())
        if (llvm::any_of(result.getUsers(), [&](Operation *user) {
              return !inside.contains(first->getBlock()->findAncestorOpInBlock(*user));
            }))
          used.push_back(result);
    return used;
  }

  /// Whether what is accessed seldom lies across the end of a line, so that it is something missing if it is not all here.
  bool isSeldomSplit() const {
    return llvm::all_of(groups, [&](const Group &group) {
      return (group.high - group.low) * leastShare <= lineOf(group.section);
    });
  }

  int64_t lineOf(FlatSymbolRefAttr section) const {
    return tables.lookup<rmem::CacheSectionOp>(section.getAttr()).getLine();
  }

  /// Does all of it, with plain accesses if the addresses of its lines are given.
  void fill(Block *block, ValueRange results, ArrayRef<Value> lines) {
    auto builder = OpBuilder::atBlockBegin(block);
    IRMapping copies;
    for (Operation *op : ops) {
      auto found = accesses.find(op);
      if (lines.empty() || found == accesses.end()) {
        Operation *copied = builder.clone(*op, copies);
        if (isSeldomSplit())
          setApart(copied);
        continue;
      }
      const Group &group = groups[found->second];
      Access access = *accessOf(op, layout);
      Value at = moved(builder, op->getLoc(), lines[found->second], access.offset - group.low);
      if (auto load = dyn_cast<rmem::LoadOp>(op))
        copies.map(load.getValue(), LLVM::LoadOp::create(builder, op->getLoc(), load.getType(), at,
                                                         alignmentOf(load.getAlignment()))
                                        .getResult());
      else if (auto store = dyn_cast<rmem::StoreOp>(op))
        LLVM::StoreOp::create(builder, op->getLoc(), copies.lookupOrDefault(store.getValue()), at,
                              alignmentOf(store.getAlignment()));
    }
    // What was looked up by itself has said so already.
    for (const Group &group : groups)
      if (!lines.empty() && group.written && tables.lookup<rmem::CacheSectionOp>(group.section.getAttr()).getCopies())
        rmem::ChangedOp::create(builder, group.location, group.section.getValue());
    SmallVector<Value> made;
    for (Value result : results)
      made.push_back(copies.lookup(result));
    if (!block->empty() && block->back().hasTrait<OpTrait::IsTerminator>())
      return;
    builder.setInsertionPointToEnd(block);
    scf::YieldOp::create(builder, first->getLoc(), made);
  }

  /// Lines are aligned to no more.
  static unsigned alignmentOf(uint64_t alignment) { return std::min<uint64_t>(alignment, 64); }

  Operation *first;
  const SymbolTable &tables;
  const DataLayout &layout;
  SmallVector<Operation *> ops;
  SmallVector<Group> groups;
  llvm::DenseMap<Operation *, size_t> accesses;
};

struct ShareLookups : impl::ShareLookupsBase<ShareLookups> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SymbolTable tables(module);
    DataLayout layout(module);
    SmallVector<Block *> blocks;
    for (auto function : module.getOps<LLVM::LLVMFuncOp>())
      // What could not be structured has no place for what is done here.
      if (!function.isExternal() && function.getBody().hasOneBlock())
        function.walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks)
      convert(*block, tables, layout);
  }

  void convert(Block &block, const SymbolTable &tables, const DataLayout &layout) {
    Operation *op = block.empty() ? nullptr : &block.front();
    while (op) {
      if (!Stretch::accessOf(op, layout)) {
        op = op->getNextNode();
        continue;
      }
      Stretch stretch(op, tables, layout);
      stretch.grow();
      op = stretch.next();
      if (stretch.isWorthwhile()) {
        stretch.convert();
        ++shared;
      }
    }
  }
};

} // namespace
} // namespace farside
