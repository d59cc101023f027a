// Attention without the score matrix in memory: keys and values stream by in blocks of BC, and each row keeps its running
// maximum and denominator.
@autotune(D in [64], BR in [32, 64], BC in [32, 64])
@launch(128)
kernel flash_attention(Q: tensor<f32>[Nq, D],
                       K: tensor<f32>[Nk, D],
                       V: tensor<f32>[Nk, D],
                       O: tensor<f32>[Nq, D],
                       scale: f32) {
  let row = ctx.block.x * BR
  let q = Q[row :+ BR, :]
  var acc: tile<f32>[BR, D] = 0.0
  var top: tile<f32>[BR, 1] = -1.0e30
  var total: tile<f32>[BR, 1] = 0.0
  for j in range(0, Nk, BC) {
    let k = K[j :+ BC, :]
    let v = V[j :+ BC, :]
    var s: tile<f32>[BR, BC] = dot_t(q, k)
    s = where(iota(1) < Nk - j, s * scale, -1.0e30)  // keys past the end read as zeros: their scores must not count
    var next: tile<f32>[BR, 1] = rowmax(s)
    next = tmax(top, next)
    var p: tile<f32>[BR, BC] = exp(s - next)
    var shrink: tile<f32>[BR, 1] = exp(top - next)
    total = total * shrink
    total += rowsum(p)
    acc = acc * shrink + dot(p, v)
    top = next
  }
  O[row :+ BR, :] = acc / total
}
