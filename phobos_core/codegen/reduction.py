"""A `reduce` along rows: neighbouring lanes share a row, each folds its own runs, an xor butterfly folds the lanes.

In: a store whose tree holds a `reduce`, and its schedule. A thread reads its own runs only. One that has fewer than
others repeats its first, which a maximum does not notice and a sum counts as 0; one that has none goes into the
shuffles with what changes nothing: ptxas makes little of shuffles under a branch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan
from typing import TypeAlias

from phobos_core.codegen import index
from phobos_core.codegen.arithmetic import compare, extremum
from phobos_core.codegen.context import Context
from phobos_core.codegen.convert import convert
from phobos_core.codegen.evaluate import Evaluation
from phobos_core.codegen.index import Coord
from phobos_core.codegen.shuffle import butterfly
from phobos_core.codegen.sweep import store_run
from phobos_core.codegen.tree import anchor_of, cost
from phobos_core.codegen.writer import ROLLED
from phobos_core.ir.module import Op, Value
from phobos_core.ir.schedule import RowReduction
from phobos_core.ir.types import TileType
from phobos_core.language.types import BF16, F16, F32, I32, ScalarType

State: TypeAlias = tuple[str, ...]
Combine: TypeAlias = Callable[[Context, State, State, int], State]

# Runs are unrolled up to about this many instructions.
_BUDGET = 200


@dataclass(frozen=True, slots=True)
class _Fold:
    """A kind of reduction. A state is a tuple of operands, one for each of `elements`; `neutral` changes no other."""

    elements: tuple[ScalarType, ...]
    neutral: tuple[float, ...]
    combine: Combine


@dataclass(frozen=True, slots=True)
class _Rows:
    """The operand and how its rows are shared: `lane` is a thread's place among the `lanes` of its group."""

    operand: Value
    kind: str
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
    rows = _Rows(operand, reduce.attrs["kind"], schedule.vector, schedule.lanes, lane, width)
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
    fold = _fold(rows.kind, _element(rows.operand))
    state = _across(cg, fold, _own(cg, fold, rows, row, having), rows.vector)
    state = butterfly(cg, fold.elements, fold.combine, state, rows.lanes, members)
    operand = state[-1]
    if rows.kind == "sum":
        operand = convert(cg, operand, fold.elements[0], _element(reduce.result), 1)
    leads = "true" if rows.lanes == 1 else index.less(cg, index.operand(cg, rows.lane), 1)
    with cg.writer.guarded(index.both(cg, having, leads)):
        place = (row, index.ZERO)
        evaluation = Evaluation(cg)
        evaluation.give(reduce.result, place, 1, operand)
        store_run(cg, cg.windows[view], place, evaluation.at(value, place, 1), 1)


def _own(cg: Context, fold: _Fold, rows: _Rows, row: Coord, having: str) -> State:
    """The fold of the thread's own runs of a row: `vector` columns side by side."""
    runs = rows.columns // rows.vector
    if runs < rows.lanes:
        having = index.both(cg, having, index.less(cg, index.operand(cg, rows.lane), runs))
    if having == "true":
        return _all_runs(cg, fold, rows, row, runs)
    w = cg.writer
    before, some, end = w.label, w.fresh_label("then"), w.fresh_label("end")
    w.branch(having, some, end)
    w.start(some)
    with w.scope():
        own = _all_runs(cg, fold, rows, row, runs)
    after = w.label
    w.jump(end)
    w.start(end)
    types = [cg.type(e, rows.vector) for e in fold.elements]
    neutral = [cg.constant(n, e, rows.vector) for n, e in zip(fold.neutral, fold.elements, strict=True)]
    return tuple(w.phi(t, (mine, after), (n, before)) for t, mine, n in zip(types, own, neutral, strict=True))


