// Operations become calls of what programs bring along; the structure of the section is known.
// RUN: farside-opt %s --farside-lower-remote | FileCheck %s

// CHECK-NOT: rmem.
// CHECK-NOT: remotable
// CHECK-DAG: llvm.mlir.global external hidden @farside.section.nodes() {{.*}}: !llvm.array<88 x i8>
// CHECK-DAG: llvm.mlir.global internal @farside.scope.0(dense<[64, 2, 0, 0, 0, 8, 32, 4]>{{.*}}: !llvm.array<8 x i32>
// CHECK-DAG: llvm.mlir.global internal @farside.scope.1(dense<[16, 1, 0, 0, 4, 4]>{{.*}}: !llvm.array<6 x i32>
rmem.cache_section @nodes capacity 65536 line 128 ways 2 ahead 8
rmem.cache_section @edges capacity 65536 line 4096 ways 1 ahead 8
rmem.cache_section @odd capacity 640 line 64 ways 2 ahead 0
rmem.cache_section @wide capacity 65536 line 128 ways 4 ahead 8
rmem.cache_section @anywhere capacity 65536 line 128 ways 0 ahead 8
rmem.cache_section @mine capacity 65536 line 128 ways 2 ahead 8 alone

// CHECK-LABEL: llvm.func @all
llvm.func @all(%size: i64, %byte: i8, %plain: !llvm.ptr) {
  // CHECK: %[[ROOM:.*]] = llvm.alloca %{{.*}} x !llvm.array<8 x i8> {alignment = 16 : i64}
  // CHECK: %[[SECTION:.*]] = llvm.mlir.addressof @farside.section.nodes
  // CHECK: %[[BLOCK:.*]] = llvm.call @farside_rt_malloc(%[[SECTION]], %arg0)
  %block = remotable.alloc @nodes, %size
  // CHECK: %[[WHOLE:.*]] = llvm.mlir.constant(1 : i32)
  // CHECK: %[[ALONE:.*]] = llvm.mlir.constant(0 : i32)
  // CHECK: %[[SHIFT:.*]] = llvm.mlir.constant(7 : i32)
  // CHECK: %[[WAYS:.*]] = llvm.mlir.constant(2 : i32)
  // CHECK: %[[EXACT:.*]] = llvm.mlir.constant(1 : i32)
  // CHECK: %[[AT:.*]] = llvm.call @farside_rt_read_known(%{{.*}}, %[[BLOCK]], %{{.*}}, %[[WHOLE]], %[[ROOM]], %[[ALONE]], %[[SHIFT]], %[[WAYS]], %[[EXACT]])
  // CHECK: llvm.load %[[AT]] {alignment = 4 : i64} : !llvm.ptr -> i32
  %value = rmem.load @nodes, %block align 4 : i32
  // An element that may lie across the end of a line.
  // CHECK: %[[PART:.*]] = llvm.mlir.constant(0 : i32)
  // CHECK: llvm.mlir.constant(12 : i32)
  // CHECK: llvm.mlir.constant(1 : i32)
  // CHECK: llvm.mlir.constant(1 : i32)
  // CHECK: %[[BLOCKS:.*]] = llvm.mlir.constant(1 : i32)
  // CHECK: %[[TO:.*]] = llvm.call @farside_rt_write_known(%{{.*}}, %[[PART]], %[[ROOM]], %{{.*}}, %[[BLOCKS]])
  // CHECK: llvm.store %arg0, %[[TO]] {alignment = 1 : i64} : i64, !llvm.ptr
  // CHECK: llvm.call @farside_rt_written(
  %other = remotable.alloc @edges, %size
  rmem.store @edges, %size, %other align 1 : i64
  // CHECK: llvm.call @farside_rt_move(
  rmem.move to @nodes %block, from %plain, %size
  // CHECK: llvm.call @farside_rt_fill(
  rmem.fill @nodes, %block, %byte, %size
  // CHECK: %[[LENT:.*]] = llvm.call @farside_rt_borrow(%{{.*}}, %[[BLOCK]], %arg0)
  %lent = rmem.borrow @nodes %block size %size
  // CHECK: llvm.call @farside_rt_give_back_written(%{{.*}}, %[[BLOCK]], %[[LENT]], %arg0)
  rmem.give_back @nodes %block, %lent written %size
  // CHECK: %[[MOST:.*]] = llvm.mlir.constant(-1 : i64)
  // CHECK: %[[TEXT:.*]] = llvm.call @farside_rt_borrow_text(%{{.*}}, %[[BLOCK]], %[[MOST]])
  %text = rmem.borrow @nodes %block text
  // CHECK: llvm.call @farside_rt_give_back(%{{.*}}, %[[BLOCK]], %[[TEXT]])
  rmem.give_back @nodes %block, %text
  // CHECK: llvm.call @farside_rt_borrow_copy(%{{.*}}, %[[BLOCK]], %arg0)
  %copied = rmem.borrow @nodes %block size %size copied
  // CHECK: llvm.call @farside_rt_release(
  %rest = remotable.release @nodes, %block
  llvm.return
}

