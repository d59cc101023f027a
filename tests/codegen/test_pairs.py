"""Two copies of which different threads have a run each: one load and one store for both, if nothing is between."""

from __future__ import annotations

import re

import numpy as np
import pytest

from phobos_core import codegen
from phobos_core.ir.module import Value
from phobos_core.ir.schedule import Sweep
from phobos_core.ir.types import TOKEN, Cyclic
from phobos_core.language.types import F16, F32, INDEX, ScalarType
from tests.codegen.support import Buffer, Program, values, zeros
from tests.codegen.test_control import Nested


def accesses(ptx: str, kind: str) -> int:
    return len(re.findall(rf"\b{kind}\.", ptx))


def copying(
    threads: int, element: ScalarType = F32, *, barrier: bool = False, held: bool = False, written: bool = False
) -> Program:
    """Tiles 16 x 8 and 8 x 16, of 32 runs of four elements each. Rows past M of the one are 0, the other is whole.

    Held, both are loaded before either is stored."""
    p = Program(threads)
    a, b = p.tensor("A", element, "M", 8), p.tensor("B", element, 8, 16)
    outs = p.tensor("X", element, 16, 8), p.tensor("Y", element, 8, 16)
    m = p.dim("M")
    tiles = p.shared(element, 16, 8, name="a"), p.shared(element, 8, 16, name="b")
    where = [(None, m), (None, None)]
    first = Cyclic(threads, 4) if held else None
    second = Cyclic(threads, 4, 32) if held else None
    if held:
        loaded = p.load(a, 16, 8, bounds=where, layout=first), p.load(b, layout=second)
        p.store(tiles[0], loaded[0], Sweep(4))
        if barrier:
            p.barrier()
        p.store(tiles[1], loaded[1], Sweep(4, 32))
    else:
        p.store(tiles[0], p.load(a, 16, 8, bounds=where), Sweep(4))
        if barrier:
            p.barrier()
        p.store(tiles[1], p.load(b), Sweep(4, 32))
    p.barrier()
    for out, tile in zip(outs, tiles, strict=True):
        p.store(out, p.load(tile), Sweep(1))
    if written:
        # What a kernel writes to is not read as what it does not.
        p.store(a, p.load(tiles[1], 1, 8), Sweep(1), bounds=where)
    return p


@pytest.mark.parametrize("rows", [0, 5, 16, 20])
@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("barrier", [False, True])
@pytest.mark.parametrize("threads", [64, 96, 256])
def test_each_thread_has_a_run_of_one(threads: int, barrier: bool, held: bool, rows: int) -> None:
    p = copying(threads, barrier=barrier, held=held)
    a, b = values(F32, max(rows, 1), 8, seed=1), values(F32, 8, 16, seed=2)
    x, y = zeros(F32, 16, 8), zeros(F32, 8, 16)
    p.run(a, b, x, y, rows)
    expected = np.zeros((16, 8), np.float32)
    expected[:rows] = a[: min(rows, 16)] if rows else 0
    np.testing.assert_array_equal(x, expected)
    np.testing.assert_array_equal(y, b)


@pytest.mark.parametrize("element", [F32, F16], ids=str)
@pytest.mark.parametrize("held", [False, True])
def test_they_are_one_access(held: bool, element: ScalarType) -> None:
    together = codegen.emit(copying(64, element, held=held).kernel())
    apart = codegen.emit(copying(64, element, held=held, barrier=True).kernel())
    stores = accesses(together, "st.shared"), accesses(apart, "st.shared")
    assert stores == (1, 2)
    assert accesses(together, "ld.global") == 1
    assert accesses(apart, "ld.global") == (1 if held else 2)


@pytest.mark.parametrize("held", [False, True])
def test_a_tensor_that_is_written_is_not_read_with_one_that_is_not(held: bool) -> None:
    p = copying(64, held=held, written=True)
    ptx = codegen.emit(p.kernel())
    assert accesses(ptx, "ld.global.nc") == 1
    assert accesses(ptx, "ld.global") == 2
    a, b = values(F32, 16, 8, seed=1), values(F32, 8, 16, seed=2)
    before, x, y = a.copy(), zeros(F32, 16, 8), zeros(F32, 8, 16)
    p.run(a, b, x, y, 16)
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(y, b)
    np.testing.assert_array_equal(a[0], b[0, :8])


@pytest.mark.parametrize("turns", [0, 1, 3])
def test_a_loop_moves_both(turns: int) -> None:
    """The one along its rows, the other down its columns; the address is chosen before the loop."""
    p = Program(threads=64)
    a, b = p.tensor("A", F32, 16, "K"), p.tensor("B", F32, "K", 16)
    out = p.tensor("Y", F32, 16, 8)
    k = p.dim("K")
    tiles = p.shared(F32, 16, 8, name="a"), p.shared(F32, 8, 16, name="b")
    i, tokens = Value(INDEX, "i"), [Value(TOKEN, name) for name in ("a.t", "b.t", "y.t")]
    body = Nested(p, (i, *tokens))
    left, right, sum = (Buffer(each.mem, token) for each, token in zip((*tiles, out), tokens, strict=True))
    p.barrier()
    p.store(left, p.load(a, 16, 8, at=[0, i]), Sweep(4))
    p.store(right, p.load(b, 8, 16, at=[i, 0]), Sweep(4, 32))
    p.barrier()
    product = p.b.binary("mul", p.load(left), p.b.transpose(p.load(right)))
    p.store(sum, p.b.binary("add", p.load(sum), product), Sweep(1))
    block = body.end(left.token, right.token, sum.token)
    carried = [*(tile.token for tile in tiles), out.token]
    loop = p.b.for_(p.b.index(0), k, p.b.index(8), carried, block)
    out.token = loop.results[2]
    ptx = codegen.emit(p.kernel())
    assert accesses(ptx, "ld.global.nc") == accesses(ptx, "st.shared") == 1
    x, w, y = values(F32, 16, 8 * turns, seed=1), values(F32, 8 * turns, 16, seed=2), zeros(F32, 16, 8)
    p.run(x, w, y, 8 * turns)
    products = x * w.T
    np.testing.assert_allclose(y, products.reshape(16, turns, 8).sum(1) if turns else 0 * y, rtol=1e-5, atol=1e-6)
