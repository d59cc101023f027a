// Rotary position embedding: each pair (x[i], x[i + H]) of a row turns by the angle of its position and frequency.
@autotune(H in [32, 64], ROWS in [8, 16])
@launch(128)
kernel rope(X: tensor<f32>[N, D], F: tensor<f32>[1, H], Y: tensor<f32>[N, D], first: i32) {
  let r = ctx.block.x * ROWS
  var angle: tile<f32>[ROWS, H] = f32(iota(0))
  angle = (angle + f32(r) + f32(first)) * F[0 :+ 1, :]
  let a = X[r :+ ROWS, 0 :+ H]
  let b = X[r :+ ROWS, H :+ H]
  Y[r :+ ROWS, 0 :+ H] = a * cos(angle) - b * sin(angle)
  Y[r :+ ROWS, H :+ H] = a * sin(angle) + b * cos(angle)
}
