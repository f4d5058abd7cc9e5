// Loops send for what later turns come to, if lately something was missing.
// RUN: farside-opt %s --farside-structure --farside-hold-lines --farside-send-ahead | FileCheck %s

rmem.cache_section @numbers capacity 65536 line 4096 ways 1 ahead 8
rmem.cache_section @nodes capacity 65536 line 128 ways 2 ahead 8
rmem.cache_section @small capacity 640 line 128 ways 1 ahead 0
rmem.cache_section @batches capacity 65536 line 128 ways 2 ahead 8 batch 4
rmem.cache_section @few capacity 4096 line 128 ways 1 ahead 8

llvm.func @work(i64)

// What pointers lead to that are loaded from a line that is held: with each turn for a later one, and for all turns until then
// where it has become worthwhile. How far ahead is found out anew with how long turns took; no turn is sent for twice.
// CHECK-LABEL: llvm.func @lead
// CHECK: %[[LINE:.*]] = rmem.hold @numbers
// CHECK: %[[NEVER:.*]] = arith.constant -1
// CHECK: scf.for unsigned %[[TURN:[a-z0-9]*]] = {{.*}} to %[[END:[a-z0-9]*]] {{.*}} iter_args({{.*}}, %[[ASKED:.*]] = %{{.*}}, %[[BEFORE:.*]] = %{{.*}}, %[[UNSENT:.*]] = %[[NEVER]])
// CHECK: %[[TIME:.*]] = scf.if %[[ASKS:.*]] -> (i64) {
// CHECK: rmem.clock
// CHECK: scf.yield %[[ASKED]]
// CHECK: %[[DISTANCE:.*]]:2 = scf.if %[[ASKS]] -> (i64, i64) {
// CHECK: %[[MISSES:.*]] = rmem.misses @nodes
// CHECK: scf.if %[[MISSES]] -> (i64, i64) {
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[UNSENT]]
// CHECK: %[[SINCE:.*]] = arith.select %[[FIRST]], %{{.*}}, %[[ASKED]]
// CHECK: %[[COMING:.*]] = rmem.turns_until_here @nodes, %[[SINCE]] turns 64
// CHECK: %[[MOST:.*]] = arith.constant 64
// CHECK: %[[FAR:.*]] = arith.minui %[[COMING]], %[[MOST]]
// CHECK: %[[FROM:.*]] = arith.select %[[FIRST]], %[[TURN]], %[[UNSENT]]
// CHECK: scf.yield %[[FAR]], %[[FROM]]
// CHECK: scf.yield %[[BEFORE]], %{{.*}}
// CHECK: scf.yield %[[BEFORE]], %[[UNSENT]]
// CHECK: %[[LAST:.*]] = arith.addi %[[TURN]], %[[DISTANCE]]#0
// CHECK: %[[TO:.*]] = arith.addi %[[LAST]], %{{.*}}
// CHECK: %[[HERE:.*]] = arith.minui %[[TO]], %[[END]]
// CHECK: scf.for unsigned %[[LATER:.*]] = %[[DISTANCE]]#1 to %[[HERE]]
// CHECK: %[[WAY:.*]] = arith.muli %[[LATER]]
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[LINE]][%[[WAY]]]
// CHECK: %[[NODE:.*]] = llvm.load %[[AT]]
// CHECK: %[[FIELD:.*]] = llvm.getelementptr %[[NODE]][16]
// CHECK: %[[KNOWN:.*]] = llvm.freeze %[[FIELD]]
// CHECK: rmem.fetch_if_not_in_cache @nodes, %[[KNOWN]] together 16
// CHECK: arith.maxui %[[DISTANCE]]#1, %[[TO]]
// CHECK-NOT: rmem.fetch_if_not_in_cache
// CHECK: rmem.load @nodes
llvm.func @lead(%array: !llvm.ptr, %count: i64) -> i64 {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^loop(%zero, %zero : i64, i64)
^loop(%i: i64, %sum: i64):
  %at = llvm.getelementptr %array[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %node = rmem.load @numbers, %at align 8 : !llvm.ptr
  %field = llvm.getelementptr %node[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %value = rmem.load @nodes, %field align 8 : i64
  %more_sum = llvm.add %sum, %value : i64
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ne" %next, %count : i64
  llvm.cond_br %more, ^loop(%next, %more_sum : i64, i64), ^end
^end:
  llvm.return %more_sum : i64
}

// Together with as many as the section says.
// CHECK-LABEL: llvm.func @lead_by_four
// CHECK: rmem.fetch_if_not_in_cache @batches, %{{.*}} together 4
llvm.func @lead_by_four(%array: !llvm.ptr, %count: i64) -> i64 {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^loop(%zero, %zero : i64, i64)
^loop(%i: i64, %sum: i64):
  %at = llvm.getelementptr %array[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %node = rmem.load @numbers, %at align 8 : !llvm.ptr
  %field = llvm.getelementptr %node[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %value = rmem.load @batches, %field align 8 : i64
  %more_sum = llvm.add %sum, %value : i64
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ne" %next, %count : i64
  llvm.cond_br %more, ^loop(%next, %more_sum : i64, i64), ^end
^end:
  llvm.return %more_sum : i64
}

// Nothing is sent for where the section file says so.
// CHECK-LABEL: llvm.func @lead_to_small
// CHECK-NOT: rmem.fetch_if_not_in_cache
// CHECK: llvm.return
llvm.func @lead_to_small(%array: !llvm.ptr, %count: i64) -> i64 {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^loop(%zero, %zero : i64, i64)
^loop(%i: i64, %sum: i64):
  %at = llvm.getelementptr %array[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %node = rmem.load @numbers, %at align 8 : !llvm.ptr
  %value = rmem.load @small, %node align 8 : i64
  %more_sum = llvm.add %sum, %value : i64
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ne" %next, %count : i64
  llvm.cond_br %more, ^loop(%next, %more_sum : i64, i64), ^end
^end:
  llvm.return %more_sum : i64
}

// Records of several lines, in a loop that holds none, and of a section of few lines.
// CHECK-LABEL: llvm.func @records
// CHECK: scf.for unsigned %[[TURN:[a-z0-9]*]] =
// CHECK: %[[DISTANCE:.*]]:2 = scf.if
// CHECK: rmem.misses @few
// CHECK: %[[MOST:.*]] = arith.constant 4
// CHECK: arith.minui %{{.*}}, %[[MOST]]
// CHECK: arith.addi %[[TURN]], %[[DISTANCE]]#0
// CHECK: scf.for unsigned %[[LATER:.*]] = %[[DISTANCE]]#1 to
// CHECK: llvm.getelementptr %arg0[%[[LATER]]]
// CHECK: rmem.fetch_if_not_in_cache @few
// CHECK-NOT: rmem.fetch_if_not_in_cache
// CHECK: rmem.load @few
// CHECK: llvm.call @work
llvm.func @records(%array: !llvm.ptr, %count: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^loop(%zero : i64)
^loop(%i: i64):
  %at = llvm.getelementptr %array[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<40 x i64>
  %value = rmem.load @few, %at align 8 : i64
  %second_at = llvm.getelementptr %at[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %second = rmem.load @few, %second_at align 8 : i64
  %both = llvm.add %value, %second : i64
  llvm.call @work(%both) : (i64) -> ()
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ne" %next, %count : i64
  llvm.cond_br %more, ^loop(%next : i64), ^end
^end:
  llvm.return
}

// What is found by way of a section is sent for if that is here, and that is sent for earlier.
// CHECK-LABEL: llvm.func @levels
// CHECK: scf.for unsigned %[[TURN:[a-z0-9]*]] = {{.*}} iter_args
// CHECK: %[[DISTANCE:.*]]:4 = scf.if %{{.*}} -> (i64, i64, i64, i64)
// CHECK: rmem.misses @nodes
// CHECK: %[[COMING:.*]] = rmem.turns_until_here @nodes
// CHECK: %[[MOST:.*]] = arith.constant 32
// CHECK: %[[EACH:.*]] = arith.minui %[[COMING]], %[[MOST]]
// CHECK: %[[TWO:.*]] = arith.constant 2
// CHECK: %[[TWICE:.*]] = arith.muli %[[EACH]], %[[TWO]]
// CHECK: %[[MOST_OF_OTHER:.*]] = arith.constant 32
// CHECK: %[[ONCE:.*]] = arith.minui %[[COMING]], %[[MOST_OF_OTHER]]
// CHECK: scf.yield %[[TWICE]], %{{.*}}, %[[ONCE]], %{{.*}}
// CHECK: arith.addi %[[TURN]], %[[DISTANCE]]#0
// CHECK: scf.for unsigned %{{.*}} = %[[DISTANCE]]#1 to
// CHECK: llvm.load
// CHECK: rmem.fetch_if_not_in_cache @nodes
// CHECK: arith.addi %[[TURN]], %[[DISTANCE]]#2
// CHECK: scf.for unsigned %{{.*}} = %[[DISTANCE]]#3 to
// CHECK: %[[INDEX:.*]] = llvm.load
// CHECK: %[[WHERE:.*]] = llvm.getelementptr %arg1[%[[INDEX]]]
// CHECK: %[[KNOWN:.*]] = llvm.freeze %[[WHERE]]
// CHECK: %[[HERE:.*]] = rmem.peek @nodes, %[[KNOWN]] size 8
// CHECK: llvm.icmp "ne" %[[HERE]]
// CHECK: scf.if
// CHECK: llvm.load %[[HERE]]
// CHECK: rmem.fetch_if_not_in_cache @nodes
// CHECK: rmem.load @nodes
llvm.func @levels(%indices: !llvm.ptr, %firsts: !llvm.ptr, %seconds: !llvm.ptr, %count: i64) -> i64 {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^loop(%zero, %zero : i64, i64)
^loop(%i: i64, %sum: i64):
  %at = llvm.getelementptr %indices[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %index = rmem.load @numbers, %at align 8 : i64
  %first_at = llvm.getelementptr %firsts[%index] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %first = rmem.load @nodes, %first_at align 8 : i64
  %second_at = llvm.getelementptr %seconds[%first] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %second = rmem.load @nodes, %second_at align 8 : i64
  %more_sum = llvm.add %sum, %second : i64
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ne" %next, %count : i64
  llvm.cond_br %more, ^loop(%next, %more_sum : i64, i64), ^end
^end:
  llvm.return %more_sum : i64
}

// Plain memory is not read for it where it may be gone by then, or was no address for certain.
// CHECK-LABEL: llvm.func @plain
// CHECK-NOT: rmem.fetch_if_not_in_cache
// CHECK: llvm.return
llvm.func @plain(%indices: !llvm.ptr, %nodes: !llvm.ptr, %count: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^loop(%zero : i64)
^loop(%i: i64):
  %at = llvm.getelementptr %indices[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %index = llvm.load %at : !llvm.ptr -> i64
  %node_at = llvm.getelementptr %nodes[%index] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %node = rmem.load @nodes, %node_at align 8 : i64
  llvm.call @work(%node) : (i64) -> ()
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ne" %next, %count : i64
  llvm.cond_br %more, ^loop(%next : i64), ^end
^end:
  llvm.return
}

// CHECK-LABEL: llvm.func @followed
// CHECK: rmem.misses @nodes
// CHECK-NOT: rmem.misses
// CHECK: rmem.load @nodes
llvm.func @followed(%nodes: !llvm.ptr, %count: i64) -> i64 {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^loop(%zero, %zero : i64, i64)
^loop(%i: i64, %sum: i64):
  %at = llvm.getelementptr %nodes[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<16 x i64>
  %index = rmem.load @nodes, %at align 8 : !llvm.ptr
  %plain = llvm.load %index : !llvm.ptr -> !llvm.ptr
  %node = rmem.load @small, %plain align 8 : i64
  %other_at = llvm.load %plain : !llvm.ptr -> !llvm.ptr
  %other = rmem.load @few, %other_at align 8 : i64
  %both = llvm.add %node, %other : i64
  %more_sum = llvm.add %sum, %both : i64
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ne" %next, %count : i64
  llvm.cond_br %more, ^loop(%next, %more_sum : i64, i64), ^end
^end:
  llvm.return %more_sum : i64
}

// Where a search begins in a later turn is known by then, as the search of this turn is not: as far ahead as if there were no loop
// in the loop, since it is short.
// CHECK-LABEL: llvm.func @searches
// CHECK: %[[LINE:.*]] = rmem.hold @numbers
// CHECK: scf.for unsigned %[[TURN:[a-z0-9]*]] = {{.*}} iter_args
// CHECK: %[[DISTANCE:.*]]:2 = scf.if
// CHECK: rmem.misses @nodes
// CHECK: rmem.turns_until_here @nodes
// CHECK: arith.addi %[[TURN]], %[[DISTANCE]]#0
// CHECK: scf.for unsigned %[[LATER:.*]] = %[[DISTANCE]]#1 to
// CHECK: %[[WAY:.*]] = arith.muli %[[LATER]]
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[LINE]][%[[WAY]]]
// CHECK: %[[KEY:.*]] = llvm.load %[[AT]]
// CHECK: %[[ENTRY:.*]] = llvm.getelementptr %arg1[%[[KEY]]]
// CHECK: %[[KNOWN:.*]] = llvm.freeze %[[ENTRY]]
// CHECK: rmem.fetch_if_not_in_cache @nodes, %[[KNOWN]]
// CHECK: scf.while
// CHECK: rmem.load @nodes
llvm.func @searches(%array: !llvm.ptr, %table: !llvm.ptr, %count: i64) -> i64 {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^loop(%zero, %zero : i64, i64)
^loop(%i: i64, %sum: i64):
  %at = llvm.getelementptr %array[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %key = rmem.load @numbers, %at align 8 : i64
  llvm.br ^probe(%key : i64)
^probe(%place: i64):
  %entry = llvm.getelementptr %table[%place] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %there = rmem.load @nodes, %entry align 8 : i64
  %next_place = llvm.add %place, %one : i64
  %found = llvm.icmp "eq" %there, %key : i64
  llvm.cond_br %found, ^found, ^probe(%next_place : i64)
^found:
  %more_sum = llvm.add %sum, %place : i64
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ne" %next, %count : i64
  llvm.cond_br %more, ^loop(%next, %more_sum : i64, i64), ^end
^end:
  llvm.return %more_sum : i64
}
