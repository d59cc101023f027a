// y = W a, W in Q2_K blocks as the file holds them, a in bytes with a scale per 32 (Q8_0). One warp an output column.
//
// A block is 84 bytes for 256 weights: 16 bytes of scales (low nibble) and minimums (high nibble), one per run of 16
// weights; 64 bytes of 2-bit weights; then the f16 pair that the scales and the minimums are multiples of.

// The f16 of two bytes of a block, low byte first.
fn half_at(W, col, b, at) = f32(f16bits((W[col, b, at] & 255) | ((W[col, b, at + 1] & 255) << 8)))

@launch(128)
@aligned(K = 256)
kernel q2_k_matvec(A: tensor<i8>[1, K],
                   AS: tensor<f32>[1, KB],
                   W: tensor<i8>[N, BLOCKS, 84],
                   Y: tensor<f32>[N]) {
  let col = ctx.block.x * ctx.warps + ctx.warp
  if col < N {
    var acc: f32 = 0.0
    // A lane takes a word of 2-bit weights: 4 bytes of 4 weights. A block has 16, so a warp takes two blocks a turn.
    for i in range(ctx.lane, K / 16, ctx.lanes) {
      let block = i / 16
      let w = i % 16
      let bits = word(W[col, block, 16 + w * 4 :+ 4])
      let d = half_at(W, col, block, 80)
      let dmin = half_at(W, col, block, 82)
      for<unroll 4> p in range(0, 4) {
        // Bits 2p and 2p + 1 of the four bytes are neighbours in run `run`; 8 runs to each 32 bytes.
        let run = w / 8 * 8 + p * 2 + w % 8 / 4
        let k = block * 256 + run * 16 + w % 4 * 4
        let a = word(A[0, k :+ 4])
        let scales = W[col, block, run] & 255
        let q = dp4a((bits >> (p * 2)) & 50529027, a, 0)  // 3 in each byte
        let ones = dp4a(16843009, a, 0)                   // 1 in each byte: the activations' own sum, for the minimum
        acc += AS[0, k / 32] * (d * f32((scales & 15) * q) - dmin * f32((scales >> 4) * ones))
      }
    }
    let total = sum<over ctx.lane>(acc)
    if ctx.lane == 0 {
      Y[col] = total
    }
  }
}
