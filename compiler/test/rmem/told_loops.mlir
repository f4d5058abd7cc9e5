// What is forbidden of a loop is forbidden of what is made of it; what is asked for is not, where lines are looked up or held.
// RUN: farside-opt %s --farside-jam-loops --farside-hold-lines --farside-lower-remote | FileCheck %s

rmem.cache_section @numbers capacity 1048576 line 4096 ways 1 ahead 8
rmem.cache_section @sums capacity 1048576 line 4096 ways 1 ahead 8

// CHECK-DAG: #[[WIDE:.*]] = #llvm.loop_vectorize<disable = false, width = 8 : i32>
// CHECK-DAG: #[[ONE:.*]] = #llvm.loop_vectorize<disable = false, width = 1 : i32>
// CHECK-DAG: #[[NOT:.*]] = #llvm.loop_unroll<disable = true>
// CHECK-DAG: #[[ALL:.*]] = #llvm.loop_unroll<full = true>
// CHECK-DAG: #[[WISHES:.*]] = #llvm.loop_annotation<vectorize = #[[WIDE]], unroll = #[[ALL]], mustProgress = true>
// CHECK-DAG: #[[PROGRESS:.*]] = #llvm.loop_annotation<mustProgress = true>
// CHECK-DAG: #[[FORBIDDEN:.*]] = #llvm.loop_annotation<vectorize = #[[ONE]], unroll = #[[NOT]]>
#wide = #llvm.loop_vectorize<disable = false, width = 8 : i32>
#one = #llvm.loop_vectorize<disable = false, width = 1 : i32>
#not = #llvm.loop_unroll<disable = true>
#full = #llvm.loop_unroll<full = true>
#wishes = #llvm.loop_annotation<vectorize = #wide, unroll = #full, mustProgress = true>
#forbidden = #llvm.loop_annotation<vectorize = #one, unroll = #not>

// CHECK-LABEL: llvm.func @held
// CHECK: scf.for
// CHECK: } {llvm.loop_annotation = #[[PROGRESS]]}
// CHECK: scf.for
// CHECK: } {llvm.loop_annotation = #[[FORBIDDEN]]}
llvm.func @held(%array: !llvm.ptr, %count: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for unsigned %i = %zero to %count step %one : i64 {
    %at = llvm.getelementptr %array[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    rmem.store @numbers, %i, %at align 8 : i64
  } {llvm.loop_annotation = #wishes}
  scf.for unsigned %i = %zero to %count step %one : i64 {
    %at = llvm.getelementptr %array[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    rmem.store @numbers, %i, %at align 8 : i64
  } {llvm.loop_annotation = #forbidden}
  llvm.return
}

// One that looks up, and one that comes to no section.
// CHECK-LABEL: llvm.func @looks_up
// CHECK: scf.for
// CHECK: farside_rt_read
// CHECK: } {llvm.loop_annotation = #[[PROGRESS]]}
// CHECK: scf.for
// CHECK: } {llvm.loop_annotation = #[[WISHES]]}
llvm.func @looks_up(%array: !llvm.ptr, %order: !llvm.ptr, %count: i64) {
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  scf.for unsigned %i = %zero to %count step %one : i64 {
    %which = llvm.getelementptr %order[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %place = llvm.load %which : !llvm.ptr -> i64
    %at = llvm.getelementptr %array[%place] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    %value = rmem.load @numbers, %at align 8 : i64
    llvm.store %value, %which : i64, !llvm.ptr
  } {llvm.loop_annotation = #wishes}
  scf.for unsigned %i = %zero to %count step %one : i64 {
    %at = llvm.getelementptr %order[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i64
    llvm.store %i, %at : i64, !llvm.ptr
  } {llvm.loop_annotation = #wishes}
  llvm.return
}
