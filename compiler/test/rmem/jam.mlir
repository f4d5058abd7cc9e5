// Loops that add to the same elements in each turn take four turns together, so that these are come to once for all of them.
// RUN: farside-opt %s --farside-jam-loops | FileCheck %s

// Turns of the innermost loop are interleaved, which are more than LLVM interleaves by itself.
// CHECK: #[[FOUR:.*]] = #llvm.loop_interleave<count = 4 : i32>
// CHECK: #[[INTERLEAVED:.*]] = #llvm.loop_annotation<interleave = #[[FOUR]]>
rmem.cache_section @rows capacity 1048576 line 4096 ways 1 ahead 8
rmem.cache_section @sums capacity 1048576 line 4096 ways 1 ahead 8
rmem.cache_section @few capacity 262144 line 4096 ways 1 ahead 8
rmem.cache_section @hardly capacity 32768 line 4096 ways 1 ahead 2

// A product of matrices. What is loaded side by side is seen to be, each sum is loaded once and stored once, and turns that are
// left are taken one by one.
// CHECK-LABEL: llvm.func @product(
// CHECK: %[[GROUPS:.*]] = arith.divui %arg4, %c4_i64
// CHECK: scf.for unsigned %[[G:.*]] = %{{.*}} to %[[GROUPS]]
// CHECK: %[[FIRST:.*]] = arith.muli %[[G]], %c4_i64
// CHECK: %[[SECOND:.*]] = arith.addi %[[FIRST]], %c1_i64
// CHECK: llvm.mul %[[FIRST]], %arg5
// CHECK: llvm.mul %[[SECOND]], %arg5
// CHECK: scf.if %arg3
// CHECK: scf.for unsigned %[[T:.*]] =
// CHECK: %[[IN:.*]] = llvm.getelementptr %arg1
// CHECK: %[[F0:.*]] = llvm.load %[[IN]]
// CHECK: %[[IN1:.*]] = llvm.getelementptr %[[IN]][8]
// CHECK: %[[F1:.*]] = llvm.load %[[IN1]]
// CHECK: llvm.getelementptr %[[IN]][16]
// CHECK: llvm.getelementptr %[[IN]][24]
// CHECK: scf.for
// CHECK: %[[M0:.*]] = rmem.load @rows
// CHECK: %[[AT:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}]
// CHECK: %[[S0:.*]] = rmem.load @sums, %[[AT]]
// CHECK: %[[S1:.*]] = llvm.intr.fmuladd(%[[F0]], %[[M0]], %[[S0]])
// CHECK: %[[M1:.*]] = rmem.load @rows
// CHECK: %[[S2:.*]] = llvm.intr.fmuladd(%[[F1]], %[[M1]], %[[S1]])
// CHECK-NOT: rmem.store
// CHECK-NOT: rmem.load @sums
// CHECK: rmem.load @rows
// CHECK: %[[S3:.*]] = llvm.intr.fmuladd(%{{.*}}, %{{.*}}, %[[S2]])
// CHECK: rmem.load @rows
// CHECK: %[[S4:.*]] = llvm.intr.fmuladd(%{{.*}}, %{{.*}}, %[[S3]])
// CHECK: rmem.store @sums, %[[S4]], %[[AT]]
// CHECK-NEXT: } {llvm.loop_annotation = #[[INTERLEAVED]]}
// CHECK: {rmem.jammed = 4 : i64}
// CHECK-NOT: llvm.loop_annotation
// CHECK: %[[LEFT:.*]] = arith.subi %arg4, %[[TAKEN:.*]] :
// CHECK: scf.for unsigned %[[I:.*]] = %{{.*}} to %[[LEFT]]
// CHECK: arith.addi %[[TAKEN]], %[[I]]
// CHECK: scf.for
// CHECK: scf.for
// CHECK: rmem.load @rows
// CHECK: rmem.load @sums
// CHECK: rmem.store @sums
// CHECK-NOT: rmem.jammed
// CHECK: llvm.return
llvm.func @product(%out: !llvm.ptr, %in: !llvm.ptr, %matrix: !llvm.ptr, %any: i1, %rows: i64, %length: i64, %vectors: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for unsigned %i = %zero to %rows step %one : i64 {
    %before = llvm.mul %i, %length : i64
    %row = llvm.getelementptr %matrix[%before] : (!llvm.ptr, i64) -> !llvm.ptr, f64
    scf.if %any {
      scf.for unsigned %t = %zero to %vectors step %one : i64 {
        %skip = llvm.mul %t, %rows : i64
        %number = llvm.add %skip, %i : i64
        %from = llvm.getelementptr %in[%number] : (!llvm.ptr, i64) -> !llvm.ptr, f64
        %factor = llvm.load %from : !llvm.ptr -> f64
        %to = llvm.mul %t, %length : i64
        %sums = llvm.getelementptr %out[%to] : (!llvm.ptr, i64) -> !llvm.ptr, f64
        scf.for unsigned %j = %zero to %length step %one : i64 {
          %element = llvm.getelementptr %row[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f64
          %value = rmem.load @rows, %element align 8 : f64
          %at = llvm.getelementptr %sums[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f64
          %sum = rmem.load @sums, %at align 8 : f64
          %more = llvm.intr.fmuladd(%factor, %value, %sum) : (f64, f64, f64) -> f64
          rmem.store @sums, %more, %at align 8 : f64
        }
      }
    }
  }
  llvm.return
}

// What is added to may be plain memory, and the loop that adds stand in one alone. Whether two pointers lead to the same is
// looked at when the program runs, from where they come to in the first and the last turns, if all loops make any.
// CHECK-LABEL: llvm.func @looked_at(
// CHECK: %[[GROUPS:.*]] = arith.divui %arg3
// CHECK: %[[ANY:.*]] = arith.cmpi ne, %arg3
// CHECK: %[[ANY2:.*]] = arith.cmpi ne, %arg4
// CHECK: arith.select %[[ANY]], %[[ANY2]], %false
// CHECK-COUNT-8: llvm.ptrtoint
// CHECK: arith.ori
// CHECK: %[[APART:.*]] = arith.select
// CHECK: %[[NOW:.*]] = arith.select %[[APART]], %[[GROUPS]], %c0_i64
// CHECK: scf.for unsigned %{{.*}} = %{{.*}} to %[[NOW]]
// CHECK: {rmem.jammed = 4 : i64}
// CHECK: llvm.return
llvm.func @looked_at(%out: !llvm.ptr, %in: !llvm.ptr, %matrix: !llvm.ptr, %rows: i64, %length: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for unsigned %i = %zero to %rows step %one : i64 {
    %from = llvm.getelementptr %in[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f64
    %factor = llvm.load %from : !llvm.ptr -> f64
    %before = llvm.mul %i, %length : i64
    scf.for unsigned %j = %zero to %length step %one : i64 {
      %number = llvm.add %before, %j : i64
      %element = llvm.getelementptr %matrix[%number] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %value = rmem.load @rows, %element align 8 : f64
      %at = llvm.getelementptr %out[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %sum = llvm.load %at : !llvm.ptr -> f64
      %more = llvm.intr.fmuladd(%factor, %value, %sum) : (f64, f64, f64) -> f64
      llvm.store %more, %at : f64, !llvm.ptr
    }
  }
  llvm.return
}

// So it is where the loops are what is done if something is not so.
// CHECK-LABEL: llvm.func @otherwise(
// CHECK: %[[NOT:.*]] = arith.cmpi eq, %arg2, %false
// CHECK: arith.select %{{.*}}, %[[NOT]], %false
// CHECK: scf.for
// CHECK: scf.if %arg2 {
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.for
// CHECK: {rmem.jammed = 4 : i64}
// CHECK: llvm.return
llvm.func @otherwise(%out: !llvm.ptr, %matrix: !llvm.ptr, %none: i1, %rows: i64, %length: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for unsigned %i = %zero to %rows step %one : i64 {
    %before = llvm.mul %i, %length : i64
    scf.if %none {
    } else {
      scf.for unsigned %j = %zero to %length step %one : i64 {
        %number = llvm.add %before, %j : i64
        %element = llvm.getelementptr %matrix[%number] : (!llvm.ptr, i64) -> !llvm.ptr, f64
        %value = rmem.load @few, %element align 8 : f64
        %at = llvm.getelementptr %out[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f64
        %sum = rmem.load @sums, %at align 8 : f64
        %more = llvm.fadd %sum, %value : f64
        rmem.store @sums, %more, %at align 8 : f64
      }
    }
  }
  llvm.return
}

// In a section of 64 lines there is room for four rows and what is sent for if these are short: that depends on how long they
// are. In one of 8 there is none.
// CHECK-LABEL: llvm.func @room(
// CHECK: %[[SHORT:.*]] = arith.cmpi ule, %arg3, %c2816_i64
// CHECK: arith.select %{{.*}}, %[[SHORT]], %false
// CHECK: {rmem.jammed = 4 : i64}
// CHECK-NOT: rmem.jammed
// CHECK: llvm.return
llvm.func @room(%out: !llvm.ptr, %matrix: !llvm.ptr, %rows: i64, %length: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for unsigned %i = %zero to %rows step %one : i64 {
    %before = llvm.mul %i, %length : i64
    scf.for unsigned %j = %zero to %length step %one : i64 {
      %number = llvm.add %before, %j : i64
      %element = llvm.getelementptr %matrix[%number] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %value = rmem.load @few, %element align 8 : f64
      %at = llvm.getelementptr %out[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %sum = rmem.load @sums, %at align 8 : f64
      %more = llvm.fadd %sum, %value : f64
      rmem.store @sums, %more, %at align 8 : f64
    }
  }
  scf.for unsigned %i = %zero to %rows step %one : i64 {
    %before = llvm.mul %i, %length : i64
    scf.for unsigned %j = %zero to %length step %one : i64 {
      %number = llvm.add %before, %j : i64
      %element = llvm.getelementptr %matrix[%number] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %value = rmem.load @hardly, %element align 8 : f64
      %at = llvm.getelementptr %out[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %sum = rmem.load @sums, %at align 8 : f64
      %more = llvm.fadd %sum, %value : f64
      rmem.store @sums, %more, %at align 8 : f64
    }
  }
  llvm.return
}

// Elements that are further apart than a line, however far that is, are no short rows: there is room for two turns.
// CHECK-LABEL: llvm.func @huge(
// CHECK: {rmem.jammed = 2 : i64}
// CHECK-NOT: rmem.jammed
// CHECK: llvm.return
llvm.func @huge(%out: !llvm.ptr, %matrix: !llvm.ptr, %rows: i64, %length: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for unsigned %i = %zero to %rows step %one : i64 {
    %before = llvm.mul %i, %length : i64
    scf.for unsigned %j = %zero to %length step %one : i64 {
      %number = llvm.add %before, %j : i64
      %element = llvm.getelementptr %matrix[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<576460752303423488 x i64>
      %value = rmem.load @few, %element align 8 : f64
      %at = llvm.getelementptr %out[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %sum = rmem.load @sums, %at align 8 : f64
      %more = llvm.fadd %sum, %value : f64
      rmem.store @sums, %more, %at align 8 : f64
    }
  }
  llvm.return
}

// With two matrices it is two turns.
// CHECK-LABEL: llvm.func @two(
// CHECK: {rmem.jammed = 2 : i64}
// CHECK: llvm.return
llvm.func @two(%out: !llvm.ptr, %matrix: !llvm.ptr, %other: !llvm.ptr, %rows: i64, %length: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for unsigned %i = %zero to %rows step %one : i64 {
    %before = llvm.mul %i, %length : i64
    scf.for unsigned %j = %zero to %length step %one : i64 {
      %number = llvm.add %before, %j : i64
      %element = llvm.getelementptr %matrix[%number] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %value = rmem.load @rows, %element align 8 : f64
      %second = llvm.getelementptr %other[%number] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %factor = rmem.load @rows, %second align 8 : f64
      %at = llvm.getelementptr %out[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %sum = rmem.load @sums, %at align 8 : f64
      %more = llvm.intr.fmuladd(%factor, %value, %sum) : (f64, f64, f64) -> f64
      rmem.store @sums, %more, %at align 8 : f64
    }
  }
  llvm.return
}

// What is added to in more turns than one of the loop between would be added up in another order if the turns of the outer one
// were taken together: those of the one between are.
// CHECK-LABEL: llvm.func @between(
// CHECK: scf.for unsigned %{{.*}} = %{{.*}} to %arg2
// CHECK: arith.divui %arg4, %c4_i64
// CHECK: {rmem.jammed = 4 : i64}
// CHECK-NOT: rmem.jammed
// CHECK: llvm.return
llvm.func @between(%out: !llvm.ptr, %matrix: !llvm.ptr, %rows: i64, %length: i64, %vectors: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for unsigned %i = %zero to %rows step %one : i64 {
    %before = llvm.mul %i, %length : i64
    scf.for unsigned %t = %zero to %vectors step %one : i64 {
      scf.for unsigned %j = %zero to %length step %one : i64 {
        %number = llvm.add %before, %j : i64
        %element = llvm.getelementptr %matrix[%number] : (!llvm.ptr, i64) -> !llvm.ptr, f64
        %value = rmem.load @rows, %element align 8 : f64
        %at = llvm.getelementptr %out[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f64
        %sum = rmem.load @sums, %at align 8 : f64
        %more = llvm.fadd %sum, %value : f64
        rmem.store @sums, %more, %at align 8 : f64
      }
    }
  }
  llvm.return
}

// What overlaps from turn to turn of the loop between, as rows that may be longer than the way to the next one, stays.
// CHECK-LABEL: llvm.func @stays(
// CHECK-NOT: rmem.jammed
// CHECK: llvm.return
llvm.func @stays(%out: !llvm.ptr, %matrix: !llvm.ptr, %rows: i64, %length: i64, %vectors: i64, %step: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for unsigned %i = %zero to %rows step %one : i64 {
    %before = llvm.mul %i, %length : i64
    scf.for unsigned %t = %zero to %vectors step %one : i64 {
      %to = llvm.mul %t, %step : i64
      %sums = llvm.getelementptr %out[%to] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      scf.for unsigned %j = %zero to %length step %one : i64 {
        %number = llvm.add %before, %j : i64
        %element = llvm.getelementptr %matrix[%number] : (!llvm.ptr, i64) -> !llvm.ptr, f64
        %value = rmem.load @rows, %element align 8 : f64
        %at = llvm.getelementptr %sums[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f64
        %sum = rmem.load @sums, %at align 8 : f64
        %more = llvm.fadd %sum, %value : f64
        rmem.store @sums, %more, %at align 8 : f64
      }
    }
  }
  llvm.return
}

// Neighbours of what is added to are read, and what is found by an index may be what is added to.
// CHECK-LABEL: llvm.func @reads(
// CHECK-NOT: rmem.jammed
// CHECK: llvm.return
llvm.func @reads(%out: !llvm.ptr, %matrix: !llvm.ptr, %order: !llvm.ptr, %rows: i64, %length: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for unsigned %i = %zero to %rows step %one : i64 {
    %before = llvm.mul %i, %length : i64
    scf.for unsigned %j = %zero to %length step %one : i64 {
      %number = llvm.add %before, %j : i64
      %element = llvm.getelementptr %matrix[%number] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %value = rmem.load @rows, %element align 8 : f64
      %at = llvm.getelementptr %out[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %sum = rmem.load @sums, %at align 8 : f64
      %where = llvm.getelementptr %order[%j] : (!llvm.ptr, i64) -> !llvm.ptr, i64
      %index = llvm.load %where : !llvm.ptr -> i64
      %found = llvm.getelementptr %out[%index] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %factor = rmem.load @sums, %found align 8 : f64
      %more = llvm.intr.fmuladd(%factor, %value, %sum) : (f64, f64, f64) -> f64
      rmem.store @sums, %more, %at align 8 : f64
    }
  }
  llvm.return
}

// What is different from turn to turn of the outer loop: how long rows are, whether they are added, what is counted, and what is
// written besides.
// CHECK-LABEL: llvm.func @shapes(
// CHECK-NOT: rmem.jammed
// CHECK: llvm.return
llvm.func @shapes(%out: !llvm.ptr, %matrix: !llvm.ptr, %rows: i64, %length: i64, %last: !llvm.ptr) -> i64 {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for unsigned %i = %zero to %rows step %one : i64 {
    scf.for unsigned %j = %zero to %i step %one : i64 {
      %number = llvm.add %i, %j : i64
      %element = llvm.getelementptr %matrix[%number] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %value = rmem.load @rows, %element align 8 : f64
      %at = llvm.getelementptr %out[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %sum = rmem.load @sums, %at align 8 : f64
      %more = llvm.fadd %sum, %value : f64
      rmem.store @sums, %more, %at align 8 : f64
    }
  }
  scf.for unsigned %i = %zero to %rows step %one : i64 {
    %odd = arith.andi %i, %one : i64
    %is = arith.cmpi ne, %odd, %zero : i64
    scf.if %is {
      scf.for unsigned %j = %zero to %length step %one : i64 {
        %number = llvm.add %i, %j : i64
        %element = llvm.getelementptr %matrix[%number] : (!llvm.ptr, i64) -> !llvm.ptr, f64
        %value = rmem.load @rows, %element align 8 : f64
        %at = llvm.getelementptr %out[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f64
        %sum = rmem.load @sums, %at align 8 : f64
        %more = llvm.fadd %sum, %value : f64
        rmem.store @sums, %more, %at align 8 : f64
      }
    }
  }
  %count = scf.for unsigned %i = %zero to %rows step %one iter_args(%before = %zero) -> (i64) : i64 {
    scf.for unsigned %j = %zero to %length step %one : i64 {
      %number = llvm.add %i, %j : i64
      %element = llvm.getelementptr %matrix[%number] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %value = rmem.load @rows, %element align 8 : f64
      %at = llvm.getelementptr %out[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %sum = rmem.load @sums, %at align 8 : f64
      %more = llvm.fadd %sum, %value : f64
      rmem.store @sums, %more, %at align 8 : f64
    }
    %after = llvm.add %before, %i : i64
    scf.yield %after : i64
  }
  scf.for unsigned %i = %zero to %rows step %one : i64 {
    scf.for unsigned %j = %zero to %length step %one : i64 {
      %number = llvm.add %i, %j : i64
      %element = llvm.getelementptr %matrix[%number] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %value = rmem.load @rows, %element align 8 : f64
      %at = llvm.getelementptr %out[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %sum = rmem.load @sums, %at align 8 : f64
      %more = llvm.fadd %sum, %value : f64
      rmem.store @sums, %more, %at align 8 : f64
    }
    llvm.store %i, %last : i64, !llvm.ptr
  }
  llvm.return %count : i64
}

// What is added may be plain memory.
// CHECK-LABEL: llvm.func @plain_rows(
// CHECK: {rmem.jammed = 4 : i64}
// CHECK: llvm.return
llvm.func @plain_rows(%out: !llvm.ptr, %matrix: !llvm.ptr, %rows: i64, %length: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for unsigned %i = %zero to %rows step %one : i64 {
    %before = llvm.mul %i, %length : i64
    scf.for unsigned %j = %zero to %length step %one : i64 {
      %number = llvm.add %before, %j : i64
      %element = llvm.getelementptr %matrix[%number] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %value = llvm.load %element : !llvm.ptr -> f64
      %at = llvm.getelementptr %out[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %sum = rmem.load @sums, %at align 8 : f64
      %more = llvm.fadd %sum, %value : f64
      rmem.store @sums, %more, %at align 8 : f64
    }
  }
  llvm.return
}

// What is added to is read as something else, too, or stored twice.
// CHECK-LABEL: llvm.func @twice(
// CHECK-NOT: rmem.jammed
// CHECK: llvm.return
llvm.func @twice(%out: !llvm.ptr, %matrix: !llvm.ptr, %rows: i64, %length: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for unsigned %i = %zero to %rows step %one : i64 {
    %before = llvm.mul %i, %length : i64
    scf.for unsigned %j = %zero to %length step %one : i64 {
      %number = llvm.add %before, %j : i64
      %element = llvm.getelementptr %matrix[%number] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %value = rmem.load @rows, %element align 8 : f64
      %at = llvm.getelementptr %out[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %sum = rmem.load @sums, %at align 8 : f64
      %bits = rmem.load @sums, %at align 8 : i64
      %scale = llvm.uitofp %bits : i64 to f64
      %more = llvm.intr.fmuladd(%scale, %value, %sum) : (f64, f64, f64) -> f64
      rmem.store @sums, %more, %at align 8 : f64
    }
  }
  scf.for unsigned %i = %zero to %rows step %one : i64 {
    %before = llvm.mul %i, %length : i64
    scf.for unsigned %j = %zero to %length step %one : i64 {
      %number = llvm.add %before, %j : i64
      %element = llvm.getelementptr %matrix[%number] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %value = rmem.load @rows, %element align 8 : f64
      %at = llvm.getelementptr %out[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %sum = rmem.load @sums, %at align 8 : f64
      rmem.store @sums, %value, %at align 8 : f64
      %more = llvm.fadd %sum, %value : f64
      rmem.store @sums, %more, %at align 8 : f64
    }
  }
  llvm.return
}

// What is in no section is left as it is, and so is what is volatile.
// CHECK-LABEL: llvm.func @plain(
// CHECK-NOT: rmem.jammed
// CHECK: llvm.return
llvm.func @plain(%out: !llvm.ptr, %matrix: !llvm.ptr, %rows: i64, %length: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for unsigned %i = %zero to %rows step %one : i64 {
    %before = llvm.mul %i, %length : i64
    scf.for unsigned %j = %zero to %length step %one : i64 {
      %number = llvm.add %before, %j : i64
      %element = llvm.getelementptr %matrix[%number] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %value = llvm.load %element : !llvm.ptr -> f64
      %at = llvm.getelementptr %out[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %sum = llvm.load %at : !llvm.ptr -> f64
      %more = llvm.fadd %sum, %value : f64
      llvm.store %more, %at : f64, !llvm.ptr
    }
  }
  scf.for unsigned %i = %zero to %rows step %one : i64 {
    %before = llvm.mul %i, %length : i64
    scf.for unsigned %j = %zero to %length step %one : i64 {
      %number = llvm.add %before, %j : i64
      %element = llvm.getelementptr %matrix[%number] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %value = rmem.load @rows, %element align 8 : f64
      %at = llvm.getelementptr %out[%j] : (!llvm.ptr, i64) -> !llvm.ptr, f64
      %sum = llvm.load %at : !llvm.ptr -> f64
      %more = llvm.fadd %sum, %value : f64
      llvm.store volatile %more, %at : f64, !llvm.ptr
    }
  }
  llvm.return
}
