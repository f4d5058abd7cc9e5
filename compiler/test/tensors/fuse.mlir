// What is done to each element is done in one loop, unless it would be done more often than before.
// RUN: farside-opt %s --farside-fuse-elementwise | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>

// CHECK-LABEL: func.func @both
// CHECK-COUNT-1: linalg.generic
// CHECK: math.exp
// CHECK: arith.negf
// CHECK-NOT: linalg.generic
func.func @both(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %empty = tensor.empty() : tensor<8x8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x8xf32>) outs(%empty : tensor<8x8xf32>) {
  ^bb0(%value: f32, %old: f32):
    %power = math.exp %value : f32
    linalg.yield %power : f32
  } -> tensor<8x8xf32>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<8x8xf32>) outs(%empty : tensor<8x8xf32>) {
  ^bb0(%value: f32, %old: f32):
    %less = arith.negf %value : f32
    linalg.yield %less : f32
  } -> tensor<8x8xf32>
  return %z : tensor<8x8xf32>
}

// CHECK-LABEL: func.func @product
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: linalg.generic
// CHECK: arith.mulf
func.func @product(%x: tensor<8x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %empty = tensor.empty() : tensor<8x8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x8xf32>) outs(%empty : tensor<8x8xf32>) {
  ^bb0(%value: f32, %old: f32):
    %power = math.exp %value : f32
    linalg.yield %power : f32
  } -> tensor<8x8xf32>
  %z = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
                                        affine_map<(i, j, k) -> (i, j)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%y, %b : tensor<8x8xf32>, tensor<8x8xf32>) outs(%c : tensor<8x8xf32>) {
  ^bb0(%left: f32, %right: f32, %sum: f32):
    %part = arith.mulf %left, %right : f32
    %more = arith.addf %sum, %part : f32
    linalg.yield %more : f32
  } -> tensor<8x8xf32>
  return %z : tensor<8x8xf32>
}
