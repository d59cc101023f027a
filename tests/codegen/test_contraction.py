"""`dot` on FMA and dp4a: every operand type, both forms, ragged patches, operands in shared and global memory."""

import numpy as np
import pytest

from phobos_core import codegen
from phobos_core.ir.schedule import Contraction, Sweep
from phobos_core.language.types import BF16, F16, F32, F64, I8, I32, ScalarType
from tests.codegen.support import Array, Program, values, zeros


def product(a: Array, b: Array, transposed: bool) -> Array:
    exact = np.int64 if a.dtype == np.int8 else np.float64
    return a.astype(exact) @ (b.astype(exact).T if transposed else b.astype(exact))


def result_of(element: ScalarType) -> ScalarType:
    return F64 if element == F64 else F32 if element.is_float else I32


def grid(m: int, n: int, tm: int, tn: int, run: int = 1, use_dp4a: bool = False) -> Contraction:
    return Contraction(tm, tn, -(-m // tm), -(-n // tn), use_dp4a, run)


@pytest.mark.parametrize("staged", [True, False], ids=["shared", "global"])
@pytest.mark.parametrize("transposed", [False, True], ids=["dot", "dot_t"])
@pytest.mark.parametrize("element", [F16, BF16, F32, F64, I8], ids=str)
@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_100"])
def test_every_type(element: ScalarType, transposed: bool, staged: bool, target: str) -> None:
    m, n, k = 16, 32, 24
    p = Program(threads=32, target=target)
    shape = (n, k) if transposed else (k, n)
    left, right = p.tensor("A", element, m, k), p.tensor("B", element, *shape)
    out = p.tensor("C", result_of(element), m, n)
    if staged:
        for tensor, extents in ((left, (m, k)), (right, shape)):
            tile = p.shared(element, *extents)
            p.store(tile, p.load(tensor), Sweep(4))
            tensor.mem, tensor.token = tile.mem, tile.token
        p.barrier()
    dot = p.b.dot(p.load(left), p.load(right), transposed=transposed)
    p.store(out, dot, grid(m, n, 4, 4, run=2 if element == F64 else 4))
    a, b = values(element, m, k), values(element, *shape, seed=1)
    c = zeros(result_of(element), m, n)
    p.run(a, b, c)
    np.testing.assert_allclose(c, product(a, b, transposed), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("threads", [1, 16, 48, 96, 1024])
@pytest.mark.parametrize("transposed", [False, True], ids=["dot", "dot_t"])
@pytest.mark.parametrize(
    ("m", "n", "k", "tm", "tn", "run"),
    [
        (8, 8, 8, 1, 1, 1),
        (13, 11, 7, 4, 4, 1),
        (13, 12, 9, 4, 4, 4),
        (5, 24, 40, 2, 8, 4),
        (33, 20, 3, 8, 2, 2),
        (3, 6, 130, 1, 6, 2),
        (16, 16, 1, 2, 2, 1),
        (7, 40, 16, 8, 8, 8),
    ],
)
def test_ragged_patches_and_any_thread_count(
    m: int, n: int, k: int, tm: int, tn: int, run: int, transposed: bool, threads: int
) -> None:
    p = Program(threads)
    shape = (n, k) if transposed else (k, n)
    left, right, out = p.tensor("A", F32, m, k), p.tensor("B", F32, *shape), p.tensor("C", F32, m, n)
    p.store(out, p.b.dot(p.load(left), p.load(right), transposed=transposed), grid(m, n, tm, tn, run))
    a, b, c = values(F32, m, k), values(F32, *shape, seed=1), zeros(F32, m, n)
    p.run(a, b, c)
    np.testing.assert_allclose(c, product(a, b, transposed), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("m", "n"), [(8, 16), (7, 12)])
def test_the_rest_of_the_tree_is_done_on_the_product_in_registers(m: int, n: int) -> None:
    """acc = acc * corr + dot(p, v): rows and columns broadcast, the target read at its own elements."""
    p = Program(threads=32)
    left, right = p.tensor("A", F32, m, 8), p.tensor("B", F32, 8, n)
    corrections, acc_in, out = p.tensor("R", F32, m, 1), p.tensor("I", F32, m, n), p.tensor("C", F32, m, n)
    acc = p.shared(F32, m, n)
    p.store(acc, p.load(acc_in), Sweep(4))
    p.barrier()
    dot = p.b.dot(p.load(left), p.load(right), transposed=False)
    scaled = p.b.binary("mul", p.load(acc), p.b.broadcast(p.load(corrections), (m, n)))
    p.store(acc, p.b.binary("add", scaled, dot), grid(m, n, 4, 4, 4))
    p.barrier()
    p.store(out, p.load(acc), Sweep(4))
    a, b, r, i, c = values(F32, m, 8), values(F32, 8, n), values(F32, m, 1), values(F32, m, n), zeros(F32, m, n)
    p.run(a, b, r, i, c)
    np.testing.assert_allclose(c, i * r + product(a, b, False), rtol=1e-5, atol=1e-5)


def test_operands_may_be_computed_masked_and_transposed() -> None:
    """dot(exp(x), transpose(y)) over a ragged window: past the end both read 0, so exp gives 1."""
    p = Program(threads=32)
    left, right, out = p.tensor("A", F32, "N", 12), p.tensor("B", F32, 8, "K"), p.tensor("C", F32, 8, 8)
    n, k = p.dim("N"), p.dim("K")
    x = p.b.math("exp", p.load(left, 8, 12, bounds=[(None, n), (None, None)]))
    y = p.b.transpose(p.load(right, 8, 12, bounds=[(None, None), (None, k)]))
    p.store(out, p.b.dot(x, y, transposed=False), grid(8, 8, 2, 2))
    a, b, c = values(F32, 6, 12), values(F32, 8, 10), zeros(F32, 8, 8)
    p.run(a, b, c, 6, 10)
    left_ = np.exp(np.vstack([a, np.zeros((2, 12))]))
    np.testing.assert_allclose(c, left_ @ np.pad(b, ((0, 0), (0, 2))).T, rtol=1e-5, atol=1e-5)


def test_the_target_masks_the_product() -> None:
    p = Program(threads=32)
    left, right, out = p.tensor("A", F32, 8, 4), p.tensor("B", F32, 4, 8), p.tensor("C", F32, "M", 8)
    m = p.dim("M")
    dot = p.b.dot(p.load(left), p.load(right), transposed=False)
    p.store(out, dot, grid(8, 8, 2, 4, 4), bounds=[(None, m), (None, None)])
    a, b, c = values(F32, 8, 4), values(F32, 4, 8), zeros(F32, 5, 8)
    p.run(a, b, c, 5)
    np.testing.assert_allclose(c, product(a, b, False)[:5], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("staged", [True, False], ids=["shared", "global"])
@pytest.mark.parametrize(("m", "n", "k"), [(8, 8, 16), (8, 8, 32), (9, 10, 12), (3, 5, 4), (16, 12, 72)])
def test_dp4a_takes_four_products_at_a_time(m: int, n: int, k: int, staged: bool) -> None:
    p = Program(threads=32)
    left, right, out = p.tensor("A", I8, m, k), p.tensor("B", I8, n, k), p.tensor("C", I32, m, n)
    if staged:
        for tensor, rows in ((left, m), (right, n)):
            tile = p.shared(I8, rows, k)
            p.store(tile, p.load(tensor), Sweep(4))
            tensor.mem, tensor.token = tile.mem, tile.token
        p.barrier()
    dot = p.b.dot(p.load(left), p.load(right), transposed=True)
    p.store(out, dot, grid(m, n, 2, 2, use_dp4a=True))
    assert "dp4a.s32.s32" in codegen.emit(p.kernel())
    a, b = (np.random.default_rng(s).integers(-128, 128, (r, k)).astype(np.int8) for s, r in ((0, m), (1, n)))
    c = zeros(I32, m, n)
    p.run(a, b, c)
    np.testing.assert_array_equal(c, product(a, b, True))


@pytest.mark.parametrize("run", [1, 2, 4])
@pytest.mark.parametrize(("element", "k"), [(F32, 64), (F32, 96), (F16, 64), (F64, 32), (I8, 256), (I8, 128)], ids=str)
def test_lanes_walk_along_k_in_orders_of_their_own(element: ScalarType, k: int, run: int) -> None:
    """Rows of whole multiples of 128 bytes would have all lanes in the same banks."""
    m, n = 8, 32
    p = Program(threads=32)
    left, right, out = (
        p.tensor("A", element, m, k),
        p.tensor("B", element, n, k),
        p.tensor("C", result_of(element), m, n),
    )
    for tensor, rows in ((left, m), (right, n)):
        tile = p.shared(element, rows, k)
        p.store(tile, p.load(tensor), Sweep(16 // element.bytes))
        tensor.mem, tensor.token = tile.mem, tile.token
    p.barrier()
    dot = p.b.dot(p.load(left), p.load(right), transposed=True)
    p.store(out, dot, grid(m, n, 2, 4, run, use_dp4a=element == I8))
    assert " xor i32 " in codegen.emit_llvm(p.kernel())
    a, b, c = values(element, m, k), values(element, n, k, seed=1), zeros(result_of(element), m, n)
    p.run(a, b, c)
    np.testing.assert_allclose(c, product(a, b, True), rtol=1e-4, atol=1e-4)


def test_f16_products_round_once_at_the_destination() -> None:
    """4096 + 1 + 1 + ... : in f16 every 1 would be lost; the sum is f32, and the f16 destination rounds it."""
    p = Program(threads=32)
    left, right = p.tensor("A", F16, 1, 9), p.tensor("B", F16, 9, 1)
    wide, narrow = p.tensor("C", F32, 1, 1), p.tensor("D", F16, 1, 1)
    dot = p.b.dot(p.load(left), p.load(right), transposed=False)
    p.store(wide, dot, grid(1, 1, 1, 1))
    p.store(narrow, p.b.convert(dot, F16), grid(1, 1, 1, 1))
    a, b = np.ones((1, 9), np.float16), np.ones((9, 1), np.float16)
    a[0, 0] = 4096
    c, d = zeros(F32, 1, 1), zeros(F16, 1, 1)
    p.run(a, b, c, d)
    assert c[0, 0] == 4104
    assert d[0, 0] == 4104


def test_blackwell_multiplies_pairs() -> None:
    p = Program(threads=32, target="sm_100")
    left, right, out = p.tensor("A", F32, 8, 8), p.tensor("B", F32, 8, 16), p.tensor("C", F32, 8, 16)
    p.store(out, p.b.dot(p.load(left), p.load(right), transposed=False), grid(8, 16, 2, 4, 4))
    assert "fma.rn.f32x2" in codegen.emit(p.kernel())
    a, b, c = values(F32, 8, 8), values(F32, 8, 16), zeros(F32, 8, 16)
    p.run(a, b, c)
    np.testing.assert_allclose(c, product(a, b, False), rtol=1e-5, atol=1e-5)
