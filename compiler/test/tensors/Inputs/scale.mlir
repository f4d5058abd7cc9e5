func.func @scale(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = arith.constant 2.0 : f32
  %made = tensor.empty() : tensor<4xf32>
  %y = linalg.map ins(%x : tensor<4xf32>) outs(%made : tensor<4xf32>)
    (%value: f32, %old: f32) {
      %more = arith.mulf %value, %two : f32
      linalg.yield %more : f32
    }
  return %y : tensor<4xf32>
}
