"""Kernels of per-thread code, right by NumPy on the reference and on the emulator, for targets with other instructions
and for both widths of an index; and accepted by ptxas for every target that it knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import ml_dtypes
import numpy as np
import pytest

import phobos_core as phobos
from phobos_core.language.targets import TARGETS
from phobos_core.toolchain import ptxas

RNG = np.random.default_rng(5)
LANE, THREAD = np.arange(32), np.arange(128)


@dataclass(frozen=True)
class Case:
    """`expected` maps an argument's position to what it holds afterwards."""

    source: str
    args: list[Any]
    expected: dict[int, Any]
    grid: tuple[int, ...] = (1,)
    least: int = 61  # the first target that has its instructions
    tolerance: float = 0.0


def normal(*shape: int, dtype: Any = np.float32) -> Any:
    return RNG.standard_normal(shape).astype(dtype)


def bytes_of(*shape: int) -> Any:
    return RNG.integers(-128, 128, shape).astype(np.int8)


def control() -> Case:
    """`break`, `continue` and `return` of single threads, in loops of their own bounds."""
    source = """
@launch(64)
kernel k(A: tensor<i32>[N, 64], O: tensor<i32>[3, 64]) {
  let t = ctx.thread
  var sum = 0
  for r in range(0, N) {
    let x = A[r, t]
    if x < 0 { continue }
    if x > 40 { break }
    sum += x
  }
  O[0, t] = sum
  var steps = 0
  var v = A[0, t]
  while v != 0 {
    v = v / 2
    steps += 1
    if steps > 3 { break }
  }
  O[1, t] = steps
  for i in range(t, 64, 16) {
    if i == 37 { return }
    O[2, t] += i
  }
  O[2, t] += 1000
}
"""
    a = RNG.integers(-50, 50, (9, 64)).astype(np.int32)
    o = np.zeros((3, 64), np.int32)
    want = o.copy()
    for t in range(64):
        for x in a[:, t]:
            if x < 0:
                continue
            if x > 40:
                break
            want[0, t] += x
        v, steps = int(a[0, t]), 0
        while v != 0:
            v = int(v / 2)
            steps += 1
            if steps > 3:
                break
        want[1, t] = steps
        for i in range(t, 64, 16):
            if i == 37:
                break
            want[2, t] += i
        else:
            want[2, t] += 1000
    return Case(source, [a, o], {1: want})


def shared_exchange() -> Case:
    """Tiles between barriers of the source, a tile that a loop declares, and whole-tile operations beside them."""
    source = """
@launch(128)
kernel k(A: tensor<f32>[4, 128], O: tensor<f32>[4, 128]) {
  let t = ctx.thread
  var total: tile<f32>[1, 128] = 0.0
  for r in range(0, 4) {
    var s: tile<f32>[1, 128]
    s[0, 127 - t] = A[r, t]
    barrier()
    total += s * 2.0
    if t < 100 {
      O[r, t] = s[0, t + 1]
    }
  }
  total[0, t] = total[0, t] + 1.0
  barrier()
  O[0 :+ 1, :] = total
}
"""
    a, o = normal(4, 128), np.zeros((4, 128), np.float32)
    want = o.copy()
    want[1:, :100] = a[1:, ::-1][:, 1:101]
    want[0] = 2 * a[:, ::-1].sum(0, dtype=np.float64) + 1
    return Case(source, [a, o], {1: want}, tolerance=1e-5)


