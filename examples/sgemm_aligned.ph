// SGEMM for extents that the tiles divide: no masks, 16-byte copies, and the next slices of A and B on their way while
// this turn's are multiplied. A launch that breaks the promise of @aligned traps.
@autotune(TILE_M in [32, 128], TILE_N in [32, 128], TILE_K in [8, 32])
@launch(256)
@pipeline
@aligned(M = TILE_M, N = TILE_N, K = TILE_K)
kernel sgemm_aligned(A: tensor<f32>[M, K],
                     B: tensor<f32>[K, N],
                     C: tensor<f32>[M, N],
                     alpha: f32,
                     beta: f32) {
  let row = ctx.block.x * TILE_M
  let column = ctx.block.y * TILE_N
  var sum: tile<f32>[TILE_M, TILE_N] = 0.0
  for k in range(0, K, TILE_K) {
    var a = A[row :+ TILE_M, k :+ TILE_K]
    var b = B[k :+ TILE_K, column :+ TILE_N]
    sum += dot(a, b)
  }
  let old = C[row :+ TILE_M, column :+ TILE_N]
  C[row :+ TILE_M, column :+ TILE_N] = alpha * sum + beta * old
}
