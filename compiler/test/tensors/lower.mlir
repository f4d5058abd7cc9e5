// Programs of tensors become such as clang makes of C.
// RUN: farside-opt %s --farside-tensors | FileCheck %s

// What is not for others stays within.
// CHECK-DAG: llvm.func @malloc(i64) -> !llvm.ptr
// CHECK-DAG: llvm.func @free(!llvm.ptr)
// CHECK-NOT: aligned_alloc

// Tensors are pointers to their elements, and results are written to the last ones.
// CHECK-LABEL: llvm.func @product(
// CHECK-SAME: %[[A:[a-z0-9]+]]: !llvm.ptr, %[[B:[a-z0-9]+]]: !llvm.ptr, %[[C:[a-z0-9]+]]: !llvm.ptr {llvm.noalias}) {
// CHECK: llvm.store
// Rows of the largest are gone through once; each is used for all rows of the others.
// CHECK: ^[[K:.*]](%[[IK:.*]]: i64):
// CHECK: ^[[I:.*]](%[[II:.*]]: i64):
// CHECK: ^[[J:.*]](%[[IJ:.*]]: i64):
// CHECK: llvm.getelementptr inbounds|nuw %[[A]]
// CHECK: llvm.mul %[[IK]], %{{.*}} overflow<nsw, nuw>
// CHECK: llvm.add %{{.*}}, %[[IJ]] overflow<nsw, nuw>
// CHECK: llvm.getelementptr inbounds|nuw %[[B]]
// CHECK: llvm.load %{{.*}} {tbaa = [#tbaa_tag]} : !llvm.ptr -> f32
func.func @product(%a: tensor<8x64xf32>, %b: tensor<64x128xf32>) -> tensor<8x128xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<8x128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<8x128xf32>) -> tensor<8x128xf32>
  %c = linalg.matmul ins(%a, %b : tensor<8x64xf32>, tensor<64x128xf32>) outs(%init : tensor<8x128xf32>) -> tensor<8x128xf32>
  return %c : tensor<8x128xf32>
}

// What is given is only read, although it could be written to in its place.
// CHECK-LABEL: llvm.func @negate(
// CHECK-SAME: %[[X:[a-z0-9]+]]: !llvm.ptr, %[[Y:[a-z0-9]+]]: !llvm.ptr {llvm.noalias}) {
// CHECK: %[[AT:.*]] = llvm.getelementptr inbounds|nuw %[[Y]]
// CHECK: llvm.store %{{.*}}, %[[AT]]
func.func @negate(%x: tensor<16xf32>) -> tensor<16xf32> {
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%x : tensor<16xf32>) {
  ^bb0(%value: f32):
    %less = arith.negf %value : f32
    linalg.yield %less : f32
  } -> tensor<16xf32>
  return %y : tensor<16xf32>
}

// Buffers come from malloc, whatever their alignment, and are freed when they are not needed any more.
// CHECK-LABEL: llvm.func @sums(
// CHECK: %[[BUFFER:.*]] = llvm.call @malloc
// CHECK-NOT: llvm.ptrtoint
// CHECK: llvm.call @free(%[[BUFFER]])
// CHECK: llvm.return
func.func @sums(%x: memref<32x32xf64>, %sums: memref<32xf64>) {
  %zero = arith.constant 0.0 : f64
  %buffer = memref.alloc() {alignment = 64 : i64} : memref<32x32xf64>
  affine.for %i = 0 to 32 {
    affine.store %zero, %sums[%i] : memref<32xf64>
    affine.for %j = 0 to 32 {
      %value = affine.load %x[%i, %j] : memref<32x32xf64>
      %square = arith.mulf %value, %value : f64
      affine.store %square, %buffer[%j, %i] : memref<32x32xf64>
    }
  }
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  scf.for %i = %c0 to %c32 step %c1 {
    scf.for %j = %c0 to %c32 step %c1 {
      %old = memref.load %sums[%j] : memref<32xf64>
      %value = memref.load %buffer[%i, %j] : memref<32x32xf64>
      %new = arith.addf %old, %value : f64
      memref.store %new, %sums[%j] : memref<32xf64>
    }
  }
  memref.dealloc %buffer : memref<32x32xf64>
  return
}

// CHECK-LABEL: llvm.func internal @within(
func.func private @within(%x: tensor<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %value = tensor.extract %x[%c0] : tensor<4xf32>
  %root = math.sqrt %value : f32
  return %root : f32
}

// CHECK-LABEL: llvm.func @outside(
// CHECK-SAME: !llvm.ptr) -> f32
// CHECK: llvm.call @within
func.func @outside(%x: tensor<4xf32>) -> f32 {
  %root = func.call @within(%x) : (tensor<4xf32>) -> f32
  return %root : f32
}

// What is switched on is compared as a whole.
// CHECK-LABEL: llvm.func @chosen(
// CHECK: llvm.switch %{{.*}} : i64, ^{{.*}} [
// CHECK-NEXT: 4294967298: ^
func.func @chosen(%of: memref<4xf32>, %at: index) {
  scf.index_switch %at
  case 4294967298 {
    %one = arith.constant 1.0 : f32
    %first = arith.constant 0 : index
    memref.store %one, %of[%first] : memref<4xf32>
    scf.yield
  }
  default {
  }
  return
}
