"""What each example kernel must compute, by NumPy in f64, and arguments for whole and ragged extents.

An `Opinion` makes the arguments of one launch for given sizes, and says what every output must be within which bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Config = Mapping[str, int]


@dataclass(frozen=True)
class Launch:
    """`args` in parameter order; `expected` maps an argument's position to its values after the launch.

    `scratch` are the positions of what a kernel leaves in no particular state.
    """

    grid: tuple[int, ...]
    args: list[Any]
    expected: dict[int, Array]
    tolerance: float
    scratch: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Opinion:
    """`make(sizes, config, rng)`; `whole` gives sizes that the tiles of a configuration divide, `ragged` others
    (None where the kernel takes whole tiles only)."""

    make: Callable[[Config, Config, np.random.Generator], Launch]
    whole: Callable[[Config], Config]
    ragged: Callable[[Config], Config] | None


def ceil_div(a: int, b: int) -> int:
    return -(-a // b)


def normal(rng: np.random.Generator, *shape: int, dtype: Any = np.float32) -> Array:
    return rng.standard_normal(shape).astype(dtype)


def saxpy(size: Config, config: Config, rng: np.random.Generator) -> Launch:
    x, y, a = normal(rng, size["N"]), normal(rng, size["N"]), 1.5
    return Launch((ceil_div(size["N"], config["BLOCK"]),), [x, y, a], {1: a * x.astype(np.float64) + y}, 1e-6)


def sgemm(size: Config, config: Config, rng: np.random.Generator) -> Launch:
    m, n, k = size["M"], size["N"], size["K"]
    a, b, c = normal(rng, m, k), normal(rng, k, n), normal(rng, m, n)
    expected = 1.25 * (a.astype(np.float64) @ b) + 0.5 * c
    grid = (ceil_div(m, config["TILE_M"]), ceil_div(n, config["TILE_N"]))
    return Launch(grid, [a, b, c, 1.25, 0.5], {2: expected}, 2e-5)


def softmax(size: Config, config: Config, rng: np.random.Generator) -> Launch:
    x = normal(rng, size["N"], config["C"]) * np.float32(3)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return Launch((ceil_div(size["N"], config["ROWS"]),), [x, np.zeros_like(x)], {1: e / e.sum(1, keepdims=True)}, 1e-5)


def layer_norm(size: Config, config: Config, rng: np.random.Generator) -> Launch:
    c = config["C"]
    x, w, b = normal(rng, size["N"], c), normal(rng, 1, c), normal(rng, 1, c)
    wide = x.astype(np.float64)
    centred = wide - wide.mean(1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-5) * w + b
    return Launch((ceil_div(size["N"], config["ROWS"]),), [x, w, b, np.zeros_like(x), 1e-5], {3: expected}, 2e-5)


def rope(size: Config, config: Config, rng: np.random.Generator) -> Launch:
    h, n, first = config["H"], size["N"], 5
    x = normal(rng, n, 2 * h)
    f = (10000.0 ** (-np.arange(h) / h)).astype(np.float32)[None, :]
    angle = ((np.arange(n)[:, None] + first) * f).astype(np.float64)
    a, b = x[:, :h].astype(np.float64), x[:, h:].astype(np.float64)
    expected = np.hstack([a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)])
    # sin.approx and cos.approx are least accurate far from zero.
    return Launch((ceil_div(n, config["ROWS"]),), [x, f, np.zeros_like(x), first], {2: expected}, 2e-4)


def attention(q: Array, k: Array, v: Array, scale: float) -> Array:
    s = scale * (q.astype(np.float64) @ k.astype(np.float64).T)
    p = np.exp(s - s.max(1, keepdims=True))
    return (p / p.sum(1, keepdims=True)) @ v.astype(np.float64)


def flash(dtype: Any, tolerance: float) -> Callable[[Config, Config, np.random.Generator], Launch]:
    def make(size: Config, config: Config, rng: np.random.Generator) -> Launch:
        q = normal(rng, size["Nq"], config["D"], dtype=dtype)
        k, v = (normal(rng, size["Nk"], config["D"], dtype=dtype) for _ in "kv")
        grid = (ceil_div(size["Nq"], config["BR"]),)
        return Launch(grid, [q, k, v, np.zeros_like(q), 0.125], {3: attention(q, k, v, 0.125)}, tolerance)

    return make


def kda(size: Config, config: Config, rng: np.random.Generator) -> Launch:
    """Token by token: the state decays by exp(g), takes in k v^T, and is read by q."""
    n, d, scale = size["N"], config["D"], 0.125
    q, k, v = (normal(rng, n, d) for _ in "qkv")
    g = -np.abs(normal(rng, n, 1)) * np.float32(0.05)
    state = np.zeros((d, d))
    expected = np.zeros((n, d))
    for t in range(n):
        state = state * np.exp(float(g[t, 0])) + np.outer(k[t].astype(np.float64), v[t].astype(np.float64))
        expected[t] = scale * (q[t].astype(np.float64) @ state)
    return Launch((1,), [q, k, v, g, np.zeros_like(q), scale], {4: expected}, 2e-4)


def int8_gemm(size: Config, config: Config, rng: np.random.Generator) -> Launch:
    a = rng.integers(-128, 128, (size["M"], size["K"])).astype(np.int8)
    b = rng.integers(-128, 128, (size["N"], size["K"])).astype(np.int8)
    c = np.zeros((size["M"], size["N"]), np.int32)
    grid = (ceil_div(size["M"], config["TILE_M"]), ceil_div(size["N"], config["TILE_N"]))
    return Launch(grid, [a, b, c], {2: a.astype(np.int64) @ b.astype(np.int64).T}, 0.0)


def top_k(size: Config, config: Config, rng: np.random.Generator) -> Launch:
    n, t = size["N"], size["T"]
    # Few distinct values, so that ties happen: the smallest index must win.
    x = rng.integers(0, 50, (n, config["C"])).astype(np.float32)
    order = np.argsort(-x, axis=1, kind="stable")[:, :t]
    values = np.take_along_axis(x, order, axis=1)
    args = [x, np.zeros((n, t), np.float32), np.zeros((n, t), np.int32)]
    return Launch((ceil_div(n, config["ROWS"]),), args, {1: values, 2: order}, 0.0)


def embedding(size: Config, config: Config, rng: np.random.Generator) -> Launch:
    d, vocabulary = config["D"], 40
    table = normal(rng, 1, vocabulary * d, dtype=np.float16)
    tokens = rng.integers(0, vocabulary, (size["N"], 1)).astype(np.int32)
    expected = table.reshape(vocabulary, d)[tokens[:, 0]]
    out = np.zeros((size["N"], d), np.float16)
    return Launch((ceil_div(size["N"], config["ROWS"]),), [table, tokens, out], {2: expected}, 0.0)


def rows(name: str) -> tuple[Callable[[Config], Config], Callable[[Config], Config]]:
    """N rows in steps of the tile extent `name`: two whole tiles, or one and a part."""
    return (lambda c: {"N": 2 * c[name]}), (lambda c: {"N": 2 * c[name] - 3})


def gemm_whole(config: Config) -> Config:
    return {"M": config["TILE_M"], "N": 2 * config["TILE_N"], "K": 3 * config["TILE_K"]}


def gemm_ragged(config: Config) -> Config:
    return {"M": config["TILE_M"] + 5, "N": config["TILE_N"] - 4, "K": 2 * config["TILE_K"] + 4}


def flash_whole(config: Config) -> Config:
    return {"Nq": 2 * config["BR"], "Nk": 3 * config["BC"]}


def flash_ragged(config: Config) -> Config:
    return {"Nq": config["BR"] + 7, "Nk": 2 * config["BC"] + 9}


OPINIONS: dict[str, Opinion] = {
    "saxpy": Opinion(saxpy, lambda c: {"N": 2 * c["BLOCK"]}, lambda c: {"N": c["BLOCK"] + 36}),
    "sgemm": Opinion(sgemm, gemm_whole, gemm_ragged),
    "sgemm_aligned": Opinion(sgemm, gemm_whole, None),
    "softmax": Opinion(softmax, *rows("ROWS")),
    "layer_norm": Opinion(layer_norm, *rows("ROWS")),
    "rope": Opinion(rope, *rows("ROWS")),
    "flash_attention": Opinion(flash(np.float32, 2e-5), flash_whole, flash_ragged),
    "flash_attention_f16": Opinion(flash(np.float16, 4e-3), flash_whole, flash_ragged),
    "kda": Opinion(kda, lambda c: {"N": 2 * c["C"]}, lambda c: {"N": 2 * c["C"] - 5}),
    "int8_gemm": Opinion(int8_gemm, gemm_whole, gemm_ragged),
    "top_k": Opinion(top_k, lambda c: {"N": 2 * c["ROWS"], "T": 4}, lambda c: {"N": c["ROWS"] + 1, "T": 4}),
    "embedding": Opinion(embedding, *rows("ROWS")),
}
