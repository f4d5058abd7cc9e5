// Functions of the C library are lent local memory in place of what is in sections.
// RUN: farside-opt %s --farside-to-remote | FileCheck %s

rmem.cache_section @names capacity 65536 line 128 ways 2 ahead 8
rmem.cache_section @rows capacity 65536 line 4096 ways 1 ahead 8
llvm.func @strlen(!llvm.ptr) -> i64
llvm.func @strchr(!llvm.ptr, i32) -> !llvm.ptr
llvm.func @memcmp(!llvm.ptr, !llvm.ptr, i64) -> i32
llvm.func @fread(!llvm.ptr, i64, i64, !llvm.ptr) -> i64
llvm.func @grows(!llvm.ptr)
llvm.func @qsort(!llvm.ptr, i64, i64, !llvm.ptr)
llvm.func @fgets(!llvm.ptr, i32, !llvm.ptr) -> !llvm.ptr

// CHECK-LABEL: llvm.func @texts
llvm.func @texts(%name: !llvm.ptr, %byte: i32) -> !llvm.ptr {
  // CHECK: %[[LENT:.*]] = rmem.borrow @names %arg0 text
  // CHECK: llvm.call @strlen(%[[LENT]]) : (!llvm.ptr) -> i64
  // CHECK: rmem.give_back @names %arg0, %[[LENT]]{{$}}
  %length = llvm.call @strlen(%name) {rmem.in = @names, rmem.borrows = array<i32: 0, -1, -1, 1>} : (!llvm.ptr) -> i64
  // A result that leads into what was lent.
  // CHECK: %[[HERE:.*]] = rmem.borrow @names %arg0 text
  // CHECK: %[[FOUND:.*]] = llvm.call @strchr(%[[HERE]], %arg1)
  // CHECK: %[[START:.*]] = llvm.ptrtoint %[[HERE]]
  // CHECK: %[[END:.*]] = llvm.ptrtoint %[[FOUND]]
  // CHECK: %[[DISTANCE:.*]] = llvm.sub %[[END]], %[[START]]
  // CHECK: %[[THERE:.*]] = llvm.getelementptr %arg0[%[[DISTANCE]]]
  // CHECK: %[[NULL:.*]] = llvm.mlir.zero
  // CHECK: %[[IS:.*]] = llvm.icmp "eq" %[[FOUND]], %[[NULL]]
  // CHECK: %[[RESULT:.*]] = llvm.select %[[IS]], %[[NULL]], %[[THERE]]
  // CHECK: rmem.give_back @names %arg0, %[[HERE]]
  %found = llvm.call @strchr(%name, %byte) {rmem.in = @names, rmem.borrows = array<i32: 0, -1, -1, 1>, rmem.returns = 0 : i32} : (!llvm.ptr, i32) -> !llvm.ptr
  // CHECK: llvm.return %[[RESULT]]
  llvm.return %found : !llvm.ptr
}

// CHECK-LABEL: llvm.func @bytes
llvm.func @bytes(%one: !llvm.ptr, %other: !llvm.ptr, %size: i64, %file: !llvm.ptr, %short: i32) -> i32 {
  // CHECK: %[[ONE:.*]] = rmem.borrow @names %arg0 size %arg2
  // CHECK: %[[OTHER:.*]] = rmem.borrow @rows %arg1 size %arg2
  // CHECK: llvm.call @memcmp(%[[ONE]], %[[OTHER]], %arg2)
  // CHECK-DAG: rmem.give_back @names %arg0, %[[ONE]]{{$}}
  // CHECK-DAG: rmem.give_back @rows %arg1, %[[OTHER]]{{$}}
  %order = llvm.call @memcmp(%one, %other, %size) {rmem.in = @names, rmem.from = @rows, rmem.borrows = array<i32: 0, 2, -1, 0, 1, 2, -1, 0>} : (!llvm.ptr, !llvm.ptr, i64) -> i32
  // Only one of them is in a section.
  // CHECK: %[[ONLY:.*]] = rmem.borrow @rows %arg1 size %arg2
  // CHECK: llvm.call @memcmp(%arg0, %[[ONLY]], %arg2)
  // CHECK-NEXT: rmem.give_back @rows %arg1, %[[ONLY]]{{$}}
  %same = llvm.call @memcmp(%one, %other, %size) {rmem.from = @rows, rmem.borrows = array<i32: 0, 2, -1, 0, 1, 2, -1, 0>} : (!llvm.ptr, !llvm.ptr, i64) -> i32
  // CHECK: %[[ALL:.*]] = llvm.mul %arg2, %arg2
  // CHECK: %[[ROOM:.*]] = rmem.borrow @rows %arg1 size %[[ALL]]
  // CHECK: llvm.call @fread(%[[ROOM]], %arg2, %arg2, %arg3)
  // CHECK: rmem.give_back @rows %arg1, %[[ROOM]] written %[[ALL]]
  %read = llvm.call @fread(%other, %size, %size, %file) {rmem.in = @rows, rmem.borrows = array<i32: 0, 1, 2, 2>} : (!llvm.ptr, i64, i64, !llvm.ptr) -> i64
  // CHECK: %[[WIDE:.*]] = llvm.zext %arg4
  // CHECK: rmem.borrow @rows %arg1 size %[[WIDE]]
  %line = llvm.call @fgets(%other, %short, %file) {rmem.in = @rows, rmem.borrows = array<i32: 0, 1, -1, 2>, rmem.returns = 0 : i32} : (!llvm.ptr, i32, !llvm.ptr) -> !llvm.ptr
  // What functions of the program come to.
  // CHECK: %[[SORTED:.*]] = rmem.borrow @rows %arg1 size %{{.*}} copied
  // CHECK: llvm.call @qsort(%[[SORTED]], %arg2, %arg2, %arg3)
  // CHECK: rmem.give_back @rows %arg1, %[[SORTED]] written
  llvm.call @qsort(%other, %size, %size, %file) {rmem.in = @rows, rmem.borrows = array<i32: 0, 1, 2, 6>} : (!llvm.ptr, i64, i64, !llvm.ptr) -> ()
  // How long it is is known beforehand.
  // CHECK: %[[FIXED:.*]] = llvm.mlir.constant(16 : i64)
  // CHECK: %[[POLICY:.*]] = rmem.borrow @rows %arg1 size %[[FIXED]]
  // CHECK: llvm.call @grows(%[[POLICY]])
  // CHECK: rmem.give_back @rows %arg1, %[[POLICY]] written %[[FIXED]]
  llvm.call @grows(%other) {rmem.in = @rows, rmem.borrows = array<i32: 0, -1, -1, 4098>} : (!llvm.ptr) -> ()
  llvm.return %order : i32
}
