// Loops that go from node to node send for the next one as soon as they are at one, if there is something to do meanwhile.
// RUN: farside-opt %s --farside-structure --farside-chase-pointers | FileCheck %s
// RUN: farside-opt %s --farside-structure --farside-chase-pointers --farside-share-lookups | FileCheck %s --check-prefix=SHARED

rmem.cache_section @nodes capacity 65536 line 64 ways 2 ahead 8
rmem.cache_section @patient capacity 65536 line 64 ways 2 ahead 0

llvm.func @work(i64)

// CHECK-LABEL: llvm.func @list
// CHECK: scf.while (%[[NODE:.*]] =
// CHECK-NEXT: rmem.load @nodes, %[[NODE]] align 8 : i64
// CHECK-NEXT: %[[EIGHT:.*]] = llvm.mlir.constant(8 : i64)
// CHECK-NEXT: %[[NEXT:.*]] = llvm.getelementptr %[[NODE]][%[[EIGHT]]]
// CHECK-NEXT: rmem.follow @nodes, %[[NEXT]]
// CHECK: llvm.call @work
// What is sent for may take the place of what has been looked up, and comes behind its use.
// SHARED-LABEL: llvm.func @list
// SHARED: rmem.here @nodes
// SHARED: scf.if
// SHARED: rmem.follow @nodes
// SHARED: llvm.call @work
llvm.func @list(%head: !llvm.ptr) {
  llvm.br ^loop(%head : !llvm.ptr)
^loop(%node: !llvm.ptr):
  %null = llvm.mlir.zero : !llvm.ptr
  %value = rmem.load @nodes, %node align 8 : i64
  %other_at = llvm.getelementptr %node[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %other = rmem.load @nodes, %other_at align 8 : i64
  %both = llvm.add %value, %other : i64
  llvm.call @work(%both) : (i64) -> ()
  %next_at = llvm.getelementptr %node[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %next = rmem.load @nodes, %next_at align 8 : !llvm.ptr
  %more = llvm.icmp "ne" %next, %null : !llvm.ptr
  llvm.cond_br %more, ^loop(%next : !llvm.ptr), ^end
^end:
  llvm.return
}

// The condition comes first, and the node is come to in a branch.
// CHECK-LABEL: llvm.func @tested
// CHECK: rmem.load @nodes, %{{.*}} align 8 : !llvm.ptr
// CHECK-NEXT: rmem.follow @nodes
// CHECK-NEXT: llvm.call @work
llvm.func @tested(%head: !llvm.ptr) {
  llvm.br ^test(%head : !llvm.ptr)
^test(%node: !llvm.ptr):
  %null = llvm.mlir.zero : !llvm.ptr
  %one = llvm.mlir.constant(1 : i64) : i64
  %more = llvm.icmp "ne" %node, %null : !llvm.ptr
  llvm.cond_br %more, ^loop, ^end
^loop:
  %next = rmem.load @nodes, %node align 8 : !llvm.ptr
  llvm.call @work(%one) : (i64) -> ()
  llvm.br ^test(%next : !llvm.ptr)
^end:
  llvm.return
}

// There is nothing to do until it is needed; of this section nothing is to be sent for; it does not go on to where the pointer
// leads; the pointer is not one of the node.
// CHECK-LABEL: llvm.func @at_once
// CHECK-NOT: rmem.follow
llvm.func @at_once(%head: !llvm.ptr) -> i64 {
  %zero = llvm.mlir.constant(0 : i64) : i64
  llvm.br ^loop(%head, %zero : !llvm.ptr, i64)
^loop(%node: !llvm.ptr, %sum: i64):
  %null = llvm.mlir.zero : !llvm.ptr
  %value = rmem.load @nodes, %node align 8 : i64
  %all = llvm.add %sum, %value : i64
  %next_at = llvm.getelementptr %node[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %next = rmem.load @nodes, %next_at align 8 : !llvm.ptr
  %more = llvm.icmp "ne" %next, %null : !llvm.ptr
  llvm.cond_br %more, ^loop(%next, %all : !llvm.ptr, i64), ^end
^end:
  llvm.return %all : i64
}
llvm.func @not_ahead(%head: !llvm.ptr) {
  llvm.br ^loop(%head : !llvm.ptr)
^loop(%node: !llvm.ptr):
  %null = llvm.mlir.zero : !llvm.ptr
  %value = rmem.load @patient, %node align 8 : i64
  llvm.call @work(%value) : (i64) -> ()
  %next_at = llvm.getelementptr %node[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %next = rmem.load @patient, %next_at align 8 : !llvm.ptr
  %more = llvm.icmp "ne" %next, %null : !llvm.ptr
  llvm.cond_br %more, ^loop(%next : !llvm.ptr), ^end
^end:
  llvm.return
}
llvm.func @elsewhere(%head: !llvm.ptr, %other: !llvm.ptr) {
  llvm.br ^loop(%head : !llvm.ptr)
^loop(%node: !llvm.ptr):
  %null = llvm.mlir.zero : !llvm.ptr
  %value = rmem.load @nodes, %node align 8 : i64
  llvm.call @work(%value) : (i64) -> ()
  %next = rmem.load @nodes, %other align 8 : !llvm.ptr
  %more = llvm.icmp "ne" %next, %null : !llvm.ptr
  llvm.cond_br %more, ^loop(%next : !llvm.ptr), ^end
^end:
  llvm.return
}
