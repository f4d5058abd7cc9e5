// What is said of a loop is said where it ends, however it is structured meanwhile.
// RUN: farside-opt %s --farside-structure --farside-lower | FileCheck %s

// CHECK: #[[SAID:.*]] = #llvm.loop_annotation<mustProgress = true>
#said = #llvm.loop_annotation<mustProgress = true>

// One that counts.
// CHECK-LABEL: llvm.func @counts
// CHECK: llvm.br ^{{.*}} {loop_annotation = #[[SAID]]}
llvm.func @counts(%array: !llvm.ptr, %count: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^loop(%zero : i64)
^loop(%i: i64):
  %at = llvm.getelementptr %array[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  llvm.store %i, %at : i64, !llvm.ptr
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ne" %next, %count : i64
  llvm.cond_br %more, ^loop(%next : i64), ^end {loop_annotation = #said}
^end:
  llvm.return
}

// One that does not.
// CHECK-LABEL: llvm.func @asks
// CHECK: llvm.cond_br {{.*}} {loop_annotation = #[[SAID]]}
llvm.func @asks(%p: !llvm.ptr) {
  llvm.br ^loop
^loop:
  llvm.call @used() : () -> ()
  %more = llvm.load %p : !llvm.ptr -> i1
  llvm.cond_br %more, ^loop, ^end {loop_annotation = #said}
^end:
  llvm.return
}
llvm.func @used()
