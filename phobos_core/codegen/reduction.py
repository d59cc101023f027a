"""A `reduce` along rows: neighbouring lanes share a row, each folds its own runs, an xor butterfly folds the lanes.

In: a store whose tree holds a `reduce`, and its schedule. The groups of lanes that have a row take part in a turn, and
no other thread reads memory in it: the places of barriers rest on each thread touching its own rows alone.
A lane with fewer runs than others repeats its first run, which a maximum does not notice and a sum counts as 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

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

_BUDGET = 200


@dataclass(frozen=True, slots=True)
class _Fold:
    """A kind of reduction. A state is a tuple of operands, one for each of `elements`."""

    elements: tuple[ScalarType, ...]
    combine: Callable[[Context, tuple[str, ...], tuple[str, ...], int], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class _Rows:
    """`active` threads in groups of `lanes`; `lane` is a thread's place in its group, `first` its group."""

    operand: Value
    kind: str
    vector: int
    lanes: int
    active: int
    lane: Coord
    group: Coord
    columns: int


def row_reduction(cg: Context, op: Op, schedule: RowReduction) -> None:
    reduce = anchor_of(cg, op.operands[1])
    assert reduce is not None
    (operand,) = reduce.operands
    assert isinstance(operand.type, TileType)
    lanes = schedule.lanes
    groups = cg.kernel.threads // lanes
    group, lane = index.divided(cg, index.thread(cg), lanes)
    shape = operand.type.shape
    groups = min(cg.kernel.threads // lanes, shape[0])
    rows = _Rows(operand, reduce.attrs["kind"], schedule.vector, lanes, groups * lanes, lane, group, shape[1])
    turns, rest = divmod(shape[0], groups)
    with cg.writer.guarded(_among(cg, rows.active)):
        group = group._replace(limit=min(group.limit, groups))
        if turns == 1:
            _turn(cg, op, reduce, rows, group)
        else:
            loop = cg.writer.open_loop(["i32"], ["0"])
            turn = Coord(loop.names[0], 0, turns)
            _turn(cg, op, reduce, rows, index.total(cg, group, index.scaled(cg, turn, groups)))
            following = cg.writer.value(f"add i32 {loop.names[0]}, 1")
            again = cg.writer.value(f"icmp ult i32 {following}, {turns}")
            cg.writer.close_loop(loop, again, [following], ROLLED)
    if rest:
        rows = replace(rows, active=rest * lanes)
        with cg.writer.guarded(_among(cg, rows.active)):
            _turn(cg, op, reduce, rows, group._replace(limit=rest).plus(turns * groups))


def _among(cg: Context, active: int) -> str:
    """Whether this thread is one of the first `active`."""
    return "true" if active == cg.kernel.threads else index.less(cg, cg.thread, active)


def _turn(cg: Context, op: Op, reduce: Op, rows: _Rows, number: Coord) -> None:
    """Reduces row `number`, and stores what the tree makes of it."""
    view, value, _ = op.operands
    target = cg.windows[view]
    fold = _fold(rows.kind, _element(rows.operand))
    state = _across(cg, fold, _own(cg, fold, rows, number), rows.vector)
    state = butterfly(cg, fold.elements, fold.combine, state, rows.lanes, rows.active)
    result = reduce.results[0]
    operand = state[-1]
    if rows.kind == "sum":
        operand = convert(cg, operand, fold.elements[0], _element(result), 1)
    with cg.writer.guarded(index.less(cg, index.operand(cg, rows.lane), 1) if rows.lanes > 1 else "true"):
        place = (number, index.ZERO)
        evaluation = Evaluation(cg)
        evaluation.give(result, place, 1, operand)
        store_run(cg, target, place, evaluation.at(value, place, 1), 1)


def _own(cg: Context, fold: _Fold, rows: _Rows, row: Coord) -> tuple[str, ...]:
    """The fold of the thread's own runs of a row: `vector` columns side by side."""
    runs = rows.columns // rows.vector
    full, tail = divmod(runs, rows.lanes)
    evaluation = Evaluation(cg)
    first, inside = index.clamped(cg, rows.lane, runs)
    state = _run(cg, evaluation, fold, rows, row, first, inside)
    group = max(1, _BUDGET // (cost(cg, rows.operand, rows.vector) + 2 * rows.vector))
    turn = 1
    if full > 3 * group:
        turns = (full - 1) // group
        types = [cg.type(e, rows.vector) for e in fold.elements]
        loop = cg.writer.open_loop(["i32", *types], ["0", *state])
        evaluation = Evaluation(cg)
        inner = tuple(loop.names[1:])
        start = Coord(loop.names[0], 0, (full - 1) * rows.lanes, group * rows.lanes)
        for i in range(1, group + 1):
            run = index.total(cg, rows.lane, start).plus(i * rows.lanes)
            inner = fold.combine(cg, inner, _run(cg, evaluation, fold, rows, row, run, "true"), rows.vector)
        following = cg.writer.value(f"add i32 {loop.names[0]}, {group * rows.lanes}")
        again = cg.writer.value(f"icmp ult i32 {following}, {turns * group * rows.lanes}")
        cg.writer.close_loop(loop, again, [following, *inner], ROLLED)
        state, turn = inner, 1 + turns * group
        evaluation = Evaluation(cg)
    for i in range(turn, full):
        run = rows.lane.plus(i * rows.lanes)
        state = fold.combine(cg, state, _run(cg, evaluation, fold, rows, row, run, "true"), rows.vector)
    if full and tail:
        inside = index.less(cg, index.operand(cg, rows.lane), tail)
        last = index.operand(cg, rows.lane.plus(full * rows.lanes))
        run = Coord(cg.writer.pure(f"select i1 {inside}, i32 {last}, i32 0"), 0, runs)
        state = fold.combine(cg, state, _run(cg, evaluation, fold, rows, row, run, inside), rows.vector)
    return state


def _run(
    cg: Context, evaluation: Evaluation, fold: _Fold, rows: _Rows, row: Coord, run: Coord, counts: str
) -> tuple[str, ...]:
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


def _across(cg: Context, fold: _Fold, state: tuple[str, ...], width: int) -> tuple[str, ...]:
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
            return _Fold((wide,), _sum(wide))
        case "max":
            return _Fold((element,), _maximum(element))
        case _:
            return _Fold((element, I32), _first_maximum(element))


def _sum(element: ScalarType) -> Callable[[Context, tuple[str, ...], tuple[str, ...], int], tuple[str, ...]]:
    def combine(cg: Context, a: tuple[str, ...], b: tuple[str, ...], width: int) -> tuple[str, ...]:
        add = "fadd" if element.is_float else "add"
        return (cg.writer.value(f"{add} {cg.type(element, width)} {a[0]}, {b[0]}"),)

    return combine


def _maximum(element: ScalarType) -> Callable[[Context, tuple[str, ...], tuple[str, ...], int], tuple[str, ...]]:
    def combine(cg: Context, a: tuple[str, ...], b: tuple[str, ...], width: int) -> tuple[str, ...]:
        return (extremum(cg, "max", element, a[0], b[0], width),)

    return combine


def _first_maximum(element: ScalarType) -> Callable[[Context, tuple[str, ...], tuple[str, ...], int], tuple[str, ...]]:
    """The larger value with its index, the smaller index on a tie; a NaN loses to any number."""

    def combine(cg: Context, a: tuple[str, ...], b: tuple[str, ...], width: int) -> tuple[str, ...]:
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
