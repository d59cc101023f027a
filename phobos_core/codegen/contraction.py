"""A `dot` on FMA (or dp4a): every thread keeps a patch of the product in registers and walks along K.

In: a store whose tree holds a `dot`, and its schedule. Out: a loop over K that reads the operands as wide as their
alignment allows, and the rest of the tree (the epilogue) evaluated on the products in registers and stored.

The products of a patch row are vectors of neighbouring or strided columns; LLVM splits them into scalar FMAs, or into
pairs where the target has those, and text stays short.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phobos_core.codegen import index
from phobos_core.codegen.banks import BANK_ROW, Walk, best_shift
from phobos_core.codegen.context import Context, Window
from phobos_core.codegen.convert import convert
from phobos_core.codegen.evaluate import Evaluation, Place
from phobos_core.codegen.index import Coord
from phobos_core.codegen.memory import SHARED
from phobos_core.codegen.sweep import store_run
from phobos_core.codegen.tree import anchor_of, loads_of
from phobos_core.codegen.writer import ROLLED
from phobos_core.ir.module import Op, Value
from phobos_core.ir.schedule import Contraction
from phobos_core.ir.types import TileType, element_of
from phobos_core.language.targets import LANES
from phobos_core.language.types import I8, I32, ScalarType

# FMAs written in one turn of the loop over K, if they are those of several steps; and those of one step.
_BUDGET = 64
_MOST = 256


@dataclass(frozen=True, slots=True)
class _Patch:
    """The work of one thread. `rows` and `columns` are where the rows and the runs of columns begin, clamped to the
    tile; `row_inside` and `column_inside` are the conditions under which they were inside already.

    `step` is how many k one load of an operand along K brings; `group` how many columns one vector of sums holds;
    loads along K are at most `access` wide. The thread takes k xor `skew` in place of k (see `banks`)."""

    lhs: Value
    rhs: Value
    transposed: bool
    depth: int
    accumulator: ScalarType
    rows: tuple[Coord, ...]
    columns: tuple[Coord, ...]
    row_inside: tuple[str, ...]
    column_inside: tuple[str, ...]
    run: int
    group: int
    step: int
    access: int
    dp4a: bool
    skew: str | None


def contraction(cg: Context, op: Op, schedule: Contraction) -> None:
    patches, threads = schedule.rows * schedule.columns, cg.kernel.threads
    full, tail = divmod(patches, threads)
    thread = index.thread(cg)
    if full == 1:
        _patch(cg, op, schedule, thread)
    elif full > 1:
        loop = cg.writer.open_loop(["i32"], ["0"])
        turn = Coord(loop.names[0], 0, full)
        _patch(cg, op, schedule, index.total(cg, thread, index.scaled(cg, turn, threads)))
        following = cg.writer.value(f"add nuw nsw i32 {loop.names[0]}, 1")
        again = cg.writer.value(f"icmp ult i32 {following}, {full}")
        cg.writer.close_loop(loop, again, [following], ROLLED)
    if tail:
        with cg.writer.guarded(index.less(cg, cg.thread, tail)):
            _patch(cg, op, schedule, thread._replace(limit=tail).plus(full * threads))


def _patch(cg: Context, store: Op, schedule: Contraction, number: Coord) -> None:
    view, value, _ = store.operands
    target = cg.windows[view]
    dot = anchor_of(cg, value)
    assert dot is not None
    patch = _plan(cg, target, dot, schedule, number)
    sums = _walk(cg, patch)
    evaluation = Evaluation(cg)
    inside: list[tuple[Place, str]] = []
    for i, row in enumerate(patch.rows):
        for j, column in enumerate(patch.columns):
            place: Place = (row, column)
            products = _columns_of(cg, patch, sums[i], j)
            condition = index.both(cg, patch.row_inside[i], patch.column_inside[j])
            if condition == "true":
                evaluation.give(dot.result, place, patch.run, products)
                inside.append((place, evaluation.at(value, place, patch.run)))
            else:
                # Clamped elements are another thread's: neither read nor written.
                with cg.writer.guarded(condition):
                    alone = Evaluation(cg)
                    alone.give(dot.result, place, patch.run, products)
                    store_run(cg, target, place, alone.at(value, place, patch.run), patch.run)
    for place, operand in inside:
        store_run(cg, target, place, operand, patch.run)


def _plan(cg: Context, target: Window, dot: Op, schedule: Contraction, number: Coord) -> _Patch:
    lhs, rhs = dot.operands
    transposed = dot.attrs["transposed"]
    assert isinstance(lhs.type, TileType)
    depth = lhs.type.shape[1]
    row_count, column_count = target.shape
    step, access = _widths(cg, dot, depth, schedule.tm * schedule.tn, schedule.use_dp4a)
    run = schedule.run
    r, c = index.divided(cg, number, schedule.columns)
    rows = [r.plus(i * schedule.rows) for i in range(schedule.tm)]
    runs = [c.plus(j * schedule.columns) for j in range(schedule.tn // run)]
    row_limits = [index.clamped(cg, x, row_count) for x in rows]
    run_limits = [index.clamped(cg, x, column_count // run) for x in runs]
    return _Patch(
        lhs,
        rhs,
        transposed,
        depth,
        element_of(dot.results[0].type),
        tuple(x for x, _ in row_limits),
        tuple(index.scaled(cg, x, run) for x, _ in run_limits),
        tuple(inside for _, inside in row_limits),
        tuple(inside for _, inside in run_limits),
        run,
        _group(schedule.tn, run),
        step,
        access,
        schedule.use_dp4a,
        _skew(cg, dot, schedule, depth, step, c) if transposed and step == access else None,
    )


def _skew(cg: Context, dot: Op, schedule: Contraction, depth: int, step: int, column: Coord) -> str | None:
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
    number = index.operand(cg, index.divided(cg, index.divided(cg, column, 1 << shift)[0], chunks)[1])
    return index.mul(cg, index.COORD, number, str(step))


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


def _walk(cg: Context, patch: _Patch) -> list[list[str]]:
    """The sums of each row, in vectors of `group` columns."""
    work = len(patch.rows) * len(patch.columns) * patch.run * patch.step // (4 if patch.dp4a else 1)
    unroll = max(1, cg.unrolled(_BUDGET) // work)
    per_turn = min(patch.depth, patch.step * unroll)
    turns, rest = divmod(patch.depth, per_turn)
    group = 1 if patch.dp4a else patch.group
    type = cg.type(patch.accumulator, group)
    vectors = len(patch.columns) * patch.run // group
    count = len(patch.rows) * vectors
    sums = [cg.constant(0, patch.accumulator, group)] * count
    if turns > 1:
        loop = cg.writer.open_loop(["i32", *[type] * count], ["0", *sums])
        start = Coord(loop.names[0], 0, patch.depth, per_turn)
        sums = _steps(cg, patch, start, per_turn, loop.names[1:])
        following = cg.writer.value(f"add nuw nsw i32 {loop.names[0]}, {per_turn}")
        again = cg.writer.value(f"icmp ult i32 {following}, {turns * per_turn}")
        cg.writer.close_loop(loop, again, [following, *sums], ROLLED)
    elif turns == 1:
        sums = _steps(cg, patch, index.ZERO, per_turn, sums)
    if rest:
        sums = _steps(cg, patch, index.fixed(turns * per_turn), rest, sums)
    return [sums[i * vectors : (i + 1) * vectors] for i in range(len(patch.rows))]


def _steps(cg: Context, patch: _Patch, start: Coord, count: int, sums: Sequence[str]) -> list[str]:
    current = list(sums)
    for step in range(0, count, patch.step):
        k = start.plus(step)
        if patch.skew is not None:
            k = Coord(cg.writer.pure(f"xor i32 {index.operand(cg, k)}, {patch.skew}"), 0, patch.depth, patch.step)
        multiply = _multiply_bytes if patch.dp4a else _multiply
        current = multiply(cg, patch, k, current)
    return current


def _multiply(cg: Context, patch: _Patch, k: Coord, sums: list[str]) -> list[str]:
    """Adds the products of `step` k to the sums."""
    evaluation = Evaluation(cg)
    accumulator, step, group = patch.accumulator, patch.step, patch.group
    wide = cg.type(accumulator)
    lhs = [_operand(cg, evaluation, patch, patch.lhs, (row, k), step) for row in patch.rows]
    rhs = _right_operands(cg, evaluation, patch, k)
    vectors = len(rhs[0])
    result = list(sums)
    for part in range(step):
        for i in range(len(patch.rows)):
            a = _repeated(cg, lhs[i], wide, step, part, group)
            for j in range(vectors):
                at = i * vectors + j
                result[at] = _multiply_add(cg, accumulator, group, a, rhs[part][j], result[at])
    return result


def _right_operands(cg: Context, evaluation: Evaluation, patch: _Patch, k: Coord) -> list[list[str]]:
    """For each of `step` k, the right operand's elements in the vectors of columns that the sums have."""
    step, run, group = patch.step, patch.run, patch.group
    if not patch.transposed:
        found = [
            [_operand(cg, evaluation, patch, patch.rhs, (k.plus(part), column), run) for column in patch.columns]
            for part in range(step)
        ]
        return [_regrouped(cg, patch, pieces) for pieces in found]
    columns = [column.plus(i) for column in patch.columns for i in range(run)]
    along = [_operand(cg, evaluation, patch, patch.rhs, (column, k), step) for column in columns]
    wide = cg.type(patch.accumulator)
    return [
        [cg.picked(along[j : j + group], wide, step, part) for j in range(0, len(along), group)] for part in range(step)
    ]


