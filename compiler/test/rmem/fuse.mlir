// Two loops of as many turns, one behind the other, become one if they go through sections and do the same then.
// RUN: farside-opt %s --farside-fuse-loops | FileCheck %s

rmem.cache_section @numbers capacity 1048576 line 4096 ways 1 ahead 8
rmem.cache_section @others capacity 1048576 line 4096 ways 1 ahead 8
rmem.cache_section @records capacity 1048576 line 4096 ways 2 ahead 8
rmem.cache_section @small capacity 65536 line 4096 ways 1 ahead 4
rmem.cache_section @beside capacity 1048576 line 4096 ways 1 ahead 8 with @others

llvm.mlir.global internal @sums(dense<0> : tensor<1000xi64>) : !llvm.array<1000 x i64>
llvm.mlir.global internal @counts(dense<0> : tensor<1000xi64>) : !llvm.array<1000 x i64>
llvm.func @erf(f64) -> f64 attributes {memory_effects = #llvm.memory_effects<other = none, argMem = none,
    inaccessibleMem = none, errnoMem = write, targetMem0 = none, targetMem1 = none>, no_unwind, will_return}
llvm.func @pure(i64) -> i64 attributes {memory_effects = #llvm.memory_effects<other = none, argMem = none,
    inaccessibleMem = none, errnoMem = none, targetMem0 = none, targetMem1 = none>, no_unwind, will_return}
llvm.func @endless(i64) -> i64 attributes {memory_effects = #llvm.memory_effects<other = none, argMem = none,
    inaccessibleMem = none, errnoMem = none, targetMem0 = none, targetMem1 = none>, no_unwind}
llvm.func @throwing(i64) -> i64 attributes {memory_effects = #llvm.memory_effects<other = none, argMem = none,
    inaccessibleMem = none, errnoMem = none, targetMem0 = none, targetMem1 = none>, will_return}
llvm.func @known(i64)
llvm.func @farside.debug(i32, ...)

// What is in different sections is never the same, nor what is plain memory.
// CHECK-LABEL: llvm.func @different_sections(
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: llvm.return
llvm.func @different_sections(%a: !llvm.ptr, %b: !llvm.ptr, %p: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    rmem.store @numbers, %n, %at align 8 : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @others, %at align 8 : i64
    llvm.store %v, %p : i64, !llvm.ptr
  }
  llvm.return
}

// The array that both go through is addressed once, so that it is one stream; the second does what it does after the
// first in each turn.
// CHECK-LABEL: llvm.func @same_array(
// CHECK: scf.for unsigned %[[I:.*]] =
// CHECK: %[[AT:.*]] = llvm.getelementptr %arg0[%[[I]]]
// CHECK-NEXT: %[[V:.*]] = rmem.load @numbers, %[[AT]]
// CHECK-NEXT: %[[X:.*]] = llvm.mul %[[V]], %[[V]]
// CHECK-NEXT: rmem.store @numbers, %[[X]], %[[AT]]
// CHECK-NEXT: %[[W:.*]] = rmem.load @numbers, %[[AT]]
// CHECK-NEXT: %[[Y:.*]] = llvm.add %[[W]]
// CHECK-NEXT: rmem.store @numbers, %[[Y]], %[[AT]]
// CHECK-NEXT: }
// CHECK-NOT: scf.for
// CHECK: llvm.return
llvm.func @same_array(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
    %x = llvm.mul %v, %v : i64
    rmem.store @numbers, %x, %at align 8 : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
    %y = llvm.add %v, %n : i64
    rmem.store @numbers, %y, %at align 8 : i64
  }
  llvm.return
}

// What the first has written turns before, the second may read.
// CHECK-LABEL: llvm.func @behind(
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: llvm.return
llvm.func @behind(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    rmem.store @numbers, %n, %at align 8 : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %j = arith.subi %i, %step : i64
    %at = llvm.getelementptr %a[%j] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
  }
  llvm.return
}

