"""Corners of the language on both devices, with values from NumPy: each was once wrong on one of them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

import phobos_core as phobos

DEVICES = ["reference", "emulator"]


def launch(device: str, source: str, *args: NDArray[Any] | int, target: str = "sm_80", grid: int = 1) -> None:
    (kernel,) = phobos.compile_text(source, target=target).values()
    kernel.launch((grid,), *args, device=device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("row", "column"), [(0, 0), (0, 5), (1, -3), (-1, 0), (3, 2)])
def test_a_gather_from_a_slice_past_the_edge_reads_zeros(device: str, row: int, column: int) -> None:
    source = """\
@launch(32)
kernel k(T: tensor<i32>[M, N], V: tensor<f16>[N], X: tensor<i32>[2, 8], O: tensor<i32>[2, 8], P: tensor<f16>[2, 8],
         row: i32, column: i32) {
  O[:, :] = gather(T[row :+ 1, column :+ 8], X[:, :])
  P[:, :] = gather(V[column :+ 8], X[:, :])
}
"""
    rng = np.random.default_rng(0)
    table = rng.integers(1, 100, (3, 8)).astype(np.int32)
    vector = rng.integers(1, 100, 8).astype(np.float16)
    at = rng.permutation(16).reshape(2, 8).astype(np.int32) % 8
    out, other = np.zeros((2, 8), np.int32), np.zeros((2, 8), np.float16)
    launch(device, source, table, vector, at, out, other, row, column)
    # Zeros around the table stand for what lies outside.
    around, beside = np.pad(table, 8), np.pad(vector, 8)
    np.testing.assert_array_equal(out, around[8 + row, 8 + column :][:8][at])
    np.testing.assert_array_equal(other, beside[8 + column :][:8][at])


@pytest.mark.parametrize("device", DEVICES)
def test_a_gather_from_outside_a_view_leaves_other_blocks_alone(device: str) -> None:
    """What lies outside is not read at all: here another block stores there."""
    source = """\
@launch(32)
kernel k(T: tensor<i32>[4, 8], X: tensor<i32>[2, 8], O: tensor<i32>[4, 8], row: i32) {
  let t = T[ctx.block.x * 2 :+ 2, :]
  if ctx.thread < 16 { t[ctx.thread / 8, ctx.thread % 8] = ctx.thread + 1 }
  barrier()
  O[ctx.block.x * 2 :+ 2, :] = gather(t[row :+ 1, 0 :+ 8], X[:, :])
}
"""
    at = np.random.default_rng(0).permutation(16).reshape(2, 8).astype(np.int32) % 8
    mine = np.arange(1, 17).reshape(2, 8)
    for row in (-17, -1, 0, 1, 2):
        table, out = np.zeros((4, 8), np.int32), np.ones((4, 8), np.int32)
        launch(device, source, table, at, out, row, grid=2)
        expected = mine[row][at] if 0 <= row < 2 else np.zeros((2, 8))
        np.testing.assert_array_equal(out, np.tile(expected, (2, 1)), err_msg=str(row))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("bits", [32, 64])
def test_a_clamped_index_that_has_wrapped(device: Literal["reference", "emulator"], bits: Literal[32, 64]) -> None:
    """What is loaded, and products, may wrap: a clamp stays, and a remainder of a multiple is not 0 for sure."""
    source = """\
@launch(32)
kernel k(B: tensor<u32>[32], W: tensor<i64>[32], X: tensor<i32>[20], O: tensor<i64>[5, 32]) {
  let t = ctx.thread
  let b = B[t]
  let w = W[t]
  O[0, t] = X[min(max(b, 0), 19)]
  O[1, t] = max(b * b, 0)
  O[2, t] = w * 3 % 3
  O[3, t] = w * 6 / 3
  O[4, t] = max(ctx.thread * 1073741824 * 1073741824, 5)
}
"""
    rng = np.random.default_rng(0)
    b = rng.integers(0, 2**32, 32).astype(np.uint32)
    w = rng.integers(-(2**63), 2**63, 32)
    x, o = rng.integers(-50, 50, 20).astype(np.int32), np.zeros((5, 32), np.int64)
    index: Any = np.int64 if bits == 64 else np.int32
    (kernel,) = phobos.compile_text(source, index_bits=bits).values()
    kernel.launch((1,), b, w, x, o, device=device)
    with np.errstate(over="ignore"):
        wide, data, t = b.astype(index), w.astype(index), np.arange(32).astype(index)
        product = data * index(3)
        remainder = product - (np.abs(product) // 3 * np.sign(product)).astype(index) * index(3)
        sixfold = data * index(6)
        third = (np.abs(sixfold) // 3 * np.sign(sixfold)).astype(index)
        far = t * index(1073741824) * index(1073741824)
        want = [x[np.clip(wide, 0, 19)], np.maximum(wide * wide, 0), remainder, third, np.maximum(far, 5)]
    np.testing.assert_array_equal(o, np.array(want))


@pytest.mark.parametrize("device", DEVICES)
def test_tiles_of_two_widths_at_the_same_bytes(device: str) -> None:
    """Same place, same row length: only the size of an element tells their addresses apart."""
    source = """\
