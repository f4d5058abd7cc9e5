// RUN: farside-opt %s --farside-exceptions-to-values | FileCheck %s
// RUN: farside-opt %s --farside-exceptions-to-values --farside-values-to-exceptions | FileCheck %s --check-prefix=BACK

// CHECK-LABEL: llvm.func @catches
// CHECK: %[[TYPE:.*]] = llvm.mlir.addressof @type
// CHECK: %[[VALUE:.*]] = llvm.call @may_throw(%arg0) : (i32) -> i32
// CHECK-NEXT: %[[THROWN:.*]], %[[EXCEPTION:.*]] = flow.caught cleanup(%[[TYPE]]) : (!llvm.ptr) -> (i1, !llvm.struct<(ptr, i32)>)
// CHECK-NEXT: llvm.cond_br %[[THROWN]], ^[[PAD:.*]](%[[EXCEPTION]] : !llvm.struct<(ptr, i32)>), ^[[ON:.*]]
// CHECK: ^[[ON]]:
// CHECK-NEXT: llvm.return %[[VALUE]]
// CHECK: ^[[PAD]](%[[LANDING:.*]]: !llvm.struct<(ptr, i32)>):
// CHECK-NOT: llvm.landingpad
// CHECK: llvm.resume %[[LANDING]]

// BACK-LABEL: llvm.func @catches
// BACK: %[[TYPE:.*]] = llvm.mlir.addressof @type
// BACK: %[[VALUE:.*]] = llvm.invoke @may_throw(%arg0) to ^[[NORMAL:.*]] unwind ^[[UNWIND:.*]] : (i32) -> i32
// BACK: ^[[NORMAL]]:
// BACK: llvm.br ^[[ON:.*]]({{.*}}, %[[VALUE]] :
// BACK: ^[[UNWIND]]:
// BACK: %[[LANDING:.*]] = llvm.landingpad cleanup (catch %[[TYPE]] : !llvm.ptr)
// BACK: llvm.br ^[[ON]]({{.*}}, %[[LANDING]],
// BACK: ^[[ON]](%[[THROWN:.*]]: i1, %{{.*}}: !llvm.struct<(ptr, i32)>, %{{.*}}: i32):
// BACK: llvm.cond_br %[[THROWN]]
llvm.mlir.global external @type() : !llvm.ptr
llvm.func @catches(%x: i32) -> i32 attributes {personality = @__gxx_personality_v0} {
  %type = llvm.mlir.addressof @type : !llvm.ptr
  %value = llvm.invoke @may_throw(%x) to ^on unwind ^pad : (i32) -> i32
^on:
  llvm.return %value : i32
^pad:
  %landing = llvm.landingpad cleanup (catch %type : !llvm.ptr) : !llvm.struct<(ptr, i32)>
  llvm.resume %landing : !llvm.struct<(ptr, i32)>
}
llvm.func @may_throw(i32) -> i32
llvm.func @__gxx_personality_v0(...) -> i32