def element_types() -> Case:
    """A scalar load of every type widens as the spec says; a store rounds or wraps."""
    source = """
@launch(32)
kernel k(A: tensor<i8>[32], B: tensor<u8>[32], C: tensor<u16>[32], D: tensor<u32>[32], E: tensor<i64>[32],
         F: tensor<f16>[32], G: tensor<bf16>[32], H: tensor<f64>[32],
         O: tensor<i64>[5, 32], P: tensor<f64>[3, 32], Q: tensor<f16>[32], R: tensor<bf16>[32], S: tensor<u8>[32]) {
  let t = ctx.thread
  O[0, t] = A[t] * 2
  O[1, t] = B[t] * 2
  O[2, t] = C[t] * 2
  O[3, t] = D[t] / 2
  O[4, t] = E[t]
  P[0, t] = F[t]
  P[1, t] = G[t]
  P[2, t] = H[t]
  Q[t] = f32(H[t])
  R[t] = f32(H[t])
  S[t] = A[t]
}
"""
    a, e = bytes_of(32), RNG.integers(-(2**30), 2**30, 32)
    b, c = (RNG.integers(0, 2**n, 32).astype(f"u{n // 8}") for n in (8, 16))
    d = RNG.integers(0, 2**31, 32).astype(np.uint32)
    f, g, h = normal(32, dtype=np.float16), normal(32, dtype=ml_dtypes.bfloat16), normal(32, dtype=np.float64)
    wide = [x.astype(np.int64) for x in (a, b, c, d)]
    ints = np.stack([wide[0] * 2, wide[1] * 2, wide[2] * 2, wide[3] // 2, e])
    floats = np.stack([f.astype(np.float64), g.astype(np.float64), h])
    outs = [np.zeros((5, 32), np.int64), np.zeros((3, 32)), f * 0, g * 0, b * 0]
    near = h.astype(np.float32)
    want = {8: ints, 9: floats, 10: near.astype(np.float16), 11: near.astype(ml_dtypes.bfloat16), 12: a.view(np.uint8)}
    return Case(source, [a, b, c, d, e, f, g, h, *outs], want)


def folds() -> Case:
    source = """
fn larger(a, b) = where(a > b, a, b)

@launch(128)
kernel k(X: tensor<f32>[128], I: tensor<i32>[128], H: tensor<f64>[128], O: tensor<f32>[8, 128], P: tensor<i64>[9, 128],
         D: tensor<f64>[2, 128]) {
  let t = ctx.thread
  let x = X[t]
  let i = I[t]
  O[0, t] = sum<over ctx.lane>(x)
  O[1, t] = max<over ctx.lane, width 8>(x)
  O[2, t] = sum<over ctx.thread>(x)
  O[3, t] = min<over ctx.thread>(x)
  O[4, t] = reduce<over ctx.lane>(x, larger)
  O[5, t] = reduce<over ctx.thread>(x, larger)
  O[6, t] = f32(max<over ctx.lane, width 1>(f16(x)))
  O[7, t] = f32(sum<over ctx.lane, width 2>(f16(i)))
  P[0, t] = sum<over ctx.lane>(i)
  P[1, t] = argmax<over ctx.lane>(x)
  P[2, t] = argmax<over ctx.thread>(i)
  P[3, t] = where(any<over ctx.lane>(x > 2.0), 1, 0)
  P[4, t] = where(all<over ctx.lane, width 4>(x > -0.5), 1, 0)
  P[5, t] = where(any<over ctx.thread>(x > 3.0), 1, 0)
  P[6, t] = i64(max<over ctx.thread>(i32(i)))
  P[7, t] = i64(sum<over ctx.lane>(i32(i)))
  P[8, t] = argmax<over ctx.lane, width 8>(i / 20)
  D[0, t] = sum<over ctx.lane>(H[t])
  D[1, t] = max<over ctx.thread>(H[t])
}
"""
    x, i, h = normal(128), RNG.integers(-50, 50, 128).astype(np.int32), normal(128, dtype=np.float64)
    warps, eights = x.reshape(4, 32), x.reshape(16, 8)

    def spread(rows: Any) -> Any:
        rows = np.asarray(rows)
        return np.repeat(rows, 128 // rows.size)

    o = np.stack([
        spread(warps.sum(1)), spread(eights.max(1)), spread(x.sum()), spread(x.min()), spread(warps.max(1)),
        spread(x.max()), x.astype(np.float16), spread(i.reshape(64, 2).sum(1)),
    ]).astype(np.float32)  # fmt: skip
    quotient = np.trunc(i / 20).astype(int)
    p = np.stack([
        spread(i.reshape(4, 32).sum(1)), spread(warps.argmax(1)), spread(i.argmax()), spread((warps > 2).any(1)),
        spread((x.reshape(32, 4) > -0.5).all(1)), spread((x > 3).any()), spread(i.max()),
        spread(i.reshape(4, 32).sum(1)), spread(quotient.reshape(16, 8).argmax(1)),
    ]).astype(np.int64)  # fmt: skip
    d = np.stack([spread(h.reshape(4, 32).sum(1)), spread(h.max())])
    outs = [np.zeros_like(o), np.zeros_like(p), np.zeros_like(d)]
    return Case(source, [x, i, h, *outs], {3: o, 4: p, 5: d}, tolerance=1e-5)


def shuffles() -> Case:
    """Every mode, 64 bits and bools, and sources outside the piece, which read the lane's own value."""
    source = """
@launch(128)
kernel k(X: tensor<f64>[128], N: tensor<i32>[128], O: tensor<f64>[8, 128], B: tensor<i32>[128]) {
  let t = ctx.thread
  let x = X[t]
  let n = N[t]
  O[0, t] = shfl<xor 5>(x)
  O[1, t] = shfl<down 3>(x)
  O[2, t] = shfl<up 2, width 16>(x)
  O[3, t] = shfl<from 7, width 8>(x)
  O[4, t] = shfl<from n>(x)
  O[5, t] = shfl<xor n, width 8>(x)
  O[6, t] = shfl<down n, width 16>(x)
  O[7, t] = shfl<up n>(x)
  B[t] = where(shfl<xor 1>(x > 0.0), 1, 0)
}
"""
    x, n = normal(128, dtype=np.float64), RNG.integers(-40, 41, 128).astype(np.int32)

    def moved(source: Any, width: int) -> Any:
        lane = THREAD % width
        inside = (source >= 0) & (source < width)
        return x[THREAD - lane + np.where(inside, source, lane)]

    o = np.stack([
        moved(THREAD % 32 ^ 5, 32), moved(THREAD % 32 + 3, 32), moved(THREAD % 16 - 2, 16), moved(THREAD * 0 + 7, 8),
        moved(n, 32), moved(THREAD % 8 ^ n, 8), moved(THREAD % 16 + n, 16), moved(THREAD % 32 - n, 32),
    ])  # fmt: skip
    b = (x[THREAD ^ 1] > 0).astype(np.int32)
    return Case(source, [x, n, o * 0, b * 0], {2: o, 3: b})


def runs() -> Case:
    """Runs of every alignment, of tensors, tiles and their flat view; the forms of bytes that are dp4a, and others."""
    source = """
@launch(32)
kernel k(W: tensor<i8>[32, K], X: tensor<i8>[1, K], U: tensor<u8>[32, 16], F: tensor<f16>[32, 64],
         O: tensor<i64>[12, 32], G: tensor<f32>[5, 32], Y: tensor<f32>[32, 6], Z: tensor<i8>[32, 8]) {
  let t = ctx.thread
  var table: tile<i8>[4, 8] = X[0 :+ 1, 0 :+ 8]
  O[0, t] = sum(i32(W[t, 0 :+ 16]) * i32(X[0, 0 :+ 16]))
  O[1, t] = sum(i32(W[t, 16 :+ 8]))
  O[2, t] = sum((i32(W[t, 0 :+ 16]) & 15) * i32(X[0, 16 :+ 16]))
  O[3, t] = sum(((W[t, 0 :+ 16] >> 4) & 15) * i32(X[0, 16 :+ 16]))
  O[4, t] = sum(i32(W[t, 0 :+ 16]) * i32(X[0, 0 :+ 16]) - 3)
  O[5, t] = word(W[t, 4 :+ 8], 1) & 2147483647
  O[6, t] = dp4a(word(W[t, 1 :+ 4]), word(X[0, 4 :+ 4]), 7)
  O[7, t] = byteperm(word(W[t, 0 :+ 4]), word(X[0, 4 :+ 4]), 26214 + t) & 2147483647
  O[8, t] = popcount(word(W[t, 0 :+ 4]))
  O[9, t] = sum(i32(U[t, 0 :+ 16]) * i32(W[t, 0 :+ 16]))
  O[10, t] = sum(i32(table[t % 4, 4 :+ 4]))
  O[11, t] = elem(flat(table)[0, t % 16 :+ 8], 3)
  G[0, t] = sum(f32(F[t, 0 :+ 8]) * 2.0)
  G[1, t] = elem(F[t, 4 :+ 4], 2)
  G[2, t] = sum(F[t, 0 :+ 64])
  G[3, t] = sum(where(F[0 :+ 16, t] > 0.0, F[0 :+ 16, t], 0.0))
  G[4, t] = f32(f16bits((W[t, 0] & 255) | (60 << 8)))
  store(Y[t, 0 :+ 6], 1.0, f32(t), 2.0, 3.0, f32(t) * 0.5, 4.0)
  store(Z[t, 0 :+ 8], t, 1, 2, 3, -4, 5, t + 100, 7)
}
"""
    w, x, u = bytes_of(32, 32), bytes_of(1, 32), RNG.integers(0, 256, (32, 16)).astype(np.uint8)
    f = normal(32, 64, dtype=np.float16)
    wi, xi = w.astype(np.int64), x[0].astype(np.int64)

    def word(values: Any) -> Any:
        return np.ascontiguousarray(values).view(np.uint32)[..., 0].astype(np.int64)

    packed = np.concatenate([w[:, :4], np.broadcast_to(x[0, 4:8], (32, 4))], 1).view(np.uint8).astype(np.int64)
    permuted = np.zeros(32, np.int64)
    for t in range(32):
        for n in range(4):
            nibble = (26214 + t) >> 4 * n & 15
            byte = packed[t, nibble & 7]
            permuted[t] |= (255 * (byte >> 7) if nibble & 8 else byte) << 8 * n
    ones = np.array([bin(v).count("1") for v in word(w[:, :4])])
    # The table has the same row four times.
    flat = np.tile(xi[:8], 4)
    # A word is unsigned, and so fits a 32-bit index without its first bit.
    low = (1 << 31) - 1
    o = np.stack([
        wi[:, :16] @ xi[:16], wi[:, 16:24].sum(1), (wi[:, :16] & 15) @ xi[16:], ((wi[:, :16] >> 4) & 15) @ xi[16:],
        wi[:, :16] @ xi[:16] - 48, word(w[:, 8:12]) & low, wi[:, 1:5] @ xi[4:8] + 7, permuted & low, ones,
        (u.astype(np.int64) * wi[:, :16]).sum(1), np.full(32, xi[4:8].sum()), flat[LANE % 16 + 3],
    ])  # fmt: skip
    wide = f.astype(np.float32)
    halves = (wi[:, 0] & 255 | 60 << 8).astype(np.uint16).view(np.float16).astype(np.float32)
    g = np.stack([wide[:, :8].sum(1) * 2, wide[:, 6], wide.sum(1), np.maximum(wide[:16, :32], 0).sum(0), halves])
    y = np.stack([LANE * 0 + 1, LANE, LANE * 0 + 2, LANE * 0 + 3, LANE * 0.5, LANE * 0 + 4], 1).astype(np.float32)
    z = np.stack([LANE, *(LANE * 0 + v for v in (1, 2, 3, -4, 5)), LANE + 100, LANE * 0 + 7], 1).astype(np.int8)
    return Case(source, [w, x, u, f, o * 0, g * 0, y * 0, z * 0], {4: o, 5: g, 6: y, 7: z}, tolerance=1e-3)


def long_sums() -> Case:
    source = """
@launch(32)
kernel k(A: tensor<f32>[32, 300], Q: tensor<i8>[32, 1000], O: tensor<f32>[32], P: tensor<i32>[32]) {
  let t = ctx.thread
  O[t] = sum(A[t, 0 :+ 300] * A[t, 0 :+ 300])
  P[t] = sum(i32(Q[t, 0 :+ 1000]) * i32(Q[31 - t, 0 :+ 1000]))
}
"""
    a, q = normal(32, 300), bytes_of(32, 1000)
    p = (q.astype(np.int64) * q[::-1]).sum(1).astype(np.int32)
    o = (a.astype(np.float64) ** 2).sum(1)
    return Case(source, [a, q, np.zeros(32, np.float32), p * 0], {2: o, 3: p}, tolerance=1e-4)


def atomics() -> Case:
    """Once per block, whatever the order of the blocks: each ticket once, and what the last block adds up."""
    source = """
@launch(64)
kernel k(A: tensor<f32>[8, 64], T: tensor<f32>[8], C: tensor<i32>[2], S: tensor<f32>[1], O: tensor<i32>[8],
         L: tensor<f32>[1]) {
  let part = sum<over ctx.thread>(A[ctx.block.x, ctx.thread])
  T[ctx.block.x] = part
  let ticket = atomic_add(C, 0, 1)
  O[ticket] = 1
  let before = atomic_add(S, 0, 0.5)
  let won = atomic_cas(C, 1, 0, 7)
  if ticket == 7 {
    let t = ctx.thread
    L[0] = sum<over ctx.thread>(where(t < 8, T[t % 8], 0.0))
  }
}
"""
    a = normal(8, 64)
    args = [a, np.zeros(8, np.float32), np.zeros(2, np.int32), np.zeros(1, np.float32), np.zeros(8, np.int32)]
    want = {1: a.sum(1), 2: np.array([8, 7]), 3: np.array([4.0]), 4: np.ones(8), 5: np.array([a.sum()])}
    return Case(source, [*args, np.zeros(1, np.float32)], want, grid=(8,), tolerance=1e-4)


def grid_barriers() -> Case:
    """Again and again in one launch, on counters that an earlier launch has left, near where they wrap."""
    source = """
@persistent
@launch(64)
kernel k(A: tensor<f32>[N, 64], T: tensor<f32>[N, 64], B: tensor<i32>[2]) {
  let b = ctx.block.x
  let t = ctx.thread
  for r in range(0, 3) {
    T[b, t] = A[b, t] + f32(r)
    grid_barrier(B)
    A[b :+ 1, :] = T[(b + 1) % ctx.blocks.x :+ 1, :] * 2.0
    grid_barrier(B)
  }
}
"""
    a, counters = normal(5, 64), np.array([0, 2**31 - 2], np.int32)
    want = a
    for r in range(3):
        want = np.roll(want + np.float32(r), -1, 0) * 2
    return Case(source, [a, a * 0, counters], {0: want}, grid=(5,))


def flags() -> Case:
    source = """
@launch(64)
kernel k(F: tensor<i32>[2], A: tensor<f32>[64], O: tensor<f32>[64]) {
  while load_acquire(F, 0) == 0 {}
  O[ctx.thread] = A[ctx.thread]
  store_release(F, 1, 5)
}
"""
    a = normal(64)
    return Case(source, [np.array([1, 0], np.int32), a, a * 0], {0: np.array([1, 5]), 2: a}, least=70)


def effects_in_conditions() -> Case:
    """An atomic in the condition of a loop that is left early, and in the value of a tile, after what it changes."""
    source = """
@launch(32)
kernel k(C: tensor<i32>[2], O: tensor<i32>[1, 32], D: tensor<i32>[8], P: tensor<i32>[8]) {
  var turns = 0
  while atomic_add(C, 0, 1) < 10 {
    turns += 1
    if turns == 4 { break }
  }
  O[:, :] = turns * 100 + atomic_add(C, 0, 3)
  P[0 :+ 8] = D[0 :+ 8] + atomic_add(D, 0, 50)
}
"""
    d = np.arange(8, dtype=np.int32)
    args = [np.zeros(2, np.int32), np.zeros((1, 32), np.int32), d, d * 0]
    return Case(source, args, {0: np.array([7, 0]), 1: np.full((1, 32), 404), 2: np.where(d == 0, 50, d), 3: d})


def attention(queries: int, depth: int, threads: int, keys: tuple[int, int], column: int) -> Case:
    """One decode step, by the definition, a share of the keys for each warp; some shares are short, or empty."""
    warps = threads // 32
    source = f"""
@launch({threads})
kernel k(Q: tensor<f32>[{queries}, {depth}], K: tensor<f16>[NK, 256], V: tensor<f16>[NK, 256],
         M: tensor<f32>[{queries}, {warps}], L: tensor<f32>[{queries}, {warps}],
         ACC: tensor<f32>[{queries * warps}, {depth}], scale: f32, lo: i32, hi: i32) {{
  var q = Q[:, :]
  var wm: tile<f32>[{queries}, {warps}]
  var wl: tile<f32>[{queries}, {warps}]
  var wacc: tile<f32>[{queries * warps}, {depth}]
  wm[0, 0] = 5.0
  warp_partial(q, K, V, lo, hi, {column}, wm, wl, wacc, scale)
  M[:, :] = wm
  L[:, :] = wl
  ACC[:, :] = wacc
}}
"""
    q, k, v = normal(queries, depth), normal(60, 256, dtype=np.float16), normal(60, 256, dtype=np.float16)
    m, total, acc = np.full((queries, warps), -3.0e38), np.zeros((queries, warps)), np.zeros((queries, warps, depth))
    lo, hi = keys
    share = -(-(hi - lo) // warps)
    for w in range(warps):
        mine = slice(min(lo + w * share, hi), min(lo + (w + 1) * share, hi))
        part_k, part_v = (x[mine, column : column + depth].astype(np.float64) for x in (k, v))
        if len(part_k):
            scores = 0.3 * (q.astype(np.float64) @ part_k.T)
            m[:, w] = scores.max(1)
            weights = np.exp(scores - m[:, [w]])
            total[:, w], acc[:, w] = weights.sum(1), weights @ part_v
    outs = [np.zeros(x.shape, np.float32) for x in (m, total)] + [np.zeros((queries * warps, depth), np.float32)]
    args = [q, k, v, *outs, np.float32(0.3), lo, hi]
    return Case(source, args, {3: m, 4: total, 5: acc.reshape(-1, depth)}, tolerance=1e-3)


def attention_of_one_query() -> Case:
    return attention(1, 128, 64, (3, 57), 128)


def attention_of_four() -> Case:
    return attention(4, 64, 128, (0, 50), 64)


def attention_of_narrow_runs() -> Case:
    return attention(2, 96, 96, (0, 2), 3)


def attention_of_many() -> Case:
    return attention(16, 128, 64, (7, 7), 0)


def prefix_sum() -> Case:
    source = """
@launch(128)
kernel k(X: tensor<i32>[B, 128], O: tensor<i32>[B, 128]) {
  let t = ctx.thread
  var v = i32(X[ctx.block.x, t])
  for d in range(0, 5) {
    let step = 1 << d
    let below = shfl<up step>(v)
    if ctx.lane >= step { v += below }
  }
  var ends: tile<i32>[1, 4]
  if ctx.lane == 31 { ends[0, ctx.warp] = v }
  barrier()
  for w in range(0, ctx.warp) { v += i32(ends[0, w]) }
  O[ctx.block.x, t] = v
}
"""
    x = RNG.integers(-1000, 1000, (3, 128)).astype(np.int32)
    return Case(source, [x, x * 0], {1: x.cumsum(1)}, grid=(3,))


def unrolled() -> Case:
    """`for<unroll n>` over bounds that differ between threads, with a rest."""
    source = """
@launch(32)
kernel k(X: tensor<f32>[N], O: tensor<f32>[32]) {
  var acc: f32 = 0.0
  for<unroll 4> i in range(ctx.thread * 3, N, 7) {
    acc = acc * 0.5 + X[i]
  }
  O[ctx.thread] = acc
}
"""
    x = normal(103)
    want = np.zeros(32)
    for t in range(32):
        for i in range(t * 3, 103, 7):
            want[t] = want[t] * 0.5 + x[i]
    return Case(source, [x, np.zeros(32, np.float32)], {1: want}, tolerance=1e-5)


CASES: list[Callable[[], Case]] = [
    control, shared_exchange, element_types, folds, shuffles, runs, long_sums, atomics, grid_barriers, flags,
    effects_in_conditions, prefix_sum, unrolled, attention_of_one_query, attention_of_four, attention_of_narrow_runs,
    attention_of_many,
]  # fmt: skip


@pytest.mark.parametrize("device", ["reference", "emulator"])
@pytest.mark.parametrize(("target", "bits"), [("sm_61", 64), ("sm_75", 32), ("sm_80", 64), ("sm_90", 32)])
@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_right_by_numpy(
    make: Callable[[], Case], target: str, bits: Literal[32, 64], device: Literal["reference", "emulator"]
) -> None:
    case = make()
    if TARGETS[target].sm < case.least:
        pytest.xfail(f"{target} lacks an instruction")
    (kernel,) = phobos.compile_text(case.source, target=target, index_bits=bits).values()
    args = [np.array(arg) if isinstance(arg, np.ndarray) else arg for arg in case.args]
    kernel.launch(case.grid, *args, device=device)
    for position, want in case.expected.items():
        found, want = (np.asarray(each).astype(np.float64) for each in (args[position], want))
        np.testing.assert_allclose(found, want, case.tolerance, case.tolerance, err_msg=str(position))


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_ptxas_accepts(make: Callable[[], Case]) -> None:
    case = make()
    for target in TARGETS.values():
        if target.sm >= case.least and ptxas.for_target(target.name) is not None:
            (kernel,) = phobos.compile_text(case.source, target=target.name).values()
            resources = kernel.report.resources
            assert resources.registers
            assert resources.spill_store_bytes == 0
