"""Tiles in registers, in the patches of a contraction: held, carried, added to and stored, on any grid."""

import numpy as np
import pytest

from phobos_core import codegen
from phobos_core.ir.builder import Builder
from phobos_core.ir.module import Value
from phobos_core.ir.schedule import Contraction, PatchSweep
from phobos_core.ir.types import Patches, TileType
from phobos_core.language.types import BF16, F16, F32, F64, I8, I32, INDEX, ScalarType
from tests.codegen.support import Array, Program, hold, patches, values, zeros


def result_of(element: ScalarType) -> ScalarType:
    return F64 if element == F64 else F32 if element.is_float else I32


def contraction(layout: Patches, *, use_dp4a: bool = False) -> Contraction:
    sides = layout.tm, layout.tn, layout.rows, layout.columns
    return Contraction(*sides, use_dp4a, layout.vector, layout.height, layout.across)


def accumulating(
    element: ScalarType,
    sides: tuple[int, int, int],
    layout: Patches,
    *,
    vector: int = 1,
    transposed: bool = False,
    use_dp4a: bool = False,
    target: str = "sm_80",
) -> Program:
    """acc = I, then `turns` times acc += A B, and C = acc - I."""
    m, n, k = sides
    result = result_of(element)
    p = Program(layout.threads, target)
    left, right = p.tensor("A", element, m, k), p.tensor("B", element, *((n, k) if transposed else (k, n)))
    first, out = p.tensor("I", result, m, n), p.tensor("C", result, m, n)
    turns = p.dim("turns")
    begun = hold(p.b, p.load(first), layout, PatchSweep(layout, vector))
    outer, p.b = p.b, Builder(line=2)
    variable, carried = Value(INDEX), Value(begun.type)
    dot = p.b.dot(p.load(left), p.load(right), transposed=transposed)
    total = TileType(result, (m, n))
    added = p.b.op("add", (carried, dot), (total,)).result
    p.b.yield_([hold(p.b, added, layout, contraction(layout, use_dp4a=use_dp4a))])
    body, p.b = p.b.block((variable, carried)), outer
    loop = p.b.for_(p.b.index(0), turns, p.b.index(1), [begun], body)
    difference = p.b.op("sub", (loop.result, p.load(first)), (total,)).result
    p.store(out, difference, PatchSweep(layout, vector))
    return p


def exact(element: ScalarType, rows: int, columns: int, seed: int) -> Array:
    """Small integers: their sums are the same in any order."""
    numbers = np.random.default_rng(seed).integers(-3, 4, (rows, columns))
    return numbers.astype(zeros(element, 1, 1).dtype)


def agrees(p: Program, element: ScalarType, sides: tuple[int, int, int], *, transposed: bool = False) -> None:
    m, n, k = sides
    a, b = exact(element, m, k, 1), exact(element, *((n, k) if transposed else (k, n)), 2)
    begin = exact(result_of(element), m, n, 3)
    product = a.astype(np.float64) @ (b.T if transposed else b).astype(np.float64)
    for turns in (0, 1, 3):
        c = np.full_like(begin, 77)
        p.run(a, b, begin, c, turns)
        np.testing.assert_array_equal(c, turns * product)


@pytest.mark.parametrize("transposed", [False, True], ids=["dot", "dot_t"])
@pytest.mark.parametrize("element", [F16, BF16, F32, F64, I8], ids=str)
@pytest.mark.parametrize("target", ["sm_75", "sm_100"])
def test_every_type(element: ScalarType, transposed: bool, target: str) -> None:
    sides = 16, 32, 12
    layout = patches(32, 16, 32, 4, 4, 2 if element == F64 else 4)
    p = accumulating(element, sides, layout, vector=2, transposed=transposed, target=target)
    agrees(p, element, sides, transposed=transposed)


@pytest.mark.parametrize("run", [1, 2, 4])
def test_dp4a_adds_to_what_is_held(run: int) -> None:
    sides, layout = (9, 20, 24), patches(32, 9, 20, 2, 4, run)
    p = accumulating(I8, sides, layout, vector=1, transposed=True, use_dp4a=True)
    assert "dp4a.s32.s32" in codegen.emit(p.kernel())
    agrees(p, I8, sides, transposed=True)


