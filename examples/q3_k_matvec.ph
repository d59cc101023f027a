// y = W a, W in Q3_K blocks as the file holds them, a in bytes with a scale per 32 (Q8_0). One warp an output column.
//
// A block is 110 bytes for 256 weights: 32 bytes of third bits, 64 bytes of low bit pairs, 12 bytes of 6-bit scales, one
// per run of 16 weights, and the f16 that the scales are multiples of. A weight is its three bits less 4.

// The f16 of two bytes of a block, low byte first.
fn half_at(W, col, b, at) = f32(f16bits((W[col, b, at] & 255) | ((W[col, b, at + 1] & 255) << 8)))

// The 6-bit scale of a run, from the byte with its low nibble and the byte with its high pair.
fn scale_of(low, high, run) = ((low >> (run / 8 * 4)) & 15) | (((high >> (run / 4 * 2)) & 3) << 4)

@launch(128)
@aligned(K = 256)
kernel q3_k_matvec(A: tensor<i8>[1, K],
                   AS: tensor<f32>[1, KB],
                   W: tensor<i8>[N, BLOCKS, 110],
                   Y: tensor<f32>[N]) {
  let col = ctx.block.x * ctx.warps + ctx.warp
  if col < N {
    var acc: f32 = 0.0
    // A lane takes a word of bit pairs: 4 bytes of 4 weights. A block has 16, so a warp takes two blocks a turn.
    for i in range(ctx.lane, K / 16, ctx.lanes) {
      let block = i / 16
      let w = i % 16
      let low = word(W[col, block, 32 + w * 4 :+ 4])
      let high = word(W[col, block, w % 8 * 4 :+ 4])
      let d = half_at(W, col, block, 108)
      for<unroll 4> p in range(0, 4) {
        // Bits 2p and 2p + 1 of the four bytes are neighbours in run `run`; 8 runs to each 32 bytes.
        let run = w / 8 * 8 + p * 2 + w % 8 / 4
        let k = block * 256 + run * 16 + w % 4 * 4
        let a = word(A[0, k :+ 4])
        // The pair, and above it bit run / 2 of the mask byte, all four bytes at once.
        let q = ((low >> (p * 2)) & 50529027) | (((high >> (run / 2)) & 16843009) << 2)
        let dot = dp4a(q, a, 0) - 4 * dp4a(16843009, a, 0)
        let scale = scale_of(W[col, block, 96 + run % 8], W[col, block, 104 + run % 4], run) - 32
        acc += AS[0, k / 32] * d * f32(scale * dot)
      }
    }
    let total = sum<over ctx.lane>(acc)
    if ctx.lane == 0 {
      Y[col] = total
    }
  }
}
