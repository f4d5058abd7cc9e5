#include "Farside/Tensors/Tensors.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

namespace farside {

#define GEN_PASS_DECL
#include "Farside/Tensors/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "Farside/Tensors/Passes.h.inc"

namespace {

/// Each step leaves nothing behind of what it is about.
constexpr llvm::StringLiteral steps[] = {
    // Tensors: fewer of them.
    "farside-find-untyped, farside-tensor-functions, farside-take-apart, func.func(linalg-generalize-named-ops), "
    "canonicalize, farside-fuse-elementwise, canonicalize, symbol-dce",
    // Tensors become buffers. For what a function returns, its callers have room.
    "eliminate-empty-tensors, empty-tensor-to-alloc-tensor, "
    "one-shot-bufferize{bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map "
    "buffer-alignment=0}, drop-equivalent-buffer-results, "
    "buffer-results-to-out-params{add-result-attr=1 hoist-static-allocs=1 modify-public-functions=1}, "
    "farside-tensor-results, farside-free-buffers, convert-bufferization-to-memref, farside-plain-buffers",
    // Operations become loops.
    "func.func(linalg-generalize-named-ops), farside-order-loops, func.func(convert-linalg-to-loops), "
    "func.func(scf-forall-to-for), fold-memref-alias-ops, canonicalize, cse, func.func(convert-vector-to-scf), "
    "lower-affine, farside-loops-to-blocks",
    // And all of it that of LLVM.
    "expand-strided-metadata, lower-affine, arith-expand, convert-math-to-llvm, convert-math-to-libm, "
    "convert-vector-to-llvm, finalize-memref-to-llvm, convert-arith-to-llvm, convert-index-to-llvm, convert-cf-to-llvm, "
    "convert-func-to-llvm{use-bare-ptr-memref-call-conv=1}, convert-ub-to-llvm, reconcile-unrealized-casts, "
    "farside-type-accesses, canonicalize, cse, farside-check-lowered",
};

void lowerTensors(mlir::OpPassManager &manager) {
  for (llvm::StringRef step : steps)
    if (mlir::failed(mlir::parsePassPipeline(step, manager)))
      llvm::report_fatal_error(llvm::Twine("farside-tensors: no pass of ") + step);
}

} // namespace

void registerTensorPasses() {
  mlir::registerAllPasses();
  registerFarsideTensorPasses();
  mlir::PassPipelineRegistration<>(tensorPipeline, "Lower programs of tensor compilers to the LLVM dialect", lowerTensors);
}

} // namespace farside
