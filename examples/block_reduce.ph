// The sum of each row and where its largest element stands, one CTA a row of any length.
@launch(256)
kernel block_reduce(X: tensor<f32>[R, C], S: tensor<f32>[R], M: tensor<f32>[R], I: tensor<i32>[R]) {
  let row = ctx.block.x
  // Each thread goes over every 256th element, so that a warp's loads are next to each other.
  var part: f32 = 0.0
  var best: f32 = -3.0e38
  var at = 0
  for i in range(ctx.thread, C, ctx.threads) {
    let x = X[row, i]
    part += x
    if x > best {  // the first of equal ones stays
      best = x
      at = i
    }
  }
  let largest = max<over ctx.thread>(best)
  S[row] = sum<over ctx.thread>(part)
  M[row] = largest
  // Threads hold different places of the same value: the first place wins.
  I[row] = min<over ctx.thread>(where(best == largest, at, C))
}
