#ifndef FARSIDE_DIALECT_FLOW
#define FARSIDE_DIALECT_FLOW

include "mlir/IR/OpBase.td"

def Flow_Dialect : Dialect {
  let name = "flow";
  let cppNamespace = "::farside::flow";
  let summary = "What keeps flow from being structured, as values";
  let description = [{
    Exceptions and places that are never reached have no form in structured control flow. While a function is
    structured they are operations of this dialect.
  }];
}

class Flow_Op<string mnemonic, list<Trait> traits = []> : Op<Flow_Dialect, mnemonic, traits>;

def Flow_CaughtOp : Flow_Op<"caught"> {
  let summary = "Whether the call before it threw an exception";
  let description = [{
    Comes directly after an `llvm.call` that was an `llvm.invoke`. `thrown` tells whether the call ended by an exception,
    and `exception` is then what a landing pad with these clauses yields. Nothing is known of its effects, so that it
    stays where it is.

    ```mlir
    llvm.call @f() : () -> ()
    %thrown, %exception = flow.caught cleanup (%type) : (!llvm.ptr) -> (i1, !llvm.struct<(ptr, i32)>)
    llvm.cond_br %thrown, ^pad(%exception : !llvm.struct<(ptr, i32)>), ^on
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$clauses, UnitAttr:$cleanup);
  let results = (outs I1:$thrown, AnyType:$exception);
  let assemblyFormat = [{
    (`cleanup` $cleanup^)? `(` $clauses `)` attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Flow_UnreachableOp : Flow_Op<"unreachable"> {
  let summary = "A place that is never reached";
  let description = [{
    Stands before a return of nothing in particular, which was an `llvm.unreachable`.
  }];
  let assemblyFormat = "attr-dict";
}

#endif
