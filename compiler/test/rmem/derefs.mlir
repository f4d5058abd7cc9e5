// What translates a pointer is taken apart, and what sends for its line comes to where the pointer is known.
// RUN: farside-opt %s --farside-expand-derefs | FileCheck %s

rmem.cache_section @nodes capacity 65536 line 128 ways 2 ahead 8

llvm.func @work()

// CHECK-LABEL: llvm.func @early
// CHECK: %[[NODE:.*]] = llvm.load %arg0
// CHECK-NEXT: rmem.fetch_if_not_in_cache @nodes, %[[NODE]]
// CHECK: llvm.mul
// CHECK-NEXT: rmem.wait @nodes, %[[NODE]]
// CHECK-NEXT: %[[AT:.*]] = rmem.paddr @nodes, %[[NODE]] size 8
// CHECK-NEXT: llvm.load %[[AT]]
llvm.func @early(%list: !llvm.ptr, %number: i64) -> i64 {
  %node = llvm.load %list : !llvm.ptr -> !llvm.ptr
  %square = llvm.mul %number, %number : i64
  %at = rmem.deref @nodes, %node size 8
  %value = llvm.load %at : !llvm.ptr -> i64
  %sum = llvm.add %square, %value : i64
  llvm.return %sum : i64
}

// A call may do anything to the section, and so may sending for another line.
// CHECK-LABEL: llvm.func @between
// CHECK: llvm.call @work
// CHECK-NEXT: rmem.fetch_if_not_in_cache @nodes, %arg0
// CHECK-NEXT: rmem.wait @nodes, %arg0
// CHECK-NEXT: rmem.paddr @nodes, %arg0 size 8 written
// CHECK-NEXT: llvm.store
// CHECK-NEXT: rmem.fetch_if_not_in_cache @nodes, %arg1
// CHECK-NEXT: rmem.wait @nodes, %arg1
// CHECK-NOT: rmem.deref
llvm.func @between(%one: !llvm.ptr, %other: !llvm.ptr, %number: i64) -> i64 {
  llvm.call @work() : () -> ()
  %at = rmem.deref @nodes, %one size 8 written
  llvm.store %number, %at : i64, !llvm.ptr
  %next = rmem.deref @nodes, %other size 8
  %value = llvm.load %next : !llvm.ptr -> i64
  llvm.return %value : i64
}
