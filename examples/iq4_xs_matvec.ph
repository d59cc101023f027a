// y = W a, W in IQ4_XS blocks as the file holds them, a in bytes with a scale per 32 (Q8_0). One warp an output column.
//
// A block is 136 bytes for 256 weights: an f16 scale, the high bit pairs of 8 scales, their low nibbles, and 128 bytes of
// nibbles, each the number of one of 16 values.

// The f16 of two bytes of a block, low byte first.
fn half_at(W, col, b, at) = f32(f16bits((W[col, b, at] & 255) | ((W[col, b, at + 1] & 255) << 8)))

// The values of the four nibbles in the low half of `n`. The words are the 16 values: -127 -104 -83 -65, -49 -35 -22 -10,
// 1 13 25 38, 53 69 89 113. Three bits of a nibble choose among eight values; the fourth, at its place in 0x8888, moves
// byte i of the selector 0x3210 to the upper eight.
fn values_of(n) = byteperm(byteperm(3215825025, 4142587343, n & 30583),
                           byteperm(639175937, 1901675829, n & 30583), 12816 | ((n & 34952) >> 1))

@launch(128)
@aligned(K = 256)
kernel iq4_xs_matvec(A: tensor<i8>[1, K],
                     AS: tensor<f32>[1, KB],
                     W: tensor<i8>[N, BLOCKS, 136],
                     Y: tensor<f32>[N]) {
  let col = ctx.block.x * ctx.warps + ctx.warp
  if col < N {
    var acc: f32 = 0.0
    // A lane takes a word of each block: 8 nibbles of the group of 32 that it shares with three others.
    let group = ctx.lane / 4
    for block in range(0, K / 256) {
      let k = block * 256 + group * 32 + ctx.lane % 4 * 4
      let n = word(W[col, block, 8 + ctx.lane * 4 :+ 4])
      // Bytes 0 and 2 are values of the low nibbles, 1 and 3 of the high ones, which belong 16 weights further on.
      let front = values_of(n & 65535)
      let back = values_of(n >> 16)
      var dot = dp4a(byteperm(front, back, 25632), word(A[0, k :+ 4]), 0)     // selector 0x6420
      dot = dp4a(byteperm(front, back, 30001), word(A[0, k + 16 :+ 4]), dot)  // selector 0x7531
      let low = (W[col, block, 4 + group / 2] >> (group % 2 * 4)) & 15
      let high = (W[col, block, 2 + group / 4] >> (group % 4 * 2)) & 3
      acc += AS[0, k / 32] * half_at(W, col, block, 0) * f32((low + high * 16 - 32) * dot)
    }
    let total = sum<over ctx.lane>(acc)
    if ctx.lane == 0 {
      Y[col] = total
    }
  }
}
