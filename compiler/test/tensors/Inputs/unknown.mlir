func.func @unknown() {
  gpu.barrier
  return
}
