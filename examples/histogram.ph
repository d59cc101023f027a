// How often each byte's bin occurs. An atomic runs once per CTA, so threads count in columns of their own first, and
// the CTA adds each bin's row to the histogram of the device.
@autotune(BINS in [32, 64], THREADS in [128])
@launch(128)
kernel histogram(X: tensor<u8>[N], H: tensor<i32>[BINS]) {
  var counts: tile<i32>[BINS, THREADS] = 0
  let t = ctx.thread
  for i in range(ctx.block.x * THREADS + t, N, ctx.blocks.x * THREADS) {
    counts[X[i] * BINS / 256, t] += 1  // no other thread touches column t
  }
  barrier()
  var bins: tile<i32>[BINS, 1] = rowsum(counts)
  for b in range(0, BINS) {
    let n = bins[b, 0]
    if n > 0 {
      atomic_add(H, b, n)
    }
  }
}
