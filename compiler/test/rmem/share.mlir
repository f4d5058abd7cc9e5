// What is accessed close together looks its line up once.
// RUN: farside-opt %s --farside-share-lookups | FileCheck %s

rmem.cache_section @nodes capacity 65536 line 128 ways 2 ahead 8
rmem.cache_section @edges capacity 65536 line 4096 ways 1 ahead 8

// Two lines at once: if both are here all is done with plain accesses, else with lookups.
// CHECK-LABEL: llvm.func @update
// CHECK-SAME: (%[[FROM:.*]]: !llvm.ptr, %[[TO:.*]]: !llvm.ptr)
// CHECK: %[[LINE:.*]] = rmem.here @nodes, %[[FROM]] size 16 written
// CHECK: %[[IS:.*]] = llvm.icmp "ne" %[[LINE]]
// CHECK: %[[START:.*]] = llvm.getelementptr %[[TO]][%{{.*}}]
// CHECK: %[[OTHER:.*]] = rmem.here @nodes, %[[START]] size 8
// CHECK-NOT: written
// CHECK: %[[OTHER_IS:.*]] = llvm.icmp "ne" %[[OTHER]]
// CHECK: %[[ALL:.*]] = arith.andi %[[IS]], %[[OTHER_IS]]
// CHECK: %[[RESULT:.*]] = scf.if %[[ALL]] -> (i64) {
// CHECK-NOT: rmem
// CHECK: llvm.load %[[LINE]] {alignment = 8 : i64}
// CHECK: llvm.load %[[OTHER]] {alignment = 8 : i64}
// CHECK: llvm.store
// CHECK: scf.yield
// CHECK: else
// CHECK: rmem.load @nodes, %[[FROM]] align 8 apart
// CHECK: rmem.load @nodes, %{{.*}} align 8 apart
// CHECK: rmem.store @nodes, %{{.*}} align 8 apart
// CHECK: scf.yield
// CHECK: llvm.return %[[RESULT]]
llvm.func @update(%from: !llvm.ptr, %to: !llvm.ptr) -> i64 {
  %value = rmem.load @nodes, %from align 8 : i64
  %there = llvm.getelementptr %to[24] : (!llvm.ptr) -> !llvm.ptr, i8
  %other = rmem.load @nodes, %there align 8 : i64
  %both = llvm.add %value, %other : i64
  %visits = llvm.getelementptr %from[8] : (!llvm.ptr) -> !llvm.ptr, i8
  rmem.store @nodes, %both, %visits align 8 : i64
  llvm.return %both : i64
}

// What is called, copied or held in between may send lines away.
// CHECK-LABEL: llvm.func @between
// CHECK-NOT: rmem.here
// CHECK: llvm.return
llvm.func @between(%at: !llvm.ptr, %bytes: i64) -> i64 {
  %one = rmem.load @nodes, %at align 8 : i64
  llvm.call @used(%one) : (i64) -> ()
  %two = rmem.load @nodes, %at align 8 : i64
  rmem.move to @nodes %at, from @edges %at, %bytes
  %three = rmem.load @nodes, %at align 8 : i64
  %line = rmem.hold @edges, %at, %bytes size 8 stride 8
  %four = rmem.load @nodes, %at align 8 : i64
  rmem.let_go @edges, %line
  %five = rmem.load @nodes, %at align 8 : i64
  %a = llvm.add %one, %two : i64
  %b = llvm.add %three, %four : i64
  %c = llvm.add %a, %b : i64
  %d = llvm.add %c, %five : i64
  llvm.return %d : i64
}
llvm.func @used(i64)

// Pointers are known before anything is looked up: those that are loaded begin anew.
// CHECK-LABEL: llvm.func @chain
// CHECK: rmem.here @nodes, %arg0 size 16
// CHECK: %[[NEXT:.*]]:2 = scf.if
// CHECK: rmem.here @nodes, %[[NEXT]]#{{.}} size 16
llvm.func @chain(%at: !llvm.ptr) -> i64 {
  %next = rmem.load @nodes, %at align 8 : !llvm.ptr
  %behind = llvm.getelementptr %at[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %one = rmem.load @nodes, %behind align 8 : i64
  %two = rmem.load @nodes, %next align 8 : i64
  %further = llvm.getelementptr %next[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %three = rmem.load @nodes, %further align 8 : i64
  %a = llvm.add %one, %two : i64
  %b = llvm.add %a, %three : i64
  llvm.return %b : i64
}

// Not of one line, or of other sections, or alone.
// CHECK-LABEL: llvm.func @apart
// CHECK-NOT: rmem.here
// CHECK: llvm.return
llvm.func @apart(%at: !llvm.ptr, %other: !llvm.ptr) -> i64 {
  %one = rmem.load @nodes, %at align 8 : i64
  %far = llvm.getelementptr %at[128] : (!llvm.ptr) -> !llvm.ptr, i8
  %two = rmem.load @nodes, %far align 8 : i64
  %three = rmem.load @edges, %other align 8 : i64
  %a = llvm.add %one, %two : i64
  %b = llvm.add %a, %three : i64
  llvm.return %b : i64
}

// What is apart is seldom done, and looks its line up by itself.
// CHECK-LABEL: llvm.func @seldom
// CHECK-NOT: rmem.here
// CHECK: rmem.load @nodes, %arg0 align 8 apart
// CHECK: rmem.store @nodes, %{{.*}} align 8 apart
// CHECK: llvm.return
llvm.func @seldom(%at: !llvm.ptr) {
  %value = rmem.load @nodes, %at align 8 apart : i64
  %next = llvm.getelementptr %at[8] : (!llvm.ptr) -> !llvm.ptr, i8
  rmem.store @nodes, %value, %next align 8 apart : i64
  llvm.return
}
