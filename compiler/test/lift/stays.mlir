// What cannot be structured stays as it is.
// RUN: farside-opt %s --farside-lift | FileCheck %s

// CHECK-LABEL: llvm.func @wide
// CHECK: llvm.switch
llvm.func @wide(%by: i128) -> i32 {
  %one = llvm.mlir.constant(1 : i32) : i32
  llvm.switch %by : i128, ^end [
    5: ^five
  ]
^five:
  llvm.br ^end
^end:
  llvm.return %one : i32
}

// CHECK-LABEL: llvm.func @invokes
// CHECK: llvm.invoke
llvm.func @invokes() attributes {personality = @__gxx_personality_v0} {
  llvm.invoke @may_throw() to ^on unwind ^pad : () -> ()
^on:
  llvm.return
^pad:
  %landing = llvm.landingpad cleanup : !llvm.struct<(ptr, i32)>
  llvm.resume %landing : !llvm.struct<(ptr, i32)>
}
llvm.func @may_throw()
llvm.func @__gxx_personality_v0(...) -> i32

// CHECK-LABEL: llvm.func @jumps
// CHECK: llvm.cond_br
llvm.func @jumps(%place: !llvm.ptr) -> i32 {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %code = llvm.call @setjmp(%place) : (!llvm.ptr) -> i32
  %first = llvm.icmp "eq" %code, %zero : i32
  llvm.cond_br %first, ^first, ^again
^first:
  llvm.return %zero : i32
^again:
  llvm.return %code : i32
}
llvm.func @setjmp(!llvm.ptr) -> i32 attributes {passthrough = ["returns_twice"]}

// A loop that is never left, which tidying up would take for one without use.
// CHECK-LABEL: llvm.func @forever
// CHECK: llvm.br
llvm.func @forever() {
  llvm.br ^loop
^loop:
  llvm.br ^loop
}
