// Marked operations become those of rmem; others stay.
// RUN: farside-opt %s --farside-to-remote | FileCheck %s

rmem.cache_section @nodes capacity 65536 line 128 ways 2 ahead 8
llvm.func @malloc(i64) -> !llvm.ptr
llvm.func @calloc(i64, i64) -> !llvm.ptr
llvm.func @realloc(!llvm.ptr, i64) -> !llvm.ptr
llvm.func @free(!llvm.ptr)
llvm.func @_Znwm(i64) -> !llvm.ptr
llvm.func @_ZdlPvm(!llvm.ptr, i64)
llvm.func @aligned_alloc(i64, i64) -> !llvm.ptr
llvm.func @memalign(i64, i64) -> !llvm.ptr
llvm.func @posix_memalign(!llvm.ptr, i64, i64) -> i32
llvm.func @_ZnwmSt11align_val_t(i64, i64) -> !llvm.ptr
llvm.func @_ZnamSt11align_val_tRKSt9nothrow_t(i64, i64, !llvm.ptr) -> !llvm.ptr
llvm.func @_ZdlPvmSt11align_val_t(!llvm.ptr, i64, i64)
llvm.func @__gxx_personality_v0(...) -> i32

// CHECK-LABEL: llvm.func @all
llvm.func @all(%size: i64, %short: i32, %byte: i8, %plain: !llvm.ptr) {
  // CHECK: %[[BLOCK:.*]] = remotable.alloc @nodes, %arg0
  %block = llvm.call @malloc(%size) {rmem.in = @nodes} : (i64) -> !llvm.ptr
  // CHECK: %[[ZEROED:.*]] = remotable.alloc_zeroed @nodes, %arg0, %arg0
  %zeroed = llvm.call @calloc(%size, %size) {rmem.in = @nodes} : (i64, i64) -> !llvm.ptr
  // CHECK: %[[GROWN:.*]] = remotable.realloc @nodes, %[[ZEROED]], %arg0
  %grown = llvm.call @realloc(%zeroed, %size) {rmem.in = @nodes} : (!llvm.ptr, i64) -> !llvm.ptr
  // CHECK: llvm.getelementptr
  %at = llvm.getelementptr %block[%size] : (!llvm.ptr, i64) -> !llvm.ptr, i32
  // CHECK: rmem.load @nodes, %{{.*}} align 4 : i32
  %value = llvm.load %at {alignment = 4 : i64, rmem.in = @nodes} : !llvm.ptr -> i32
  // CHECK: rmem.store @nodes, %{{.*}} align 1 : i32
  llvm.store %value, %at {rmem.in = @nodes} : i32, !llvm.ptr
  // CHECK: llvm.store %{{.*}}, %arg3
  llvm.store %value, %plain : i32, !llvm.ptr
  // CHECK: rmem.move to @nodes %[[BLOCK]], from %arg3, %arg0
  "llvm.intr.memcpy"(%block, %plain, %size) <{isVolatile = false}> {rmem.in = @nodes} : (!llvm.ptr, !llvm.ptr, i64) -> ()
  // CHECK: %[[WIDE:.*]] = llvm.zext %arg1 : i32 to i64
  // CHECK: rmem.move to %arg3, from @nodes %[[BLOCK]], %[[WIDE]]
  "llvm.intr.memmove"(%plain, %block, %short) <{isVolatile = false}> {rmem.from = @nodes} : (!llvm.ptr, !llvm.ptr, i32) -> ()
  // CHECK: rmem.fill @nodes, %[[BLOCK]], %arg2, %arg0
  "llvm.intr.memset"(%block, %byte, %size) <{isVolatile = false}> {rmem.in = @nodes} : (!llvm.ptr, i8, i64) -> ()
  // CHECK: %[[REST:.*]] = remotable.release @nodes, %[[BLOCK]]
  // CHECK: llvm.call @free(%[[REST]])
  llvm.call @free(%block) {rmem.in = @nodes} : (!llvm.ptr) -> ()
  llvm.return
}

