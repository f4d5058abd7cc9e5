// RUN: farside-opt %s --farside-lift --canonicalize="region-simplify=disabled" --farside-count-loops | FileCheck %s

// CHECK-LABEL: llvm.func @until_equal
// CHECK: scf.for unsigned %[[TURN:.*]] = %{{.*}} to %{{.*}} step
// CHECK: llvm.getelementptr %arg0[%
// CHECK: llvm.return
llvm.func @until_equal(%array: !llvm.ptr, %count: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^loop(%zero : i64)
^loop(%i: i64):
  %at = llvm.getelementptr %array[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  llvm.store %i, %at : i64, !llvm.ptr
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ne" %next, %count : i64
  llvm.cond_br %more, ^loop(%next : i64), ^end
^end:
  llvm.return
}

// Steps over more than one, with a sum that is carried and returned.
// CHECK-LABEL: llvm.func @while_less
// CHECK: arith.divui
// CHECK: scf.for unsigned {{.*}} iter_args
// CHECK: llvm.return
llvm.func @while_less(%from: i32, %to: i32) -> i32 {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %three = llvm.mlir.constant(3 : i32) : i32
  llvm.br ^loop(%from, %zero : i32, i32)
^loop(%i: i32, %sum: i32):
  %more_sum = llvm.add %sum, %i : i32
  %next = llvm.add %i, %three overflow<nsw> : i32
  %more = llvm.icmp "slt" %next, %to : i32
  llvm.cond_br %more, ^loop(%next, %more_sum : i32, i32), ^end
^end:
  llvm.return %more_sum : i32
}

// It may go round before it is at its end.
// CHECK-LABEL: llvm.func @may_wrap
// CHECK: scf.while
llvm.func @may_wrap(%from: i32, %to: i32) {
  %three = llvm.mlir.constant(3 : i32) : i32
  llvm.br ^loop(%from : i32)
^loop(%i: i32):
  llvm.call @used(%i) : (i32) -> ()
  %next = llvm.add %i, %three : i32
  %more = llvm.icmp "slt" %next, %to : i32
  llvm.cond_br %more, ^loop(%next : i32), ^end
^end:
  llvm.return
}

// The bound moves.
// CHECK-LABEL: llvm.func @moving_bound
// CHECK: scf.while
llvm.func @moving_bound(%bound: !llvm.ptr) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^loop(%zero : i64)
^loop(%i: i64):
  llvm.store %i, %bound : i64, !llvm.ptr
  %count = llvm.load %bound : !llvm.ptr -> i64
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ne" %next, %count : i64
  llvm.cond_br %more, ^loop(%next : i64), ^end
^end:
  llvm.return
}
llvm.func @used(i32)

// Two values change places in each turn.
// CHECK-LABEL: llvm.func @change_places
// CHECK: scf.for unsigned {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[A:.*]] = %arg1, %[[B:.*]] = %arg2)
// CHECK: scf.yield %{{.*}}, %[[B]], %[[A]]
llvm.func @change_places(%count: i64, %x: i64, %y: i64) -> i64 {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^loop(%zero, %x, %y : i64, i64, i64)
^loop(%i: i64, %a: i64, %b: i64):
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ne" %next, %count : i64
  llvm.cond_br %more, ^loop(%next, %b, %a : i64, i64, i64), ^end
^end:
  llvm.return %a : i64
}

// It ends when the count is reached, as clang puts it.
rmem.cache_section @numbers capacity 65536 line 4096 ways 1 ahead 8
// CHECK-LABEL: llvm.func @ends_when_equal
// CHECK: scf.for unsigned
llvm.func @ends_when_equal(%array: !llvm.ptr, %count: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^loop(%zero : i64)
^loop(%i: i64):
  %at = llvm.getelementptr %array[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  rmem.store @numbers, %i, %at align 8 : i64
  %next = llvm.add %i, %one : i64
  %done = llvm.icmp "eq" %next, %count : i64
  llvm.cond_br %done, ^end, ^loop(%next : i64)
^end:
  llvm.return
}
