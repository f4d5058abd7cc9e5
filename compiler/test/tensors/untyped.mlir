// Nothing is said of types where memory is looked at as bytes.
// RUN: farside-opt %s --farside-tensors | FileCheck %s

// CHECK-LABEL: llvm.func @bytes(
// CHECK-NOT: tbaa
func.func @bytes(%value: f32) -> i64 {
  %c0 = arith.constant 0 : index
  %all = memref.alloc() : memref<64xi8>
  %floats = memref.view %all[%c0][] : memref<64xi8> to memref<16xf32>
  memref.store %value, %floats[%c0] : memref<16xf32>
  %numbers = memref.view %all[%c0][] : memref<64xi8> to memref<8xi64>
  %number = memref.load %numbers[%c0] : memref<8xi64>
  memref.dealloc %all : memref<64xi8>
  return %number : i64
}
