// C = A @ B^T over signed bytes, summed in i32.
@autotune(TILE_M in [32, 64], TILE_N in [32, 64], TILE_K in [32, 64])
@launch(256)
kernel int8_gemm(A: tensor<i8>[M, K], B: tensor<i8>[N, K], C: tensor<i32>[M, N]) {
  let row = ctx.block.x * TILE_M
  let column = ctx.block.y * TILE_N
  var sum: tile<i32>[TILE_M, TILE_N] = 0
  for k in range(0, K, TILE_K) {
    var a = A[row :+ TILE_M, k :+ TILE_K]
    var b = B[column :+ TILE_N, k :+ TILE_K]
    sum += dot_t(a, b)
  }
  C[row :+ TILE_M, column :+ TILE_N] = sum
}