@launch(7)
kernel k(A: tensor<f16>[8, 9], B: tensor<f64>[8, 9], O: tensor<f16>[8, 9], P: tensor<f64>[8, 9]) {
  var t = A[:, 1:]
  t[1, 2] = 100.0
  O[:, 1:] = t
  var u = B[:, 1:]
  u[2, 1] = 200.0
  P[:, 1:] = u
}
"""
    a = np.arange(72, dtype=np.float16).reshape(8, 9)
    b = a.astype(np.float64) + 0.5
    o, p = np.zeros_like(a), np.zeros_like(b)
    launch(device, source, a, b, o, p)
    a[1, 3], b[2, 2] = 100, 200
    np.testing.assert_array_equal(o[:, 1:], a[:, 1:])
    np.testing.assert_array_equal(p[:, 1:], b[:, 1:])


@pytest.mark.parametrize("device", DEVICES)
def test_a_product_of_operands_that_broadcast_along_k(device: str) -> None:
    source = """\
@launch(32)
kernel k(A: tensor<f16>[1, 8], B: tensor<f16>[4, 8], S: tensor<f16>[1, 1], O: tensor<f32>[1, 4]) {
  var a = A[:, :]
  a[0, 0] = 1.0
  var b = B[:, :]
  b[0, 0] = 1.0
  var s = S[:, :]
  s[0, 0] = 1.0
  O[:, :] = dot_t(a - s, b + s)
}
"""
    rng = np.random.default_rng(0)
    a, b, s = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((1, 8), (4, 8), (1, 1)))
    a[0, 0] = b[0, 0] = s[0, 0] = 1
    o = np.zeros((1, 4), np.float32)
    launch(device, source, a, b, s, o)
    np.testing.assert_array_equal(o, (a - s).astype(np.float32) @ (b + s).astype(np.float32).T)


@pytest.mark.parametrize("device", DEVICES)
def test_a_product_over_a_dynamic_k_broadcasts(device: str) -> None:
    """A column or a row of sums, walked along K, goes to every column or row of its target."""
    source = """\
@launch(32)
kernel k(A: tensor<f32>[8, K], B: tensor<f32>[1, K], O: tensor<f32>[8, 8], P: tensor<f32>[8, 8], Q: tensor<f32>[8, 8]) {
  var column: tile<f32>[8, 8] = 1.0
  column += dot_t(A[:, :], B[:, :])
  O[:, :] = column
  var row: tile<f32>[8, 8] = dot_t(B[:, :], A[:, :])
  P[:, :] = row
  Q[:, :] += dot_t(A[:, :], B[:, :])
}
"""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((8, 20), (1, 20)))
    o, p, q = (np.ones((8, 8), np.float32) for _ in range(3))
    launch(device, source, a, b, o, p, q)
    expected = np.broadcast_to(a @ b.T, (8, 8))
    np.testing.assert_array_equal(o, expected + 1)
    np.testing.assert_array_equal(p, expected.T)
    np.testing.assert_array_equal(q, expected + 1)


@pytest.mark.parametrize("device", DEVICES)
def test_a_gather_at_reduced_and_contracted_indices(device: str) -> None:
    source = """\
