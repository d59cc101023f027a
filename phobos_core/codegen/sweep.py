"""A store swept by all threads: thread t takes the runs number t, t + threads, ... of the row-major elements.

The runs of a thread are written one after the other (unrolled) while that is little code, else as a loop over groups
of them. All runs of a group are evaluated before the first is stored, so that their loads are under way together.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from phobos_core.codegen import access, index, memory
from phobos_core.codegen.address import address
from phobos_core.codegen.context import Context, Window
from phobos_core.codegen.evaluate import Evaluation, Place
from phobos_core.codegen.index import Coord
from phobos_core.codegen.memory import row_major
from phobos_core.codegen.tree import cost
from phobos_core.codegen.writer import ROLLED
from phobos_core.ir.module import Op, Value
from phobos_core.ir.tree import held
from phobos_core.ir.types import Cyclic, TileType

# Unrolled at most this many instructions in a row; a group of a loop has about as many.
_BUDGET = 160
# A loop of few turns costs more than it saves.
_TURNS = 3


def sweep(cg: Context, op: Op, vector: int, first: int = 0) -> None:
    view, value, _ = op.operands
    target = cg.windows[view]
    runs = prod(target.shape) // vector
    threads = cg.kernel.threads
    if first:
        with cg.writer.guarded(within(cg, first, runs)):
            _group(cg, target, value, vector, [index.ZERO], own_run(cg, runs))
        return
    full, tail = divmod(runs, threads)
    group = group_of(cg, value, vector)
    if held(cg.ir, value) or full <= group * _TURNS:
        for start in range(0, full, group):
            _group(cg, target, value, vector, [index.fixed(i) for i in range(start, min(start + group, full))])
    else:
        turns = full // group
        loop = cg.writer.open_loop(["i32"], ["0"])
        turn = Coord(loop.names[0], 0, turns * group, group)
        _group(cg, target, value, vector, [turn.plus(i) for i in range(group)])
        following = cg.writer.value(f"add nuw nsw i32 {loop.names[0]}, {group}")
        again = cg.writer.value(f"icmp ult i32 {following}, {turns * group}")
        cg.writer.close_loop(loop, again, [following], ROLLED)
        if full % group:
            _group(cg, target, value, vector, [index.fixed(i) for i in range(turns * group, full)])
    if tail:
        with cg.writer.guarded(index.less(cg, cg.thread, tail)):
            _group(cg, target, value, vector, [index.fixed(full)])


def group_of(cg: Context, value: Value, vector: int) -> int:
    """How many runs to evaluate before the first is stored."""
    return max(1, cg.unrolled(_BUDGET) // cost(cg, value, vector))


def own_run(cg: Context, runs: int) -> Coord:
    """The number of a thread's run where so many threads have one each, as have so many after those."""
    return index.divided(cg, index.thread(cg), runs)[1]


def within(cg: Context, first: int, count: int) -> str:
    """Whether the thread is one of `count` from `first` on, which is a multiple of the count."""
    which = index.operand(cg, index.divided(cg, index.thread(cg), count)[0])
    return cg.writer.pure(f"icmp eq i32 {which}, {first // count}")


def _group(
    cg: Context, target: Window, value: Value, vector: int, turns: list[Coord], thread: Coord | None = None
) -> None:
    places = [run_place(cg, target.shape, vector, turn, thread) for turn in turns]
    evaluation = Evaluation(cg)
    results = []
    for turn, place in zip(turns, places, strict=True):
        evaluation.run = turn.offset
        results.append(evaluation.at(value, place, vector))
    if (line := in_line(cg, target)) is not None:
        target, places = line, [run_place(cg, line.shape, vector, turn, thread) for turn in turns]
    for place, result in zip(places, results, strict=True):
        store_run(cg, target, place, result, vector)


def in_line(cg: Context, target: Window) -> Window | None:
    """All of a buffer without gaps as one row, where its runs lie in the order of their numbers: tiles of any shape are
    then swept at the same distance from where they begin."""
    memory = target.memory
    whole = all(cg.scalars[offset] == "0" for offset in target.offsets) and not any(target.bounds)
    if len(target.shape) < 2 or not whole or memory.strides != row_major(target.shape):
        return None
    line = (prod(target.shape),)
    return Window(replace(memory, strides=(1,)), target.offsets[:1], target.stage, line, (None,))


def store_run(cg: Context, target: Window, place: Place, operand: str, width: int, condition: str = "true") -> None:
    condition = index.both(cg, condition, memory.valid(cg, target, place))
    access.store(cg, target.memory, address(cg, target, place), operand, width, condition)


def run_place(cg: Context, shape: tuple[int, ...], vector: int, turn: Coord, thread: Coord | None = None) -> Place:
    """Where run number thread + turn * threads of a tile begins; the thread's own number if none is given."""
    threads = cg.kernel.threads
    if not shape:
        return ()
    row_runs = shape[-1] // vector
    thread = thread or index.thread(cg)
    if len(shape) == 1:
        return (index.scaled(cg, index.total(cg, thread, index.scaled(cg, turn, threads)), vector),)
    if row_runs % threads == 0:
        # A whole number of turns a row: each turn stays in one row.
        row, part = index.divided(cg, turn, row_runs // threads)
        column = index.total(cg, index.scaled(cg, part, threads), thread)
    else:
        whole, column = index.divided(cg, thread, row_runs)
        if threads % row_runs == 0:
            row = index.total(cg, whole, index.scaled(cg, turn, threads // row_runs))
        else:
            number = index.total(cg, thread, index.scaled(cg, turn, threads))
            row, column = index.divided(cg, number, row_runs)
    return (*index.unflattened(cg, row, shape[:-1]), index.scaled(cg, column, vector))


def load_runs(cg: Context, op: Op) -> None:
    """A `load` whose result has a layout: each thread's runs, read into registers here."""
    (result,) = op.results
    assert isinstance(result.type, TileType)
    layout = result.type.layout
    assert isinstance(layout, Cyclic)
    window = cg.windows[op.operands[0]]
    runs = prod(window.shape) // layout.vector
    held = []
    if layout.first:
        place = run_place(cg, window.shape, layout.vector, index.ZERO, own_run(cg, runs))
        condition = within(cg, layout.first, runs)
        cg.registers[result] = [access.load_run(cg, op, place, layout.vector, condition)]
        return
    for start in range(0, runs, layout.threads):
        place = run_place(cg, window.shape, layout.vector, index.fixed(start // layout.threads))
        condition = "true" if start + layout.threads <= runs else index.less(cg, cg.thread, runs - start)
        held.append(access.load_run(cg, op, place, layout.vector, condition))
    cg.registers[result] = held
