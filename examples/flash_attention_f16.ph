// Flash attention on f16 tensors: scores, probabilities and sums in f32, rounded to f16 once at the end.
@autotune(D in [64], BR in [32, 64], BC in [32, 64])
@launch(128)
kernel flash_attention_f16(Q: tensor<f16>[Nq, D],
                           K: tensor<f16>[Nk, D],
                           V: tensor<f16>[Nk, D],
                           O: tensor<f16>[Nq, D],
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
    s = where(iota(1) < Nk - j, s * scale, -1.0e30)
    var next: tile<f32>[BR, 1] = rowmax(s)
    next = tmax(top, next)
    s = exp(s - next)
    var shrink: tile<f32>[BR, 1] = exp(top - next)
    total = total * shrink
    total += rowsum(s)
    var p: tile<f16>[BR, BC] = f16(s)
    acc = acc * shrink + dot(p, v)
    top = next
  }
  O[row :+ BR, :] = f16(acc / total)
}
