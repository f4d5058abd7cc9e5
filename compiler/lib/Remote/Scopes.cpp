#include "Farside/Remote/Scopes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;

namespace farside {
namespace {

/// Marks one loop, before it is come to and wherever it is left.
bool mark(Function &function, BasicBlock &header, unsigned number) {
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  Loop *loop = loops.getLoopFor(&header);
  if (!loop || loop->getHeader() != &header)
    return false;
  BasicBlock *before = loop->getLoopPreheader();
  if (!before)
    before = InsertPreheaderForLoop(loop, &dominators, &loops, nullptr, /*PreserveLCSSA=*/false);
  formDedicatedExitBlocks(loop, &dominators, &loops, nullptr, /*PreserveLCSSA=*/false);
  if (!before || !loop->hasDedicatedExits())
    return false;
  Module &module = *function.getParent();
  IRBuilder<> builder(before->getTerminator());
  if (DISubprogram *scope = function.getSubprogram())
    builder.SetCurrentDebugLocation(DILocation::get(function.getContext(), 0, 0, scope));
  Type *pointer = builder.getPtrTy(), *index = builder.getInt32Ty();
  Value *which = builder.getInt32(number);
  Value *selected = builder.CreateCall(
      module.getOrInsertFunction(selectMarker, FunctionType::get(pointer, {index}, false)), {which});
  auto all = module.getOrInsertFunction(selectAllMarker, FunctionType::get(builder.getVoidTy(), {index, pointer}, false));
  SmallVector<BasicBlock *> exits;
  loop->getUniqueExitBlocks(exits);
  DebugLoc place = builder.getCurrentDebugLocation();
  for (BasicBlock *exit : exits) {
    builder.SetInsertPoint(exit, exit->getFirstInsertionPt());
    builder.SetCurrentDebugLocation(place);
    builder.CreateCall(all, {which, selected});
  }
  return true;
}

} // namespace

std::string markScopes(Module &copy, const StringMap<GlobalValue *> &originals, const Plan &plan) {
  if (none_of(plan.scopes, [](const Plan::Scope &scope) { return scope.isSelected; }))
    return "";
  for (Function &function : copy) {
    auto *original = dyn_cast_or_null<Function>(originals.lookup(function.getName()));
    if (function.isDeclaration() || !original)
      continue;
    // Blocks are as they were until the first loop is marked.
    DenseMap<const BasicBlock *, BasicBlock *> blocks;
    for (auto [block, copied] : zip(*original, function))
      blocks[&block] = &copied;
    for (auto [number, scope] : enumerate(plan.scopes))
      if (scope.isSelected && scope.function == original && !mark(function, *blocks.lookup(scope.header), number))
        return "a loop in which fields are selected has no begin or no end";
  }
  return "";
}

} // namespace farside
