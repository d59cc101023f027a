"""Row reductions of tiles in registers, and the tiles that have one element for each row of patches."""

import numpy as np
import pytest

from phobos_core import codegen
from phobos_core.ir.builder import Builder
from phobos_core.ir.module import Value
from phobos_core.ir.schedule import Contraction, PatchSweep, RowFold, RowSweep, Sweep
from phobos_core.ir.types import Patches, TileType
from phobos_core.language.targets import LANES
from phobos_core.language.types import BF16, F16, F32, F64, I8, I32, I64, INDEX, ScalarType
from tests.codegen.support import NUMPY, Array, Buffer, Program, hold, reduced, values, zeros


def grid(threads: int, m: int, n: int, tm: int, columns: int, run: int) -> Patches:
    """Patches as wide as it takes for that many in a row."""
    tn = -(-n // (columns * run)) * run
    return Patches(threads, tm, tn, -(-m // tm), columns, run)


def fold(p: Program, kind: str, tile: Value, layout: Patches, vector: int = 1) -> Value:
    """The reduction of a tile whose row of patches has any width, in `layout.row_layout`."""
    rows = layout.row_layout
    reduce = p.b.reduce(kind, tile)
    if layout.columns <= LANES:
        return hold(p.b, reduce, rows, RowFold(layout, vector))
    scratch = parts(p, kind, tile, layout, vector)
    p.barrier()
    whole = p.b.reduce(kind, p.load(scratch))
    return hold(p.b, p.b.convert(whole, reduce.type.element), rows, RowSweep(rows))


def parts(p: Program, kind: str, tile: Value, layout: Patches, vector: int) -> Buffer:
    """Shared scratch with the folds of each warp's part of the rows."""
    assert isinstance(tile.type, TileType)
    count, height = layout.columns // LANES, tile.type.shape[0]
    element = F32 if kind == "sum" and tile.type.element in (F16, BF16) else tile.type.element
    folds = p.b.op("reduce", (tile,), (TileType(element, (height, count)),), {"kind": kind, "parts": count}).result
    scratch = p.shared(element, height, count)
    p.store(scratch, folds, RowFold(layout, vector))
    return scratch


def run_fold(kind: str, element: ScalarType, x: Array, layout: Patches, vector: int, *, held: bool = True) -> Array:
    p = Program(layout.threads)
    result = I32 if kind == "argmax" else element
    source, out = p.tensor("X", element, *x.shape), p.tensor("Y", result, len(x), 1)
    tile = p.load(source)
    if held:
        tile = hold(p.b, tile, layout, PatchSweep(layout, vector))
    p.store(out, fold(p, kind, tile, layout, vector), RowSweep(layout.row_layout))
    y = zeros(result, len(x), 1)
    p.run(x, y)
    return y


def agrees(kind: str, element: ScalarType, x: Array, y: Array) -> None:
    if kind == "sum" and element.is_float:
        tolerance = {F16: 2**-10, BF16: 2**-7, F32: 1e-5, F64: 1e-13}[element]
        np.testing.assert_allclose(y.astype(float), reduced(kind, x), rtol=tolerance, atol=1e-5)
    else:
        np.testing.assert_array_equal(y, reduced(kind, x))


@pytest.mark.parametrize("kind", ["max", "sum", "argmax"])
@pytest.mark.parametrize("element", [F16, BF16, F32, F64, I8, I32, I64], ids=str)
@pytest.mark.parametrize(("columns", "run", "vector"), [(1, 1, 1), (8, 2, 1), (16, 4, 4)])
@pytest.mark.parametrize("held", [True, False], ids=["held", "read"])
def test_every_kind_and_type(kind: str, element: ScalarType, columns: int, run: int, vector: int, held: bool) -> None:
    if vector * element.bytes > 16:
        vector = 2
    x = values(element, 8, 128)
    agrees(kind, element, x, run_fold(kind, element, x, grid(64, 8, 128, 2, columns, run), vector, held=held))


@pytest.mark.parametrize("kind", ["max", "sum"])
@pytest.mark.parametrize("element", [F16, BF16, F32, F64, I8, I32, I64], ids=str)
@pytest.mark.parametrize("columns", [64, 128])
def test_rows_wider_than_a_warp(kind: str, element: ScalarType, columns: int) -> None:
    x = values(element, 6, 300)
    agrees(kind, element, x, run_fold(kind, element, x, grid(128, 6, 300, 2, columns, 2), 1))


@pytest.mark.parametrize("kind", ["max", "sum", "argmax"])
@pytest.mark.parametrize(
    ("threads", "columns"), [(1, 1), (16, 16), (48, 16), (96, 32), (100, 4), (40, 8), (1024, 8), (128, 64), (32, 2)]
)
@pytest.mark.parametrize(
    ("rows", "width", "tm", "run", "vector"),
    [(1, 3, 1, 1, 1), (7, 40, 4, 4, 2), (70, 5, 8, 1, 1), (13, 130, 2, 2, 1), (3, 96, 1, 4, 4), (64, 64, 4, 4, 4)],
)
def test_every_shape(
    kind: str, threads: int, columns: int, rows: int, width: int, tm: int, run: int, vector: int
) -> None:
    """More patches than threads and fewer, threads without a patch, patches past both extents, a part of a warp."""
    if kind == "argmax" and columns > LANES:
        kind = "max"
    x = values(I32, rows, width)
    layout = grid(threads, rows, width, tm, columns, run)
    np.testing.assert_array_equal(run_fold(kind, I32, x, layout, vector), reduced(kind, x))


@pytest.mark.parametrize("columns", [1, 4, 32])
def test_a_tie_gives_the_smallest_index(columns: int) -> None:
    x = np.zeros((4, 33), np.float32)
    x[0, [5, 7, 32]] = 2
    x[1] = -np.inf
    x[2, 32] = 1
    y = run_fold("argmax", F32, x, grid(32, 4, 33, 1, columns, 1), 1)
    np.testing.assert_array_equal(y.ravel(), [5, 0, 32, 0])


@pytest.mark.parametrize("columns", [1, 4, 32, 64])
def test_maxima_ignore_nan(columns: int) -> None:
    x = np.full((4, 65), np.nan, np.float32)
    x[0, 0] = -np.inf
    x[1, 31] = 1
    x[2, [3, 9]] = [4, 5]
    layout = grid(64, 4, 65, 2, columns, 1)
    maxima = run_fold("max", F32, x, layout, 1).ravel()
    np.testing.assert_array_equal(maxima, [-np.inf, 1, 5, np.nan])
    if columns <= LANES:
        where = run_fold("argmax", F32, x, layout, 1).ravel()
        np.testing.assert_array_equal(where[:3], [0, 31, 9])


def test_all_lanes_have_the_index_of_a_row_of_nan() -> None:
    layout = grid(32, 2, 64, 1, 16, 1)
    p = Program(32)
    source, out = p.tensor("X", F32, 2, 64), p.tensor("Y", I32, 2, 64)
    where = fold(p, "argmax", p.load(source), layout)
    p.store(out, p.b.broadcast(where, (2, 64)), PatchSweep(layout, 1))
    y = np.full((2, 64), 77, np.int32)
    p.run(np.full((2, 64), np.nan, np.float32), y)
    np.testing.assert_array_equal(y, 0)


@pytest.mark.parametrize("columns", [1, 16, 64])
def test_halves_are_summed_in_f32_and_rounded_once(columns: int) -> None:
    x = np.ones((1, 128), np.float16)
    x[0, 0] = 4096
    assert run_fold("sum", F16, x, grid(64, 1, 128, 1, columns, 1), 1)[0, 0] == np.float16(4096 + 127)
    tenths = np.full((1, 128), 0.1, NUMPY[BF16])
    exact = 128 * float(tenths[0, 0])
    assert run_fold("sum", BF16, tenths, grid(64, 1, 128, 1, columns, 1), 1)[0, 0] == NUMPY[BF16](exact)


@pytest.mark.parametrize(
    ("threads", "m", "n", "tm", "columns", "run"),
    [(128, 64, 64, 4, 16, 4), (32, 7, 12, 2, 4, 1), (48, 70, 40, 4, 8, 2), (64, 5, 9, 8, 1, 1), (64, 6, 130, 2, 64, 1)],
)
def test_softmax_in_registers(threads: int, m: int, n: int, tm: int, columns: int, run: int) -> None:
    """Held rows are broadcast along the patches, and what follows a fold is done on it."""
    layout = grid(threads, m, n, tm, columns, run)
    p = Program(threads)
    source, out = p.tensor("X", F32, m, n), p.tensor("Y", F32, m, n)
    x = hold(p.b, p.load(source), layout, PatchSweep(layout, run))
    top = fold(p, "max", x, layout)
    shifted = p.b.op("sub", (x, p.b.broadcast(top, (m, n))), (TileType(F32, (m, n)),)).result
    e = hold(p.b, p.b.math("exp", shifted), layout, PatchSweep(layout, run))
    total = fold(p, "sum", e, layout)
    quotient = p.b.op("div", (e, p.b.broadcast(total, (m, n))), (TileType(F32, (m, n)),)).result
    p.store(out, quotient, PatchSweep(layout, run))
    given, y = values(F32, m, n), zeros(F32, m, n)
    p.run(given, y)
    exact = np.exp(given.astype(float) - given.max(1, keepdims=True))
    np.testing.assert_allclose(y, exact / exact.sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize(("threads", "rows", "tm", "columns"), [(32, 13, 4, 8), (48, 70, 2, 16), (64, 5, 8, 1)])
def test_a_tile_of_rows_in_memory(threads: int, rows: int, tm: int, columns: int) -> None:
    """Read by all who share a row, changed, kept, and written once."""
    layout = grid(threads, rows, 24, tm, columns, 1).row_layout
    p = Program(threads)
    source, out = p.tensor("X", F32, rows, 1), p.tensor("Y", F32, rows, 1)
    tile = p.shared(F32, rows, 1)
    held = hold(p.b, p.b.unary("neg", p.load(source)), layout, RowSweep(layout))
    p.store(tile, p.b.op("add", (held, p.load(source)), (TileType(F32, (rows, 1)),)).result, RowSweep(layout))
    # In place, by the thread that wrote it.
    p.store(tile, p.b.op("sub", (p.load(tile), held), (TileType(F32, (rows, 1)),)).result, RowSweep(layout))
    p.barrier()
    p.store(out, p.load(tile), Sweep(1))
    x, y = values(F32, rows, 1), zeros(F32, rows, 1)
    p.run(x, y)
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("kind", ["max", "sum", "argmax"])
@pytest.mark.parametrize("columns", [1, 3, 8, 40])
def test_a_thread_folds_a_row_of_memory_alone(kind: str, columns: int) -> None:
    layout = grid(32, 9, 24, 2, 4, 1).row_layout
    p = Program(32)
    element = I32 if kind == "argmax" else F32
    source, out = p.tensor("X", F32, 9, columns), p.tensor("Y", element, 9, 1)
    twice = p.b.binary("add", p.load(source), p.load(source))
    p.store(out, p.b.unary("neg", p.b.reduce(kind, twice)), RowSweep(layout))
    x, y = values(F32, 9, columns), zeros(element, 9, 1)
    p.run(x, y)
    np.testing.assert_allclose(y, -reduced(kind, 2 * x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("columns", [4, 64])
def test_a_fold_is_stored_by_one_lane(columns: int) -> None:
    """With the rest of the tree: rows in registers and in memory."""
    layout = grid(64, 9, 70, 2, columns, 1)
    rows = layout.row_layout
    p = Program(64)
    source, more, out = p.tensor("X", F32, 9, 70), p.tensor("R", F32, 9, 1), p.tensor("Y", F32, 9, 1)
    held = hold(p.b, p.load(more), rows, RowSweep(rows))
    if columns <= LANES:
        total = p.b.reduce("sum", p.load(source))
        schedule: RowFold | RowSweep = RowFold(layout, 1)
    else:
        scratch = parts(p, "sum", p.load(source), layout, 1)
        p.barrier()
        total, schedule = p.b.reduce("sum", p.load(scratch)), RowSweep(rows)
    narrow = TileType(F32, (9, 1))
    scaled = p.b.op("mul", (held, total), (narrow,)).result
    p.store(out, p.b.op("add", (scaled, p.load(more)), (narrow,)).result, schedule)
    x, r, y = values(F32, 9, 70), values(F32, 9, 1, seed=1), zeros(F32, 9, 1)
    p.run(x, r, y)
    np.testing.assert_allclose(y, r * x.sum(1, keepdims=True, dtype=float) + r, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("threads", "m", "n", "tm", "columns", "run"), [(128, 64, 64, 4, 16, 4), (32, 7, 12, 2, 4, 1)])
def test_flash_attention_in_registers(threads: int, m: int, n: int, tm: int, columns: int, run: int) -> None:
    """Scores, probabilities, maxima and totals carried by a loop in registers; the product's operand through memory."""
    d, blocks = 16, 3
    layout = grid(threads, m, n, tm, columns, run)
    wide = Patches(threads, tm, -(-d // columns), layout.rows, columns, 1)
    rows = layout.row_layout
    assert wide.row_layout == rows
    p = Program(threads)
    query, keys = p.tensor("Q", F32, m, d), p.tensor("K", F32, blocks * n, d)
    table, out = p.tensor("V", F32, blocks * n, d), p.tensor("O", F32, m, d)
    narrow, square, product = (TileType(F32, shape) for shape in ((m, 1), (m, n), (m, d)))

    def full(value: float, shape: tuple[int, ...]) -> Value:
        return p.b.splat(p.b.const(value, F32), shape)

    probabilities = p.shared(F32, m, n)
    first = [
        hold(p.b, full(-1e30, (m, 1)), rows, RowSweep(rows)),
        hold(p.b, full(0.0, (m, 1)), rows, RowSweep(rows)),
        hold(p.b, full(0.0, (m, d)), wide, PatchSweep(wide, 1)),
    ]
    outer, p.b = p.b, Builder(line=2)
    j, before = Value(INDEX), Value(probabilities.token.type)
    top, total, acc = (Value(v.type) for v in first)
    probabilities_before, probabilities.token = probabilities.token, before
    dot = p.b.dot(p.load(query), p.load(keys, n, d, at=[j, 0]), transposed=True)
    s = hold(p.b, dot, layout, Contraction(tm, layout.tn, layout.rows, columns, False, run))
    higher = p.b.op("max", (top, p.b.reduce("max", s)), (narrow,)).result
    following = hold(p.b, higher, rows, RowFold(layout, run))
    shifted = p.b.op("sub", (s, p.b.broadcast(following, (m, n))), (square,)).result
    e = hold(p.b, p.b.math("exp", shifted), layout, PatchSweep(layout, run))
    shrink = hold(p.b, p.b.math("exp", p.b.op("sub", (top, following), (narrow,)).result), rows, RowSweep(rows))
    shrunk = p.b.op("mul", (total, shrink), (narrow,)).result
    more = hold(p.b, p.b.op("add", (shrunk, p.b.reduce("sum", e)), (narrow,)).result, rows, RowFold(layout, run))
    p.barrier()
    p.store(probabilities, e, PatchSweep(layout, run))
    p.barrier()
    second = p.b.dot(p.load(probabilities), p.load(table, n, d, at=[j, 0]), transposed=False)
    scaled = p.b.op("mul", (acc, p.b.broadcast(shrink, (m, d))), (product,)).result
    sums = p.b.binary("add", scaled, second)
    kept = hold(p.b, sums, wide, Contraction(tm, wide.tn, wide.rows, columns, False, 1))
    p.b.yield_([following, more, kept, probabilities.token])
    body, p.b = p.b.block((j, top, total, acc, before)), outer
    end = p.b.index(blocks * n)
    loop = p.b.for_(p.b.index(0), end, p.b.index(n), [*first, probabilities_before], body)
    _, total, acc, probabilities.token = loop.results
    p.store(out, p.b.op("div", (acc, p.b.broadcast(total, (m, d))), (product,)).result, PatchSweep(wide, 1))
    q, k = values(F32, m, d), values(F32, blocks * n, d, seed=1)
    v, o = values(F32, blocks * n, d, seed=2), zeros(F32, m, d)
    p.run(q, k, v, o)
    scores = q.astype(float) @ k.T
    weights = np.exp(scores - scores.max(1, keepdims=True))
    np.testing.assert_allclose(o, weights @ v / weights.sum(1, keepdims=True), rtol=1e-4, atol=1e-5)


def test_a_branch_gives_either_rows() -> None:
    layout = grid(32, 10, 24, 4, 8, 1).row_layout
    p = Program(32)
    first, second, out = p.tensor("X", F32, 10, 1), p.tensor("Y", F32, 10, 1), p.tensor("C", F32, 10, 1)
    condition = p.b.cmp("lt", p.scalar("n", I32), p.b.const(0, I32))
    held = TileType(F32, (10, 1), layout)
    blocks = []
    for source in (first, second):
        outer, p.b = p.b, Builder(line=3)
        p.b.yield_([hold(p.b, p.load(source), layout, RowSweep(layout))])
        blocks.append(p.b.block())
        p.b = outer
    either = p.b.if_(condition, [held], *blocks).result
    p.store(out, p.b.op("neg", (either,), (TileType(F32, (10, 1)),)).result, RowSweep(layout))
    x, y = values(F32, 10, 1), values(F32, 10, 1, seed=1)
    for number, expected in ((-1, x), (1, y)):
        c = zeros(F32, 10, 1)
        p.run(x, y, c, number)
        np.testing.assert_array_equal(c, -expected)


def test_a_row_of_a_patch_takes_as_many_instructions_as_it_must() -> None:
    """Of 4 x 4 elements over 16 lanes: three maxima and, for each halving of the lanes, a shuffle and a maximum."""
    layout = grid(256, 64, 64, 4, 16, 4)
    p = Program(256)
    source, out = p.tensor("X", F32, 64, 64), p.tensor("Y", F32, 64, 1)
    p.store(out, fold(p, "max", p.load(source), layout, 4), RowSweep(layout.row_layout))
    ptx = codegen.emit(p.kernel())
    assert ptx.count("shfl.sync.bfly") == 4 * 4
    assert ptx.count("max.f32") == 4 * (3 + 4)
    assert ptx.count("ld.global.nc.v4") == 4
    shuffles = [line.split()[0] for line in ptx.splitlines() if "shfl" in line or "max.f32" in line]
    halving = ["shfl.sync.bfly.b32"] * 4 + ["max.f32"] * 4
    assert shuffles[-len(halving) * 4 :] == halving * 4
