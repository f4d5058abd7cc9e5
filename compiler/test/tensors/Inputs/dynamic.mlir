func.func @dynamic(%x: tensor<?xf32>) {
  return
}
