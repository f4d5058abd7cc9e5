// Every operation is printed as it is read.
// RUN: farside-opt %s | farside-opt | FileCheck %s

// CHECK: rmem.cache_section @nodes capacity 65536 line 128 ways 2 ahead 8
rmem.cache_section @nodes capacity 65536 line 128 ways 2 ahead 8
// CHECK: rmem.cache_section @queue capacity 65536 line 128 ways 2 ahead 8 batch 4 keep with @nodes
rmem.cache_section @queue capacity 65536 line 128 ways 2 ahead 8 batch 4 keep with @nodes
// CHECK: rmem.cache_section @mine capacity 65536 line 128 ways 2 ahead 8 own alone
rmem.cache_section @mine capacity 65536 line 128 ways 2 ahead 8 own alone

// CHECK-LABEL: llvm.func @all
llvm.func @all(%size: i64, %byte: i8, %plain: !llvm.ptr) {
  // CHECK: %[[BLOCK:.*]] = remotable.alloc @nodes, %arg0
  %block = remotable.alloc @nodes, %size
  // CHECK: remotable.try_alloc @nodes, %arg0
  %room = remotable.try_alloc @nodes, %size
  // CHECK: remotable.try_alloc @nodes, %arg0 align %arg0
  %aligned = remotable.try_alloc @nodes, %size align %size
  // CHECK: remotable.alloc_zeroed @nodes, %arg0, %arg0
  %zeroed = remotable.alloc_zeroed @nodes, %size, %size
  // CHECK: remotable.realloc @nodes, %{{.*}}, %arg0
  %grown = remotable.realloc @nodes, %zeroed, %size
  // CHECK: %[[VALUE:.*]] = rmem.load @nodes, %[[BLOCK]] align 4 : i32
  %value = rmem.load @nodes, %block align 4 : i32
  // CHECK: rmem.store @nodes, %[[VALUE]], %[[BLOCK]] align 4 : i32
  rmem.store @nodes, %value, %block align 4 : i32
  // CHECK: %[[APART:.*]] = rmem.load @nodes, %[[BLOCK]] align 4 apart : i32
  %apart = rmem.load @nodes, %block align 4 apart : i32
  // CHECK: rmem.store @nodes, %[[APART]], %[[BLOCK]] align 4 apart : i32
  rmem.store @nodes, %apart, %block align 4 apart : i32
  // CHECK: rmem.move to @nodes %[[BLOCK]], from %arg2, %arg0
  rmem.move to @nodes %block, from %plain, %size
  // CHECK: rmem.move to %arg2, from @nodes %[[BLOCK]], %arg0
  rmem.move to %plain, from @nodes %block, %size
  // CHECK: rmem.fill @nodes, %[[BLOCK]], %arg1, %arg0
  rmem.fill @nodes, %block, %byte, %size
  // CHECK: %[[LENT:.*]] = rmem.borrow @nodes %[[BLOCK]] size %arg0
  %lent = rmem.borrow @nodes %block size %size
  // CHECK: rmem.give_back @nodes %[[BLOCK]], %[[LENT]] written %arg0
  rmem.give_back @nodes %block, %lent written %size
  // CHECK: %[[TEXT:.*]] = rmem.borrow @nodes %[[BLOCK]] text
  %text = rmem.borrow @nodes %block text
  // CHECK: rmem.give_back @nodes %[[BLOCK]], %[[TEXT]]
  rmem.give_back @nodes %block, %text
  // CHECK: rmem.borrow @nodes %[[BLOCK]] size %arg0 text
  %part = rmem.borrow @nodes %block size %size text
  // CHECK: rmem.borrow @nodes %[[BLOCK]] size %arg0 copied
  %copied = rmem.borrow @nodes %block size %size copied
  // CHECK: rmem.follow @nodes, %[[BLOCK]]
  rmem.follow @nodes, %block
  // CHECK: rmem.done @nodes, %[[BLOCK]], %arg0 of %arg0 stride -8
  rmem.done @nodes, %block, %size of %size stride -8
  // CHECK: rmem.fetch_if_not_in_cache @nodes, %[[BLOCK]]
  rmem.fetch_if_not_in_cache @nodes, %block
  // CHECK: rmem.fetch_if_not_in_cache @nodes, %[[BLOCK]] together 16
  rmem.fetch_if_not_in_cache @nodes, %block together 16
  // CHECK: rmem.fetch @nodes, %[[BLOCK]], %arg0
  rmem.fetch @nodes, %block, %size
  // CHECK: rmem.wait @nodes, %[[BLOCK]]
  rmem.wait @nodes, %block
  // CHECK: rmem.paddr @nodes, %[[BLOCK]] size 8 written
  %address = rmem.paddr @nodes, %block size 8 written
  // CHECK: rmem.deref @nodes, %[[BLOCK]] size 16
  %other = rmem.deref @nodes, %block size 16
  // CHECK: rmem.flush @nodes, %[[BLOCK]], %arg0
  rmem.flush @nodes, %block, %size
  // CHECK: rmem.load @nodes, %[[BLOCK]] align 4 : vector<4xf32>
  %vector = rmem.load @nodes, %block align 4 : vector<4xf32>
  // CHECK: rmem.turns @nodes, %[[BLOCK]] size 8 stride 16
  %turns = rmem.turns @nodes, %block size 8 stride 16
  %misses = rmem.misses @nodes
  // CHECK: %[[TIME:.*]] = rmem.clock
  %time = rmem.clock
  // CHECK: rmem.turns_until_here @nodes, %[[TIME]] turns 64
  %far = rmem.turns_until_here @nodes, %time turns 64
  // CHECK: rmem.ahead @nodes, %[[BLOCK]], %{{.*}} start %{{.*}} size 8 stride 16
  rmem.ahead @nodes, %block, %turns start %misses size 8 stride 16
  // CHECK: %[[LINE:.*]] = rmem.hold @nodes, %[[BLOCK]], %{{.*}} size 8 stride 16 written
  %line = rmem.hold @nodes, %block, %turns size 8 stride 16 written
  // CHECK: rmem.let_go @nodes, %[[LINE]]
  rmem.let_go @nodes, %line
  // CHECK: rmem.here @nodes, %[[BLOCK]] size 16 written
  %here = rmem.here @nodes, %block size 16 written
  // CHECK: rmem.peek @nodes, %[[BLOCK]] size 4
  %peek = rmem.peek @nodes, %block size 4
  // CHECK: %[[SELECTED:.*]] = rmem.select @nodes record 64 fields [0, 8, 32, 4]
  %selected = rmem.select @nodes record 64 fields [0, 8, 32, 4]
  // CHECK: rmem.select_all @nodes, %[[SELECTED]]
  rmem.select_all @nodes, %selected
  // CHECK: remotable.alloc @nodes, %arg0 at 64
  %placed = remotable.alloc @nodes, %size at 64
  // CHECK: %[[REST:.*]] = remotable.release @nodes, %[[BLOCK]]
  %rest = remotable.release @nodes, %block
  llvm.return
}