// An alignment is passed on.
// CHECK-LABEL: llvm.func @tries
llvm.func @tries(%size: i64, %alignment: i64) {
  // CHECK: %[[SECTION:.*]] = llvm.mlir.addressof @farside.section.nodes
  // CHECK: llvm.call @farside_rt_try_malloc(%[[SECTION]], %arg0)
  %block = remotable.try_alloc @nodes, %size
  // CHECK: llvm.call @farside_rt_try_aligned(%{{.*}}, %arg0, %arg1)
  %aligned = remotable.try_alloc @nodes, %size align %alignment
  llvm.return
}

// Of three numbers no more than three are stored.
// CHECK-LABEL: llvm.func @three
llvm.func @three(%values: vector<3xf32>, %at: !llvm.ptr) {
  // CHECK: llvm.alloca %{{.*}} x !llvm.array<12 x i8>
  // CHECK: %[[BYTES:.*]] = llvm.mlir.constant(12 : i64)
  // CHECK: llvm.call @farside_rt_write_known(%{{.*}}, %arg1, %[[BYTES]], %{{.*}})
  rmem.store @nodes, %values, %at align 4 : vector<3xf32>
  llvm.return
}

// Of other structures not all is known, and five sets are no power of two.
// CHECK-LABEL: llvm.func @structures
llvm.func @structures(%at: !llvm.ptr) -> i64 {
  // CHECK: %[[SHIFT:.*]] = llvm.mlir.constant(6 : i32)
  // CHECK: llvm.mlir.constant(2 : i32)
  // CHECK: %[[EXACT:.*]] = llvm.mlir.constant(0 : i32)
  // CHECK: llvm.call @farside_rt_read_known(%{{.*}}, %[[SHIFT]], %{{.*}}, %[[EXACT]])
  %odd = rmem.load @odd, %at align 8 : i64
  // CHECK: llvm.call @farside_rt_read_set(
  %wide = rmem.load @wide, %at align 8 : i64
  // CHECK: llvm.call @farside_rt_read_full(
  %anywhere = rmem.load @anywhere, %at align 8 : i64
  %some = llvm.add %odd, %wide : i64
  %all = llvm.add %some, %anywhere : i64
  llvm.return %all : i64
}

// What is here is found without anything being fetched.
// CHECK-LABEL: llvm.func @here
llvm.func @here(%at: !llvm.ptr) -> !llvm.ptr {
  // CHECK: %[[SIZE:.*]] = llvm.mlir.constant(16 : i64)
  // CHECK: %[[WRITTEN:.*]] = llvm.mlir.constant(1 : i32)
  // CHECK: llvm.call @farside_rt_here_known(%{{.*}}, %arg0, %[[SIZE]], %[[WRITTEN]],
  %line = rmem.here @nodes, %at size 16 written
  // CHECK: llvm.call @farside_rt_here_set(
  %wide = rmem.here @wide, %at size 16
  // CHECK: llvm.call @farside_rt_here_full(
  %anywhere = rmem.here @anywhere, %at size 16
  llvm.return %line : !llvm.ptr
}

