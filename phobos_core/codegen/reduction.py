"""A `reduce` along rows: neighbouring lanes share a row, each folds its own runs, an xor butterfly folds the lanes.

In: a store whose tree holds a `reduce`, and its schedule. A thread reads its own runs only. One that has fewer than
others repeats its first, which a maximum does not notice and a sum counts as 0; one that has none goes into the
shuffles with what changes nothing: ptxas makes little of shuffles under a branch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phobos_core.codegen import index
from phobos_core.codegen.context import Context
from phobos_core.codegen.evaluate import Evaluation
from phobos_core.codegen.fold import Fold, State, across, fold_of, neutral, result, run_state, types
from phobos_core.codegen.index import Coord
from phobos_core.codegen.shuffle import butterfly
from phobos_core.codegen.sweep import store_run
from phobos_core.codegen.tree import anchor_of, cost
from phobos_core.codegen.writer import ROLLED
from phobos_core.ir.module import Op, Value
from phobos_core.ir.schedule import RowReduction
from phobos_core.ir.types import TileType, element_of

# Runs are unrolled up to about this many instructions.
_BUDGET = 200


@dataclass(frozen=True, slots=True)
class _Rows:
    """The operand and how its rows are shared: `lane` is a thread's place among the `lanes` of its group."""

    operand: Value
    fold: Fold
    vector: int
    lanes: int
    lane: Coord
    columns: int


def row_reduction(cg: Context, op: Op, schedule: RowReduction) -> None:
    reduce = anchor_of(cg, op.operands[1])
    assert reduce is not None
    (operand,) = reduce.operands
    assert isinstance(operand.type, TileType)
    height, width = operand.type.shape
    groups = cg.kernel.threads // schedule.lanes
    group, lane = index.divided(cg, index.thread(cg), schedule.lanes)
    rows = _Rows(operand, fold_of(reduce), schedule.vector, schedule.lanes, lane, width)
    full, rest = divmod(height, groups)
    first = group._replace(limit=min(group.limit, groups))
    if full == 1:
        _turn(cg, op, reduce, rows, first, groups)
    elif full > 1:
        loop = cg.writer.open_loop(["i32"], ["0"])
        turn = Coord(loop.names[0], 0, full)
        _turn(cg, op, reduce, rows, index.total(cg, first, index.scaled(cg, turn, groups)), groups)
        following = cg.writer.value(f"add nuw nsw i32 {loop.names[0]}, 1")
        again = cg.writer.value(f"icmp ult i32 {following}, {full}")
        cg.writer.close_loop(loop, again, [following], ROLLED)
    if rest:
        _turn(cg, op, reduce, rows, group._replace(limit=rest).plus(full * groups), rest)


def _turn(cg: Context, op: Op, reduce: Op, rows: _Rows, row: Coord, groups: int) -> None:
    """Reduces a row in each of the first `groups` groups."""
    threads, active = cg.kernel.threads, groups * rows.lanes
    having = "true" if active == threads else index.less(cg, cg.thread, active)
    if threads % rows.lanes == 0:
        _row(cg, op, reduce, rows, row, having, threads)
        return
    # The last group lacks lanes that the others would shuffle with.
    with cg.writer.guarded(having):
        _row(cg, op, reduce, rows, row, "true", active)


def _row(cg: Context, op: Op, reduce: Op, rows: _Rows, row: Coord, having: str, members: int) -> None:
    """Reduces a row, and stores what the tree makes of it, in the groups for which `having` holds. The first `members`
    threads come here."""
    view, value, _ = op.operands
    state = across(cg, rows.fold, _own(cg, rows, row, having), rows.vector)
    (state,) = butterfly(cg, rows.fold.elements, rows.fold.combine, [state], rows.lanes, members)
    operand = result(cg, rows.fold, state, element_of(reduce.result.type))
    leads = "true" if rows.lanes == 1 else index.less(cg, index.operand(cg, rows.lane), 1)
    with cg.writer.guarded(index.both(cg, having, leads)):
        place = (row, index.ZERO)
        evaluation = Evaluation(cg)
        evaluation.give(reduce.result, place, 1, operand)
        store_run(cg, cg.windows[view], place, evaluation.at(value, place, 1), 1)


def _own(cg: Context, rows: _Rows, row: Coord, having: str) -> State:
    """The fold of the thread's own runs of a row: `vector` columns side by side."""
    runs = rows.columns // rows.vector
    if runs < rows.lanes:
        having = index.both(cg, having, index.less(cg, index.operand(cg, rows.lane), runs))
    fold, width = rows.fold, rows.vector
    return tuple(
        cg.writer.either(
            having, types(cg, fold, width), neutral(cg, fold, width), lambda: _all_runs(cg, rows, row, runs)
        )
    )


def _all_runs(cg: Context, rows: _Rows, row: Coord, runs: int) -> State:
    """For a thread that has at least one run."""
    full, tail = divmod(runs, rows.lanes)
    first = rows.lane._replace(limit=min(rows.lanes, runs))
    state = _run(cg, Evaluation(cg), rows, row, first)
    group = max(1, cg.unrolled(_BUDGET) // (cost(cg, rows.operand, rows.vector) + 2 * rows.vector))
    turn = 1
    if full > 3 * group:
        turns = (full - 1) // group
        loop = cg.writer.open_loop(["i32", *types(cg, rows.fold, rows.vector)], ["0", *state])
        start = Coord(loop.names[0], 0, (full - 1) * rows.lanes, group * rows.lanes)
        after = index.total(cg, rows.lane, start)
        state = _runs(cg, rows, row, [after.plus(i * rows.lanes) for i in range(1, group + 1)], loop.names[1:])
        following = cg.writer.value(f"add nuw nsw i32 {loop.names[0]}, {group * rows.lanes}")
        again = cg.writer.value(f"icmp ult i32 {following}, {turns * group * rows.lanes}")
        cg.writer.close_loop(loop, again, [following, *state], ROLLED)
        turn += turns * group
    state = _runs(cg, rows, row, [rows.lane.plus(i * rows.lanes) for i in range(turn, full)], state)
    if full and tail:
        own = index.operand(cg, rows.lane)
        has = index.less(cg, own, tail)
        last = index.operand(cg, rows.lane.plus(full * rows.lanes))
        run = Coord(cg.writer.pure(f"select i1 {has}, i32 {last}, i32 {own}"), 0, runs)
        state = rows.fold.combine(cg, state, _run(cg, Evaluation(cg), rows, row, run, has), rows.vector)
    return state


def _runs(cg: Context, rows: _Rows, row: Coord, runs: list[Coord], state: Sequence[str]) -> State:
    """Folds runs into the state."""
    evaluation, folded = Evaluation(cg), tuple(state)
    for run in runs:
        folded = rows.fold.combine(cg, folded, _run(cg, evaluation, rows, row, run), rows.vector)
    return folded


def _run(cg: Context, evaluation: Evaluation, rows: _Rows, row: Coord, run: Coord, counts: str = "true") -> State:
    """The state of one run alone. A sum takes it as 0 unless `counts`."""
    column = index.scaled(cg, run, rows.vector)
    operand = evaluation.at(rows.operand, (row, column), rows.vector)
    return run_state(cg, rows.fold, operand, column, rows.vector, counts)
