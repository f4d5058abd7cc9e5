// RUN: farside-opt %s --farside-lift --canonicalize="region-simplify=disabled" | FileCheck %s

// CHECK-LABEL: llvm.func @max
// CHECK: %[[LESS:.*]] = llvm.icmp "slt"
// CHECK: arith.select %[[LESS]]
// CHECK-NOT: llvm.cond_br
llvm.func @max(%a: i32, %b: i32) -> i32 {
  %less = llvm.icmp "slt" %a, %b : i32
  llvm.cond_br %less, ^second, ^first
^first:
  llvm.br ^end(%a : i32)
^second:
  llvm.br ^end(%b : i32)
^end(%larger: i32):
  llvm.return %larger : i32
}

// CHECK-LABEL: llvm.func @walk
// CHECK: scf.while (%[[AT:.*]] = %arg0
// CHECK: %[[NEXT:.*]] = llvm.load %[[AT]]
// CHECK: scf.condition
llvm.func @walk(%list: !llvm.ptr) -> !llvm.ptr {
  %null = llvm.mlir.zero : !llvm.ptr
  llvm.br ^loop(%list : !llvm.ptr)
^loop(%at: !llvm.ptr):
  %next = llvm.load %at : !llvm.ptr -> !llvm.ptr
  %more = llvm.icmp "ne" %next, %null : !llvm.ptr
  llvm.cond_br %more, ^loop(%next : !llvm.ptr), ^end
^end:
  llvm.return %at : !llvm.ptr
}

// CHECK-LABEL: llvm.func @choose
// CHECK: scf.index_switch
// CHECK: case 3
// CHECK: case 40000
// CHECK: default
llvm.func @choose(%by: i64) -> i32 {
  %one = llvm.mlir.constant(1 : i32) : i32
  %two = llvm.mlir.constant(2 : i32) : i32
  llvm.switch %by : i64, ^end(%one : i32) [
    3: ^three,
    40000: ^many
  ]
^three:
  llvm.call @used() : () -> ()
  llvm.br ^end(%two : i32)
^many:
  llvm.call @used() : () -> ()
  llvm.br ^end(%one : i32)
^end(%result: i32):
  llvm.return %result : i32
}
llvm.func @used()

// CHECK-LABEL: llvm.func @stops
// CHECK: scf.if
// CHECK: llvm.call @abort
// CHECK-NEXT: flow.unreachable
// CHECK-NOT: llvm.unreachable
llvm.func @stops(%bad: i1, %value: i32) -> i32 {
  llvm.cond_br %bad, ^stop, ^go
^stop:
  llvm.call @abort() : () -> ()
  llvm.unreachable
^go:
  llvm.return %value : i32
}
llvm.func @abort()

// What was said of a loop stays with it.
// CHECK-LABEL: llvm.func @annotated
// CHECK: scf.while
// CHECK: llvm.loop_annotation
#said = #llvm.loop_annotation<mustProgress = true>
llvm.func @annotated(%p: !llvm.ptr) {
  llvm.br ^loop
^loop:
  llvm.call @used() : () -> ()
  %more = llvm.load %p : !llvm.ptr -> i1
  llvm.cond_br %more, ^loop, ^end {loop_annotation = #said}
^end:
  llvm.return
}
