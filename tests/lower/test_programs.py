"""What lowered programs compute: the reference and the compiled kernel agree, and both with NumPy where it says more.

Each case is one rule of the spec that lowering must keep: the order of evaluation, what a slice out of bounds reads and
writes, what jumps skip, how a contraction over a long extent adds up. Values are small integers, so that every result
is exact in any order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import phobos_core as phobos

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Case:
    """`expected` gives, from copies of the arguments, what some of them must be afterwards."""

    source: str
    arrays: Callable[[], Arrays]
    expected: Callable[[Arrays], Arrays]
    grid: tuple[int, ...] = (1,)
    scalars: dict[str, Any] = field(default_factory=dict)
    config: dict[str, int] = field(default_factory=dict)


def integers(*shape: int, dtype: Any = np.float32, low: int = -4, high: int = 5, seed: int = 0) -> NDArray[Any]:
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def zeros(*shape: int, dtype: Any = np.float32) -> NDArray[Any]:
    return np.zeros(shape, dtype)


def pair() -> Arrays:
    return {"X": integers(48, 36), "Y": zeros(48, 36)}


HEAD = "kernel k(X: tensor<f32>[M, N], Y: tensor<f32>[M, N]) {\n"


def ragged_copy(a: Arrays) -> Arrays:
    return {"Y": a["X"] * 2}


def view_of_a_view(a: Arrays) -> Arrays:
    y = a["Y"].copy()
    # v is rows 40..55 of 48; w its rows 4..11, of which 44..47 exist; columns 8..23.
    y[0:4, 0:16] = a["X"][44:48, 8:24]
    y[0:8, 0:16] += 1
    # Rows 2..5 of u, which has four: two exist.
    y[46:48, 0:8] = 7
    return {"Y": y}


def below_zero(a: Arrays) -> Arrays:
    y = a["Y"].copy()
    padded = np.pad(a["X"], ((4, 0), (0, 0)))
    for block in range(3):
        y[block * 8 : block * 8 + 8, 0:16] = padded[block * 8 : block * 8 + 8, 0:16] + 1
        start = block * 8 - 4
        if start >= 0:
            y[start : start + 2, 20:24] = 3
    return {"Y": y}


def product(a: Arrays) -> Arrays:
    return {"C": a["A"] @ a["B"]}


def two_products(a: Arrays) -> Arrays:
    left, right = a["A"], a["B"]
    return {"C": 1 + left @ right.T + left[:, 3:] @ right[:, 3:].T}


def jumps(a: Arrays) -> Arrays:
    y, n = a["Y"].copy(), 0
    for i, x in enumerate(a["X"]):
        if x == 3:
            continue
        if x == 4:
            break
        n += 1
        y[i] = x * 2
        for j in range(1, 11):
            if j == 2:
                continue
            if j > x + 3:
                break
            y[i] += 100
    y[0 if n > 5 else 1] = 77 if n > 5 else 88
    return {"Y": y}


JUMPS = """kernel k(X: tensor<i32>[N], Y: tensor<i32>[N]) {
  var n = 0
  for i in range(0, N) {
    if X[i] == 3 { continue }
    if X[i] == 4 { break }
    n += 1
    Y[i] = X[i] * 2
    var j = 0
    while j < 10 {
      j += 1
      if j == 2 { continue }
      if j > X[i] + 3 { break }
      Y[i] += 100
    }
  }
  if n > 5 {
    Y[0] = 77
    return
  }
  Y[1] = 88
}"""


def return_in_a_loop(a: Arrays) -> Arrays:
    y = a["Y"].copy()
    y[0:16, 0:16] = a["X"][0:16, 0:16] + 1
    return {"Y": y}


def overlapping_slices(a: Arrays) -> Arrays:
    y, t = a["Y"].copy(), a["X"][0:8, 0:8] + 1
    y[0:8, 0:8] = t
    t[0:4] = t[4:8].copy()
    t[1:7] = t[0:6].copy()
    y[8:16, 0:8] = t
    y[16:24, 0:8] = t.T
    y[24:32, 0:8] = t.T @ t.T
    return {"Y": y}


def points(a: Arrays) -> Arrays:
    x, y = a["X"], a["Y"].copy()
    y[10, 7] = x[9, 6] + x[15, 11] + 1
    t = x[0:4, 0:8].copy()
    t[1, 1] = 9
    t.reshape(-1)[3] = 8
    t.reshape(-1)[16:20] = 5
    y[0:4, 0:8] = t
    y[20, 0] = t.reshape(-1)[9]
    y[21, 0:32] = t.reshape(-1)
    return {"Y": y}


def bytes_and_words(a: Arrays) -> Arrays:
    b = a["B"].astype(np.int32)
    w = int(a["W"][0, 0])
    y = a["Y"].copy()
    y[:, :] = (b >> 4) & 15
    total = int(a["B"][1, 1]) + w
    y[7, 3] = total // 3
    y[7, 4] = -(total % 7)
    o = (b + 250).astype(np.uint8)
    o[7, 5] = total % 256
    return {"Y": y, "O": o}


def unrolled(a: Arrays) -> Arrays:
    y, x = a["Y"].copy(), np.pad(a["X"], ((0, 8), (0, 0)))
    y[0:8, 0:8] = sum(x[i : i + 8, 0:8] * i for i in range(0, 48, 3))
    return {"Y": y}


def pipelined(a: Arrays) -> Arrays:
    y, x = a["Y"].copy(), np.pad(a["X"], ((0, 2), (0, 2)))
    y[0:8, 0:8] = sum(x[i : i + 8, 0:8] @ x[i : i + 8, 30:38] for i in range(0, 48, 8))
    return {"Y": y}


def gathered(a: Arrays) -> Arrays:
    return {"Y": a["T"][a["I"] + 4] + a["W"][3][a["I"]]}


def no_iterations(a: Arrays) -> Arrays:
    y = a["Y"].copy()
    y[0:8, 0:8] = 1
    return {"Y": y}


CASES = {
    "a ragged copy": Case(
        HEAD + "let r = ctx.block.x * 16\nlet c = ctx.block.y * 16\nY[r :+ 16, c :+ 16] = X[r :+ 16, c :+ 16] * 2.0\n}",
        pair,
        ragged_copy,
        grid=(4, 3),
    ),
    "a view of a view": Case(
        HEAD + "let v = X[40 :+ 16, 0 :+ 32]\nlet w = v[4 :+ 8, 8 :+ 16]\nY[0 :+ 8, 0 :+ 16] = w + 1.0\n"
        "let u = Y[44 :+ 4, 0 :+ 8]\nu[2 :+ 4, 0 :+ 8] = 7.0\n}",
        pair,
        view_of_a_view,
    ),
    "a slice that starts below zero": Case(
        HEAD + "let s = ctx.block.x * 8 - 4\nY[ctx.block.x * 8 :+ 8, 0 :+ 16] = X[s :+ 8, 0 :+ 16] + 1.0\n"
        "Y[s :+ 2, 20 :+ 4] = 3.0\n}",
        pair,
        below_zero,
        grid=(3,),
    ),
    "a contraction over a dynamic extent": Case(
        "kernel k(A: tensor<f32>[M, K], B: tensor<f32>[K, N], C: tensor<f32>[M, N]) {\n"
        "C[0 :+ 16, 0 :+ 32] = dot(A[0 :+ 16, :], B[:, 0 :+ 32])\n}",
        lambda: {"A": integers(16, 44), "B": integers(44, 32, seed=1), "C": zeros(16, 32)},
        product,
    ),
    "contractions that accumulate in place": Case(
        "@autotune(TILE_K in [8, 16, 32])\n"
        "kernel k(A: tensor<f32>[M, K], B: tensor<f32>[N, K], C: tensor<f32>[M, N]) {\n"
        "var acc: tile<f32>[16, 32] = 1.0\nacc += dot_t(A[0 :+ 16, :], B[0 :+ 32, :])\n"
        "acc += dot_t(A[0 :+ 16, 3:], B[0 :+ 32, 3:])\nC[0 :+ 16, 0 :+ 32] = acc\n}",
        lambda: {"A": integers(16, 44), "B": integers(32, 44, seed=1), "C": zeros(16, 32)},
        two_products,
    ),
    "a contraction over a long static extent": Case(
        "kernel k(A: tensor<f32>[32, 1000], B: tensor<f32>[1000, 32], C: tensor<f32>[32, 32]) {\n"
        "C[:, :] = dot(A[:, :], B[:, :])\nvar t: tile<f32>[32, 32] = dot(abs(A[:, :]), B[:, :])\nC[:, :] += t\n}",
        lambda: {"A": integers(32, 1000), "B": integers(1000, 32, seed=1), "C": zeros(32, 32)},
        lambda a: {"C": a["A"] @ a["B"] + abs(a["A"]) @ a["B"]},
    ),
    "jumps, to the end": Case(
        JUMPS,
        lambda: {"X": integers(32, dtype=np.int32, high=4), "Y": zeros(32, dtype=np.int32)},
        jumps,
    ),
    "jumps, out early": Case(
        JUMPS,
        lambda: {"X": np.array([1, 3, 2, 4, 1, 1, 1, 1], np.int32), "Y": zeros(8, dtype=np.int32)},
        jumps,
    ),
    "a return in a loop": Case(
        HEAD + "for i in range(0, M, 8) {\n  var t = X[i :+ 8, 0 :+ 16]\n  if i == 16 { return }\n"
        "  for j in range(0, 2) {\n    if j == 1 { break }\n    t = t + 1.0\n  }\n"
        "  Y[i :+ 8, 0 :+ 16] = t\n}\nY[0, 0] = 55.0\n}",
        pair,
        return_in_a_loop,
    ),
    "slices that overlap their target": Case(
        HEAD + "var t = X[0 :+ 8, 0 :+ 8]\nlet a = t\nt = t + 1.0\nY[0 :+ 8, 0 :+ 8] = a\n"
        "t[0 :+ 4, :] = t[4 :+ 4, :]\nt[1 :+ 6, :] = t[0 :+ 6, :]\nY[8 :+ 8, 0 :+ 8] = t\n"
        "t = transpose(t)\nY[16 :+ 8, 0 :+ 8] = t\nt = dot(t, t)\nY[24 :+ 8, 0 :+ 8] = t\n}",
        pair,
        overlapping_slices,
    ),
    "points of views and of flat tiles": Case(
        HEAD + "let v = X[8 :+ 8, 4 :+ 8]\nlet s = v[1, 2] + v[7, 7]\nlet w = Y[8 :+ 8, 4 :+ 8]\nw[2, 3] = s\n"
        "w[2, 3] += 1.0\nvar t = X[0 :+ 4, 0 :+ 8]\nt[1, 1] = 9.0\nlet f = flat(t)\nf[0, 3] = 8.0\n"
        "f[0, 16 :+ 4] = 5.0\nY[0 :+ 4, 0 :+ 8] = t\nY[20, 0] = f[0, 9]\nY[21, 0 :+ 32] = f[0, :]\n}",
        pair,
        points,
    ),
    "storage of bytes and words": Case(
        "kernel k(B: tensor<u8>[M, N], W: tensor<u32>[M, N], Y: tensor<i32>[M, N], O: tensor<u8>[M, N]) {\n"
        "var b = B[0 :+ 8, 0 :+ 16]\nY[0 :+ 8, 0 :+ 16] = (i32(b) >> 4) & 15\nO[0 :+ 8, 0 :+ 16] = i32(b) + 250\n"
        "let y = B[1, 1] + W[0, 0]\nY[7, 3] = y / 3\nY[7, 4] = -y % 7\nO[7, 5] = y\n}",
        lambda: {
            "B": integers(8, 16, dtype=np.uint8, low=0, high=256),
            "W": integers(8, 16, dtype=np.uint32, low=2**20, high=2**31),
            "Y": zeros(8, 16, dtype=np.int32),
            "O": zeros(8, 16, dtype=np.uint8),
        },
        bytes_and_words,
    ),
    "an unrolled loop with a rest": Case(
        "@autotune(U in [1, 2, 5])\n" + HEAD + "var t: tile<f32>[8, 8] = 0.0\n"
        "for<unroll U> i in range(0, M, 3) { t += X[i :+ 8, 0 :+ 8] * f32(i) }\nY[0 :+ 8, 0 :+ 8] = t\n}",
        pair,
        unrolled,
        config={"U": 5},
    ),
    "a pipelined loop with a remainder": Case(
        "@pipeline\n" + HEAD + "var acc: tile<f32>[8, 8] = 0.0\nfor i in range(0, M, 8) {\n"
        "  var a = X[i :+ 8, 0 :+ 8]\n  var b = X[i :+ 8, 30 :+ 8]\n  acc += dot(a, b)\n}\n"
        "Y[0 :+ 8, 0 :+ 8] = acc\n}",
        lambda: {"X": integers(46, 36), "Y": zeros(46, 36)},
        pipelined,
    ),
    "an unrolled pipelined loop": Case(
        "@pipeline\n" + HEAD + "var acc: tile<f32>[8, 8] = 0.0\nfor<unroll 2> i in range(0, M, 8) {\n"
        "  var a = X[i :+ 8, 0 :+ 8]\n  var b = X[i :+ 8, 30 :+ 8]\n  acc += dot(a, b)\n}\n"
        "Y[0 :+ 8, 0 :+ 8] = acc\n}",
        lambda: {"X": integers(46, 36), "Y": zeros(46, 36)},
        pipelined,
    ),
    "tables": Case(
        "kernel k(T: tensor<f32>[V], W: tensor<f32>[R, V], I: tensor<i32>[M, N], Y: tensor<f32>[M, N]) {\n"
        "var i = I[0 :+ 8, 0 :+ 8]\nY[0 :+ 8, 0 :+ 8] = gather(T[4:], i) + gather(W[3, :], i)\n}",
        lambda: {
            "T": integers(40),
            "W": integers(5, 40, seed=1),
            "I": integers(8, 8, dtype=np.int32, low=0, high=36),
            "Y": zeros(8, 8),
        },
        gathered,
    ),
    "loops without an iteration": Case(
        "kernel k(X: tensor<f32>[M, N], Y: tensor<f32>[M, N], n: i32) {\nvar t: tile<f32>[8, 8] = 1.0\n"
        "for i in range(0, n, 8) {\n  var a = X[i :+ 8, 0 :+ 8]\n  t += dot(a, a)\n}\n"
        "for i in range(n, -8, 8) { t += X[i :+ 8, 0 :+ 8] }\nY[0 :+ 8, 0 :+ 8] = t\n}",
        pair,
        no_iterations,
        scalars={"n": 0},
    ),
}


@pytest.mark.parametrize("target", ["sm_80", "sm_70"])
@pytest.mark.parametrize("name", CASES)
def test_program(name: str, target: str) -> None:
    case = CASES[name]
    kernel = phobos.compile_text(case.source, name="case.ph", target=target, config=case.config)["k"]
    for device in ("reference", "emulator"):
        arrays = case.arrays()
        kernel.launch(case.grid, *arrays.values(), *case.scalars.values(), device=device)
        for argument, value in case.expected(case.arrays()).items():
            np.testing.assert_array_equal(arrays[argument], value, err_msg=f"{argument} on {device}")
