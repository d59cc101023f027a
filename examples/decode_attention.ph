// One decode step of grouped-query attention over a cache of keys and values, one CTA a group of QG query heads that
// share a key head. Each warp takes its share of the keys with a softmax of its own; the merge brings all shares to one
// maximum.
@autotune(D in [64, 128], QG in [4, 8], WARPS in [4])
@launch(128)
@aligned(H = QG)
kernel decode_attention(Q: tensor<f32>[H, D],
                        K: tensor<f16>[NK, KW],
                        V: tensor<f16>[NK, KW],
                        O: tensor<f32>[H, D],
                        keys: i32,
                        scale: f32) {
  let head = ctx.block.x
  var q = Q[head * QG :+ QG, :]
  let rows = QG * WARPS
  var wm: tile<f32>[QG, WARPS]  // each warp's maximum,
  var wl: tile<f32>[QG, WARPS]  // sum of exponentials,
  var wacc: tile<f32>[rows, D]  // and values weighted by them
  warp_partial(q, K, V, 0, keys, head * D, wm, wl, wacc, scale)

  var m: tile<f32>[QG, 1] = rowmax(wm)
  var part: tile<f32>[QG, WARPS] = exp(wm - m)  // 0 for a warp without keys
  var total: tile<f32>[QG, 1] = rowsum(part * wl)
  part = part / total
  for i in range(ctx.thread, QG * D, ctx.threads) {
    let row = i / D
    var sum_of_parts: f32 = 0.0
    for<unroll 4> w in range(0, WARPS) {
      sum_of_parts += part[row, w] * wacc[row * WARPS + w, i % D]
    }
    O[head * QG + row, i % D] = sum_of_parts
  }
}