// What the first has not written yet, it may not.
// CHECK-LABEL: llvm.func @before(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @before(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    rmem.store @numbers, %n, %at align 8 : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %j = arith.addi %i, %step : i64
    %at = llvm.getelementptr %a[%j] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
  }
  llvm.return
}

// A value that reaches into what is written a turn later.
// CHECK-LABEL: llvm.func @across(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @across(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    rmem.store @numbers, %n, %at align 8 : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %half = llvm.getelementptr %at[4] : (!llvm.ptr) -> !llvm.ptr, i8
    %v = rmem.load @numbers, %half align 8 : i64
  }
  llvm.return
}

// Fields of records that are never the same, however far the loops are apart.
// CHECK-LABEL: llvm.func @fields(
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: llvm.return
llvm.func @fields(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i64, i64, i64)>
    %from = llvm.getelementptr %at[72] : (!llvm.ptr) -> !llvm.ptr, i8
    %v = rmem.load @numbers, %from align 8 : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i64, i64, i64)>
    %to = llvm.getelementptr %at[0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(i64, i64, i64)>
    rmem.store @numbers, %n, %to align 8 : i64
  }
  llvm.return
}

// Loops that go back: what is behind them lies further on.
// CHECK-LABEL: llvm.func @backwards(
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: llvm.return
llvm.func @backwards(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %j = arith.subi %start, %i : i64
    %at = llvm.getelementptr %a[%j] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    rmem.store @numbers, %n, %at align 8 : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %j = arith.subi %start, %i : i64
    %after = llvm.getelementptr %a[8] : (!llvm.ptr) -> !llvm.ptr, i8
    %at = llvm.getelementptr %after[%j] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
  }
  llvm.return
}

// CHECK-LABEL: llvm.func @backwards_before(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @backwards_before(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %j = arith.subi %start, %i : i64
    %at = llvm.getelementptr %a[%j] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    rmem.store @numbers, %n, %at align 8 : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %j = arith.subi %start, %i : i64
    %after = llvm.getelementptr %a[-8] : (!llvm.ptr) -> !llvm.ptr, i8
    %at = llvm.getelementptr %after[%j] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
  }
  llvm.return
}

// CHECK-LABEL: llvm.func @other_stride(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @other_stride(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    rmem.store @numbers, %n, %at align 8 : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %j = llvm.shl %i, %step : i64
    %at = llvm.getelementptr %a[%j] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
  }
  llvm.return
}

// Arrays of one section may be the same, unless they were allocated each by itself.
// CHECK-LABEL: llvm.func @other_array(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @other_array(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    rmem.store @numbers, %n, %at align 8 : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
  }
  llvm.return
}

// CHECK-LABEL: llvm.func @allocated(
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: llvm.return
llvm.func @allocated(%n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  %x = remotable.alloc @numbers, %n
  %y = remotable.alloc_zeroed @numbers, %n, %n
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    rmem.store @numbers, %n, %at align 8 : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %y[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
  }
  llvm.return
}

// Where a store goes is not known.
// CHECK-LABEL: llvm.func @somewhere(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @somewhere(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    rmem.store @numbers, %n, %at align 8 : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @others, %at align 8 : i64
    %to = llvm.getelementptr %a[%v] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    rmem.store @numbers, %v, %to align 8 : i64
  }
  llvm.return
}

// CHECK-LABEL: llvm.func @only_read(
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: llvm.return
llvm.func @only_read(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
  }
  llvm.return
}

// What is behind one another in a turn and of different types would be taken to be different memory.
// CHECK-LABEL: llvm.func @types(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @types(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 {rmem.type = "int"} : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    rmem.store @numbers, %n, %at align 8 {rmem.type = "float"} : i64
  }
  llvm.return
}

// CHECK-LABEL: llvm.func @same_types(
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: llvm.return
llvm.func @same_types(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 {rmem.type = "int"} : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    rmem.store @numbers, %n, %at align 8 {rmem.type = "int"} : i64
  }
  llvm.return
}

