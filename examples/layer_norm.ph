// Layer normalisation of each row: (x - mean) / sqrt(variance + eps) * weight + bias.
@autotune(C in [128, 1024], ROWS in [4, 8])
@launch(256)
kernel layer_norm(X: tensor<f32>[N, C],
                  W: tensor<f32>[1, C],
                  B: tensor<f32>[1, C],
                  Y: tensor<f32>[N, C],
                  eps: f32) {
  let r = ctx.block.x * ROWS
  let scale = 1.0 / f32(C)
  var x = X[r :+ ROWS, :]
  var mean: tile<f32>[ROWS, 1] = rowsum(x)
  x = x - mean * scale
  var variance: tile<f32>[ROWS, 1] = rowsum(x * x)
  variance = rsqrt(variance * scale + eps)
  Y[r :+ ROWS, :] = x * variance * W[0 :+ 1, :] + B[0 :+ 1, :]
}