@pytest.mark.parametrize("threads", [1, 16, 48, 1024])
@pytest.mark.parametrize(
    ("m", "n", "tm", "tn", "run", "vector"),
    [
        (8, 8, 1, 1, 1, 1),
        (13, 11, 4, 4, 1, 1),
        (13, 12, 4, 4, 4, 2),
        (5, 24, 2, 8, 4, 4),
        (33, 20, 8, 2, 2, 1),
        (7, 40, 8, 8, 8, 4),
        (1, 1, 1, 1, 1, 1),
    ],
)
def test_any_grid_of_patches(m: int, n: int, tm: int, tn: int, run: int, vector: int, threads: int) -> None:
    """More patches than threads, fewer, and patches that reach past the extents."""
    sides, layout = (m, n, 5), patches(threads, m, n, tm, tn, run)
    agrees(accumulating(F32, sides, layout, vector=vector), F32, sides)


@pytest.mark.parametrize("threads", [16, 64, 256])
@pytest.mark.parametrize(
    ("m", "n", "tm", "tn", "run", "height", "across"),
    [
        (32, 32, 4, 4, 4, 4, 4),
        (64, 32, 4, 2, 2, 2, 8),
        (128, 64, 8, 8, 4, 4, 8),
        (32, 128, 8, 4, 2, 1, 32),
        (60, 32, 8, 4, 4, 4, 8),
        (12, 20, 8, 4, 2, 4, 0),
    ],
)
def test_runs_of_rows_and_warps_that_are_blocks(
    m: int, n: int, tm: int, tn: int, run: int, height: int, across: int, threads: int
) -> None:
    sides = (m, n, 5)
    layout = Patches(threads, tm, tn, -(-m // tm), -(-n // tn), run, height, across)
    agrees(accumulating(F32, sides, layout, vector=run), F32, sides)


def test_the_sums_start_from_what_is_held() -> None:
    """No addition beside those of the products."""
    ptx = codegen.emit(accumulating(F32, (32, 32, 8), patches(64, 32, 32, 4, 4, 4), vector=4).kernel())
    assert "fma.rn.f32" in ptx
    assert "add.rn.f32" not in ptx
    assert ".shared" not in ptx


def test_what_is_held_may_be_scaled_by_rows_first() -> None:
    """acc = acc * r + A B, where some places are past the extents."""
    m, n, k = 7, 12, 8
    layout = patches(32, m, n, 4, 4, 4)
    p = Program(threads=32)
    left, right, rows = p.tensor("A", F32, m, k), p.tensor("B", F32, k, n), p.tensor("R", F32, m, 1)
    first, out = p.tensor("I", F32, m, n), p.tensor("C", F32, m, n)
    acc = hold(p.b, p.load(first), layout, PatchSweep(layout, 4))
    total = TileType(F32, (m, n))
    scaled = p.b.op("mul", (acc, p.b.broadcast(p.load(rows), (m, n))), (total,)).result
    dot = p.b.dot(p.load(left), p.load(right), transposed=False)
    p.store(out, p.b.binary("add", scaled, dot), contraction(layout))
    a, b, r, i, c = values(F32, m, k), values(F32, k, n), values(F32, m, 1), values(F32, m, n), zeros(F32, m, n)
    p.run(a, b, r, i, c)
    np.testing.assert_allclose(c, i * r + a.astype(np.float64) @ b, rtol=1e-5, atol=1e-5)


def test_a_branch_gives_either_tile() -> None:
    layout = patches(32, 10, 12, 2, 4, 2)
    p = Program(threads=32)
    first, second, out = p.tensor("X", F32, 10, 12), p.tensor("Y", F32, 10, 12), p.tensor("C", F32, 10, 12)
    chosen = p.scalar("n", I32)
    condition = p.b.cmp("lt", chosen, p.b.const(0, I32))
    held = TileType(F32, (10, 12), layout)
    blocks = []
    for source in (first, second):
        outer, p.b = p.b, Builder(line=3)
        p.b.yield_([hold(p.b, p.load(source), layout, PatchSweep(layout, 1))])
        blocks.append(p.b.block())
        p.b = outer
    either = p.b.if_(condition, [held], *blocks).result
    p.store(out, p.b.op("neg", (either,), (TileType(F32, (10, 12)),)).result, PatchSweep(layout, 2))
    x, y = values(F32, 10, 12), values(F32, 10, 12, seed=1)
    for number, expected in ((-1, x), (1, y)):
        c = zeros(F32, 10, 12)
        p.run(x, y, c, number)
        np.testing.assert_array_equal(c, -expected)
