#include "Bytes.h"
#include "LastUse.h"
#include "Farside/Convert/Passes.h"
#include "Farside/Dialect/Rmem/Rmem.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace farside {
#define GEN_PASS_DEF_CHASEPOINTERS
#include "Farside/Convert/Passes.h.inc"

namespace {

/// A loop that goes from node to node: in each turn it loads a pointer from the node that it is at, which the next turn
/// is at.
class Chase {
public:
  Chase(scf::WhileOp loop, const SymbolTable &tables) : loop(loop), tables(tables) {}

  bool convert() {
    bool found = false;
    for (auto [number, node] : llvm::enumerate(loop.getBefore().front().getArguments())) {
      if (!isa<LLVM::LLVMPointerType>(node.getType()))
        continue;
      // Behind the condition a node has another name.
      nodes = {node};
      for (auto [passed, argument] : llvm::zip(loop.getConditionOp().getArgs(), loop.getAfter().getArguments()))
        if (passed == node)
          nodes.insert(argument);
      if (auto next = loadOf(nextOf(number)))
        found |= chase(next);
    }
    return found;
  }

private:
  /// What a value that is carried around the loop is in the next turn.
  Value nextOf(unsigned number) {
    Value next = loop.getYieldOp().getOperand(number);
    auto argument = dyn_cast<BlockArgument>(next);
    if (argument && argument.getOwner() == &loop.getAfter().front())
      return loop.getConditionOp().getArgs()[argument.getArgNumber()];
    return next;
  }

  /// The load of a pointer of the node, in a branch or another, if a value is one.
  rmem::LoadOp loadOf(Value value) {
    if (auto load = value.getDefiningOp<rmem::LoadOp>())
      return nodes.contains(baseOf(load.getPointer()).first) ? load : rmem::LoadOp();
    auto either = value.getDefiningOp<scf::IfOp>();
    if (!either || either.getElseRegion().empty())
      return {};
    unsigned number = cast<OpResult>(value).getResultNumber();
    if (auto load = loadOf(either.thenYield().getOperand(number)))
      return load;
    return loadOf(either.elseYield().getOperand(number));
  }

  bool chase(rmem::LoadOp next) {
    FlatSymbolRefAttr section = next.getSectionAttr();
    if (!tables.lookup<rmem::CacheSectionOp>(section.getAttr()).getAhead())
      return false;
    Operation *first = nullptr;
    SmallVector<Location> locations;
    loop->walk([&](Operation *op) {
      if (auto [pointer, in] = accessedBy(op); pointer && in == section && nodes.contains(baseOf(pointer).first)) {
        first = first ? first : op;
        locations.push_back(op->getLoc());
      }
    });
    if (!hasWorkBehind(first))
      return false;
    OpBuilder builder(next.getContext());
    builder.setInsertionPointAfter(first);
    Location location = FusedLoc::get(next.getContext(), locations);
    Value node = baseOf(accessedBy(first).first).first;
    Value at = moved(builder, location, node, baseOf(next.getPointer()).second);
    rmem::FollowOp::create(builder, location, section.getValue(), at);
    return true;
  }

  /// Whether the loop does something behind an operation, while what is sent for can come.
  bool hasWorkBehind(Operation *op) {
    for (; op && op != loop.getOperation(); op = op->getParentOp())
      for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
        if (isWork(next))
          return true;
    return false;
  }

  bool isWork(Operation *op) {
    return op->walk([&](Operation *each) {
               if (isa<scf::ForOp, scf::WhileOp, LLVM::InvokeOp>(each))
                 return WalkResult::interrupt();
               if (auto call = dyn_cast<LLVM::CallOp>(each); call && !touchesNothing(call, tables))
                 return WalkResult::interrupt();
               Value pointer = accessedBy(each).first;
               return pointer && !nodes.contains(baseOf(pointer).first) ? WalkResult::interrupt() : WalkResult::advance();
             })
        .wasInterrupted();
  }

  scf::WhileOp loop;
  const SymbolTable &tables;
  /// The node that a turn is at, by all its names.
  llvm::SmallDenseSet<Value> nodes;
};

struct ChasePointers : impl::ChasePointersBase<ChasePointers> {
  void runOnOperation() override {
    SymbolTable tables(getOperation());
    getOperation().walk([&](scf::WhileOp loop) {
      if (Chase(loop, tables).convert())
        ++chased;
    });
  }
};

} // namespace
} // namespace farside
