"""What the examples of per-thread code must compute, by NumPy, and by the `gguf` package for its formats.

In: nothing. Out: `THREAD_OPINIONS`, of the same kind as `OPINIONS` beside it.
"""

from __future__ import annotations

from collections.abc import Callable

import gguf
import numpy as np

from tests.examples.opinions import Config, Launch, Opinion, ceil_div, normal


def block_reduce(size: Config, config: Config, rng: np.random.Generator) -> Launch:
    r, c = size["R"], size["C"]
    # Few distinct values, so that the largest comes up often, and sums are exact.
    x = rng.integers(-40, 40, (r, c)).astype(np.float32)
    args = [x, np.zeros(r, np.float32), np.zeros(r, np.float32), np.zeros(r, np.int32)]
    return Launch((r,), args, {1: x.sum(1, dtype=np.float64), 2: x.max(1), 3: x.argmax(1)}, 0.0)


def matvec(size: Config, config: Config, rng: np.random.Generator) -> Launch:
    n, k = size["N"], size["K"]
    w, x = normal(rng, n, k, dtype=np.float16), normal(rng, k, dtype=np.float16)
    args = [w, x, np.zeros(n, np.float32)]
    return Launch((ceil_div(n, 8),), args, {2: w.astype(np.float64) @ x.astype(np.float64)}, 1e-4)


def histogram(size: Config, config: Config, rng: np.random.Generator) -> Launch:
    bins = config["BINS"]
    x = np.minimum(rng.poisson(60, size["N"]), 255).astype(np.uint8)
    before = rng.integers(0, 9, bins).astype(np.int32)
    expected = before + np.bincount(x.astype(np.int64) * bins // 256, minlength=bins)
    return Launch((3,), [x, before], {1: expected}, 0.0)


def grid_normalize(size: Config, config: Config, rng: np.random.Generator) -> Launch:
    n, blocks, threads = size["N"], 4, 256
    x = normal(rng, n)
    wide = x.astype(np.float64)
    parts = [
        sum((wide[b * threads + first :: blocks * threads] ** 2).sum() for first in range(threads))
        for b in range(blocks)
    ]
    args = [x, np.zeros(blocks, np.float32), np.zeros(n, np.float32), np.zeros(2, np.int32)]
    expected = {1: np.array(parts), 2: wide / np.sqrt((wide**2).sum())}
    return Launch((blocks,), args, expected, 1e-5, frozenset({3}))


def quantized(
    kind: gguf.GGMLQuantizationType, halves: dict[int, float]
) -> Callable[[Config, Config, np.random.Generator], Launch]:
    """Random blocks, whose f16 at each offset of `halves` is up to that large."""

    def make(size: Config, config: Config, rng: np.random.Generator) -> Launch:
        n, blocks = size["N"], size["K"] // 256
        width = gguf.GGML_QUANT_SIZES[kind][1]
        raw = rng.integers(0, 256, (n, blocks, width)).astype(np.uint8)
        for at, largest in halves.items():
            value = rng.uniform(-largest, largest, (n, blocks)).astype(np.float16)
            raw[:, :, at : at + 2] = value.view(np.uint8).reshape(n, blocks, 2)
        weights = raw.reshape(n, blocks * width)
        a = rng.integers(-127, 128, (1, size["K"])).astype(np.int8)
        scales = rng.uniform(0.001, 0.02, (1, size["K"] // 32)).astype(np.float32)
        activations = a[0].astype(np.float64) * np.repeat(scales[0].astype(np.float64), 32)
        expected = gguf.dequantize(weights, kind).astype(np.float64) @ activations
        args = [a, scales, raw.view(np.int8), np.zeros(n, np.float32)]
        return Launch((ceil_div(n, 4),), args, {3: expected}, 1e-4)

    return make


def decode_attention(size: Config, config: Config, rng: np.random.Generator) -> Launch:
    depth, group, heads, keys, scale = config["D"], config["QG"], 2, size["keys"], 0.125
    cache = keys + 9  # the cache has room for more, which is not to be read
    q = normal(rng, heads * group, depth)
    k, v = (normal(rng, cache, heads * depth, dtype=np.float16) for _ in "kv")
    k[keys:], v[keys:] = np.nan, np.nan
    expected = np.zeros(q.shape)
    for h in range(heads):
        rows, columns = slice(h * group, (h + 1) * group), slice(h * depth, (h + 1) * depth)
        s = scale * (q[rows].astype(np.float64) @ k[:keys, columns].astype(np.float64).T)
        p = np.exp(s - s.max(1, keepdims=True))
        expected[rows] = p / p.sum(1, keepdims=True) @ v[:keys, columns].astype(np.float64)
    return Launch((heads,), [q, k, v, np.zeros_like(q), keys, scale], {3: expected}, 1e-4)


def prefix_sum(size: Config, config: Config, rng: np.random.Generator) -> Launch:
    # Large enough that sums wrap.
    x = rng.integers(-(2**31), 2**31, (size["R"], size["C"])).astype(np.int32)
    return Launch((size["R"],), [x, np.zeros_like(x)], {1: np.cumsum(x, axis=1, dtype=np.int32)}, 0.0)


def host_flag(size: Config, config: Config, rng: np.random.Generator) -> Launch:
    x, blocks = normal(rng, size["N"]), 3
    args = [np.array([1, 0], np.int32), np.zeros(2, np.int32), x, np.zeros_like(x)]
    expected = {0: np.array([1, 1]), 1: np.array([1, blocks]), 3: 2 * x.astype(np.float64) + 1}
    return Launch((blocks,), args, expected, 1e-6)


def fixed(**sizes: int) -> Callable[[Config], Config]:
    return lambda config: sizes


# Blocks stand alone, so a ragged extent has a part of a CTA's columns, and an odd number of blocks for its warps.
COLUMNS = fixed(N=8, K=1024), fixed(N=7, K=768)
KIND = gguf.GGMLQuantizationType

THREAD_OPINIONS: dict[str, Opinion] = {
    "block_reduce": Opinion(block_reduce, fixed(R=3, C=1024), fixed(R=5, C=611)),
    "matvec": Opinion(matvec, fixed(N=16, K=512), fixed(N=11, K=296)),
    "histogram": Opinion(histogram, fixed(N=3 * 128 * 4), fixed(N=1001)),
    "grid_normalize": Opinion(grid_normalize, fixed(N=4096), fixed(N=1379)),
    "q2_k_matvec": Opinion(quantized(KIND.Q2_K, {80: 0.02, 82: 0.02}), *COLUMNS),
    "q3_k_matvec": Opinion(quantized(KIND.Q3_K, {108: 0.01}), *COLUMNS),
    "iq4_xs_matvec": Opinion(quantized(KIND.IQ4_XS, {0: 0.0005}), *COLUMNS),
    "decode_attention": Opinion(decode_attention, fixed(keys=64), fixed(keys=51)),
    "prefix_sum": Opinion(prefix_sum, fixed(R=2, C=512), fixed(R=3, C=301)),
    "host_flag": Opinion(host_flag, fixed(N=768), fixed(N=501)),
}
