"""Row reductions and column scans against NumPy: every kind, type, shape, number of lanes and of threads."""

import numpy as np
import pytest

from phobos_core.ir.schedule import ColumnScan, RowReduction, Sweep
from phobos_core.language.types import BF16, F16, F32, F64, I8, I32, I64, ScalarType
from tests.codegen.support import NUMPY, Array, Program, reduced, values, zeros


def run_reduction(kind: str, element: ScalarType, x: Array, lanes: int, vector: int, threads: int) -> Array:
    p = Program(threads)
    rows, columns = x.shape
    result = I32 if kind == "argmax" else element
    source, out = p.tensor("X", element, rows, columns), p.tensor("Y", result, rows, 1)
    p.store(out, p.b.reduce(kind, p.load(source)), RowReduction(lanes, vector))
    y = zeros(result, rows, 1)
    p.run(x, y)
    return y


@pytest.mark.parametrize("kind", ["max", "sum", "argmax"])
@pytest.mark.parametrize("element", [F16, BF16, F32, F64, I8, I32, I64], ids=str)
@pytest.mark.parametrize(("lanes", "vector"), [(1, 1), (8, 2), (32, 4)])
def test_every_kind_and_type(kind: str, element: ScalarType, lanes: int, vector: int) -> None:
    x = values(element, 5, 72)
    y = run_reduction(kind, element, x, lanes, vector, 64)
    if kind == "sum" and element.is_float:
        tolerance = {F16: 2**-10, BF16: 2**-7, F32: 1e-5, F64: 1e-13}[element]
        np.testing.assert_allclose(y.astype(float), reduced(kind, x), rtol=tolerance, atol=1e-5)
    else:
        np.testing.assert_array_equal(y, reduced(kind, x))


@pytest.mark.parametrize("kind", ["max", "sum", "argmax"])
@pytest.mark.parametrize(("threads", "lanes"), [(1, 1), (16, 16), (48, 16), (96, 32), (100, 32), (1024, 8), (40, 8)])
@pytest.mark.parametrize(("rows", "columns", "vector"), [(1, 3, 1), (7, 40, 4), (70, 5, 1), (13, 130, 2), (3, 600, 4)])
def test_every_shape(kind: str, threads: int, lanes: int, rows: int, columns: int, vector: int) -> None:
    """Fewer threads than rows, threads without a row, lanes without a run, groups cut by the last warp."""
    x = values(I32, rows, columns)
    np.testing.assert_array_equal(run_reduction(kind, I32, x, lanes, vector, threads), reduced(kind, x))


@pytest.mark.parametrize("lanes", [1, 4, 32])
def test_a_tie_gives_the_smallest_index(lanes: int) -> None:
    x = np.zeros((4, 33), np.float32)
    x[0, [5, 7, 32]] = 2
    x[1] = -np.inf
    x[2, 32] = 1
    y = run_reduction("argmax", F32, x, lanes, 1, 32)
    np.testing.assert_array_equal(y.ravel(), [5, 0, 32, 0])


@pytest.mark.parametrize("lanes", [1, 4, 32])
def test_maxima_ignore_nan(lanes: int) -> None:
    x = np.full((4, 33), np.nan, np.float32)
    x[0, 0] = -np.inf
    x[1, 31] = 1
    x[2, [3, 9]] = [4, 5]
    maxima = run_reduction("max", F32, x, lanes, 1, 64).ravel()
    np.testing.assert_array_equal(maxima, [-np.inf, 1, 5, np.nan])
    where = run_reduction("argmax", F32, x, lanes, 1, 64).ravel()
    np.testing.assert_array_equal(where[:3], [0, 31, 9])


def test_narrow_integers_wrap_in_their_own_type() -> None:
    x = np.full((2, 16), 100, np.int8)
    np.testing.assert_array_equal(run_reduction("sum", I8, x, 4, 4, 32), np.full((2, 1), 1600 % 256, np.int8))


def test_halves_are_summed_in_f32_and_rounded_once() -> None:
    x = np.ones((1, 64), np.float16)
    x[0, 0] = 4096
    assert run_reduction("sum", F16, x, 1, 1, 32)[0, 0] == np.float16(4159)


@pytest.mark.parametrize("threads", [32, 48])
def test_the_argument_and_what_follows_are_fused(threads: int) -> None:
    """l = l * corr + rowsum(exp(s - m))."""
    p = Program(threads)
    scores, maxima, sums = p.tensor("S", F32, 9, 40), p.tensor("M", F32, 9, 1), p.tensor("L", F32, 9, 1)
    shifted = p.b.binary("sub", p.load(scores), p.b.broadcast(p.load(maxima), (9, 40)))
    total = p.b.reduce("sum", p.b.math("exp", shifted))
    half = p.b.splat(p.b.const(0.5, F32), (9, 1))
    p.store(sums, p.b.binary("add", p.b.binary("mul", p.load(sums), half), total), RowReduction(16, 4))
    s, m, y = values(F32, 9, 40), values(F32, 9, 1), values(F32, 9, 1)
    before = y.copy()
    p.run(s, m, y)
    np.testing.assert_allclose(y, before / 2 + np.exp(s - m).sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("element", [F16, BF16, F32, F64], ids=str)
@pytest.mark.parametrize(("rows", "columns"), [(1, 5), (7, 1), (32, 40), (65, 3)])
@pytest.mark.parametrize("threads", [1, 32, 48])
def test_column_scans(element: ScalarType, rows: int, columns: int, threads: int) -> None:
    p = Program(threads)
    source, out = p.tensor("X", element, rows, columns), p.tensor("Y", element, rows, columns)
    p.store(out, p.b.cumsum(p.load(source)), ColumnScan())
    x, y = values(element, rows, columns), zeros(element, rows, columns)
    p.run(x, y)
    wide = np.float64 if element == F64 else np.float32
    np.testing.assert_array_equal(y, np.cumsum(x.astype(wide), axis=0, dtype=wide).astype(NUMPY[element]))


def test_a_scan_in_place_with_work_before_and_after() -> None:
    p = Program(threads=32)
    source, out = p.tensor("X", F32, "N", 8), p.tensor("Y", F32, 20, 8)
    n = p.dim("N")
    tile = p.shared(F32, 20, 8)
    p.store(tile, p.load(source, 20, 8, bounds=[(None, n), (None, None)]), Sweep(1))
    p.barrier()
    negative = p.b.unary("neg", p.load(tile))
    p.store(tile, p.b.math("exp", p.b.cumsum(negative)), ColumnScan())
    p.barrier()
    p.store(out, p.load(tile), Sweep(4))
    x, y = values(F32, 17, 8, scale=0.1), zeros(F32, 20, 8)
    p.run(x, y, 17)
    np.testing.assert_allclose(y, np.exp(np.cumsum(-np.pad(x, ((0, 3), (0, 0))), axis=0)), rtol=1e-5)