// What throws is called where the section has no room.
// CHECK-LABEL: llvm.func @creates
llvm.func @creates(%size: i64) {
  // CHECK: %[[TRIED:.*]] = remotable.try_alloc @nodes, %arg0
  // CHECK: %[[HAS:.*]] = llvm.icmp "ne" %[[TRIED]]
  // CHECK: llvm.cond_br %[[HAS]], ^[[REST:.*]](%[[TRIED]] : !llvm.ptr), ^[[PLAIN:.*]]
  // CHECK: ^[[PLAIN]]:
  // CHECK: %[[OTHER:.*]] = llvm.call @_Znwm(%arg0) : (i64) -> !llvm.ptr
  // CHECK: llvm.br ^[[REST]](%[[OTHER]] : !llvm.ptr)
  // CHECK: ^[[REST]](%[[BLOCK:.*]]: !llvm.ptr):
  %block = llvm.call @_Znwm(%size) {rmem.in = @nodes} : (i64) -> !llvm.ptr
  // CHECK: %[[LEFT:.*]] = remotable.release @nodes, %[[BLOCK]]
  // CHECK: llvm.call @_ZdlPvm(%[[LEFT]], %arg0)
  llvm.call @_ZdlPvm(%block, %size) {rmem.in = @nodes} : (!llvm.ptr, i64) -> ()
  llvm.return
}

// CHECK-LABEL: llvm.func @creates_or_catches
llvm.func @creates_or_catches(%size: i64) -> !llvm.ptr attributes {personality = @__gxx_personality_v0} {
  // CHECK: remotable.try_alloc @nodes, %arg0
  // CHECK: llvm.cond_br %{{.*}}, ^[[REST:.*]](%{{.*}} : !llvm.ptr), ^[[PLAIN:.*]]
  // CHECK: ^[[PLAIN]]:
  // CHECK: %[[OTHER:.*]] = llvm.invoke @_Znwm(%arg0) to ^[[MADE:.*]] unwind ^[[PAD:.*]] :
  %block = llvm.invoke @_Znwm(%size) to ^made unwind ^pad {rmem.in = @nodes} : (i64) -> !llvm.ptr
^made:
  // CHECK: ^[[MADE]]:
  // CHECK: llvm.br ^[[REST]](%[[OTHER]] : !llvm.ptr)
  // CHECK: ^[[REST]](%[[BLOCK:.*]]: !llvm.ptr):
  // CHECK: llvm.return %[[BLOCK]]
  llvm.return %block : !llvm.ptr
^pad:
  %caught = llvm.landingpad cleanup : !llvm.struct<(ptr, i32)>
  llvm.resume %caught : !llvm.struct<(ptr, i32)>
}

// What takes an alignment is called where the section cannot give it.
// CHECK-LABEL: llvm.func @aligned
llvm.func @aligned(%size: i64, %alignment: i64) {
  // CHECK: %[[TRIED:.*]] = remotable.try_alloc @nodes, %arg0 align %arg1
  // CHECK: llvm.cond_br %{{.*}}, ^[[REST:.*]](%[[TRIED]] : !llvm.ptr), ^[[PLAIN:.*]]
  // CHECK: ^[[PLAIN]]:
  // CHECK: %[[OTHER:.*]] = llvm.call @aligned_alloc(%arg1, %arg0)
  // CHECK: llvm.br ^[[REST]](%[[OTHER]] : !llvm.ptr)
  // CHECK: ^[[REST]](%[[BLOCK:.*]]: !llvm.ptr):
  %block = llvm.call @aligned_alloc(%alignment, %size) {rmem.in = @nodes} : (i64, i64) -> !llvm.ptr
  // CHECK: %[[LEFT:.*]] = remotable.release @nodes, %[[BLOCK]]
  // CHECK: llvm.call @free(%[[LEFT]])
  llvm.call @free(%block) {rmem.in = @nodes} : (!llvm.ptr) -> ()
  // CHECK: remotable.try_alloc @nodes, %arg0 align %arg1
  // CHECK: llvm.call @memalign(%arg1, %arg0)
  %old = llvm.call @memalign(%alignment, %size) {rmem.in = @nodes} : (i64, i64) -> !llvm.ptr
  llvm.return
}