// CHECK-LABEL: llvm.func @peek
llvm.func @peek(%at: !llvm.ptr) -> !llvm.ptr {
  // CHECK: %[[SIZE:.*]] = llvm.mlir.constant(4 : i64)
  // CHECK: llvm.call @farside_rt_peek_known(%{{.*}}, %arg0, %[[SIZE]],
  %line = rmem.peek @nodes, %at size 4
  // CHECK: llvm.call @farside_rt_peek_set(
  %wide = rmem.peek @wide, %at size 4
  // CHECK: llvm.call @farside_rt_peek_full(
  %anywhere = rmem.peek @anywhere, %at size 4
  llvm.return %line : !llvm.ptr
}

// CHECK-LABEL: llvm.func @soon
llvm.func @soon(%at: !llvm.ptr, %turns: i64) -> i1 {
  // CHECK: %[[MISSES:.*]] = llvm.call @farside_rt_misses(
  // CHECK: llvm.trunc %[[MISSES]] : i32 to i1
  %misses = rmem.misses @nodes
  // CHECK: %[[TIME:.*]] = llvm.call @farside_rt_clock()
  %time = rmem.clock
  // CHECK: %[[TURNS:.*]] = llvm.mlir.constant(64 : i64)
  // CHECK: llvm.call @farside_rt_turns_until_here(%{{.*}}, %[[TIME]], %[[TURNS]])
  %far = rmem.turns_until_here @nodes, %time turns 64
  // CHECK: %[[ALONE:.*]] = llvm.mlir.constant(1 : i32)
  // CHECK: llvm.call @farside_rt_want_known(%{{.*}}, %arg0, %[[ALONE]], %{{.*}}, %{{.*}}, %{{.*}})
  rmem.fetch_if_not_in_cache @nodes, %at
  // CHECK: llvm.call @farside_rt_want(%{{.*}}, %arg0, %{{.*}})
  rmem.fetch_if_not_in_cache @wide, %at
  // CHECK: %[[TOGETHER:.*]] = llvm.mlir.constant(9 : i32)
  // CHECK: llvm.call @farside_rt_want(%{{.*}}, %arg0, %[[TOGETHER]])
  rmem.fetch_if_not_in_cache @anywhere, %at together 9
  // CHECK: llvm.call @farside_rt_follow_known(%{{.*}}, %arg0, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
  rmem.follow @nodes, %at
  // CHECK: llvm.call @farside_rt_follow_set(%{{.*}}, %arg0, %{{.*}})
  rmem.follow @wide, %at
  // CHECK: llvm.call @farside_rt_follow_full(%{{.*}}, %arg0, %{{.*}})
  rmem.follow @anywhere, %at
  // CHECK: %[[STRIDE:.*]] = llvm.mlir.constant(8 : i64)
  // CHECK: llvm.call @farside_rt_done(%{{.*}}, %arg0, %[[STRIDE]], %arg1, %arg1)
  rmem.done @wide, %at, %turns of %turns stride 8
  llvm.return %misses : i1
}

// What a lookup consists of.
// CHECK-LABEL: llvm.func @one_by_one
llvm.func @one_by_one(%at: !llvm.ptr, %size: i64) -> !llvm.ptr attributes {remotable.offload} {
  // CHECK: llvm.call @farside_rt_fetch(%{{.*}}, %arg0, %arg1)
  rmem.fetch @nodes, %at, %size
  // CHECK: llvm.call @farside_rt_wait(%{{.*}}, %arg0)
  rmem.wait @nodes, %at
  // CHECK: %[[EIGHT:.*]] = llvm.mlir.constant(8 : i64)
  // CHECK: %[[WRITTEN:.*]] = llvm.mlir.constant(1 : i32)
  // CHECK: %[[ADDRESS:.*]] = llvm.call @farside_rt_address(%{{.*}}, %arg0, %[[EIGHT]], %[[WRITTEN]])
  %address = rmem.paddr @nodes, %at size 8 written
  // CHECK: llvm.call @farside_rt_flush(%{{.*}}, %arg0, %arg1)
  rmem.flush @nodes, %at, %size
  // CHECK: llvm.return %[[ADDRESS]]
  llvm.return %address : !llvm.ptr
}

