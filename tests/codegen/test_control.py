"""Loops, branches, points, traps: what they carry, and that each thread sees the same."""

import re

import numpy as np
import pytest

from phobos_core import codegen
from phobos_core.emulator import EmulatorFault, launch
from phobos_core.ir.builder import Builder
from phobos_core.ir.module import Block, Value
from phobos_core.ir.schedule import Sweep
from phobos_core.ir.types import TOKEN
from phobos_core.language.types import BOOL, F32, I32, I64, INDEX
from tests.codegen.support import Buffer, Program, values, zeros


class Nested:
    """A region being built: the program's builder is swapped for the region's until it ends."""

    def __init__(self, p: Program, args: tuple[Value, ...] = ()) -> None:
        self.p, self.args, self.outer = p, args, p.b
        p.b = Builder(line=p.b.line)

    def end(self, *values: Value) -> Block:
        self.p.b.yield_(values)
        block = self.p.b.block(self.args)
        self.p.b = self.outer
        return block


@pytest.mark.parametrize("index_bits", [32, 64])
@pytest.mark.parametrize(("lo", "hi", "step"), [(0, 10, 1), (3, 20, 4), (5, 5, 1), (7, 2, 1), (-4, 3, 2)])
def test_for_carries_values(lo: int, hi: int, step: int, index_bits: int) -> None:
    p = Program(threads=32, index_bits=index_bits)
    out, bounds = p.tensor("Y", I32, 2), [p.dim(n) for n in "LHS"]
    i, total = Value(INDEX, "i"), Value(INDEX, "total")
    body = Nested(p, (i, total))
    block = body.end(p.b.binary("add", total, p.b.binary("mul", i, i)))
    loop = p.b.for_(*bounds, [p.b.index(100)], block)
    zero = p.b.index(0)
    out.token = p.b.store_point(out.mem, [zero], p.b.convert(loop.result, I32), out.token)
    y = zeros(I32, 2)
    p.run(y, lo, hi, step)
    assert y[0] == 100 + sum(n * n for n in range(lo, hi, step))


@pytest.mark.parametrize(("lo", "hi", "step"), [(0, 10, 1), (0, 10, 3), (0, 9, 3), (0, 1, 3), (0, 0, 1), (5, 3, 1)])
def test_a_loop_that_needs_no_position_counts_up_to_zero(lo: int, hi: int, step: int) -> None:
    p = Program(threads=32)
    out, first, end = p.tensor("Y", I32, 1), p.dim("L"), p.dim("H")
    i, total = Value(INDEX, "i"), Value(INDEX, "total")
    body = Nested(p, (i, total))
    block = body.end(p.b.binary("add", p.b.binary("mul", total, p.b.index(3)), p.b.index(1)))
    loop = p.b.for_(first, end, p.b.index(step), [p.b.index(0)], block)
    zero = p.b.index(0)
    out.token = p.b.store_point(out.mem, [zero], p.b.convert(loop.result, I32), out.token)
    inside = codegen.emit(p.kernel()).partition("$L__BB0_2:")[2].partition("bra")[0]
    assert re.findall(r"setp\.lt\.s64\s+%p\d+, %rd\d+, (\S+);", inside) == ["0"]
    y = zeros(I32, 1)
    p.run(y, lo, hi)
    assert y[0] == (3 ** len(range(lo, hi, step)) - 1) // 2


def test_a_loop_whose_positions_may_wrap_compares_them() -> None:
    """From the least index to the end is further than an index can say."""
    p = Program(threads=32)
    out = p.tensor("Y", I32, 1)
    first = p.scalar("first", I64)
    i, total = Value(INDEX, "i"), Value(INDEX, "total")
    body = Nested(p, (i, total))
    block = body.end(p.b.binary("add", total, p.b.index(1)))
    bounds = p.b.convert(first, INDEX), p.b.index(1 << 62), p.b.index(1 << 61)
    loop = p.b.for_(*bounds, [p.b.index(0)], block)
    out.token = p.b.store_point(out.mem, [p.b.index(0)], p.b.convert(loop.result, I32), out.token)
    y = zeros(I32, 1)
    p.run(y, -(1 << 63))
    assert y[0] == 6


def test_a_tile_is_carried_through_memory_by_its_token() -> None:
    p = Program(threads=32)
    source, out = p.tensor("X", F32, 5, 32), p.tensor("Y", F32, 1, 32)
    acc = p.shared(F32, 1, 32)
    p.store(acc, p.b.splat(p.b.const(0.0, F32), (1, 32)), Sweep(1))
    i, token = Value(INDEX, "i"), Value(TOKEN, "t")
    body = Nested(p, (i, token))
    inner = Buffer(acc.mem, token)
    row = p.load(source, 1, 32, at=[i, 0])
    p.store(inner, p.b.binary("add", p.load(inner), row), Sweep(1))
    block = body.end(inner.token)
    loop = p.b.for_(p.b.index(0), p.b.index(5), p.b.index(1), [acc.token], block)
    acc.token = loop.result
    p.store(out, p.load(acc), Sweep(1))
    x, y = values(F32, 5, 32), zeros(F32, 1, 32)
    p.run(x, y)
    np.testing.assert_allclose(y, x.sum(0, keepdims=True), rtol=1e-5, atol=1e-6)


