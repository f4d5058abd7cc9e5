func.func @syntax(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = nothing.like "this"
  return %y : tensor<4xf32>
}
