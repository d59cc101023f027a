"""A `dot` on FMA (or dp4a): every thread keeps a patch of the product in registers and walks along K.

In: a store or a hold whose tree has a `dot`, and its schedule. Out: a loop over K that reads the operands as
wide as their alignment allows, and the rest of the tree (the epilogue) evaluated on the products in registers, and
stored or held there.

The products of a patch row are vectors of neighbouring or strided columns; LLVM splits them into scalar FMAs, or into
pairs where the target has those, and text stays short.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from phobos_core.codegen import index
from phobos_core.codegen.banks import BANK_ROW, Walk, best_shift
from phobos_core.codegen.context import Context
from phobos_core.codegen.convert import convert
from phobos_core.codegen.evaluate import Evaluation
from phobos_core.codegen.index import Coord
from phobos_core.codegen.memory import SHARED
from phobos_core.codegen.patches import (
    Given,
    Patch,
    in_registers,
    keep,
    patch_of,
    runs_of,
    store_patch,
    turns,
)
from phobos_core.codegen.tree import anchor_of, loads_of
from phobos_core.codegen.writer import ROLLED
from phobos_core.ir.module import Op, Value
from phobos_core.ir.schedule import Contraction
from phobos_core.ir.tree import held
from phobos_core.ir.types import TileType, element_of
from phobos_core.language.targets import LANES
from phobos_core.language.types import I8, I32, ScalarType

# FMAs written in one turn of the loop over K, if they are those of several steps; and those of one step.
_BUDGET = 64
_MOST = 256


@dataclass(frozen=True, slots=True)
class _Work:
    """The work of one thread. `step` is how many k one load of an operand along K brings; `group` how many columns one
    vector of sums holds; loads along K are at most `access` wide. The thread takes k xor `skew` in place of k (see
    `banks`)."""

    patch: Patch
    lhs: Value
    rhs: Value
    transposed: bool
    depth: int
    accumulator: ScalarType
    group: int
    step: int
    access: int
    dp4a: bool
    skew: str | None

    @property
    def rows(self) -> tuple[Coord, ...]:
        return self.patch.rows

    @property
    def columns(self) -> tuple[Coord, ...]:
        return self.patch.columns

    @property
    def run(self) -> int:
        return self.patch.layout.vector


def contraction(cg: Context, op: Op, schedule: Contraction) -> None:
    """A store or a hold."""
    layout = schedule.layout(cg.kernel.threads)
    if op.name == "hold":
        (value,) = op.operands

        def runs(number: Coord, turn: int) -> list[str]:
            patch = patch_of(cg, layout, _shape(value), number, turn)
            return runs_of(cg, value, patch, layout.vector, _given(cg, value, patch, schedule, clamped=True))

        keep(cg, op.result, runs)
        return
    full = layout.rows * layout.columns // layout.threads
    thread = index.thread(cg)
    rest = turns(cg, layout)
    if full > 1 and not held(cg.ir, op.operands[1]):
        loop = cg.writer.open_loop(["i32"], ["0"])
        turn = Coord(loop.names[0], 0, full)
        _store(cg, op, schedule, index.total(cg, thread, index.scaled(cg, turn, layout.threads)), 0)
        following = cg.writer.value(f"add nuw nsw i32 {loop.names[0]}, 1")
        again = cg.writer.value(f"icmp ult i32 {following}, {full}")
        cg.writer.close_loop(loop, again, [following], ROLLED)
        rest = islice(rest, full, None)
    for number_of, number, condition in rest:
        with cg.writer.guarded(condition):
            _store(cg, op, schedule, number, number_of)


def _store(cg: Context, store: Op, schedule: Contraction, number: Coord, turn: int) -> None:
    view, value, _ = store.operands
    target = cg.windows[view]
    layout = schedule.layout(cg.kernel.threads)
    patch = patch_of(cg, layout, target.shape, number, turn)
    given = _given(cg, value, patch, schedule, clamped=patch.whole)
    store_patch(cg, target, value, patch, layout.vector, given)


def _given(cg: Context, value: Value, patch: Patch, schedule: Contraction, *, clamped: bool) -> Given:
    """What is known of a patch when its products are: these, and what registers hold.

    A sum in registers that the products are added to is where they start from, if the tree may be evaluated at
    `clamped` places too.
    """
    dot = anchor_of(cg, value)
    assert dot is not None
    known = in_registers(cg, value, patch)
    work = _plan(cg, dot, schedule, patch)
    result, start = (_running_sum(cg, dot) if clamped else None) or (dot.result, None)
    first = None if start is None else runs_of(cg, start, patch, work.run, in_registers(cg, start, patch))
    sums = _walk(cg, work, first)
    columns = range(len(work.columns))
    return {**known, result: [_columns_of(cg, work, row, j) for row in sums for j in columns]}


def _running_sum(cg: Context, dot: Op) -> tuple[Value, Value] | None:
    """The sum of the product and of something that registers hold, and the latter."""
    users = cg.ir.used_by(dot.result)
    if len(users) != 1 or users[0].name != "add":
        return None
    others = [v for v in users[0].operands if v is not dot.result]
    return (users[0].result, others[0]) if others and held(cg.ir, others[0]) else None


def _plan(cg: Context, dot: Op, schedule: Contraction, patch: Patch) -> _Work:
    lhs, rhs = dot.operands
    transposed = dot.attrs["transposed"]
    depth = _shape(lhs)[1]
    step, access = _widths(cg, dot, depth, schedule.tm * schedule.tn, schedule.use_dp4a)
    return _Work(
        patch,
        lhs,
        rhs,
        transposed,
        depth,
        element_of(dot.result.type),
        _group(schedule.tn, schedule.run),
        step,
        access,
        schedule.use_dp4a,
        _skew(cg, dot, schedule, depth, step, patch) if transposed and step == access else None,
    )


def _skew(cg: Context, dot: Op, schedule: Contraction, depth: int, step: int, patch: Patch) -> str | None:
    """What the thread in a column of patches xors k with, if that makes the lanes' loads meet fewer in one bank."""
    numbers = range(min(LANES, cg.kernel.threads, schedule.rows * schedule.columns))
    columns = tuple(n % schedule.columns for n in numbers)
    walks = []
    for value, rows in (
        (dot.operands[0], tuple(n // schedule.columns for n in numbers)),
        (dot.operands[1], tuple(c * schedule.run for c in columns)),
    ):
        for load in loads_of(cg, value):
            window = cg.windows[load.operands[0]]
            stride, size = window.memory.strides[0], window.memory.element.bytes
            if window.memory.space == SHARED and isinstance(stride, int):
                walks.append(Walk(rows, stride * size, step * size))
    chunks = max((BANK_ROW // walk.size for walk in walks), default=1)
    while depth % (chunks * step):
        chunks //= 2
    shift = best_shift(tuple(walks), columns, chunks) if chunks > 1 else None
    if shift is None:
        return None
    number = index.operand(cg, index.divided(cg, index.divided(cg, patch.column, 1 << shift)[0], chunks)[1])
    return index.mul(cg, index.COORD, number, str(step))


def _shape(value: Value) -> tuple[int, ...]:
    assert isinstance(value.type, TileType)
    return value.type.shape


def _group(tn: int, run: int) -> int:
    """Columns per vector of sums: whole runs, or runs of one column gathered four or two at a time."""
    if run > 1:
        return run
    return next(g for g in (4, 2, 1) if tn % g == 0)


def _widths(cg: Context, dot: Op, depth: int, outputs: int, dp4a: bool) -> tuple[int, int]:
    """How many k to take at a time, and how many at most in one access along K."""
    lhs, rhs = dot.operands
    along = [lhs, rhs] if dot.attrs["transposed"] else [lhs]
    views = [load.operands[0] for value in along for load in loads_of(cg, value)]
    access = cg.vectors.widest(views, depth).vector
    if dp4a:
        return max(4, access), access
    step = min(8, access)
    while step > 1 and outputs * step > _MOST:
        step //= 2
    return step, step


def _walk(cg: Context, work: _Work, first: Sequence[str] | None) -> list[list[str]]:
    """The sums of each row, in vectors of `group` columns. `first` has the runs to start from, 0 without it."""
    products = len(work.rows) * len(work.columns) * work.run * work.step // (4 if work.dp4a else 1)
    unroll = max(1, cg.unrolled(_BUDGET) // products)
    per_turn = min(work.depth, work.step * unroll)
    turns, rest = divmod(work.depth, per_turn)
    group = 1 if work.dp4a else work.group
    type = cg.type(work.accumulator, group)
    vectors = len(work.columns) * work.run // group
    count = len(work.rows) * vectors
    if first is None:
        sums = [cg.constant(0, work.accumulator, group)] * count
    else:
        sums = _sums_of(cg, work, first)
    if turns > 1:
        loop = cg.writer.open_loop(["i32", *[type] * count], ["0", *sums])
        start = Coord(loop.names[0], 0, work.depth, per_turn)
        sums = _steps(cg, work, start, per_turn, loop.names[1:])
        following = cg.writer.value(f"add nuw nsw i32 {loop.names[0]}, {per_turn}")
        again = cg.writer.value(f"icmp ult i32 {following}, {turns * per_turn}")
        cg.writer.close_loop(loop, again, [following, *sums], ROLLED)
    elif turns == 1:
        sums = _steps(cg, work, index.ZERO, per_turn, sums)
    if rest:
        sums = _steps(cg, work, index.fixed(turns * per_turn), rest, sums)
    return [sums[i * vectors : (i + 1) * vectors] for i in range(len(work.rows))]


def _steps(cg: Context, work: _Work, start: Coord, count: int, sums: Sequence[str]) -> list[str]:
    current = list(sums)
    for step in range(0, count, work.step):
        k = start.plus(step)
        if work.skew is not None:
            k = Coord(cg.writer.pure(f"xor i32 {index.operand(cg, k)}, {work.skew}"), 0, work.depth, work.step)
        multiply = _multiply_bytes if work.dp4a else _multiply
        current = multiply(cg, work, k, current)
    return current


def _multiply(cg: Context, work: _Work, k: Coord, sums: list[str]) -> list[str]:
    """Adds the products of `step` k to the sums."""
    evaluation = Evaluation(cg)
    accumulator, step, group = work.accumulator, work.step, work.group
    wide = cg.type(accumulator)
    lhs = [_operand(cg, evaluation, work, work.lhs, (row, k), step) for row in work.rows]
    rhs = _right_operands(cg, evaluation, work, k)
    vectors = len(rhs[0])
    result = list(sums)
    for part in range(step):
        for i in range(len(work.rows)):
            a = _repeated(cg, lhs[i], wide, step, part, group)
            for j in range(vectors):
                at = i * vectors + j
                result[at] = _multiply_add(cg, accumulator, group, a, rhs[part][j], result[at])
    return result


def _right_operands(cg: Context, evaluation: Evaluation, work: _Work, k: Coord) -> list[list[str]]:
    """For each of `step` k, the right operand's elements in the vectors of columns that the sums have."""
    step, run, group = work.step, work.run, work.group
    if not work.transposed:
        found = [
            [_operand(cg, evaluation, work, work.rhs, (k.plus(part), column), run) for column in work.columns]
            for part in range(step)
        ]
        return [_regrouped(cg, work, pieces) for pieces in found]
    columns = [column.plus(i) for column in work.columns for i in range(run)]
    along = [_operand(cg, evaluation, work, work.rhs, (column, k), step) for column in columns]
    wide = cg.type(work.accumulator)
    return [
        [cg.picked(along[j : j + group], wide, step, part) for j in range(0, len(along), group)] for part in range(step)
    ]


def _regrouped(cg: Context, work: _Work, pieces: list[str]) -> list[str]:
    """Runs of one column as vectors of `group`."""
    if work.run == work.group:
        return pieces
    wide, group = cg.type(work.accumulator), work.group
    return [cg.gathered(pieces[j : j + group], wide) for j in range(0, len(pieces), group)]


def _sums_of(cg: Context, work: _Work, runs: Sequence[str]) -> list[str]:
    """The runs of a patch as the vectors of sums."""
    across = len(work.columns)
    type = cg.type(work.accumulator)
    if work.dp4a:
        return [lane for run in runs for lane in cg.lanes(run, type, work.run)]
    rows = [list(runs[i : i + across]) for i in range(0, len(runs), across)]
    return [vector for row in rows for vector in _regrouped(cg, work, row)]


def _columns_of(cg: Context, work: _Work, sums: list[str], run: int) -> str:
    """The products of one run of columns."""
    if work.dp4a:
        return cg.gathered(sums[run * work.run : (run + 1) * work.run], cg.type(work.accumulator))
    if work.run == work.group:
        return sums[run]
    vector, lane = divmod(run, work.group)
    return cg.lanes(sums[vector], cg.type(work.accumulator), work.group)[lane]


def _operand(
    cg: Context, evaluation: Evaluation, work: _Work, value: Value, place: tuple[Coord, Coord], width: int
) -> str:
    operand = evaluation.at(value, place, width)
    return convert(cg, operand, element_of(value.type), work.accumulator, width)


def _repeated(cg: Context, vector: str, type: str, width: int, lane: int, count: int) -> str:
    """`count` copies of one lane."""
    if width == 1:
        return cg.splat_typed(vector, type, count)
    if count == 1:
        return cg.writer.pure(f"extractelement <{width} x {type}> {vector}, i32 {lane}")
    lanes = ", ".join([f"i32 {lane}"] * count)
    source = f"<{width} x {type}>"
    return cg.writer.pure(f"shufflevector {source} {vector}, {source} poison, <{count} x i32> <{lanes}>")


def _multiply_add(cg: Context, element: ScalarType, width: int, a: str, b: str, c: str) -> str:
    type = cg.type(element, width)
    if element.is_float:
        return cg.writer.value(
            cg.writer.call_text(type, f"llvm.fma.{cg.suffix(element, width)}", (type, a), (type, b), (type, c))
        )
    product = cg.writer.value(f"mul {type} {a}, {b}")
    return cg.writer.value(f"add {type} {product}, {c}")


def _multiply_bytes(cg: Context, work: _Work, k: Coord, sums: list[str]) -> list[str]:
    """Adds the products of `step` k to the sums, four at a time."""
    evaluation = Evaluation(cg)
    columns = [column.plus(i) for column in work.columns for i in range(work.run)]
    lhs = [_words(cg, evaluation, work, work.lhs, (row, k)) for row in work.rows]
    rhs = [_words(cg, evaluation, work, work.rhs, (column, k)) for column in columns]
    result = list(sums)
    for word in range(work.step // 4):
        for i, row in enumerate(lhs):
            for j, column in enumerate(rhs):
                at = i * len(columns) + j
                arguments = (("i32", row[word]), ("i32", column[word]), ("i32", result[at]))
                result[at] = cg.writer.value(cg.writer.call_text("i32", "llvm.nvvm.idp4a.s.s", *arguments))
    return result


def _words(cg: Context, evaluation: Evaluation, work: _Work, value: Value, place: tuple[Coord, Coord]) -> list[str]:
    """`step` bytes along K as the 32-bit words that they pack."""
    operand = evaluation.in_pieces(value, place, work.step, work.access)
    count = work.step // 4
    whole = cg.writer.pure(f"bitcast {cg.type(I8, work.step)} {operand} to {cg.type(I32, count)}")
    return cg.lanes(whole, "i32", count)
