// RUN: farside-opt --farside-hold-lines %s | FileCheck %s
rmem.cache_section @numbers capacity 65536 line 4096 ways 8 ahead 8
rmem.cache_section @last capacity 65536 line 4096 ways 8 ahead 8

// A row is gone through again in each turn of a loop: its line is held for all of them, if it is in one, and the rows behind it
// are sent for when it is come to. How long rows are is known when the program runs.
// CHECK-LABEL: llvm.func @rows
// CHECK: scf.for unsigned %[[ROW:.*]] =
// CHECK: scf.if %arg4
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[ROW]], %
// CHECK: %[[START:.*]] = arith.andi %{{.*}}, %[[FIRST]]
// CHECK: %[[TURNS:.*]] = rmem.turns @numbers, %[[AT:.*]] size 8 stride 8
// CHECK: %[[FITS:.*]] = arith.cmpi uge, %[[TURNS]], %arg2
// CHECK: arith.select %{{.*}}, %[[FITS]], %false
// CHECK: %[[LINE:.*]] = scf.if %{{.*}} -> (!llvm.ptr) {
// CHECK: rmem.ahead @numbers, %[[AT]], %{{.*}} start %[[START]]
// CHECK: rmem.hold @numbers, %[[AT]], %arg2
// CHECK: %[[HELD:.*]] = llvm.icmp "ne" %[[LINE]]
// CHECK: scf.for
// CHECK: scf.if %[[HELD]] {
// CHECK: scf.for
// CHECK-NOT: rmem.
// CHECK: llvm.getelementptr %[[LINE]]
// CHECK-NOT: rmem.
// CHECK: llvm.load
// CHECK-NOT: rmem.
// CHECK: } else {
// Where a row is in two lines, what comes behind it is sent for, all the same.
// CHECK: scf.while
// CHECK: scf.if
// CHECK-NEXT: %[[ALL:.*]] = arith.addi
// CHECK-NEXT: rmem.ahead @numbers, %{{.*}}, %[[ALL]]
// CHECK: scf.if %[[HELD]] {
// CHECK-NEXT: rmem.let_go @numbers, %[[LINE]]
// CHECK-NEXT: rmem.done @numbers, %[[AT]], %arg2
llvm.func @rows(%array: !llvm.ptr, %rows: i64, %length: i64, %again: i64, %any: i1) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for unsigned %row = %zero to %rows step %one : i64 {
    scf.if %any {
      scf.for unsigned %time = %zero to %again step %one : i64 {
        %before = llvm.mul %row, %length overflow<nsw> : i64
        %from = llvm.getelementptr %array[%before] : (!llvm.ptr, i64) -> !llvm.ptr, i64
        scf.for unsigned %i = %zero to %length step %one : i64 {
          %at = llvm.getelementptr %from[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
          %value = rmem.load @numbers, %at align 8 : i64
          llvm.call @note(%value) {memory_effects = #llvm.memory_effects<other = none, argMem = none, inaccessibleMem = none, errnoMem = none, targetMem0 = none, targetMem1 = none>} : (i64) -> ()
        }
      }
    }
  }
  llvm.return
}
llvm.func @note(i64)

// What is written is noted for all of the row at once, and an address that changes from turn to turn is no row. Of lines and rows
// that a loop goes through together each row is held or not: if it is, it is plain memory for the loop, and stays.
// CHECK-LABEL: llvm.func @sums
// CHECK: %[[ROW:.*]] = scf.if
// CHECK: rmem.hold @last, %{{.*}}, %arg2 size 8 stride 8 written
// CHECK: %[[HELD:.*]] = llvm.icmp "ne" %[[ROW]]
// CHECK: scf.for
// CHECK: scf.while
// CHECK: ^bb0(%[[TURN:.*]]: i64):
// CHECK: rmem.turns @numbers, %[[FROM:.*]] size
// CHECK: %[[THERE:.*]] = llvm.getelementptr %arg0[%[[TURN]]]
// CHECK: %[[WAY:.*]] = arith.muli %[[TURN]]
// CHECK: %[[HERE:.*]] = llvm.getelementptr %[[ROW]][%[[WAY]]]
// CHECK: %[[AT:.*]] = arith.select %[[HELD]], %[[HERE]], %[[THERE]]
// CHECK: rmem.turns @last, %[[AT]] size
// CHECK: %[[NUMBERS:.*]] = rmem.hold @numbers, %[[FROM]]
// CHECK: %[[SUMS:.*]] = rmem.hold @last, %[[AT]]
// CHECK: scf.for
// CHECK: llvm.load
// CHECK: llvm.load
// CHECK: llvm.store
// CHECK: } else {
// CHECK: rmem.store @last
// CHECK: rmem.let_go @numbers, %[[NUMBERS]]
// CHECK: %[[NONE:.*]] = llvm.mlir.zero
// CHECK: %[[ENDING:.*]] = arith.select %[[HELD]], %[[NONE]], %[[SUMS]]
// CHECK: rmem.let_go @last, %[[ENDING]]
// CHECK: scf.if %[[HELD]] {
// CHECK-NEXT: rmem.let_go @last, %[[ROW]]
llvm.func @sums(%sums: !llvm.ptr, %numbers: !llvm.ptr, %length: i64, %again: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for unsigned %time = %zero to %again step %one : i64 {
    scf.for unsigned %i = %zero to %length step %one : i64 {
      %before = llvm.mul %time, %length overflow<nsw> : i64
      %index = llvm.add %before, %i overflow<nsw> : i64
      %from = llvm.getelementptr %numbers[%index] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %value = rmem.load @numbers, %from align 8 : i64
      %at = llvm.getelementptr %sums[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %sum = rmem.load @last, %at align 8 : i64
      %more = llvm.add %sum, %value : i64
      rmem.store @last, %more, %at align 8 : i64
    }
  }
  llvm.return
}

// Where the loop in the loop is only come to in some turns, nothing is held for all of them: nor where it may not be there.
// CHECK-LABEL: llvm.func @sometimes
// CHECK-NOT: rmem.hold
// CHECK: scf.for
// CHECK-NOT: rmem.hold
// CHECK: scf.while
// CHECK: rmem.hold
llvm.func @sometimes(%array: !llvm.ptr, %length: i64, %again: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for unsigned %time = %zero to %again step %one : i64 {
    %odd = llvm.and %time, %one : i64
    %is_odd = llvm.icmp "eq" %odd, %one : i64
    scf.if %is_odd {
      scf.for unsigned %i = %zero to %length step %one : i64 {
        %at = llvm.getelementptr %array[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
        rmem.store @numbers, %i, %at align 8 : i64
      }
    }
  }
  llvm.return
}

// Rows of other lengths do not follow one another.
// CHECK-LABEL: llvm.func @triangle
// CHECK: scf.for
// CHECK: scf.while
// CHECK: %[[REST:.*]] = arith.subi
// CHECK: rmem.ahead @numbers, %{{.*}}, %[[REST]] start
llvm.func @triangle(%array: !llvm.ptr, %rows: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for unsigned %row = %zero to %rows step %one : i64 {
    %length = llvm.mul %row, %row : i64
    %before = llvm.mul %row, %length overflow<nsw> : i64
    scf.for unsigned %i = %zero to %length step %one : i64 {
      %index = llvm.add %before, %i overflow<nsw> : i64
      %at = llvm.getelementptr %array[%index] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      rmem.store @numbers, %i, %at align 8 : i64
    }
  }
  llvm.return
}
