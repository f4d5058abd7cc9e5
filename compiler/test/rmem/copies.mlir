// Of a section with copies it is told behind all that is written, and before anything by which others may learn of it.
// RUN: farside-opt %s --farside-structure --farside-hold-lines | FileCheck %s --check-prefix=HOLD
// RUN: farside-opt %s --farside-share-lookups | FileCheck %s --check-prefix=SHARE
// RUN: farside-opt %s --farside-lower-remote | FileCheck %s --check-prefix=LOWER

// HOLD: rmem.cache_section @rmem.section.table capacity 65536 line 128 ways 2 ahead 8 copies
rmem.cache_section @rmem.section.table capacity 65536 line 128 ways 2 ahead 8 copies

// Lines are held, and let go.
// HOLD-LABEL: llvm.func @fill
// HOLD: rmem.hold @rmem.section.table
// HOLD: rmem.let_go @rmem.section.table
// HOLD-NEXT: rmem.changed @rmem.section.table
llvm.func @fill(%array: !llvm.ptr, %count: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^loop(%zero : i64)
^loop(%i: i64):
  %at = llvm.getelementptr %array[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  rmem.store @rmem.section.table, %i, %at align 8 : i64
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ne" %next, %count : i64
  llvm.cond_br %more, ^loop(%next : i64), ^end
^end:
  llvm.return
}

// So are rows, behind the loop that goes through them again and again.
// HOLD-LABEL: llvm.func @fill_again
// HOLD: %[[ROW:.*]] = scf.if
// HOLD: %[[HELD:.*]] = llvm.icmp "ne" %[[ROW]]
// HOLD: scf.for
// HOLD: scf.if %[[HELD]] {
// HOLD-NOT: rmem.changed
// HOLD: } else {
// HOLD: rmem.changed
// HOLD: scf.if %[[HELD]] {
// HOLD-NEXT: rmem.let_go @rmem.section.table, %[[ROW]]
// HOLD-NEXT: rmem.changed @rmem.section.table
llvm.func @fill_again(%array: !llvm.ptr, %count: i64, %times: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for unsigned %time = %zero to %times step %one : i64 {
    scf.for unsigned %i = %zero to %count step %one : i64 {
      %at = llvm.getelementptr %array[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      rmem.store @rmem.section.table, %time, %at align 8 : i64
    }
  }
  llvm.return
}

// What others may learn of each turn of is not held over it.
// HOLD-LABEL: llvm.func @publish
// HOLD-NOT: rmem.hold
// HOLD: rmem.store
llvm.func @publish(%array: !llvm.ptr, %count: i64, %last: !llvm.ptr) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^loop(%zero : i64)
^loop(%i: i64):
  %at = llvm.getelementptr %array[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  rmem.store @rmem.section.table, %i, %at align 8 : i64
  llvm.store %i, %last atomic release {alignment = 8 : i64} : i64, !llvm.ptr
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ne" %next, %count : i64
  llvm.cond_br %more, ^loop(%next : i64), ^end
^end:
  llvm.return
}

// Two lookups are one, but none behind what is atomic.
// SHARE-LABEL: llvm.func @update
// SHARE: rmem.here @rmem.section.table, %arg0 size 16 written
// SHARE: scf.if
// SHARE: llvm.store
// SHARE: llvm.store
// SHARE-NEXT: rmem.changed @rmem.section.table
// SHARE-NEXT: } else
// SHARE: rmem.store
// SHARE: rmem.store
// SHARE-NOT: rmem.changed
// SHARE: llvm.store %arg1, %arg2 atomic release
// SHARE: rmem.store
// LOWER-LABEL: llvm.func @update
// LOWER: llvm.store %arg1, %[[AT:.*]] {alignment
// LOWER-NEXT: llvm.call @farside_rt_written(
// LOWER-NEXT: %[[COPIED:.*]] = llvm.mlir.addressof @farside.copied.table
// LOWER-NEXT: llvm.call @farside_rt_changed(%[[COPIED]])
// LOWER: llvm.store %arg1, %arg2 atomic release
llvm.func @update(%node: !llvm.ptr, %value: i64, %flag: !llvm.ptr) {
  %second = llvm.getelementptr %node[8] : (!llvm.ptr) -> !llvm.ptr, i8
  rmem.store @rmem.section.table, %value, %node align 8 : i64
  rmem.store @rmem.section.table, %value, %second align 8 : i64
  llvm.store %value, %flag atomic release {alignment = 8 : i64} : i64, !llvm.ptr
  rmem.store @rmem.section.table, %value, %second align 8 : i64
  llvm.return
}

// LOWER-LABEL: llvm.func @others
// LOWER: llvm.call @farside_rt_fill
// LOWER: llvm.call @farside_rt_changed
// LOWER: llvm.call @farside_rt_move
// LOWER: llvm.call @farside_rt_changed
// LOWER: llvm.call @farside_rt_move
// LOWER-NOT: llvm.call @farside_rt_changed
// LOWER: llvm.call @farside_rt_give_back_written
// LOWER: llvm.call @farside_rt_changed
// LOWER: llvm.call @farside_rt_give_back(
// LOWER-NOT: llvm.call @farside_rt_changed
// LOWER: llvm.return
llvm.func @others(%node: !llvm.ptr, %byte: i8, %size: i64, %plain: !llvm.ptr) {
  rmem.fill @rmem.section.table, %node, %byte, %size
  rmem.move to @rmem.section.table %node, from %plain, %size
  rmem.move to %plain, from @rmem.section.table %node, %size
  %here = rmem.borrow @rmem.section.table %node size %size
  rmem.give_back @rmem.section.table %node, %here written %size
  %text = rmem.borrow @rmem.section.table %node text
  rmem.give_back @rmem.section.table %node, %text
  llvm.return
}
