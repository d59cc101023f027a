"""A `dot` on FMA (or dp4a): every thread keeps a patch of the product in registers and walks along K.

In: a store or a hold whose tree has a `dot`, and its schedule. Out: a loop over K that reads the operands as
wide as their alignment allows, the next ones before it multiplies the present ones, and the rest of the tree (the
epilogue) evaluated on the products in registers, and stored or held there.

The sums are vectors of neighbouring columns, which LLVM splits into what the target multiplies at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from phobos_core.codegen import index
from phobos_core.codegen.context import Context
from phobos_core.codegen.index import Coord
from phobos_core.codegen.lanes import Lane, lanes, repeated, together
from phobos_core.codegen.operands import WORD, Side, read, read_words, sides, skew_of, step_of
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
from phobos_core.codegen.tree import anchor_of
from phobos_core.codegen.writer import ROLLED
from phobos_core.ir.module import Op, Value
from phobos_core.ir.schedule import Contraction
from phobos_core.ir.tree import held
from phobos_core.ir.types import TileType, element_of
from phobos_core.language.types import ScalarType

# The loop over K takes so many k a turn, or as many as make so many products: that costs little beside them.
_DEPTH = 8
_PRODUCTS = 128
# No loop of two turns around so large a patch.
_LARGE = 16


@dataclass(frozen=True, slots=True)
class _Work:
    """The work of one thread. `step` is how many k are read at a time; the sums are vectors of `group` neighbouring
    columns, `vectors` of them a row. The thread takes k xor `skew` in place of k (see `banks`)."""

    patch: Patch
    left: Side
    right: Side
    depth: int
    accumulator: ScalarType
    group: int
    step: int
    dp4a: bool
    skew: str | None

    @property
    def vectors(self) -> int:
        return self.patch.layout.tn // self.group

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
    return {**known, result: _runs(cg, work, _walk(cg, work, first))}


def _running_sum(cg: Context, dot: Op) -> tuple[Value, Value] | None:
    """The sum of the product and of something that registers hold, and the latter."""
    users = cg.ir.used_by(dot.result)
    if len(users) != 1 or users[0].name != "add":
        return None
    others = [v for v in users[0].operands if v is not dot.result]
    return (users[0].result, others[0]) if others and held(cg.ir, others[0]) else None


def _plan(cg: Context, dot: Op, schedule: Contraction, patch: Patch) -> _Work:
    both = sides(cg, dot, patch)
    depth = _shape(dot.operands[0])[1]
    element = element_of(dot.result.type)
    step = step_of([side for side in both if side.along], schedule.tm * schedule.tn, dp4a=schedule.use_dp4a)
    group = 1 if schedule.use_dp4a or cg.takes_apart(element) else _group(schedule.tn, schedule.run)
    skew = skew_of(cg, both, step, depth, patch)
    return _Work(patch, *both, depth, element, group, step, schedule.use_dp4a, skew)


def _group(tn: int, run: int) -> int:
    """Columns per vector of sums: whole runs, or runs of one column gathered four or two at a time."""
    return run if run > 1 else next(g for g in (4, 2, 1) if tn % g == 0)


def _shape(value: Value) -> tuple[int, ...]:
    assert isinstance(value.type, TileType)
    return value.type.shape


def _walk(cg: Context, work: _Work, first: Sequence[str] | None) -> list[str]:
    """The sums row by row. `first` has the runs to start from, 0 without it."""
    per_turn = _per_turn(cg, work)
    turns, rest = divmod(work.depth, per_turn)
    if first is None:
        sums = [cg.constant(0, work.accumulator, work.group)] * (work.patch.layout.tm * work.vectors)
    else:
        sums = _sums(cg, work, first)
    if turns > 1:
        type = cg.type(work.accumulator, work.group)
        loop = cg.writer.open_loop(["i32", *[type] * len(sums)], ["0", *sums])
        start = Coord(loop.names[0], 0, work.depth, per_turn)
        sums = _steps(cg, work, start, per_turn, loop.names[1:])
        following = cg.writer.value(f"add nuw nsw i32 {loop.names[0]}, {per_turn}")
        again = cg.writer.value(f"icmp ult i32 {following}, {turns * per_turn}")
        cg.writer.close_loop(loop, again, [following, *sums], ROLLED)
    elif turns == 1:
        sums = _steps(cg, work, index.ZERO, per_turn, sums)
    if rest:
        sums = _steps(cg, work, index.fixed(turns * per_turn), rest, sums)
    return sums


def _per_turn(cg: Context, work: _Work) -> int:
    """How many k to write one after the other; without a rest, if a number nearby leaves none."""
    layout = work.patch.layout
    products = layout.tm * layout.tn
    k = cg.unrolled(max(_DEPTH, _PRODUCTS // products) * (WORD if work.dp4a else 1))
    if work.depth <= k or (products == _LARGE and work.depth == 2 * k):
        return work.depth
    most = max(1, k // work.step)
    even = (n for n in range(most, most // 2, -1) if work.depth % (n * work.step) == 0)
    return min(work.depth, work.step * next(even, most))


def _steps(cg: Context, work: _Work, start: Coord, count: int, sums: Sequence[str]) -> list[str]:
    """Adds the products of `count` k; what they read is under way a step ahead."""
    steps = range(0, count, work.step)
    ahead = _read(cg, work, start)
    for step in steps:
        lhs, rhs = ahead
        if step != steps[-1]:
            ahead = _read(cg, work, start.plus(step + work.step))
        for left, right in zip(lhs, rhs, strict=True):
            sums = _multiplied(cg, work, left, right, sums)
    return list(sums)


def _read(cg: Context, work: _Work, k: Coord) -> tuple[list[list[Lane]], list[list[str]]]:
    """What `step` k take of the left and the right operand, k by k; of the right one in the groups of the sums."""
    if work.skew is not None:
        k = Coord(cg.writer.pure(f"xor i32 {index.operand(cg, k)}, {work.skew}"), 0, work.depth, work.step)
    if work.dp4a:
        left, right = (read_words(cg, side, k, work.step) for side in (work.left, work.right))
    else:
        left, right = (read(cg, side, k, work.step, work.accumulator) for side in (work.left, work.right))
    return left, [_grouped(cg, work, part) for part in right]


def _multiplied(cg: Context, work: _Work, left: Sequence[Lane], right: Sequence[str], sums: Sequence[str]) -> list[str]:
    """Adds the products of one k, or of four for dp4a, to the sums."""
    element, group = work.accumulator, work.group
    type = cg.type(element, group)
    found = []
    for i, lane in enumerate(left):
        factor = repeated(cg, lane, cg.type(element), group)
        for j, column in enumerate(right):
            total = sums[i * len(right) + j]
            arguments = (type, factor), (type, column), (type, total)
            if work.dp4a:
                found.append(cg.writer.value(cg.writer.call_text(type, "llvm.nvvm.idp4a.s.s", *arguments)))
            elif element.is_float:
                name = f"llvm.fma.{cg.suffix(element, group)}"
                found.append(cg.writer.value(cg.writer.call_text(type, name, *arguments)))
            else:
                product = cg.writer.value(f"mul {type} {factor}, {column}")
                found.append(cg.writer.value(f"add {type} {product}, {total}"))
    return found


def _sums(cg: Context, work: _Work, runs: Sequence[str]) -> list[str]:
    """The runs of a patch as the sums."""
    return _grouped(cg, work, [lane for run in runs for lane in lanes(run, work.run)])


def _runs(cg: Context, work: _Work, sums: Sequence[str]) -> list[str]:
    """The sums as the runs of a patch."""
    type = cg.type(work.accumulator)
    elements = [lane for vector in sums for lane in lanes(vector, work.group)]
    return [together(cg, elements[i : i + work.run], type) for i in range(0, len(elements), work.run)]


def _grouped(cg: Context, work: _Work, elements: Sequence[Lane]) -> list[str]:
    type = cg.type(work.accumulator)
    return [together(cg, elements[i : i + work.group], type) for i in range(0, len(elements), work.group)]
