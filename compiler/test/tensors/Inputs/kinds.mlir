// Operations of all kinds that tensor compilers write.
ml_program.global private mutable @global_seed(dense<0> : tensor<i64>) : tensor<i64>
func.func @convolution(%x: tensor<1x3x16x16xf32>) -> tensor<1x8x16x16xf32> {
  %w = arith.constant dense<0.5> : tensor<8x3x3x3xf32>
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x3x16x16xf32> to tensor<1x3x18x18xf32>
  %e = tensor.empty() : tensor<1x8x16x16xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32>
  %r = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%p, %w : tensor<1x3x18x18xf32>, tensor<8x3x3x3xf32>) outs(%f : tensor<1x8x16x16xf32>) -> tensor<1x8x16x16xf32>
  return %r : tensor<1x8x16x16xf32>
}
func.func @rows(%ids: tensor<8xi64>, %table: tensor<100x32xf32>) -> tensor<8x32xf32> {
  %e = tensor.empty() : tensor<8x32xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<8xi64>) outs(%e : tensor<8x32xf32>) {
  ^bb0(%in: i64, %out: f32):
    %i = arith.index_cast %in : i64 to index
    %j = linalg.index 1 : index
    %c0 = arith.constant 0 : index
    %ok = arith.cmpi sge, %i, %c0 : index
    cf.assert %ok, "negative"
    %v = tensor.extract %table[%i, %j] : tensor<100x32xf32>
    linalg.yield %v : f32
  } -> tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}
func.func @errors(%x: tensor<32xf32>) -> tensor<32xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %r = scf.for %i = %c0 to %c32 step %c1 iter_args(%t = %x) -> tensor<32xf32> {
    %v = tensor.extract %t[%i] : tensor<32xf32>
    %e = math.erf %v : f32
    %n = tensor.insert %e into %t[%i] : tensor<32xf32>
    scf.yield %n : tensor<32xf32>
  }
  return %r : tensor<32xf32>
}
func.func @same(%x: tensor<32xf32>) -> tensor<32xf32> { return %x : tensor<32xf32> }
func.func @shares(%x: tensor<2x16xf32>) -> tensor<2x16xf32> {
  %e = tensor.empty() : tensor<2x16xf32>
  %r = linalg.softmax dimension(1) ins(%x : tensor<2x16xf32>) outs(%e : tensor<2x16xf32>) -> tensor<2x16xf32>
  return %r : tensor<2x16xf32>
}
func.func @twice(%x: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  affine.parallel (%i) = (0) to (64) step (8) {
    %v = vector.transfer_read %x[%i], %z {in_bounds = [true]} : memref<64xf32>, vector<8xf32>
    %s = arith.addf %v, %v : vector<8xf32>
    vector.transfer_write %s, %x[%i] {in_bounds = [true]} : vector<8xf32>, memref<64xf32>
  }
  return
}
func.func @inserted(%x: tensor<8x8xf32>, %y: tensor<2x2xf32>) -> tensor<8x8xf32> {
  %r = tensor.insert_slice %y into %x[1, 1] [2, 2] [1, 1] : tensor<2x2xf32> into tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}
func.func @second(%n: index, %x: memref<16xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = memref.alloc(%n) : memref<?xf32>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = memref.load %x[%i] : memref<16xf32>
    memref.store %v, %b[%i] : memref<?xf32>
    scf.reduce
  }
  %r = memref.load %b[%c1] : memref<?xf32>
  return %r : f32
}
func.func @copied(%x: tensor<32xf32>) -> tensor<32xf32> {
  %e = tensor.empty() : tensor<32xf32>
  %r = scf.forall (%i) in (32) shared_outs(%o = %e) -> tensor<32xf32> {
    %s = tensor.extract_slice %x[%i] [1] [1] : tensor<32xf32> to tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%i] [1] [1] : tensor<1xf32> into tensor<32xf32>
    }
  }
  return %r : tensor<32xf32>
}
