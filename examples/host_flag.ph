// Work that starts when the host says so. HOST[0] lies in memory that the host can write while the kernel runs: one block
// polls it over the bus, and passes the word on to the others in device memory. When all are done, the last block tells
// the host in HOST[1].
@persistent
@launch(128)
kernel host_flag(HOST: tensor<i32>[2], GO: tensor<i32>[2], X: tensor<f32>[N], O: tensor<f32>[N]) {
  if ctx.block.x == 0 {
    while load_acquire(HOST, 0) == 0 {}
    store_release(GO, 0, 1)
  } else {
    while load_acquire(GO, 0) == 0 {}
  }
  // What the host wrote before it raised the flag is there now.
  for i in range(ctx.block.x * ctx.threads + ctx.thread, N, ctx.blocks.x * ctx.threads) {
    O[i] = 2.0 * X[i] + 1.0
  }
  if atomic_add(GO, 1, 1) == ctx.blocks.x - 1 {
    store_release(HOST, 1, 1)
  }
}
