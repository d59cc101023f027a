// The T largest of each row and where they stand: T rounds of a row argmax, each masking what it picked.
@autotune(C in [128, 512], ROWS in [4, 8])
@launch(128)
kernel top_k(X: tensor<f32>[N, C], V: tensor<f32>[N, T], I: tensor<i32>[N, T]) {
  let r = ctx.block.x * ROWS
  var x = X[r :+ ROWS, :]
  for t in range(0, T) {
    var pick: tile<i32>[ROWS, 1] = rowargmax(x)
    V[r :+ ROWS, t :+ 1] = rowmax(x)
    I[r :+ ROWS, t :+ 1] = pick
    x = where(iota(1) == pick, -1.0e30, x)
  }
}
