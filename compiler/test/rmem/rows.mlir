// RUN: farside-opt --farside-hold-rows %s | FileCheck %s
// RUN: farside-opt --farside-hold-rows --farside-hold-lines %s | FileCheck %s --check-prefix=LINES
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
// CHECK: scf.if %{{.*}} {
// CHECK: scf.for
// CHECK: scf.for
// CHECK-NOT: rmem.load
// CHECK: llvm.load
// CHECK: rmem.done @numbers, %[[AT]], %arg2
// CHECK: } else {
// CHECK: scf.for
// CHECK: scf.for
// CHECK: rmem.load @numbers
// CHECK: } {rmem.does_the_same}
// CHECK: rmem.let_go @numbers, %[[LINE]]

// Where a row is in two lines, what comes behind it is sent for, all the same.
// LINES-LABEL: llvm.func @rows
// LINES: } else {
// LINES: scf.while
// LINES: scf.if
// LINES-NEXT: %[[ALL:.*]] = arith.addi
// LINES-NEXT: rmem.ahead @numbers, %{{.*}}, %[[ALL]]
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

// What is written is noted for all of the row at once, and an address that changes from turn to turn is no row.
// CHECK-LABEL: llvm.func @sums
// CHECK: rmem.hold @last, %{{.*}}, %arg2 size 8 stride 8 written
// CHECK-NOT: rmem.hold
// CHECK: rmem.load @numbers
// CHECK: llvm.load
// CHECK: llvm.store
// CHECK: } else {
// CHECK: rmem.store @last
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
// LINES-LABEL: llvm.func @triangle
// LINES: scf.for
// LINES: scf.while
// LINES: %[[REST:.*]] = arith.subi
// LINES: rmem.ahead @numbers, %{{.*}}, %[[REST]] start
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
