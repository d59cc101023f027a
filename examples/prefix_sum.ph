// The running sum of each row, one CTA a row of any length, 128 elements a turn.
@autotune(WARPS in [4])
@launch(128)
kernel prefix_sum(X: tensor<i32>[R, C], O: tensor<i32>[R, C]) {
  let row = ctx.block.x
  var ends: tile<i32>[1, WARPS]
  var before = i32(0)  // the sum of all earlier turns
  for c in range(0, C, ctx.threads) {
    let i = c + ctx.thread
    var v = i32(0)
    if i < C {
      v = i32(X[row, i])
    }
    // Within a warp, each step doubles how many elements a lane's sum covers.
    for<unroll 5> step in range(0, 5) {
      let below = shfl<up 1 << step>(v)
      if ctx.lane >= 1 << step {
        v += below
      }
    }
    if ctx.lane == ctx.lanes - 1 {
      ends[0, ctx.warp] = v
    }
    barrier()
    for w in range(0, WARPS) {
      if w < ctx.warp {
        v += i32(ends[0, w])
      }
    }
    v += before
    if i < C {
      O[row, i] = v
    }
    for w in range(0, WARPS) {
      before += i32(ends[0, w])
    }
    barrier()  // the next turn writes `ends` again
  }
}
