"""Element-wise stores: every element type, extent, thread count, vector width and form of mask."""

import numpy as np
import pytest

from phobos_core.ir.builder import Builder
from phobos_core.ir.module import Value
from phobos_core.ir.schedule import RowReduction, Sweep
from phobos_core.ir.types import Cyclic
from phobos_core.language.types import BF16, F16, F32, F64, I8, I32, I64, INDEX, U8, U16, U32, ScalarType
from tests.codegen.support import NUMPY, Program, values, zeros

EVERY_TYPE = [F16, BF16, F32, F64, I8, I32, I64, U8, U16, U32]


@pytest.mark.parametrize("threads", [1, 48, 96, 1024])
@pytest.mark.parametrize(
    ("shape", "vector"),
    [((7,), 1), ((64,), 4), ((5, 3), 1), ((13, 24), 4), ((2, 256), 2), ((3, 5, 8), 8), ((2, 3, 2, 6), 2), ((40, 1), 1)],
)
def test_copies_whole_tiles(shape: tuple[int, ...], vector: int, threads: int) -> None:
    p = Program(threads)
    source, target = p.tensor("X", F32, *shape), p.tensor("Y", F32, *shape)
    p.store(target, p.load(source), Sweep(vector))
    x, y = values(F32, *shape), zeros(F32, *shape)
    p.run(x, y)
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("element", EVERY_TYPE, ids=str)
@pytest.mark.parametrize("vector", [1, 2, 4, 8, 16])
def test_moves_every_type_at_every_width(element: ScalarType, vector: int) -> None:
    p = Program(threads=32)
    source, target = p.tensor("X", element, 6, 32), p.tensor("Y", element, 6, 32)
    tile = p.shared(element, 6, 32)
    p.store(tile, p.load(source), Sweep(vector))
    p.store(target, p.load(tile), Sweep(vector))
    x, y = values(element, 6, 32), zeros(element, 6, 32)
    p.run(x, y)
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("element", EVERY_TYPE, ids=str)
@pytest.mark.parametrize("vector", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("rows", [-3, 0, 5, 6, 9])
def test_rows_outside_read_as_zero_and_are_not_stored(element: ScalarType, vector: int, rows: int) -> None:
    p = Program(threads=32)
    source, target = p.tensor("X", element, "N", 32), p.tensor("Y", element, "M", 32)
    n, m = p.dim("N"), p.dim("M")
    loaded = p.load(source, 6, 32, bounds=[(None, n), (None, None)])
    p.store(target, loaded, Sweep(vector), bounds=[(None, m), (None, None)])
    inside = min(max(rows, 0), 6)
    x, y = values(element, max(rows, 1), 32), np.full((5, 32), 7, NUMPY[element])
    p.run(x, y, rows, 5)
    expected = np.zeros((6, 32), NUMPY[element])
    expected[:inside] = x[:inside]
    np.testing.assert_array_equal(y, expected[:5])


@pytest.mark.parametrize("start", [-5, 0, 3, 60])
@pytest.mark.parametrize("lower", [None, 2])
def test_columns_are_masked_on_both_sides(start: int, lower: int | None) -> None:
    p = Program(threads=48)
    source, target = p.tensor("X", F32, 4, "N"), p.tensor("Y", F32, 4, 20)
    at, n = p.scalar("at", I64), p.dim("N")
    offset = p.b.convert(at, n.type)
    low = p.b.index(lower) if lower is not None else None
    loaded = p.load(source, 4, 20, at=[0, offset], bounds=[(None, None), (low, n)])
    p.store(target, loaded, Sweep(1))
    x, y = values(F32, 4, 64), zeros(F32, 4, 20)
    p.run(x, y, start, 64)
    column = np.arange(start, start + 20)
    inside = (column >= (lower or 0)) & (column < 64)
    np.testing.assert_array_equal(y, np.where(inside, x[:, np.clip(column, 0, 63)], 0))


def test_a_masked_run_along_the_last_axis_is_whole_inside_or_outside() -> None:
    p = Program(threads=32)
    source, target = p.tensor("X", F32, 3, "N"), p.tensor("Y", F32, 3, 32)
    n = p.dim("N")
    p.store(target, p.load(source, 3, 32, bounds=[(None, None), (None, n)]), Sweep(4))
    x, y = values(F32, 3, 20), zeros(F32, 3, 32)
    p.run(x, y, 20)
    np.testing.assert_array_equal(y, np.pad(x, ((0, 0), (0, 12))))


@pytest.mark.parametrize("index_bits", [32, 64])
def test_blocks_take_their_own_windows_of_dynamic_tensors(index_bits: int) -> None:
    p = Program(threads=64, index_bits=index_bits)
    source, target = p.tensor("X", F32, "M", "N"), p.tensor("Y", F32, "M", "N")
    m, n = p.dim("M"), p.dim("N")
    row = p.b.binary("mul", p.b.ctx("block.x"), p.b.index(16))
    column = p.b.binary("mul", p.b.ctx("block.y"), p.b.index(32))
    where = {"at": [row, column], "bounds": [(None, m), (None, n)]}
    p.store(target, p.load(source, 16, 32, **where), Sweep(4), **where)
    x, y = values(F32, 40, 68), zeros(F32, 40, 68)
    p.run(x, y, 40, 68, grid=(3, 3, 1))
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize("threads", [1, 24, 128])
def test_a_long_sweep_is_a_loop_with_a_rest(threads: int) -> None:
    p = Program(threads)
    source, target = p.tensor("X", F32, 130, 52), p.tensor("Y", F32, 130, 52)
    x = p.load(source)
    p.store(target, p.b.math("exp", x), Sweep(4))
    a, y = values(F32, 130, 52), zeros(F32, 130, 52)
    p.run(a, y)
    np.testing.assert_allclose(y, np.exp(a), rtol=1e-5)


@pytest.mark.parametrize("vector", [1, 4])
@pytest.mark.parametrize("threads", [32, 100])
def test_shapes_of_values(vector: int, threads: int) -> None:
    p = Program(threads)
    source, target = p.tensor("X", F32, 24, 8), p.tensor("Y", F32, 8, 24)
    column, row = p.tensor("C", F32, 8, 1), p.tensor("R", F32, 1, 24)
    transposed = p.b.transpose(p.load(source))
    total = p.b.binary("add", transposed, p.b.broadcast(p.load(column), (8, 24)))
    total = p.b.binary("mul", total, p.b.broadcast(p.load(row), (8, 24)))
    i, j = (p.b.convert(p.b.iota(axis, (8, 24)), F32) for axis in (0, 1))
    total = p.b.binary("add", total, p.b.binary("mul", i, j))
    p.store(target, p.b.tril(total), Sweep(vector))
    x, c, r, y = values(F32, 24, 8), values(F32, 8, 1), values(F32, 1, 24), zeros(F32, 8, 24)
    p.run(x, y, c, r)
    exact = (x.T.astype(float) + c) * r + np.arange(8)[:, None] * np.arange(24)
    np.testing.assert_allclose(y, np.tril(exact), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("indices", [I8, I32, I64, U8], ids=str)
def test_gather_reads_the_table_at_the_indices(indices: ScalarType) -> None:
    p = Program(threads=32)
    table, where, target = p.tensor("T", F16, 1, 40), p.tensor("I", indices, 5, 8), p.tensor("Y", F16, 5, 8)
    start = [p.b.index(0), p.b.index(3)]
    p.store(target, p.b.gather(table.mem, start, p.load(where), table.token), Sweep(4))
    t, i, y = values(F16, 1, 40), np.arange(40).reshape(5, 8)[:, ::-1].astype(NUMPY[indices]) % 37, zeros(F16, 5, 8)
    p.run(t, i, y)
    np.testing.assert_array_equal(y, t[0][3 + i])


def test_padded_rows_and_stages_of_a_tile() -> None:
    p = Program(threads=32)
    sources = [p.tensor(name, F32, 8, 32) for name in "AB"]
    target = p.tensor("Y", F32, 8, 32)
    tile = p.shared(F32, 8, 32, stages=2, pitch=36)
    stages = [p.b.index(0), p.b.index(1)]
    for source, stage in zip(sources, stages, strict=True):
        p.store(tile, p.load(source), Sweep(4), stage=stage)
    first, second = (p.load(tile, stage=stage) for stage in stages)
    p.store(target, p.b.binary("sub", first, second), Sweep(4))
    a, b, y = values(F32, 8, 32), values(F32, 8, 32, seed=1), zeros(F32, 8, 32)
    p.run(a, b, y)
    np.testing.assert_array_equal(y, a - b)


@pytest.mark.parametrize(("threads", "rows"), [(32, 8), (48, 7), (128, 3)])
@pytest.mark.parametrize("vector", [1, 4])
def test_tiles_held_in_registers_from_load_to_store(threads: int, rows: int, vector: int) -> None:
    p = Program(threads)
    source, target = p.tensor("X", F32, "N", 20), p.tensor("Y", F32, rows, 20)
    n = p.dim("N")
    held = p.load(source, rows, 20, layout=Cyclic(threads, vector), bounds=[(None, n), (None, None)])
    doubled = p.b.binary("add", held, held)
    p.store(target, doubled, Sweep(vector))
    x, y = values(F32, rows - 1, 20), zeros(F32, rows, 20)
    p.run(x, y, rows - 1)
    np.testing.assert_array_equal(y, np.vstack([2 * x, np.zeros((1, 20))]))


def test_a_tree_may_be_deeper_than_a_stack() -> None:
    """A long run of statements on one tile becomes one tree."""
    p = Program(threads=32)
    source, target = p.tensor("X", I32, 4, 32), p.tensor("Y", I32, 4, 32)
    value, one = p.load(source), p.b.splat(p.b.const(1, I32), (4, 32))
    for _ in range(2000):
        value = p.b.binary("add", value, one)
    p.store(target, value, Sweep(4))
    x, y = values(I32, 4, 32), zeros(I32, 4, 32)
    p.run(x, y)
    np.testing.assert_array_equal(y, x + 2000)


@pytest.mark.parametrize("anchored", [False, True])
def test_a_value_with_many_readers_is_evaluated_once(anchored: bool) -> None:
    """Doubling 100 times: 2 ^ 100 paths from the root to the load."""
    p = Program(threads=32)
    source, target = p.tensor("X", F64, 4, 32), p.tensor("Y", F64, 4, 1 if anchored else 32)
    value = p.load(source)
    if anchored:
        value = p.b.reduce("sum", value)
    for _ in range(100):
        value = p.b.binary("add", value, value)
    p.store(target, value, RowReduction(32, 1) if anchored else Sweep(2))
    x, y = np.ones((4, 32)), zeros(F64, 4, 1 if anchored else 32)
    p.run(x, y)
    np.testing.assert_array_equal(y, 2.0**105 if anchored else 2.0**100)


def test_tiles_held_in_registers_are_carried_by_a_loop() -> None:
    p = Program(threads=32)
    source, target = p.tensor("X", F32, 4, 32), p.tensor("Y", F32, 4, 32)
    held = p.load(source, layout=Cyclic(32, 4))
    carried = Value(held.type, "h")
    outer, p.b = p.b, Builder(line=1)
    p.b.yield_([carried])
    block = p.b.block([Value(INDEX, "i"), carried])
    p.b = outer
    loop = p.b.for_(p.b.index(0), p.b.index(3), p.b.index(1), [held], block)
    p.store(target, loop.result, Sweep(4))
    x, y = values(F32, 4, 32), zeros(F32, 4, 32)
    p.run(x, y)
    np.testing.assert_array_equal(y, x)
