// Gated linear attention over chunks of C tokens, with the recurrent state S (keys x values) carried from chunk to chunk.
@autotune(D in [64], C in [32, 64])
@launch(256)
kernel kda(Q: tensor<f32>[N, D],
           K: tensor<f32>[N, D],
           V: tensor<f32>[N, D],
           G: tensor<f32>[N, 1],
           O: tensor<f32>[N, D],
           scale: f32) {
  var state: tile<f32>[D, D] = 0.0
  for c in range(0, N, C) {
    let q = Q[c :+ C, :]
    let k = K[c :+ C, :]
    let v = V[c :+ C, :]
    let g = G[c :+ C, :]
    var decay: tile<f32>[C, 1] = cumsum(g)  // log of the decay from the chunk's start to each token
    var qd: tile<f32>[C, D] = q * exp(decay)
    qd = qd * scale
    var kd: tile<f32>[C, D] = k * exp(decay * -1.0)
    var p: tile<f32>[C, C] = dot_t(qd, kd)
    p = tril(p)  // a token sees itself and those before it
    var o: tile<f32>[C, D] = dot(p, v)
    o += dot(qd, state)
    O[c :+ C, :] = o
    var total: tile<f32>[1, 1] = rowsum(transpose(g))
    var rest = k * exp(total - decay)
    var rest_t = transpose(rest)
    var fresh: tile<f32>[D, D] = dot(rest_t, v)
    state = state * exp(total) + fresh
  }
}
