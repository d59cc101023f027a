// y = a * x + y, one block of BLOCK elements a CTA. The last block may be ragged: its slice is masked.
@autotune(BLOCK in [1024, 4096])
@launch(256)
kernel saxpy(X: tensor<f32>[N], Y: tensor<f32>[N], a: f32) {
  let i = ctx.block.x * BLOCK
  Y[i :+ BLOCK] = a * X[i :+ BLOCK] + Y[i :+ BLOCK]
}