// Plain memory may be the same.
// CHECK-LABEL: llvm.func @plain(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @plain(%a: !llvm.ptr, %b: !llvm.ptr, %p: !llvm.ptr, %q: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
    %to = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    llvm.store %v, %to : i64, !llvm.ptr
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @others, %at align 8 : i64
    %from = llvm.getelementptr %q[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %w = llvm.load %from : !llvm.ptr -> i64
  }
  llvm.return
}

// Variables of their own are not.
// CHECK-LABEL: llvm.func @variables(
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: llvm.return
llvm.func @variables(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  %p = llvm.mlir.addressof @sums : !llvm.ptr
  %q = llvm.mlir.addressof @counts : !llvm.ptr
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
    %to = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    llvm.store %v, %to : i64, !llvm.ptr
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @others, %at align 8 : i64
    %from = llvm.getelementptr %q[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %w = llvm.load %from : !llvm.ptr -> i64
  }
  llvm.return
}

// CHECK-LABEL: llvm.func @volatile(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @volatile(%a: !llvm.ptr, %b: !llvm.ptr, %p: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
    %w = llvm.load volatile %p : !llvm.ptr -> i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @others, %at align 8 : i64
  }
  llvm.return
}

// CHECK-LABEL: llvm.func @atomic(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @atomic(%a: !llvm.ptr, %b: !llvm.ptr, %p: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @others, %at align 8 : i64
    %w = llvm.load %p atomic monotonic {alignment = 8 : i64} : !llvm.ptr -> i64
  }
  llvm.return
}

// Calls that do nothing but compute stand in the way of nothing; others may do anything, not come back, or throw.
// CHECK-LABEL: llvm.func @calls(
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: llvm.return
llvm.func @calls(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
    %c = llvm.call @pure(%v) : (i64) -> i64
    rmem.store @numbers, %c, %at align 8 : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @others, %at align 8 : i64
    %c = llvm.call @pure(%v) : (i64) -> i64
  }
  llvm.return
}

// CHECK-LABEL: llvm.func @calls_known(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @calls_known(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @others, %at align 8 : i64
    llvm.call @known(%v) : (i64) -> ()
  }
  llvm.return
}

// CHECK-LABEL: llvm.func @calls_endless(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @calls_endless(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
    %c = llvm.call @endless(%v) : (i64) -> i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @others, %at align 8 : i64
  }
  llvm.return
}

// CHECK-LABEL: llvm.func @calls_throwing(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @calls_throwing(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
    %c = llvm.call @throwing(%v) : (i64) -> i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @others, %at align 8 : i64
  }
  llvm.return
}

// A call that sets errno is of one of them only, and errno is plain memory.
// CHECK-LABEL: llvm.func @sets_errno(
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: llvm.return
llvm.func @sets_errno(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : f64
    %c = llvm.call @erf(%v) : (f64) -> f64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @others, %at align 8 : i64
  }
  llvm.return
}

// CHECK-LABEL: llvm.func @both_set_errno(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @both_set_errno(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : f64
    %c = llvm.call @erf(%v) : (f64) -> f64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @others, %at align 8 : f64
    %c = llvm.call @erf(%v) : (f64) -> f64
  }
  llvm.return
}

// CHECK-LABEL: llvm.func @reads_errno(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @reads_errno(%a: !llvm.ptr, %b: !llvm.ptr, %p: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : f64
    %c = llvm.call @erf(%v) : (f64) -> f64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @others, %at align 8 : i64
    %w = llvm.load %p : !llvm.ptr -> i32
  }
  llvm.return
}

// Numbers of turns are the same if they are computed in the same way.
// CHECK-LABEL: llvm.func @constants(
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: llvm.return
llvm.func @constants(%a: !llvm.ptr, %b: !llvm.ptr) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  %l = arith.constant 1000 : i64
  scf.for unsigned %i = %start to %l step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
  }
  %m = arith.constant 1000 : i64
  scf.for unsigned %i = %start to %m step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @others, %at align 8 : i64
  }
  llvm.return
}