@launch(64)
kernel k(T: tensor<f32>[64], X: tensor<i32>[4, 8], Y: tensor<i8>[4, 8], O: tensor<f32>[4, 1], P: tensor<f32>[4, 4]) {
  O[:, :] = gather(T[:], rowmax(X[:, :])) + 1.0
  P[:, :] = gather(T[:], dot_t(Y[:, :], Y[:, :]))
}
"""
    rng = np.random.default_rng(0)
    table = rng.integers(-9, 10, 64).astype(np.float32)
    x, y = rng.integers(0, 60, (4, 8)).astype(np.int32), rng.integers(0, 3, (4, 8)).astype(np.int8)
    o, p = np.zeros((4, 1), np.float32), np.zeros((4, 4), np.float32)
    launch(device, source, table, x, y, o, p)
    np.testing.assert_array_equal(o, table[x.max(axis=1, keepdims=True)] + 1)
    np.testing.assert_array_equal(p, table[y.astype(int) @ y.astype(int).T])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("rows", "threads"), [(24, 32), (24, 64), (40, 32), (16, 96)])
def test_a_transposed_copy_of_which_only_some_threads_have_a_last_part(device: str, rows: int, threads: int) -> None:
    source = f"""\
@launch({threads})
kernel k(A: tensor<f16>[16, {rows}], O: tensor<f16>[{rows}, 16]) {{
  var t = transpose(A[:, :])
  O[:, :] = t
}}
"""
    a = np.arange(16 * rows, dtype=np.float16).reshape(16, rows)
    o = np.zeros((rows, 16), np.float16)
    launch(device, source, a, o)
    np.testing.assert_array_equal(o, a.T)


@pytest.mark.parametrize("device", DEVICES)
def test_a_loop_that_may_end_early_carries_a_tile_in_registers(device: str) -> None:
    source = """\
@launch(64)
kernel k(O: tensor<f32>[4, 4], last: i32) {
  var t: tile<f32>[4, 4] = 1.0
  for i in range(0, 8, 1) {
    t = t + t
    if i == last { break }
  }
  O[:, :] = t
}
"""
    out = np.zeros((4, 4), np.float32)
    launch(device, source, out, 2)
    np.testing.assert_array_equal(out, np.full((4, 4), 8.0))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("threads", [7, 12, 33])
def test_rows_reduced_beside_a_product_by_threads_that_are_no_power_of_two(device: str, threads: int) -> None:
    source = f"""\
@launch({threads})
kernel k(A: tensor<f32>[5, 8], B: tensor<f32>[5, 5], O: tensor<f32>[5, 8]) {{
  var a = A[:, :]
  var s: tile<f32>[5, 8] = dot(B[:, :], a)
  var at: tile<i32>[5, 1] = rowargmax(a)
  s = where(iota(1) == at, 99.0, s)
  O[:, :] = s
}}
"""
    rng = np.random.default_rng(3)
    a = np.stack([rng.permutation(8) for _ in range(5)]).astype(np.float32)
    b = rng.integers(-3, 4, (5, 5)).astype(np.float32)
    out = np.zeros((5, 8), np.float32)
    launch(device, source, a, b, out)
    expected = b @ a
    expected[np.arange(5), a.argmax(axis=1)] = 99.0
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("threads", [7, 33, 64])
def test_a_transposition_whose_patches_the_threads_do_not_divide(device: str, threads: int) -> None:
    """Threads without a last patch have others all the same."""
    source = f"""\
@launch({threads})
kernel k(X: tensor<f32>[P, 24], O: tensor<f32>[24, 16]) {{
  let x = X[0 :+ 16, :]
  var s: tile<f32>[24, 16] = transpose(x)
  O[:, :] = s
}}
"""
    x, o = np.arange(480, dtype=np.float32).reshape(20, 24), np.zeros((24, 16), np.float32)
    launch(device, source, x, o)
    np.testing.assert_array_equal(o, x[:16].T)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("threads", [1, 7, 12, 33, 40, 64])
def test_rows_of_a_product_folded_by_odd_numbers_of_threads(device: str, threads: int) -> None:
    """Lanes that fold a row together are neighbours in every turn only if they divide the threads."""
    source = f"""\
