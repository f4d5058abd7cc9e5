#ifndef FARSIDE_LIFT_PASSES
#define FARSIDE_LIFT_PASSES

include "mlir/Pass/PassBase.td"

def ExceptionsToValues : Pass<"farside-exceptions-to-values", "mlir::ModuleOp"> {
  let summary = "Turn invokes into calls and a value that tells whether they threw";
  let description = [{
    Each `llvm.invoke` becomes an `llvm.call`, a `flow.caught` and an ordinary branch to the landing pad or on. A
    function with a landing pad that something else than invokes leads to keeps its invokes.
  }];
  let dependentDialects = ["::farside::flow::FlowDialect"];
}

def ValuesToExceptions : Pass<"farside-values-to-exceptions", "mlir::ModuleOp"> {
  let summary = "Turn calls that are asked whether they threw back into invokes";
  let description = [{
    The reverse of `farside-exceptions-to-values`, on functions that are made of blocks. The invoke leads, directly or
    over a new landing pad, to the operations after the `flow.caught`, which are told by block arguments how it ended.
  }];
}

def Lift : Pass<"farside-lift", "mlir::ModuleOp"> {
  let summary = "Structure the control flow of functions: blocks and branches to scf.if, scf.index_switch, scf.while";
  let description = [{
    Functions that cannot be structured stay as they are: those with branches to places that are known late, with
    invokes (see `farside-exceptions-to-values`), with loops that are never left, with calls that return twice, and with
    switches of integers over 64 bits. Functions in which an
    exception may travel on keep one branch, to the end by return and to that by `llvm.resume`.
  }];
  let dependentDialects = ["::farside::flow::FlowDialect", "mlir::arith::ArithDialect", "mlir::cf::ControlFlowDialect",
                           "mlir::scf::SCFDialect", "mlir::ub::UBDialect"];
  let statistics = [
    Statistic<"lifted", "functions-lifted", "Functions whose flow is structured now">,
    Statistic<"kept", "functions-kept", "Functions that stayed as they were">
  ];
}

def CountLoops : Pass<"farside-count-loops", "mlir::ModuleOp"> {
  let summary = "Turn scf.while into scf.for where the number of turns is known beforehand";
  let description = [{
    A loop counts if its body adds a constant to one of the values that it carries, a number or a pointer, and goes on for as
    long as the sum is less than, or another than, a value from outside, and if to wrap on the way is undefined, or makes no
    difference. The new loop counts its turns in 64-bit integers, from 0 and without a sign. What else it carries and changes
    by a constant is computed from the turn.
  }];
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::arith::ArithDialect", "mlir::scf::SCFDialect"];
  let statistics = [
    Statistic<"counted", "loops-counted", "Loops that are scf.for now">,
    Statistic<"others", "loops-others", "Loops that stayed scf.while">
  ];
}

def Lower : Pass<"farside-lower", "mlir::ModuleOp"> {
  let summary = "Turn what farside-lift made back into blocks, branches and the LLVM dialect";
  let dependentDialects = ["mlir::LLVM::LLVMDialect", "mlir::cf::ControlFlowDialect"];
}

#endif
