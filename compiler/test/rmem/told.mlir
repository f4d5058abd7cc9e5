// A loop holds lines for accesses whose steps are not seen but told, if it is the loop of which they were told.
// RUN: farside-opt %s --farside-structure --farside-hold-lines | FileCheck %s

rmem.cache_section @numbers capacity 65536 line 4096 ways 1 ahead 8

// CHECK-LABEL: llvm.func @told
// CHECK: rmem.hold @numbers, %{{.*}}, %{{.*}} size 8 stride 24
llvm.func @told(%array: !llvm.ptr, %count: i64) -> i64 {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %three = llvm.mlir.constant(3 : i32) : i32
  llvm.br ^loop(%zero, %zero : i64, i64)
^loop(%i: i64, %sum: i64):
  %short = llvm.trunc %i : i64 to i32
  %by_three = llvm.mul %short, %three : i32
  %index = llvm.zext %by_three : i32 to i64
  %at = llvm.getelementptr %array[%index] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %value = rmem.load @numbers, %at align 8 {rmem.access = array<i64: 7, 24>} : i64
  %more_sum = llvm.add %sum, %value : i64
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ne" %next, %count : i64
  llvm.cond_br %more, ^loop(%next, %more_sum : i64, i64), ^end {rmem.loop = array<i64: 7>}
^end:
  llvm.return %more_sum : i64
}

// It was in a loop within this one that is not there any more.
// CHECK-LABEL: llvm.func @of_another
// CHECK-NOT: rmem.hold
// CHECK: rmem.load @numbers
llvm.func @of_another(%array: !llvm.ptr, %count: i64) -> i64 {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %three = llvm.mlir.constant(3 : i32) : i32
  llvm.br ^loop(%zero, %zero : i64, i64)
^loop(%i: i64, %sum: i64):
  %short = llvm.trunc %i : i64 to i32
  %by_three = llvm.mul %short, %three : i32
  %index = llvm.zext %by_three : i32 to i64
  %at = llvm.getelementptr %array[%index] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %value = rmem.load @numbers, %at align 8 {rmem.access = array<i64: 8, 24>} : i64
  %more_sum = llvm.add %sum, %value : i64
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ne" %next, %count : i64
  llvm.cond_br %more, ^loop(%next, %more_sum : i64, i64), ^end {rmem.loop = array<i64: 7>}
^end:
  llvm.return %more_sum : i64
}

// What an index is loaded from moves, and what it leads to does not by the same.
// CHECK-LABEL: llvm.func @carried
// CHECK-NOT: rmem.hold
// CHECK: llvm.return
llvm.func @carried(%array: !llvm.ptr, %count: i64) -> i64 {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^loop(%zero, %zero : i64, i64)
^loop(%i: i64, %sum: i64):
  %at = llvm.getelementptr %array[%sum] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %value = rmem.load @numbers, %at align 8 {rmem.access = array<i64: 7, 8>} : i64
  %more_sum = llvm.xor %sum, %value : i64
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ne" %next, %count : i64
  llvm.cond_br %more, ^loop(%next, %more_sum : i64, i64), ^end {rmem.loop = array<i64: 7>}
^end:
  llvm.return %more_sum : i64
}
