// What a loop passes on twice with its condition is the same value both times, whether it goes on or not.
// RUN: farside-opt --farside-structure %s | FileCheck %s

// CHECK-LABEL: @passed_on_twice
// CHECK: scf.while
// CHECK: %[[VALUE:.*]] = scf.if
// CHECK: scf.condition(%{{.*}}) %[[VALUE]]
llvm.func @passed_on_twice() -> i64 {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c20 = arith.constant 20 : i64
  %last:3 = scf.while (%state = %c0) : (i64) -> (i64, i64, i64) {
    %goes_on = arith.cmpi slt, %state, %c1 : i64
    %value = scf.if %goes_on -> i64 {
      %next = arith.addi %state, %c2 : i64
      scf.yield %next : i64
    } else {
      scf.yield %c20 : i64
    }
    scf.condition(%goes_on) %value, %value, %state : i64, i64, i64
  } do {
  ^bb0(%first: i64, %second: i64, %old: i64):
    scf.yield %second : i64
  }
  llvm.return %last#2 : i64
}