// CHECK-LABEL: llvm.func @computed(
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: llvm.return
llvm.func @computed(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64, %k: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  %l = arith.maxui %n, %k : i64
  scf.for unsigned %i = %start to %l step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
  }
  %m = arith.maxui %n, %k : i64
  scf.for unsigned %i = %start to %m step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @others, %at align 8 : i64
  }
  llvm.return
}

// CHECK-LABEL: llvm.func @other_turns(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @other_turns(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64, %k: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  %l = arith.maxui %n, %k : i64
  scf.for unsigned %i = %start to %l step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
  }
  %m = arith.minui %n, %k : i64
  scf.for unsigned %i = %start to %m step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @others, %at align 8 : i64
  }
  llvm.return
}

// CHECK-LABEL: llvm.func @stored_between(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @stored_between(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
  }
  llvm.store %n, %a : i64, !llvm.ptr
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @others, %at align 8 : i64
  }
  llvm.return
}

// What the second needs comes before both; what debuggers are told stays.
// CHECK-LABEL: llvm.func @needed(
// CHECK: llvm.getelementptr %arg1[%arg2]
// CHECK: scf.for
// CHECK: rmem.load @numbers
// CHECK: rmem.load @others
// CHECK-NOT: scf.for
// CHECK: llvm.call @farside.debug
// CHECK: llvm.return
llvm.func @needed(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
  }
  %c = llvm.getelementptr %b[%n] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %d = llvm.mlir.constant(1 : i32) : i32
  llvm.call @farside.debug(%d, %n) vararg(!llvm.func<void (i32, ...)>) : (i32, i64) -> ()
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %c[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @others, %at align 8 : i64
  }
  llvm.return
}

// What is looked up in a section would be driven out by what goes through it.
// CHECK-LABEL: llvm.func @random(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @random(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @others, %at align 8 : i64
    %there = llvm.getelementptr %b[%v] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %w = rmem.load @numbers, %there align 8 : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
  }
  llvm.return
}

// So would what shares its memory.
// CHECK-LABEL: llvm.func @shares(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @shares(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @others, %at align 8 : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @beside, %at align 8 : i64
  }
  llvm.return
}

// A section has to have room for the lines of all that go through it.
// CHECK-LABEL: llvm.func @crowded(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @crowded(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @small, %at align 8 : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @small, %at align 8 : i64
  }
  llvm.return
}

// Where lines may be in several places, what one loop alone has gone through leaves before others.
// CHECK-LABEL: llvm.func @in_sets(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @in_sets(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @records, %at align 8 : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @records, %at align 8 : i64
  }
  llvm.return
}

// CHECK-LABEL: llvm.func @in_sets_same(
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: llvm.return
llvm.func @in_sets_same(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @records, %at align 8 : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    rmem.store @records, %n, %at align 8 : i64
  }
  llvm.return
}

