#ifndef FARSIDE_TENSORS_PASSES
#define FARSIDE_TENSORS_PASSES

include "mlir/Pass/PassBase.td"

def TensorFunctions : Pass<"farside-tensor-functions", "mlir::ModuleOp"> {
  let summary = "Make functions of tensors such that C can call them";
  let description = [{
    Tensors that a function takes are only read, since its callers keep them. Functions that are private stay within the
    unit. It is an error if the shape of a tensor that a function takes or returns is not known.
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

def TensorResults : Pass<"farside-tensor-results", "mlir::ModuleOp"> {
  let summary = "Say of arguments that results are written to that nothing else points there";
}

def TakeApart : Pass<"farside-take-apart", "mlir::ModuleOp"> {
  let summary = "Make several operations of those that are made of several, as linalg.softmax";
  let dependentDialects = ["mlir::affine::AffineDialect", "mlir::arith::ArithDialect", "mlir::linalg::LinalgDialect",
                           "mlir::math::MathDialect", "mlir::tensor::TensorDialect"];
}

def FuseElementwise : Pass<"farside-fuse-elementwise", "mlir::ModuleOp"> {
  let summary = "Do in one loop what is done to each element";
  let description = [{
    What makes a tensor element by element is joined with the only operation that reads it if that computes each of its
    elements once, too, or if what it makes is only moved: transposed or repeated.
  }];
  let dependentDialects = ["mlir::affine::AffineDialect", "mlir::linalg::LinalgDialect"];
}

def OrderLoops : Pass<"farside-order-loops", "mlir::ModuleOp"> {
  let summary = "Have operations of linalg go through memory in the order in which it lies";
  let description = [{
    The innermost loop of an operation on buffers is one over neighbours: the one that, in most operands, goes on by one
    element or stays. Loops around it are in the order of the largest operand's dimensions, so that this is gone through
    once; those that it does not depend on are inside of them.
  }];
  let dependentDialects = ["mlir::linalg::LinalgDialect"];
  let statistics = [Statistic<"reordered", "operations-reordered", "Operations whose loops are in another order now">];
}

def LoopsToBlocks : Pass<"farside-loops-to-blocks", "mlir::ModuleOp"> {
  let summary = "Turn loops, conditions and switches into blocks and branches";
  let description = [{
    As convert-scf-to-cf, which compares only the lower 32 bits of what is switched on.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::cf::ControlFlowDialect"];
}

def FreeBuffers : Pass<"farside-free-buffers", "mlir::ModuleOp"> {
  let summary = "Free buffers when they are not needed any more";
  let description = [{
    A program that frees some itself is left to do so.
  }];
  let dependentDialects = ["mlir::arith::ArithDialect", "mlir::bufferization::BufferizationDialect",
                           "mlir::memref::MemRefDialect", "mlir::scf::SCFDialect"];
}

def PlainBuffers : Pass<"farside-plain-buffers", "mlir::ModuleOp"> {
  let summary = "Allocate as malloc does, and copy by loops what does not lie together";
  let description = [{
    Alignments of buffers are dropped, and so is what was assumed of them: only malloc can allocate in sections.
  }];
  let dependentDialects = ["mlir::linalg::LinalgDialect"];
}

def FindUntyped : Pass<"farside-find-untyped", "mlir::ModuleOp"> {
  let summary = "Mark programs in which the same memory may be accessed as several types";
  let description = [{
    Those that look at bytes through `memref.view`, or are in the LLVM dialect.
  }];
}

def TypeAccesses : Pass<"farside-type-accesses", "mlir::ModuleOp"> {
  let summary = "Say of loads and stores which type of C they are of";
  let description = [{
    A number of 64 bits might be a pointer otherwise. Nothing is said in programs that `farside-find-untyped` has marked.
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect"];
}

def CheckLowered : Pass<"farside-check-lowered", "mlir::ModuleOp"> {
  let summary = "Say which operations are still not of the LLVM dialect";
}

#endif
