// Scales a vector to length 1 in one launch: each block leaves its part of the sum of squares, all blocks meet, and each
// folds the parts again. A second launch would have to wait for the first to end.
@persistent
@launch(256)
kernel grid_normalize(X: tensor<f32>[N],
                      PARTS: tensor<f32>[B],
                      O: tensor<f32>[N],
                      BAR: tensor<i32>[2]) {
  let first = ctx.block.x * ctx.threads + ctx.thread
  let stride = ctx.blocks.x * ctx.threads
  var part: f32 = 0.0
  for i in range(first, N, stride) {
    part += X[i] * X[i]
  }
  PARTS[ctx.block.x] = sum<over ctx.thread>(part)
  grid_barrier(BAR)  // every part is there
  var all: f32 = 0.0
  for b in range(ctx.thread, ctx.blocks.x, ctx.threads) {
    all += PARTS[b]
  }
  let scale = rsqrt(sum<over ctx.thread>(all))
  for i in range(first, N, stride) {
    O[i] = X[i] * scale
  }
}
