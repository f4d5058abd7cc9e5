// RUN: farside-opt %s --split-input-file --verify-diagnostics

llvm.func @elsewhere() {
  // expected-error @+1 {{must come directly after the llvm.call of which it tells}}
  %thrown, %exception = flow.caught cleanup () : () -> (i1, !llvm.struct<(ptr, i32)>)
  llvm.return
}

// -----

llvm.func @f()
llvm.func @nothing() {
  llvm.call @f() : () -> ()
  // expected-error @+1 {{needs a clause, or 'cleanup'}}
  %thrown, %exception = flow.caught () : () -> (i1, !llvm.struct<(ptr, i32)>)
  llvm.return
}