// Where something is missing anyhow, lookups are calls.
// CHECK-LABEL: llvm.func @apart
llvm.func @apart(%at: !llvm.ptr) {
  // CHECK: %[[FROM:.*]] = llvm.call @farside_rt_read_apart(%{{.*}}, %arg0, %{{.*}}, %{{.*}}, %{{.*}})
  // CHECK: %[[VALUE:.*]] = llvm.load %[[FROM]]
  %value = rmem.load @nodes, %at align 8 apart : i64
  // CHECK: %[[TO:.*]] = llvm.call @farside_rt_write_apart(%{{.*}}, %arg0, %{{.*}}, %{{.*}}, %{{.*}})
  // CHECK: llvm.store %[[VALUE]], %[[TO]]
  // CHECK: llvm.call @farside_rt_written(
  rmem.store @nodes, %value, %at align 8 apart : i64
  llvm.return
}

// Fields are in a variable, which also keeps what is found out about the loop.
// CHECK-LABEL: llvm.func @fields
llvm.func @fields(%size: i64, %old: !llvm.ptr) {
  // CHECK: %[[SCOPE:.*]] = llvm.mlir.addressof @farside.scope.0
  // CHECK: %[[SELECTED:.*]] = llvm.call @farside_rt_select(%{{.*}}, %[[SCOPE]])
  %selected = rmem.select @nodes record 64 fields [0, 8, 32, 4]
  // CHECK: llvm.mlir.addressof @farside.scope.1
  %other = rmem.select @edges record 16 fields [4, 4]
  // CHECK: llvm.call @farside_rt_select_all(%{{.*}}, %{{.*}})
  rmem.select_all @edges, %other
  // CHECK: llvm.call @farside_rt_select_all(%{{.*}}, %[[SELECTED]])
  rmem.select_all @nodes, %selected
  // CHECK: %[[AT:.*]] = llvm.mlir.constant(64 : i64)
  // CHECK: llvm.call @farside_rt_malloc_at(%{{.*}}, %arg0, %[[AT]])
  %block = remotable.alloc @nodes, %size at 64
  // CHECK: llvm.call @farside_rt_calloc_at(%{{.*}}, %arg0, %arg0, %{{.*}})
  %zeroed = remotable.alloc_zeroed @nodes, %size, %size at 64
  // CHECK: llvm.call @farside_rt_realloc_at(%{{.*}}, %arg1, %arg0, %{{.*}})
  %grown = remotable.realloc @nodes, %old, %size at 64
  llvm.return
}

// What is in one line, and no other thread uses, is not copied: neither is there room for that, nor is anything done when it is
// written.
// CHECK-LABEL: llvm.func @alone
llvm.func @alone(%at: !llvm.ptr) -> i64 {
  // CHECK-NOT: llvm.alloca
  // CHECK: %[[NONE:.*]] = llvm.mlir.zero : !llvm.ptr
  // CHECK: %[[ALONE:.*]] = llvm.mlir.constant(1 : i32)
  // CHECK: llvm.call @farside_rt_read_known(%{{.*}}, %arg0, %{{.*}}, %{{.*}}, %[[NONE]], %[[ALONE]], %{{.*}})
  %value = rmem.load @mine, %at align 8 : i64
  // CHECK: llvm.call @farside_rt_write_known(
  // CHECK-NOT: farside_rt_written
  rmem.store @mine, %value, %at align 8 : i64
  // CHECK: llvm.call @farside_rt_write_apart(
  // CHECK-NOT: farside_rt_written
  rmem.store @mine, %value, %at align 8 apart : i64
  // CHECK: llvm.return
  llvm.return %value : i64
}

// What may lie across the end of a line is.
// CHECK-LABEL: llvm.func @alone_in_parts
llvm.func @alone_in_parts(%at: !llvm.ptr, %value: i64) {
  // CHECK: %[[ROOM:.*]] = llvm.alloca %{{.*}} x !llvm.array<8 x i8>
  // CHECK: llvm.call @farside_rt_write_known(%{{.*}}, %arg0, %{{.*}}, %{{.*}}, %[[ROOM]], %{{.*}})
  // CHECK: llvm.call @farside_rt_written(%{{.*}}, %arg0, %{{.*}}, %{{.*}}, %[[ROOM]])
  rmem.store @mine, %value, %at align 4 : i64
  llvm.return
}