// No more than 8 lines are held at once.
// CHECK-LABEL: llvm.func @many(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @many(%p0: !llvm.ptr, %p1: !llvm.ptr, %p2: !llvm.ptr, %p3: !llvm.ptr, %p4: !llvm.ptr, %p5: !llvm.ptr, %p6: !llvm.ptr, %p7: !llvm.ptr, %p8: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %b0 = llvm.getelementptr %p0[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v0 = rmem.load @numbers, %b0 align 8 : i64
    %b1 = llvm.getelementptr %p1[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v1 = rmem.load @numbers, %b1 align 8 : i64
    %b2 = llvm.getelementptr %p2[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v2 = rmem.load @numbers, %b2 align 8 : i64
    %b3 = llvm.getelementptr %p3[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v3 = rmem.load @numbers, %b3 align 8 : i64
    %b4 = llvm.getelementptr %p4[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v4 = rmem.load @numbers, %b4 align 8 : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %b0 = llvm.getelementptr %p5[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v0 = rmem.load @others, %b0 align 8 : i64
    %b1 = llvm.getelementptr %p6[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v1 = rmem.load @others, %b1 align 8 : i64
    %b2 = llvm.getelementptr %p7[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v2 = rmem.load @others, %b2 align 8 : i64
    %b3 = llvm.getelementptr %p8[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v3 = rmem.load @others, %b3 align 8 : i64
  }
  llvm.return
}

// CHECK-LABEL: llvm.func @eight(
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: llvm.return
llvm.func @eight(%p0: !llvm.ptr, %p1: !llvm.ptr, %p2: !llvm.ptr, %p3: !llvm.ptr, %p4: !llvm.ptr, %p5: !llvm.ptr, %p6: !llvm.ptr, %p7: !llvm.ptr, %p8: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %b0 = llvm.getelementptr %p0[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v0 = rmem.load @numbers, %b0 align 8 : i64
    %b1 = llvm.getelementptr %p1[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v1 = rmem.load @numbers, %b1 align 8 : i64
    %b2 = llvm.getelementptr %p2[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v2 = rmem.load @numbers, %b2 align 8 : i64
    %b3 = llvm.getelementptr %p3[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v3 = rmem.load @numbers, %b3 align 8 : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %b0 = llvm.getelementptr %p4[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v0 = rmem.load @others, %b0 align 8 : i64
    %b1 = llvm.getelementptr %p5[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v1 = rmem.load @others, %b1 align 8 : i64
    %b2 = llvm.getelementptr %p6[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v2 = rmem.load @others, %b2 align 8 : i64
    %b3 = llvm.getelementptr %p7[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v3 = rmem.load @others, %b3 align 8 : i64
  }
  llvm.return
}

// Loops of which one holds no lines stay.
// CHECK-LABEL: llvm.func @not_held(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @not_held(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %start = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %start to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
  }
  scf.for unsigned %i = %start to %n step %step : i64 {
    %w = llvm.load %b : !llvm.ptr -> i64
  }
  llvm.return
}

// Sums stay in their own order, and are the results of one loop.
// CHECK-LABEL: llvm.func @sums_of(
// CHECK: %[[SUMS:.*]]:2 = scf.for {{.*}} iter_args(%[[ONE:.*]] = %{{.*}}, %[[OTHER:.*]] = %{{.*}})
// CHECK: %[[V:.*]] = rmem.load @numbers
// CHECK: %[[NEXT:.*]] = llvm.fadd %[[ONE]], %[[V]]
// CHECK: %[[W:.*]] = rmem.load @others
// CHECK: %[[LATER:.*]] = llvm.fadd %[[OTHER]], %[[W]]
// CHECK: scf.yield %[[NEXT]], %[[LATER]]
// CHECK-NOT: scf.for
// CHECK: llvm.fmul %[[SUMS]]#0, %[[SUMS]]#1
llvm.func @sums_of(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64, %x: f64) -> f64 {
  %from = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  %s = scf.for unsigned %i = %from to %n step %step iter_args(%sum = %x) -> (f64) : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f64
    %v = rmem.load @numbers, %at align 8 : f64
    %next = llvm.fadd %sum, %v : f64
    scf.yield %next : f64
  }
  %t = scf.for unsigned %i = %from to %n step %step iter_args(%sum = %x) -> (f64) : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f64
    %v = rmem.load @others, %at align 8 : f64
    %next = llvm.fadd %sum, %v : f64
    scf.yield %next : f64
  }
  %both = llvm.fmul %s, %t : f64
  llvm.return %both : f64
}

// What the first gives is what the second begins with, or what it is divided by.
// CHECK-LABEL: llvm.func @carried(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @carried(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64, %x: f64) -> f64 {
  %from = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  %s = scf.for unsigned %i = %from to %n step %step iter_args(%sum = %x) -> (f64) : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f64
    %v = rmem.load @numbers, %at align 8 : f64
    %next = llvm.fadd %sum, %v : f64
    scf.yield %next : f64
  }
  %t = scf.for unsigned %i = %from to %n step %step iter_args(%sum = %s) -> (f64) : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f64
    %v = rmem.load @others, %at align 8 : f64
    %next = llvm.fadd %sum, %v : f64
    scf.yield %next : f64
  }
  llvm.return %t : f64
}
// CHECK-LABEL: llvm.func @divided(
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @divided(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64, %x: f64) {
  %from = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  %s = scf.for unsigned %i = %from to %n step %step iter_args(%sum = %x) -> (f64) : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f64
    %v = rmem.load @numbers, %at align 8 : f64
    %next = llvm.fadd %sum, %v : f64
    scf.yield %next : f64
  }
  %half = llvm.fmul %s, %x : f64
  scf.for unsigned %i = %from to %n step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f64
    %v = rmem.load @others, %at align 8 : f64
    %next = llvm.fdiv %v, %half : f64
    rmem.store @others, %next, %at align 8 : f64
  }
  llvm.return
}

// What may not end stands before what the first does, or behind what the second does, in no case.
// CHECK-LABEL: llvm.func @endless_between(
// CHECK: scf.for
// CHECK: scf.while
// CHECK: scf.for
// CHECK: llvm.return
llvm.func @endless_between(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %from = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %from to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    rmem.store @numbers, %n, %at align 8 : i64
  }
  %more = scf.while (%j = %n) : (i64) -> i64 {
    %on = arith.cmpi ne, %j, %from : i64
    scf.condition(%on) %j : i64
  } do {
  ^bb0(%j: i64):
    %next = arith.muli %j, %n : i64
    scf.yield %next : i64
  }
  scf.for unsigned %i = %from to %n step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    rmem.store @others, %more, %at align 8 : i64
  }
  llvm.return
}

// Three become one.
// CHECK-LABEL: llvm.func @three(
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: {rmem.fused}
// CHECK: llvm.return
llvm.func @three(%a: !llvm.ptr, %n: i64) {
  %from = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %from to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    rmem.store @numbers, %n, %at align 8 : i64
  }
  scf.for unsigned %i = %from to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    rmem.store @numbers, %i, %at align 8 : i64
  }
  scf.for unsigned %i = %from to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    rmem.store @numbers, %n, %at align 8 : i64
  }
  llvm.return
}