def _regrouped(cg: Context, patch: _Patch, pieces: list[str]) -> list[str]:
    """Runs of one column as vectors of `group`."""
    if patch.run == patch.group:
        return pieces
    wide, group = cg.type(patch.accumulator), patch.group
    return [cg.gathered(pieces[j : j + group], wide) for j in range(0, len(pieces), group)]


def _columns_of(cg: Context, patch: _Patch, sums: list[str], run: int) -> str:
    """The products of one run of columns."""
    if patch.dp4a:
        return cg.gathered(sums[run * patch.run : (run + 1) * patch.run], cg.type(patch.accumulator))
    if patch.run == patch.group:
        return sums[run]
    vector, lane = divmod(run, patch.group)
    return cg.lanes(sums[vector], cg.type(patch.accumulator), patch.group)[lane]


def _operand(
    cg: Context, evaluation: Evaluation, patch: _Patch, value: Value, place: tuple[Coord, Coord], width: int
) -> str:
    operand = evaluation.at(value, place, width)
    return convert(cg, operand, element_of(value.type), patch.accumulator, width)


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


def _multiply_bytes(cg: Context, patch: _Patch, k: Coord, sums: list[str]) -> list[str]:
    """Adds the products of `step` k to the sums, four at a time."""
    evaluation = Evaluation(cg)
    columns = [column.plus(i) for column in patch.columns for i in range(patch.run)]
    lhs = [_words(cg, evaluation, patch, patch.lhs, (row, k)) for row in patch.rows]
    rhs = [_words(cg, evaluation, patch, patch.rhs, (column, k)) for column in columns]
    result = list(sums)
    for word in range(patch.step // 4):
        for i, row in enumerate(lhs):
            for j, column in enumerate(rhs):
                at = i * len(columns) + j
                arguments = (("i32", row[word]), ("i32", column[word]), ("i32", result[at]))
                result[at] = cg.writer.value(cg.writer.call_text("i32", "llvm.nvvm.idp4a.s.s", *arguments))
    return result


def _words(cg: Context, evaluation: Evaluation, patch: _Patch, value: Value, place: tuple[Coord, Coord]) -> list[str]:
    """`step` bytes along K as the 32-bit words that they pack."""
    operand = evaluation.in_pieces(value, place, patch.step, patch.access)
    count = patch.step // 4
    whole = cg.writer.pure(f"bitcast {cg.type(I8, patch.step)} {operand} to {cg.type(I32, count)}")
    return cg.lanes(whole, "i32", count)
