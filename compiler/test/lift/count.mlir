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

// Of a vector to which the same is added each time nothing is made of the count.
// CHECK-LABEL: llvm.func @vector
// CHECK: scf.for unsigned {{.*}} iter_args({{.*}}) -> (i64, vector<2xi64>)
// CHECK: llvm.add %{{.*}} : vector<2xi64>
// CHECK: llvm.return
llvm.func @vector(%array: !llvm.ptr, %count: i64, %from: vector<2xi64>) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %both = llvm.mlir.constant(dense<2> : vector<2xi64>) : vector<2xi64>
  llvm.br ^loop(%zero, %from : i64, vector<2xi64>)
^loop(%i: i64, %pair: vector<2xi64>):
  %at = llvm.getelementptr %array[%i] : (!llvm.ptr, i64) -> !llvm.ptr, vector<2xi64>
  llvm.store %pair, %at : vector<2xi64>, !llvm.ptr
  %more_pair = llvm.add %pair, %both : vector<2xi64>
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ne" %next, %count : i64
  llvm.cond_br %more, ^loop(%next, %more_pair : i64, vector<2xi64>), ^end
^end:
  llvm.return
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

// Pointers count, in bytes; a bound between two steps is never met. What else goes on by a constant is computed from the turn.
// CHECK-LABEL: llvm.func @pointers
// CHECK: %[[FIRST:.*]] = llvm.ptrtoint %arg0
// CHECK: %[[BOUND:.*]] = llvm.ptrtoint %arg1
// CHECK: %[[DISTANCE:.*]] = arith.subi %[[BOUND]], %[[FIRST]]
// CHECK: %[[REST:.*]] = arith.remui %[[DISTANCE]]
// CHECK: %[[MEETS:.*]] = arith.cmpi eq, %[[REST]]
// CHECK: %[[TURNS:.*]] = arith.select %[[MEETS]]
// CHECK: scf.for unsigned %[[TURN:.*]] = %{{.*}} to %[[TURNS]]
// CHECK: %[[OTHER_WAY:.*]] = arith.muli %[[TURN]]
// CHECK: %[[OTHER:.*]] = llvm.getelementptr %arg2[%[[OTHER_WAY]]]
// CHECK: %[[WAY:.*]] = arith.muli %[[TURN]]
// CHECK: %[[AT:.*]] = llvm.getelementptr %arg0[%[[WAY]]]
// CHECK: %[[VALUE:.*]] = llvm.load %[[AT]]
// CHECK: llvm.store %[[VALUE]], %[[OTHER]]
llvm.func @pointers(%from: !llvm.ptr, %end: !llvm.ptr, %to: !llvm.ptr) {
  llvm.br ^loop(%from, %to : !llvm.ptr, !llvm.ptr)
^loop(%at: !llvm.ptr, %other: !llvm.ptr):
  %value = llvm.load %at : !llvm.ptr -> i32
  llvm.store %value, %other : i32, !llvm.ptr
  %next_other = llvm.getelementptr %other[-1] : (!llvm.ptr) -> !llvm.ptr, i32
  %next = llvm.getelementptr inbounds|nuw %at[4] : (!llvm.ptr) -> !llvm.ptr, i8
  %more = llvm.icmp "ne" %next, %end : !llvm.ptr
  llvm.cond_br %more, ^loop(%next, %next_other : !llvm.ptr, !llvm.ptr), ^end
^end:
  llvm.return
}

// CHECK-LABEL: llvm.func @down
// CHECK: arith.subi %arg0, %{{.*}} : i64
// CHECK: scf.for unsigned
llvm.func @down(%count: i64, %array: !llvm.ptr) {
  %one = llvm.mlir.constant(1 : i64) : i64
  %minus_one = llvm.mlir.constant(-1 : i64) : i64
  %zero = llvm.mlir.constant(0 : i64) : i64
  llvm.br ^loop(%count : i64)
^loop(%i: i64):
  %next = llvm.add %i, %minus_one : i64
  %at = llvm.getelementptr %array[%next] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  llvm.store %next, %at : i64, !llvm.ptr
  %more = llvm.icmp "ne" %next, %zero : i64
  llvm.cond_br %more, ^loop(%next : i64), ^end
^end:
  llvm.return
}

// In steps of three, and nobody says that it does not go round, it may meet the bound in a later round.
// CHECK-LABEL: llvm.func @round
// CHECK: scf.while
llvm.func @round(%from: !llvm.ptr, %end: !llvm.ptr) {
  %zero = llvm.mlir.constant(0 : i8) : i8
  llvm.br ^loop(%from : !llvm.ptr)
^loop(%at: !llvm.ptr):
  llvm.store %zero, %at : i8, !llvm.ptr
  %next = llvm.getelementptr %at[3] : (!llvm.ptr) -> !llvm.ptr, i8
  %more = llvm.icmp "ne" %next, %end : !llvm.ptr
  llvm.cond_br %more, ^loop(%next : !llvm.ptr), ^end
^end:
  llvm.return
}
