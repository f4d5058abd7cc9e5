// Every operation is printed as it is read.
// RUN: farside-opt %s | farside-opt | FileCheck %s

// CHECK: rmem.section @nodes capacity 65536 line 128 ways 2 ahead 8
rmem.section @nodes capacity 65536 line 128 ways 2 ahead 8

// CHECK-LABEL: llvm.func @all
llvm.func @all(%size: i64, %byte: i8, %plain: !llvm.ptr) {
  // CHECK: %[[BLOCK:.*]] = rmem.alloc @nodes, %arg0
  %block = rmem.alloc @nodes, %size
  // CHECK: rmem.try_alloc @nodes, %arg0
  %room = rmem.try_alloc @nodes, %size
  // CHECK: rmem.try_alloc @nodes, %arg0 align %arg0
  %aligned = rmem.try_alloc @nodes, %size align %size
  // CHECK: rmem.alloc_zeroed @nodes, %arg0, %arg0
  %zeroed = rmem.alloc_zeroed @nodes, %size, %size
  // CHECK: rmem.realloc @nodes, %{{.*}}, %arg0
  %grown = rmem.realloc @nodes, %zeroed, %size
  // CHECK: %[[VALUE:.*]] = rmem.load @nodes, %[[BLOCK]] align 4 : i32
  %value = rmem.load @nodes, %block align 4 : i32
  // CHECK: rmem.store @nodes, %[[VALUE]], %[[BLOCK]] align 4 : i32
  rmem.store @nodes, %value, %block align 4 : i32
  // CHECK: rmem.move to @nodes %[[BLOCK]], from %arg2, %arg0
  rmem.move to @nodes %block, from %plain, %size
  // CHECK: rmem.move to %arg2, from @nodes %[[BLOCK]], %arg0
  rmem.move to %plain, from @nodes %block, %size
  // CHECK: rmem.fill @nodes, %[[BLOCK]], %arg1, %arg0
  rmem.fill @nodes, %block, %byte, %size
  // CHECK: rmem.follow @nodes, %[[BLOCK]]
  rmem.follow @nodes, %block
  // CHECK: rmem.done @nodes, %[[BLOCK]], %arg0 of %arg0 stride -8
  rmem.done @nodes, %block, %size of %size stride -8
  // CHECK: %[[REST:.*]] = rmem.release @nodes, %[[BLOCK]]
  %rest = rmem.release @nodes, %block
  llvm.return
}
