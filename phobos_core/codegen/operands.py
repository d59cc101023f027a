"""The operands of a contraction: in which direction a thread reads each, how wide, and in what order along K.

In: an operand's value tree and where the thread's patch lies. Out: its elements for some k, of the accumulator's type
or, for dp4a, as words of four bytes.

What lies contiguous along the rows (or columns) of the product is read *across*, a run of them for one k; what lies
contiguous along K is read *along* it, several k of each row (or column) together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from phobos_core.codegen import index
from phobos_core.codegen.banks import BANK_ROW, Walk, best_shift
from phobos_core.codegen.context import Context
from phobos_core.codegen.convert import convert
from phobos_core.codegen.evaluate import Evaluation
from phobos_core.codegen.index import Coord
from phobos_core.codegen.lanes import Lane, lanes
from phobos_core.codegen.memory import SHARED
from phobos_core.codegen.patches import Patch
from phobos_core.ir.module import Op, Value
from phobos_core.ir.tree import read_along_k, views_along
from phobos_core.ir.types import TileType, element_of
from phobos_core.language.targets import LANES
from phobos_core.language.types import I8, I32, ScalarType

# The most registers for what is read along K at a time, and the most products of what is read at a time.
_REGISTERS = 40
_PRODUCTS = 256
# The bytes that a dp4a takes of each operand.
WORD = 4


@dataclass(frozen=True, slots=True)
class Side:
    """One operand. `starts` are where its runs of `run` rows (or columns) of the product begin; `k_first`: K is the
    first axis of the value. At most `widest` elements are read in one access."""

    value: Value
    k_first: bool
    starts: tuple[Coord, ...]
    run: int
    along: bool
    widest: int

    @property
    def count(self) -> int:
        return len(self.starts) * self.run


def sides(cg: Context, dot: Op, patch: Patch) -> tuple[Side, Side]:
    """The left and the right operand."""
    lhs, rhs = dot.operands
    layout = patch.layout
    left = _side(cg, lhs, patch.rows[:: layout.height], layout.height, k_first=False)
    return left, _side(cg, rhs, patch.columns, layout.vector, k_first=not dot.attrs["transposed"])


def _side(cg: Context, value: Value, starts: tuple[Coord, ...], run: int, *, k_first: bool) -> Side:
    k_axis = 0 if k_first else 1
    if read_along_k(cg.ir, value, k_axis):
        width = cg.vectors.widest(views_along(cg.ir, value, k_axis), _shape(value)[k_axis])
        return Side(value, k_first, starts, run, True, width.vector)
    # The schedule sees to it that the columns of the right operand can be read in runs.
    widest = run if k_first else cg.vectors.widest(views_along(cg.ir, value, 1 - k_axis), run).vector
    return Side(value, k_first, starts, run, False, widest)


def step_of(along: Sequence[Side], outputs: int, *, dp4a: bool) -> int:
    """How many k to read at a time."""
    least = WORD if dp4a else 1
    step = max(least, min((side.widest for side in along), default=1))

    def registers() -> int:
        return sum(side.count * step * element_of(side.value.type).bytes for side in along) // I32.bytes

    while step > least and (registers() > _REGISTERS or outputs * step // least > _PRODUCTS):
        step //= 2
    return step


def skew_of(cg: Context, both: Sequence[Side], step: int, depth: int, patch: Patch) -> str | None:
    """What the thread in a column of patches xors k with, if that makes the lanes' loads meet fewer in one bank."""
    if not all(side.along and step <= side.widest for side in both):
        return None
    layout = patch.layout
    places = [layout.place(n) for n in range(min(LANES, cg.kernel.threads, layout.rows * layout.columns))]
    columns = tuple(column for _, column in places)
    starts = tuple(row * layout.height for row, _ in places), tuple(column * layout.vector for column in columns)
    walks = [Walk(rows, *walk) for side, rows in zip(both, starts, strict=True) for walk in _walks(cg, side, step)]
    chunks = max((BANK_ROW // walk.size for walk in walks), default=1)
    while depth % (chunks * step):
        chunks //= 2
    shift = best_shift(tuple(walks), columns, chunks) if chunks > 1 else None
    if shift is None:
        return None
    number = index.operand(cg, index.divided(cg, index.divided(cg, patch.column, 1 << shift)[0], chunks)[1])
    return index.mul(cg, index.COORD, number, str(step))


def _walks(cg: Context, side: Side, step: int) -> Iterator[tuple[int, int]]:
    """The bytes of a row and of a load, of each tile in shared memory that is read along K."""
    for view in views_along(cg.ir, side.value, 0 if side.k_first else 1):
        memory = cg.windows[view].memory
        stride, size = memory.strides[0], memory.element.bytes
        if memory.space == SHARED and isinstance(stride, int):
            yield stride * size, step * size


def read(cg: Context, side: Side, k: Coord, step: int, type: ScalarType) -> list[list[Lane]]:
    """The elements for each of `step` k, as `type`."""
    evaluation, element = Evaluation(cg), element_of(side.value.type)
    if side.along:
        runs = [convert(cg, run, element, type, step) for run in _along(evaluation, side, k, step)]
        return [[Lane(run, step, part) for run in runs] for part in range(step)]
    found = []
    for part in range(step):
        elements: list[Lane] = []
        for start in side.starts:
            place = _place(side, k.plus(part), start)
            run = evaluation.in_pieces(side.value, place, side.run, side.widest, down=not side.k_first)
            elements += lanes(convert(cg, run, element, type, side.run), side.run)
        found.append(elements)
    return found


def read_words(cg: Context, side: Side, k: Coord, step: int) -> list[list[Lane]]:
    """The words of four bytes for each four of `step` k."""
    count = step // WORD
    types = cg.type(I8, step), cg.type(I32, count)
    words = [cg.writer.pure(f"bitcast {types[0]} {run} to {types[1]}") for run in _along(Evaluation(cg), side, k, step)]
    return [[Lane(row, count, part) for row in words] for part in range(count)]


def _along(evaluation: Evaluation, side: Side, k: Coord, step: int) -> Iterator[str]:
    """`step` k of each row (or column)."""
    for start in side.starts:
        for i in range(side.run):
            place = _place(side, k, start.plus(i))
            yield evaluation.in_pieces(side.value, place, step, side.widest, down=side.k_first)


def _place(side: Side, k: Coord, other: Coord) -> tuple[Coord, Coord]:
    return (k, other) if side.k_first else (other, k)


def _shape(value: Value) -> tuple[int, ...]:
    assert isinstance(value.type, TileType)
    return value.type.shape
