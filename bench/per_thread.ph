// Kernels of per-thread code, for the benchmark of the checker: reductions, a scan, matvecs by lanes, a histogram.

fn fold(x) = sum<over ctx.thread>(x)

fn clamped(x, low, high) = min(max(x, low), high)

fn nibble(b, shift) = (b >> shift) & 15

fn add_at(t, at, x) {
  if at < 256 {
    t[0, at] = t[0, at] + x
  }
}

@launch(256)
kernel block_sum(X: tensor<f32>[N], O: tensor<f32>[B]) {
  let first = ctx.block.x * 4096
  let last = min(first + 4096, N)
  var acc = 0.0
  for i in range(first + ctx.thread, last, ctx.threads) {
    acc += X[i]
  }
  let total = fold(acc)
  if ctx.thread == 0 {
    O[ctx.block.x] = total
  }
}

@launch(256)
kernel matvec(A: tensor<f32>[M, K], X: tensor<f32>[K], Y: tensor<f32>[M]) {
  let lane = ctx.lane
  for row in range(ctx.block.x * ctx.warps + ctx.warp, M, ctx.blocks.x * ctx.warps) {
    var acc = 0.0
    for k in range(lane, K, ctx.lanes) {
      acc += A[row, k] * X[k]
    }
    let total = sum<over ctx.lane>(acc)
    if lane == 0 {
      Y[row] = total
    }
  }
}

@launch(256)
kernel matvec_int8(W: tensor<i8>[M, K], S: tensor<f32>[M], X: tensor<i8>[1, K], Y: tensor<f32>[M]) {
  let row = ctx.block.x * ctx.warps + ctx.warp
  if row >= M {
    return
  }
  var acc = 0
  var k = ctx.lane * 16
  while k < K {
    acc += sum(i32(W[row, k :+ 16]) * i32(X[0, k :+ 16]))
    k += ctx.lanes * 16
  }
  let total = sum<over ctx.lane>(f32(acc))
  if ctx.lane == 0 {
    Y[row] = total * S[row]
  }
}

@launch(128)
kernel matvec_int4(W: tensor<i8>[M, H],
                   D: tensor<f32>[M, G],
                   X: tensor<f32>[1, K],
                   Y: tensor<f32>[M]) {
  let lane = ctx.lane
  let row = ctx.block.x * ctx.warps + ctx.warp
  var acc = 0.0
  if row < M {
    for b in range(lane, G, ctx.lanes) {
      let scale = D[row, b]
      var part = 0.0
      for<unroll 4> i in range(0, 16) {
        let packed = W[row, b * 16 + i]
        let low = nibble(packed, 0) - 8
        let high = nibble(packed, 4) - 8
        part += f32(low) * X[0, b * 32 + i]
        part += f32(high) * X[0, b * 32 + 16 + i]
      }
      acc += scale * part
    }
  }
  let total = sum<over ctx.lane>(acc)
  if lane == 0 && row < M {
    Y[row] = total
  }
}

@launch(256)
kernel scan(X: tensor<i32>[N], O: tensor<i32>[N]) {
  let i = ctx.block.x * ctx.threads + ctx.thread
  let lane = ctx.lane
  var x = 0
  if i < N {
    x = X[i]
  }
  for<unroll 5> step in range(0, 5) {
    let d = 1 << step
    let below = shfl<up d>(x)
    if lane >= d {
      x += below
    }
  }
  var sums: tile<i32>[1, 8] = 0
  if lane == ctx.lanes - 1 {
    sums[0, ctx.warp] = x
  }
  barrier()
  var before = 0
  for w in range(0, ctx.warp) {
    before += sums[0, w]
  }
  if i < N {
    O[i] = x + before
  }
}

@launch(256)
kernel histogram(X: tensor<u8>[N], H: tensor<i32>[256]) {
  let t = ctx.thread
  var counts: tile<i32>[1, 256] = 0
  for at in range(0, 4096, ctx.threads) {
    let i = ctx.block.x * 4096 + at + t
    var bin = 256
    if i < N {
      bin = clamped(X[i], 0, 255)
    }
    for turn in range(0, 256) {
      if turn == t {
        add_at(counts, bin, 1)
      }
      barrier()
    }
  }
  for b in range(0, 256) {
    let count = counts[0, b]
    if count > 0 {
      let old = atomic_add(H, b, count)
    }
  }
}

@launch(256)
kernel row_softmax(X: tensor<f32>[M, K], O: tensor<f32>[M, K]) {
  let row = ctx.block.x
  var top = -1.0e30
  for k in range(ctx.thread, K, ctx.threads) {
    let x = X[row, k]
    if x > top {
      top = x
    }
  }
  let most = max<over ctx.thread>(top)
  var total = 0.0
  for k in range(ctx.thread, K, ctx.threads) {
    total += exp(X[row, k] - most)
  }
  let scale = 1.0 / fold(total)
  for k in range(ctx.thread, K, ctx.threads) {
    O[row, k] = exp(X[row, k] - most) * scale
  }
}

@launch(256)
kernel staged(X: tensor<f32>[M, 64],
              W: tensor<f32>[64, 64],
              B: tensor<i32>[M],
              O: tensor<f32>[M, 64]) {
  let first = ctx.block.x * 32
  let w = W[:, :]
  var rows: tile<f32>[32, 64] = 0.0
  for e in range(ctx.thread, 32 * 64, ctx.threads) {
    let r = e / 64
    let c = e % 64
    let from = B[first + r]
    if from >= 0 && from < M {
      rows[r, c] = X[from, c]
    }
  }
  barrier()
  var out: tile<f32>[32, 64] = dot(rows, w)
  out = out * 2.0
  O[first :+ 32, :] = out
}
