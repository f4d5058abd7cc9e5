#include "Farside/Import/LoopFacts.h"

#include "CanonicalLoop.h"
#include "Farside/Dialect/Rmem/Rmem.h"
#include "mlir/Target/LLVMIR/LLVMImportInterface.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include <optional>

using namespace llvm;

namespace farside {
namespace {

/// How many bytes on an access comes to in each turn of a loop, if that is always the same.
std::optional<int64_t> strideOf(Value *pointer, const Loop &loop, ScalarEvolution &evolution) {
  auto *address = dyn_cast<SCEVAddRecExpr>(evolution.getSCEV(pointer));
  auto *step = address && address->getLoop() == &loop && address->isAffine()
                   ? dyn_cast<SCEVConstant>(address->getStepRecurrence(evolution))
                   : nullptr;
  return step ? step->getAPInt().trySExtValue() : std::nullopt;
}

/// Tells the facts of a module.
class Telling {
public:
  Telling(Module &copy, function_ref<bool(const Instruction &)> isAsked) : copy(copy), isAsked(isAsked) {
    PassBuilder builder;
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
  }

  void run() {
    for (Function &function : copy)
      if (!function.isDeclaration())
        tell(function);
  }

private:
  void tell(Function &function) {
    LoopInfo &all = functions.getResult<LoopAnalysis>(function);
    if (all.empty())
      return;
    SmallVector<Loop *, 4> ordered = all.getLoopsInPreorder();
    // Inner ones first: what they count is nothing that the others change.
    for (Loop *loop : reverse(ordered))
      makeCanonical(*loop, functions);
    ScalarEvolution &evolution = functions.getResult<ScalarEvolutionAnalysis>(function);
    for (Loop *loop : ordered)
      tell(*loop, all, evolution);
  }

  void tell(Loop &loop, LoopInfo &all, ScalarEvolution &evolution) {
    BasicBlock *latch = loop.getLoopLatch();
    if (!latch)
      return;
    bool isTold = false;
    for (BasicBlock *block : loop.blocks()) {
      if (all.getLoopFor(block) != &loop)
        continue;
      for (Instruction &access : *block) {
        Value *pointer = getLoadStorePointerOperand(&access);
        if (!pointer || !isAsked(access))
          continue;
        if (std::optional<int64_t> stride = strideOf(pointer, loop, evolution)) {
          tell(access, accessFact, {int64_t(number), *stride});
          isTold = true;
        }
      }
    }
    if (isTold)
      tell(*latch->getTerminator(), loopFact, {int64_t(number++)});
  }

  void tell(Instruction &about, StringRef fact, ArrayRef<int64_t> numbers) {
    LLVMContext &context = copy.getContext();
    SmallVector<Metadata *, 2> all;
    for (int64_t each : numbers)
      all.push_back(ConstantAsMetadata::get(ConstantInt::getSigned(Type::getInt64Ty(context), each)));
    about.setMetadata(fact, MDNode::get(context, all));
  }

  Module &copy;
  function_ref<bool(const Instruction &)> isAsked;
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  /// Of the next loop.
  uint64_t number = 0;
};

/// Makes attributes of such metadata.
class FactImport : public mlir::LLVMImportDialectInterface {
public:
  using LLVMImportDialectInterface::LLVMImportDialectInterface;

  SmallVector<unsigned> getSupportedMetadata(LLVMContext &context) const override {
    return {context.getMDKindID(loopFact), context.getMDKindID(accessFact)};
  }

  mlir::LogicalResult setMetadataAttrs(mlir::OpBuilder &builder, unsigned kind, MDNode *node, mlir::Operation *op,
                                       mlir::LLVM::ModuleImport &) const override {
    SmallVector<int64_t, 2> numbers;
    for (const MDOperand &each : node->operands()) {
      auto *number = mdconst::dyn_extract_or_null<ConstantInt>(each);
      if (!number)
        return mlir::failure();
      numbers.push_back(number->getSExtValue());
    }
    bool isLoop = kind == node->getContext().getMDKindID(loopFact);
    op->setAttr(isLoop ? loopFact : accessFact, builder.getDenseI64ArrayAttr(numbers));
    return mlir::success();
  }
};

} // namespace

void tellLoopFacts(Module &copy, function_ref<bool(const Instruction &)> isAsked) { Telling(copy, isAsked).run(); }

void registerLoopFacts(mlir::DialectRegistry &registry) {
  registry.insert<rmem::RmemDialect>();
  registry.addExtension(+[](mlir::MLIRContext *, rmem::RmemDialect *dialect) { dialect->addInterfaces<FactImport>(); });
}

} // namespace farside