// A loop in a loop may never end.
// CHECK-LABEL: llvm.func @searching(
// CHECK: scf.for
// CHECK: scf.while
// CHECK: scf.for
// CHECK-NOT: {rmem.fused}
// CHECK: llvm.return
llvm.func @searching(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %from = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %from to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64
    %found = scf.while (%p = %v) : (i64) -> i64 {
      %more = arith.cmpi ne, %p, %n : i64
      scf.condition(%more) %p : i64
    } do {
    ^bb0(%p: i64):
      %next = arith.addi %p, %step : i64
      scf.yield %next : i64
    }
  }
  scf.for unsigned %i = %from to %n step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    rmem.store @others, %n, %at align 8 : i64
  }
  llvm.return
}

// Places are those of the loops: of what the second does, too.
// RUN: farside-opt %s --farside-fuse-loops --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=PLACES
// PLACES-LABEL: llvm.func @placed(
// PLACES: rmem.load @numbers, %{{.*}} loc("first.c":2:3)
// PLACES: rmem.load @others, %{{.*}} loc("second.c":4:5)
llvm.func @placed(%a: !llvm.ptr, %b: !llvm.ptr, %n: i64) {
  %from = arith.constant 0 : i64
  %step = arith.constant 1 : i64
  scf.for unsigned %i = %from to %n step %step : i64 {
    %at = llvm.getelementptr %a[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @numbers, %at align 8 : i64 loc("first.c":2:3)
  }
  scf.for unsigned %i = %from to %n step %step : i64 {
    %at = llvm.getelementptr %b[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %v = rmem.load @others, %at align 8 : i64 loc("second.c":4:5)
  }
  llvm.return
}