@launch({threads})
kernel k(A: tensor<f16>[5, 4], B: tensor<f16>[12, 4], O: tensor<f32>[5, 1], P: tensor<f32>[5, 1]) {{
  var acc: tile<f32>[5, 12] = 0.0
  acc += dot_t(A[:, :], B[:, :])
  O[:, :] = rowsum(acc)
  P[:, :] = rowmax(acc)
}}
"""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((5, 4), (12, 4)))
    o, p = np.zeros((5, 1), np.float32), np.zeros((5, 1), np.float32)
    launch(device, source, a, b, o, p)
    product = a.astype(np.float32) @ b.T.astype(np.float32)
    np.testing.assert_array_equal(o, product.sum(1, keepdims=True))
    np.testing.assert_array_equal(p, product.max(1, keepdims=True))


@pytest.mark.parametrize("device", DEVICES)
def test_a_loop_that_carries_tiles_in_registers_is_left_early(device: str) -> None:
    source = """\
@launch(32)
kernel k(X: tensor<f32>[4, 32], N: tensor<f32>[M], O: tensor<f32>[4, 1], P: tensor<f32>[4, 32]) {
  var acc: tile<f32>[4, 32] = X[:, :]
  var c: tile<f32>[4, 1] = -1.0
  for k in range(0, M) {
    c += rowsum(acc)
    if N[k] == 3.0 { break }
    if N[k] == 5.0 { continue }
    acc = acc + c
  }
  O[:, :] = c
  P[:, :] = acc
}
"""
    rng = np.random.default_rng(0)
    x, n = rng.integers(-1, 2, (4, 32)).astype(np.float32), np.array([1, 5, 3, 1], np.float32)
    o, p = np.zeros((4, 1), np.float32), np.zeros((4, 32), np.float32)
    launch(device, source, x, n, o, p)
    total = x.sum(1, keepdims=True)
    first = total - 1
    second = first + (x + first).sum(1, keepdims=True)
    np.testing.assert_array_equal(p, x + first)
    np.testing.assert_array_equal(o, second + (x + first).sum(1, keepdims=True))


@pytest.mark.parametrize("threads", [32, 64])
@pytest.mark.parametrize(
    ("fold", "element"),
    [
        ("sum<over ctx.thread>(x)", "i32"),
        ("max<over ctx.thread>(x)", "i32"),
        ("min<over ctx.thread>(x * f32(2.0))", "f32"),
        ("argmax<over ctx.thread>(x)", "i32"),
        ("argmax<over ctx.thread>(x)", "f32"),
        ("reduce<over ctx.thread>(x, larger)", "i32"),
    ],
)
def test_tiles_under_a_condition_that_the_whole_cta_folded(fold: str, element: str, threads: int) -> None:
    """The fold is the same in all threads, those of a CTA of one warp too: barriers may stand, and do, where tiles are
    used behind it."""
    source = f"""\
fn larger(a, b) = max(a, b)
@launch({threads})
kernel k(A: tensor<{element}>[{threads}], B: tensor<f32>[16, 16], C: tensor<i32>[12, 1], O: tensor<i32>[12, 1]) {{
  let x = A[ctx.thread]
  let found = {fold}
  var s = dot(B[0 :+ 12, :], B[:, :])
  var r = rowargmax(s * s)
  r = r + C[:, :]
  if found > 0 {{
    r[8 : 10, :] = r[9 : 10, :]
    r[0 : 4, :] = r[1 : 5, :]
  }}
  for n in range(0, i32(found) % 3 + 1) {{
    r[4 : 8, :] = r[5 : 9, :]
  }}
  O[:, :] = r
}}
"""
    rng = np.random.default_rng(0)
    a = rng.permutation(threads).astype(np.int32 if element == "i32" else np.float32) + 1
    b, c = rng.integers(-3, 4, (16, 16)).astype(np.float32), rng.integers(0, 99, (12, 1)).astype(np.int32)
    s = (b[:12] @ b) ** 2
    expected = s.argmax(1, keepdims=True).astype(np.int32) + c
    found = {"sum": a.sum(), "max": a.max(), "min": 2 * a.min(), "arg": a.argmax(), "red": a.max()}[fold[:3]]
    assert found > 0
    expected[8:10] = expected[9:10]
    expected[0:4] = expected[1:5].copy()
    for _ in range(int(found) % 3 + 1):
        expected[4:8] = expected[5:9].copy()
    for device in DEVICES:
        out = np.zeros((12, 1), np.int32)
        launch(device, source, a, b, c, out)
        np.testing.assert_array_equal(out, expected, err_msg=device)
