func.func @unknown(%a: f32, %b: f32) -> f32 {
  %c = complex.create %a, %b : complex<f32>
  %size = complex.abs %c : complex<f32>
  return %size : f32
}
