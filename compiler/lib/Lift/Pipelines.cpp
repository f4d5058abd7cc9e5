#include "Farside/Dialect/Flow/Flow.h"
#include "Farside/Lift/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

namespace farside {

#define GEN_PASS_DECL
#include "Farside/Lift/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "Farside/Lift/Passes.h.inc"

namespace {

/// Tidies up inside of operations only: blocks that are merged would take the ends of lifetimes to values that are not
/// on the stack.
void addTidying(mlir::OpPassManager &manager) {
  mlir::GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(mlir::GreedySimplifyRegionLevel::Disabled);
  manager.addPass(mlir::createCanonicalizerPass(config, canonicalizationsLeftOut()));
}

void structure(mlir::OpPassManager &manager) {
  manager.addPass(createExceptionsToValues());
  manager.addPass(createLift());
  addTidying(manager);
  manager.addPass(createCountLoops());
  // How often loops turn may be a constant now.
  addTidying(manager);
}

void unstructure(mlir::OpPassManager &manager) {
  manager.addPass(createLower());
  manager.addPass(createValuesToExceptions());
}

} // namespace

/// MLIR 22's takes the wrong value where a condition passes on a result twice (llvm/llvm-project#219456).
llvm::ArrayRef<std::string> canonicalizationsLeftOut() {
  static const std::string patterns[] = {"(anonymous namespace)::WhileMoveIfDown"};
  return patterns;
}

void registerLiftPasses() {
  registerFarsideLiftPasses();
  mlir::PassPipelineRegistration<>("farside-structure", "Structure control flow, with loops that count as scf.for",
                                   structure);
  mlir::PassPipelineRegistration<>("farside-unstructure", "Undo farside-structure", unstructure);
}

} // namespace farside
