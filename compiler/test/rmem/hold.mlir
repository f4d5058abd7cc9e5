// Loops that go through lines look each up once, and send for those that they come to.
// RUN: farside-opt %s --farside-structure --farside-hold-lines | FileCheck %s

// CHECK: #[[SAID:.*]] = #llvm.loop_annotation<mustProgress = true>
rmem.cache_section @numbers capacity 65536 line 4096 ways 1 ahead 8
rmem.cache_section @nodes capacity 65536 line 128 ways 2 ahead 8
rmem.cache_section @small capacity 640 line 128 ways 1 ahead 0
rmem.cache_section @keeping capacity 65536 line 128 ways 2 ahead 8 keep

// CHECK-LABEL: llvm.func @sum
// CHECK: scf.while
// CHECK: %[[FROM:.*]] = llvm.getelementptr %arg0
// CHECK: %[[LAST:.*]] = rmem.turns @numbers, %[[FROM]] size 8 stride 8
// CHECK: %[[TURNS:.*]] = arith.minui %{{.*}}, %[[LAST]]
// CHECK: rmem.ahead @numbers, %[[FROM]], %{{.*}} start %{{.*}} size 8 stride 8
// CHECK: %[[LINE:.*]] = rmem.hold @numbers, %[[FROM]], %[[TURNS]] size 8 stride 8 written
// CHECK: scf.if
// CHECK: scf.for unsigned %{{.*}} to %[[TURNS]]
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[LINE]]
// CHECK: llvm.load %[[AT]]
// CHECK: llvm.store %{{.*}}, %[[AT]]
// CHECK: else
// CHECK: rmem.load @numbers, %{{.*}} align 8 apart
// CHECK: rmem.store @numbers, %{{.*}} align 8 apart
// CHECK: rmem.let_go @numbers, %[[LINE]]
llvm.func @sum(%array: !llvm.ptr, %count: i64) -> i64 {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^loop(%zero, %zero : i64, i64)
^loop(%i: i64, %sum: i64):
  %at = llvm.getelementptr %array[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %value = rmem.load @numbers, %at align 8 : i64
  %more_sum = llvm.add %sum, %value : i64
  rmem.store @numbers, %more_sum, %at align 8 : i64
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ne" %next, %count : i64
  llvm.cond_br %more, ^loop(%next, %more_sum : i64, i64), ^end
^end:
  llvm.return %more_sum : i64
}

// What is said of a loop is said of the one that goes through what is held.
// CHECK-LABEL: llvm.func @told
// CHECK: scf.if
// CHECK: scf.for unsigned
// CHECK: llvm.store
// CHECK-NEXT: } {llvm.loop_annotation = #[[SAID]]}
// CHECK: else
#said = #llvm.loop_annotation<mustProgress = true>
llvm.func @told(%array: !llvm.ptr, %count: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^loop(%zero : i64)
^loop(%i: i64):
  %at = llvm.getelementptr %array[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  rmem.store @numbers, %i, %at align 8 : i64
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ne" %next, %count : i64
  llvm.cond_br %more, ^loop(%next : i64), ^end {loop_annotation = #said}
^end:
  llvm.return
}

// What is called may free what is held.
// CHECK-LABEL: llvm.func @calls
// CHECK-NOT: rmem.hold
// CHECK: rmem.load
llvm.func @calls(%array: !llvm.ptr, %count: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^loop(%zero : i64)
^loop(%i: i64):
  %at = llvm.getelementptr %array[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  %value = rmem.load @numbers, %at align 8 : i64
  llvm.call @used(%value) : (i64) -> ()
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ne" %next, %count : i64
  llvm.cond_br %more, ^loop(%next : i64), ^end
^end:
  llvm.return
}
llvm.func @used(i64)

// From one long double to the next are 16 bytes, of which 10 are used.
// CHECK-LABEL: llvm.func @padded
// CHECK: rmem.turns @numbers, %{{.*}} size 10 stride 16
llvm.func @padded(%array: !llvm.ptr, %count: i64, %value: f80) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^loop(%zero : i64)
^loop(%i: i64):
  %at = llvm.getelementptr %array[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f80
  rmem.store @numbers, %value, %at align 16 : f80
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ne" %next, %count : i64
  llvm.cond_br %more, ^loop(%next : i64), ^end
^end:
  llvm.return
}

// As they are in structures, packed or not.
// CHECK-LABEL: llvm.func @packed
// CHECK: rmem.turns @numbers, %{{.*}} size 10 stride 20
llvm.func @packed(%array: !llvm.ptr, %count: i64, %value: f80) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^loop(%zero : i64)
^loop(%i: i64):
  %at = llvm.getelementptr %array[%i, 1] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<packed (i32, f80)>
  rmem.store @numbers, %value, %at align 1 : f80
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ne" %next, %count : i64
  llvm.cond_br %more, ^loop(%next : i64), ^end
^end:
  llvm.return
}

// Fields of the same records are held together.
// CHECK-LABEL: llvm.func @fields
// CHECK: %[[BASE:.*]] = llvm.getelementptr %arg0
// CHECK: %[[FIRST:.*]] = llvm.getelementptr %[[BASE]]
// CHECK: rmem.turns @numbers, %[[FIRST]] size 16 stride 24
// CHECK: %[[LINE:.*]] = rmem.hold @numbers, %[[FIRST]], %{{.*}} size 16 stride 24 written
// CHECK-NOT: rmem.hold
// CHECK: scf.for unsigned
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[LINE]]
// CHECK: %[[SECOND:.*]] = llvm.getelementptr %[[AT]]
// CHECK: llvm.load %[[SECOND]]
// CHECK: llvm.store %{{.*}}, %[[AT]]
llvm.func @fields(%array: !llvm.ptr, %count: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  llvm.br ^loop(%zero : i64)
^loop(%i: i64):
  %at = llvm.getelementptr %array[%i] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.struct<(i64, i64, i64)>
  %from = llvm.getelementptr %at[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %value = rmem.load @numbers, %from align 8 : i64
  %to = llvm.getelementptr %at[8] : (!llvm.ptr) -> !llvm.ptr, i8
  rmem.store @numbers, %value, %to align 8 : i64
  %next = llvm.add %i, %one : i64
  %more = llvm.icmp "ne" %next, %count : i64
  llvm.cond_br %more, ^loop(%next : i64), ^end
^end:
  llvm.return
}

// What comes behind a row is sent for, too: 16 rows of 1536 numbers. Each is come to four times, and sent for at the first.
// CHECK-LABEL: llvm.func @rows
// CHECK: scf.for unsigned %[[ROW:.*]] =
// CHECK: scf.for unsigned %[[AGAIN:.*]] =
// CHECK: scf.while
// CHECK-DAG: %[[NEW:.*]] = arith.cmpi eq, %[[AGAIN]], %
// CHECK-DAG: %[[FIRST:.*]] = arith.cmpi eq, %[[ROW]], %
// CHECK-DAG: %[[TRULY:.*]] = arith.andi %{{.*}}, %[[NEW]]
// CHECK-DAG: %[[START:.*]] = arith.andi %{{.*}}, %[[FIRST]]
// CHECK: scf.if %[[TRULY]]
// CHECK: %[[TURNS:.*]] = arith.addi
// CHECK: rmem.ahead @numbers, %{{.*}}, %[[TURNS]] start %[[START]]
llvm.func @rows(%array: !llvm.ptr, %value: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %four = arith.constant 4 : i64
  %count = arith.constant 16 : i64
  %length = arith.constant 1536 : i64
  scf.for unsigned %row = %zero to %count step %one : i64 {
    scf.for unsigned %again = %zero to %four step %one : i64 {
      scf.for unsigned %i = %zero to %length step %one : i64 {
        %before = llvm.mul %row, %length overflow<nsw, nuw> : i64
        %index = llvm.add %before, %i overflow<nsw, nuw> : i64
        %at = llvm.getelementptr inbounds|nuw %array[%index] : (!llvm.ptr, i64) -> !llvm.ptr, i64
        rmem.store @numbers, %value, %at align 8 : i64
      }
    }
  }
  llvm.return
}

// Calls that come to no memory but errno change nothing that is held.
// CHECK-LABEL: llvm.func @mathematical
// CHECK: rmem.hold @numbers
llvm.func @erf(f64) -> f64 attributes {memory_effects = #llvm.memory_effects<other = none, argMem = none,
    inaccessibleMem = none, errnoMem = write, targetMem0 = none, targetMem1 = none>}
llvm.func @mathematical(%array: !llvm.ptr, %count: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for unsigned %i = %zero to %count step %one : i64 {
    %at = llvm.getelementptr inbounds|nuw %array[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f64
    %value = rmem.load @numbers, %at align 8 : f64
    %new = llvm.call @erf(%value) : (f64) -> f64
    rmem.store @numbers, %new, %at align 8 : f64
  }
  llvm.return
}

// What a loop has come through may leave before others: of a section with more than one slot for a line, and if nothing else
// comes to it. Where a loop around it goes on with the next row, it is the rows of both.
// CHECK-LABEL: llvm.func @done
// CHECK: scf.for
// CHECK: scf.while
// CHECK: %[[ALL:.*]] = arith.muli %c16_i64, %c1536_i64 : i64
// CHECK: %[[LINE:.*]] = rmem.hold @nodes, %[[AT:.*]], %[[TURNS:.*]] size 8 stride 8
// CHECK: %[[GONE:.*]] = arith.select %{{.*}}, %[[TURNS]],
// CHECK: rmem.let_go @nodes, %[[LINE]]
// CHECK: rmem.done @nodes, %[[AT]], %[[GONE]] of %[[ALL]] stride 8
llvm.func @done(%array: !llvm.ptr, %value: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %count = arith.constant 16 : i64
  %length = arith.constant 1536 : i64
  scf.for unsigned %row = %zero to %count step %one : i64 {
    scf.for unsigned %i = %zero to %length step %one : i64 {
      %before = llvm.mul %row, %length overflow<nsw, nuw> : i64
      %index = llvm.add %before, %i overflow<nsw, nuw> : i64
      %at = llvm.getelementptr inbounds|nuw %array[%index] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      rmem.store @nodes, %value, %at align 8 : i64
    }
  }
  llvm.return
}

// Unless the section keeps it as long as anything else.
// CHECK-LABEL: llvm.func @keeps
// CHECK: rmem.hold @keeping
// CHECK-NOT: rmem.done
// CHECK: llvm.return
llvm.func @keeps(%array: !llvm.ptr, %value: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %length = arith.constant 1536 : i64
  scf.for unsigned %i = %zero to %length step %one : i64 {
    %at = llvm.getelementptr inbounds|nuw %array[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    rmem.store @keeping, %value, %at align 8 : i64
  }
  llvm.return
}

// A loop that lags behind itself, or one after another in the same row: they come back.
// CHECK-LABEL: llvm.func @comes_back
// CHECK: rmem.hold @nodes
// CHECK-NOT: rmem.done
// CHECK-LABEL: llvm.func @twice
// CHECK: rmem.hold @nodes
// CHECK: rmem.done @nodes, %{{.*}}, %{{.*}} of %[[LENGTH:.*]] stride 8
// CHECK: rmem.hold @nodes
// CHECK: rmem.done @nodes, %{{.*}}, %{{.*}} of %[[LENGTH]] stride 8
llvm.func @comes_back(%array: !llvm.ptr, %other: !llvm.ptr, %count: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for unsigned %i = %zero to %count step %one : i64 {
    %at = llvm.getelementptr inbounds|nuw %array[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %value = rmem.load @nodes, %at align 8 : i64
    %to = llvm.getelementptr inbounds|nuw %other[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    rmem.store @nodes, %value, %to align 8 : i64
  }
  llvm.return
}
llvm.func @twice(%array: !llvm.ptr, %value: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %count = arith.constant 16 : i64
  %length = arith.constant 1536 : i64
  scf.for unsigned %row = %zero to %count step %one : i64 {
    scf.for unsigned %i = %zero to %length step %one : i64 {
      %before = llvm.mul %row, %length overflow<nsw, nuw> : i64
      %index = llvm.add %before, %i overflow<nsw, nuw> : i64
      %at = llvm.getelementptr inbounds|nuw %array[%index] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      rmem.store @nodes, %value, %at align 8 : i64
    }
    scf.for unsigned %i = %zero to %length step %one : i64 {
      %before = llvm.mul %row, %length overflow<nsw, nuw> : i64
      %index = llvm.add %before, %i overflow<nsw, nuw> : i64
      %at = llvm.getelementptr inbounds|nuw %array[%index] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      rmem.store @nodes, %value, %at align 8 : i64
    }
  }
  llvm.return
}

// Lines are held over loops in the body that hold none, as one that looks for something.
// CHECK-LABEL: llvm.func @searches
// CHECK: %[[LINE:.*]] = rmem.hold @numbers
// CHECK: scf.for unsigned
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[LINE]]
// CHECK: llvm.load %[[AT]]
// CHECK: scf.while
// CHECK: rmem.load @nodes
// CHECK: rmem.let_go @numbers, %[[LINE]]
// CHECK: llvm.return
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
