// Softmax of each row. The whole row of C columns is one tile, so the maximum and the sum see it at once.
@autotune(C in [128, 1024], ROWS in [4, 8])
@launch(256)
kernel softmax(X: tensor<f32>[N, C], Y: tensor<f32>[N, C]) {
  let r = ctx.block.x * ROWS
  var x = X[r :+ ROWS, :]
  var top: tile<f32>[ROWS, 1] = rowmax(x)
  x = exp(x - top)
  var total: tile<f32>[ROWS, 1] = rowsum(x)
  Y[r :+ ROWS, :] = x / total
}