def _all_runs(cg: Context, fold: _Fold, rows: _Rows, row: Coord, runs: int) -> State:
    """For a thread that has at least one run."""
    full, tail = divmod(runs, rows.lanes)
    first = rows.lane._replace(limit=min(rows.lanes, runs))
    state = _run(cg, Evaluation(cg), fold, rows, row, first, "true")
    group = max(1, cg.unrolled(_BUDGET) // (cost(cg, rows.operand, rows.vector) + 2 * rows.vector))
    turn = 1
    if full > 3 * group:
        turns = (full - 1) // group
        types = [cg.type(e, rows.vector) for e in fold.elements]
        loop = cg.writer.open_loop(["i32", *types], ["0", *state])
        start = Coord(loop.names[0], 0, (full - 1) * rows.lanes, group * rows.lanes)
        after = index.total(cg, rows.lane, start)
        state = _runs(cg, fold, rows, row, [after.plus(i * rows.lanes) for i in range(1, group + 1)], loop.names[1:])
        following = cg.writer.value(f"add nuw nsw i32 {loop.names[0]}, {group * rows.lanes}")
        again = cg.writer.value(f"icmp ult i32 {following}, {turns * group * rows.lanes}")
        cg.writer.close_loop(loop, again, [following, *state], ROLLED)
        turn += turns * group
    state = _runs(cg, fold, rows, row, [rows.lane.plus(i * rows.lanes) for i in range(turn, full)], state)
    if full and tail:
        own = index.operand(cg, rows.lane)
        has = index.less(cg, own, tail)
        last = index.operand(cg, rows.lane.plus(full * rows.lanes))
        run = Coord(cg.writer.pure(f"select i1 {has}, i32 {last}, i32 {own}"), 0, runs)
        state = fold.combine(cg, state, _run(cg, Evaluation(cg), fold, rows, row, run, has), rows.vector)
    return state


def _runs(cg: Context, fold: _Fold, rows: _Rows, row: Coord, runs: list[Coord], state: Sequence[str]) -> State:
    """Folds runs into the state."""
    evaluation, folded = Evaluation(cg), tuple(state)
    for run in runs:
        folded = fold.combine(cg, folded, _run(cg, evaluation, fold, rows, row, run, "true"), rows.vector)
    return folded


def _run(cg: Context, evaluation: Evaluation, fold: _Fold, rows: _Rows, row: Coord, run: Coord, counts: str) -> State:
    """The state of one run alone. A sum takes it as 0 unless `counts`."""
    width = rows.vector
    column = index.scaled(cg, run, width)
    operand = evaluation.at(rows.operand, (row, column), width)
    if rows.kind == "sum":
        element = fold.elements[0]
        operand = convert(cg, operand, _element(rows.operand), element, width)
        if counts != "true":
            zero, type = cg.constant(0, element, width), cg.type(element, width)
            operand = cg.writer.pure(f"select i1 {counts}, {type} {operand}, {type} {zero}")
        return (operand,)
    if rows.kind == "argmax":
        return operand, index.positions(cg, column, width)
    return (operand,)


def _across(cg: Context, fold: _Fold, state: State, width: int) -> State:
    """Folds the columns that lie side by side, the first ones first."""
    lanes = [cg.lanes(operand, cg.type(e), width) for operand, e in zip(state, fold.elements, strict=True)]
    states = list(zip(*lanes, strict=True))
    while len(states) > 1:
        half = len(states) // 2
        states = [fold.combine(cg, states[i], states[i + half], 1) for i in range(half)]
    return states[0]


def _fold(kind: str, element: ScalarType) -> _Fold:
    match kind:
        case "sum":
            wide = F32 if element in (F16, BF16) else element
            return _Fold((wide,), (0,), _sum(wide))
        case "max":
            return _Fold((element,), (_least(element),), _maximum(element))
        case _:
            return _Fold((element, I32), (_least(element), 2**31 - 1), _first_maximum(element))


def _least(element: ScalarType) -> float:
    """What every maximum ignores."""
    return nan if element.is_float else -(1 << (element.bits - 1))


def _sum(element: ScalarType) -> Combine:
    def combine(cg: Context, a: State, b: State, width: int) -> State:
        add = "fadd" if element.is_float else "add"
        return (cg.writer.value(f"{add} {cg.type(element, width)} {a[0]}, {b[0]}"),)

    return combine


def _maximum(element: ScalarType) -> Combine:
    def combine(cg: Context, a: State, b: State, width: int) -> State:
        return (extremum(cg, "max", element, a[0], b[0], width),)

    return combine


def _first_maximum(element: ScalarType) -> Combine:
    """The larger value with its index, the smaller index on a tie; a NaN loses to any number."""

    def combine(cg: Context, a: State, b: State, width: int) -> State:
        w, type, flags = cg.writer, cg.type(element, width), f"<{width} x i1>" if width > 1 else "i1"
        wide = cg.type(I32, width)
        if element.is_float:
            above = w.pure(f"fcmp ugt {type} {b[0]}, {a[0]}")
            number = w.pure(f"fcmp ord {type} {b[0]}, {b[0]}")
            larger = w.pure(f"and {flags} {above}, {number}")
        else:
            larger = compare(cg, "gt", element, b[0], a[0], width)
        same = compare(cg, "eq", element, a[0], b[0], width)
        before = compare(cg, "lt", I32, b[1], a[1], width)
        earlier = w.pure(f"and {flags} {same}, {before}")
        taken = w.pure(f"or {flags} {larger}, {earlier}")
        return (
            w.pure(f"select {flags} {taken}, {type} {b[0]}, {type} {a[0]}"),
            w.pure(f"select {flags} {taken}, {wide} {b[1]}, {wide} {a[1]}"),
        )

    return combine


def _element(value: Value) -> ScalarType:
    assert isinstance(value.type, TileType)
    return value.type.element
