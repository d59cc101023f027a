// Row lookup: output row i is row tokens[i] of the table, which is declared flat.
@autotune(D in [64, 128], ROWS in [8, 16])
@launch(128)
kernel embedding(TABLE: tensor<f16>[1, VD], TOKENS: tensor<i32>[N, 1], OUT: tensor<f16>[N, D]) {
  let r = ctx.block.x * ROWS
  var at: tile<i32>[ROWS, D] = TOKENS[r :+ ROWS, :] * D + iota(1)
  OUT[r :+ ROWS, :] = gather(TABLE[:, :], at)
}
