// y = W x, one warp a row: lanes read 16 bytes of the row each, side by side, and fold what they have summed.
@launch(256)
@aligned(K = 8)
kernel matvec(W: tensor<f16>[N, K], X: tensor<f16>[K], Y: tensor<f32>[N]) {
  let row = ctx.block.x * ctx.warps + ctx.warp
  if row < N {
    var acc: f32 = 0.0
    for k in range(ctx.lane * 8, K, ctx.lanes * 8) {
      acc += sum(f32(W[row, k :+ 8]) * f32(X[k :+ 8]))
    }
    let total = sum<over ctx.lane>(acc)
    if ctx.lane == 0 {
      Y[row] = total
    }
  }
}