def test_while_tests_before_each_turn() -> None:
    """Collatz steps of a loaded number."""
    p = Program(threads=32)
    start, out = p.tensor("X", I32, 1), p.tensor("Y", I32, 1)
    zero, one = p.b.index(0), p.b.index(1)
    first = p.b.convert(p.b.load_point(start.mem, [zero], start.token), INDEX)
    n, steps = Value(INDEX, "n"), Value(INDEX, "steps")
    condition = Nested(p, (n, steps))
    test = condition.end(p.b.cmp("gt", n, one), n, steps)
    m, count = Value(INDEX, "m"), Value(INDEX, "count")
    body = Nested(p, (m, count))
    odd = p.b.cmp("eq", p.b.binary("and", m, one), one)
    then = Nested(p)
    up = then.end(p.b.binary("add", p.b.binary("mul", m, p.b.index(3)), one))
    orelse = Nested(p)
    down = orelse.end(p.b.binary("div", m, p.b.index(2)))
    after = p.b.if_(odd, [INDEX], up, down).result
    block = body.end(after, p.b.binary("add", count, one))
    loop = p.b.while_([first, zero], test, block)
    p.b.store_point(out.mem, [zero], p.b.convert(loop.results[1], I32), out.token)
    y = zeros(I32, 1)
    p.run(np.array([27], np.int32), y)
    assert y[0] == 111


def test_if_runs_one_side() -> None:
    p = Program(threads=32)
    flag, out = p.scalar("flag", BOOL), p.tensor("Y", F32, 32)
    sides = []
    for value in (1.0, 2.0):
        side, inner = Nested(p), Buffer(out.mem, out.token)
        p.store(inner, p.b.splat(p.b.const(value, F32), (32,)), Sweep(1))
        sides.append(side.end(inner.token))
    p.b.if_(flag, [TOKEN], *sides)
    ptx = codegen.emit(p.kernel())
    for given, expected in ((True, 1), (False, 2)):
        y = zeros(F32, 32)
        launch(ptx, "k", (1, 1, 1), [given, y])
        np.testing.assert_array_equal(y, expected)


def test_ctx_fields() -> None:
    p = Program(threads=96)
    out = p.tensor("Y", I32, 2, 3, 9)
    fields = ["block.x", "block.y", "block.z", "blocks.x", "blocks.y", "blocks.z", "threads", "warps", "lanes"]
    block = [p.b.ctx("block.x"), p.b.ctx("block.y")]
    for i, field in enumerate(fields):
        value = p.b.convert(p.b.ctx(field), I32)
        out.token = p.b.store_point(out.mem, [*block, p.b.index(i)], value, out.token)
    y = zeros(I32, 2, 3, 9)
    p.run(y, grid=(2, 3, 1))
    expected = [[[i, j, 0, 2, 3, 1, 96, 3, 32] for j in range(3)] for i in range(2)]
    np.testing.assert_array_equal(y, expected)


def test_a_point_is_stored_once() -> None:
    p = Program(threads=64)
    out = p.tensor("Y", F32, 1)
    zero = p.b.index(0)
    old = p.b.load_point(out.mem, [zero], out.token)
    p.barrier()
    out.token = p.b.store_point(out.mem, [zero], p.b.binary("add", old, p.b.const(1.0, F32)), out.token)
    y = zeros(F32, 1)
    p.run(y)
    assert y[0] == 1


def test_trap_if() -> None:
    p = Program(threads=32)
    n, out = p.dim("N"), p.tensor("Y", F32, 1)
    wrong = p.b.cmp("ne", p.b.binary("rem", n, p.b.index(8)), p.b.index(0))
    p.b.trap_if(wrong, "N is not a multiple of 8")
    p.b.store_point(out.mem, [p.b.index(0)], p.b.const(3.0, F32), out.token)
    ptx = codegen.emit(p.kernel())
    y = zeros(F32, 1)
    launch(ptx, "k", (1, 1, 1), [16, y])
    assert y[0] == 3
    with pytest.raises(EmulatorFault, match="trap"):
        launch(ptx, "k", (1, 1, 1), [12, zeros(F32, 1)])


def test_an_endless_loop_stays_one() -> None:
    """LLVM may not take a loop without effects for one that ends."""
    p = Program(threads=32)
    go = p.scalar("go", BOOL)
    condition = Nested(p)
    test = condition.end(go)
    block = Nested(p).end()
    p.b.while_([], test, block)
    ptx = codegen.emit(p.kernel())
    launch(ptx, "k", (1, 1, 1), [False])
    with pytest.raises(EmulatorFault, match="endless"):
        launch(ptx, "k", (1, 1, 1), [True], max_steps=10_000)