// The pointer is stored. An alignment that is refused is not asked for.
// CHECK-LABEL: llvm.func @aligned_at
llvm.func @aligned_at(%place: !llvm.ptr, %size: i64, %alignment: i64) -> i32 {
  // CHECK: %[[LEAST:.*]] = llvm.mlir.constant(8 : i64)
  // CHECK: %[[NONE:.*]] = llvm.mlir.constant(0 : i64)
  // CHECK: %[[LESS:.*]] = llvm.icmp "ult" %arg2, %[[LEAST]]
  // CHECK: %[[ASKED:.*]] = llvm.select %[[LESS]], %[[NONE]], %arg2
  // CHECK: %[[TRIED:.*]] = remotable.try_alloc @nodes, %arg1 align %[[ASKED]]
  // CHECK: llvm.cond_br %{{.*}}, ^[[MADE:.*]](%[[TRIED]] : !llvm.ptr), ^[[PLAIN:.*]]
  // CHECK: ^[[PLAIN]]:
  // CHECK: %[[WHY:.*]] = llvm.call @posix_memalign(%arg0, %arg2, %arg1)
  // CHECK: llvm.br ^[[REST:.*]](%[[WHY]] : i32)
  // CHECK: ^[[MADE]](%[[BLOCK:.*]]: !llvm.ptr):
  // CHECK: llvm.store %[[BLOCK]], %arg0
  // CHECK: %[[ZERO:.*]] = llvm.mlir.constant(0 : i32)
  // CHECK: llvm.br ^[[REST]](%[[ZERO]] : i32)
  // CHECK: ^[[REST]](%[[RESULT:.*]]: i32):
  // CHECK: llvm.return %[[RESULT]]
  %failed = llvm.call @posix_memalign(%place, %alignment, %size) {rmem.in = @nodes} : (!llvm.ptr, i64, i64) -> i32
  llvm.return %failed : i32
}

// CHECK-LABEL: llvm.func @creates_aligned
llvm.func @creates_aligned(%size: i64, %alignment: i64, %nothrow: !llvm.ptr) -> !llvm.ptr attributes {personality = @__gxx_personality_v0} {
  // CHECK: remotable.try_alloc @nodes, %arg0 align %arg1
  // CHECK: llvm.call @_ZnamSt11align_val_tRKSt9nothrow_t(%arg0, %arg1, %arg2)
  %quiet = llvm.call @_ZnamSt11align_val_tRKSt9nothrow_t(%size, %alignment, %nothrow) {rmem.in = @nodes} : (i64, i64, !llvm.ptr) -> !llvm.ptr
  // CHECK: %[[LEFT:.*]] = remotable.release @nodes, %{{.*}}
  // CHECK: llvm.call @_ZdlPvmSt11align_val_t(%[[LEFT]], %arg0, %arg1)
  llvm.call @_ZdlPvmSt11align_val_t(%quiet, %size, %alignment) {rmem.in = @nodes} : (!llvm.ptr, i64, i64) -> ()
  // CHECK: remotable.try_alloc @nodes, %arg0 align %arg1
  // CHECK: llvm.invoke @_ZnwmSt11align_val_t(%arg0, %arg1) to
  %block = llvm.invoke @_ZnwmSt11align_val_t(%size, %alignment) to ^made unwind ^pad {rmem.in = @nodes} : (i64, i64) -> !llvm.ptr
^made:
  llvm.return %block : !llvm.ptr
^pad:
  %caught = llvm.landingpad cleanup : !llvm.struct<(ptr, i32)>
  llvm.resume %caught : !llvm.struct<(ptr, i32)>
}

// Where fields are selected, and everything again; and what begins where records do.
llvm.func @farside.select(i32) -> !llvm.ptr
llvm.func @farside.select_all(i32, !llvm.ptr)
// CHECK-LABEL: llvm.func @fields
llvm.func @fields(%number: i32, %size: i64) {
  // CHECK: %[[SELECTED:.*]] = rmem.select @nodes record 64 fields [8, 8]
  %selected = llvm.call @farside.select(%number) {rmem.in = @nodes, rmem.record = 64 : i64, rmem.fields = array<i32: 8, 8>} : (i32) -> !llvm.ptr
  // CHECK: rmem.select_all @nodes, %[[SELECTED]]
  llvm.call @farside.select_all(%number, %selected) {rmem.in = @nodes} : (i32, !llvm.ptr) -> ()
  // CHECK: remotable.alloc @nodes, %arg1 at 64
  %block = llvm.call @malloc(%size) {rmem.in = @nodes, rmem.at = 64 : i64} : (i64) -> !llvm.ptr
  // CHECK: %[[AT:.*]] = llvm.mlir.constant(64 : i64)
  // CHECK: remotable.try_alloc @nodes, %arg1 align %[[AT]]
  %made = llvm.call @_Znwm(%size) {rmem.in = @nodes, rmem.at = 64 : i64} : (i64) -> !llvm.ptr
  llvm.return
}
