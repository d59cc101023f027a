"""A virtual tile value evaluated at a run of elements: what fuses a value tree into its consumer.

In: a value, the coordinates of a run's first element, the run's width. Out: one operand, a vector when the width is
more than 1. A run lies along the last axis, or down a column of a tile [R, C]. A `reduce` that is not given is folded
here, over its whole row. What several parts of the tree ask for is evaluated once; an `Evaluation` therefore lives no
longer than the loads that it remembers stay true and dominate.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from phobos_core.codegen import access, fold, index, memory
from phobos_core.codegen.arithmetic import elementwise, select
from phobos_core.codegen.context import Context
from phobos_core.codegen.index import ZERO, Coord
from phobos_core.codegen.tree import loads_of
from phobos_core.ir.module import Op, Value
from phobos_core.ir.ops import OPS
from phobos_core.ir.types import TileType, element_of
from phobos_core.language.types import I32, Kind, ScalarType

Place: TypeAlias = tuple[Coord, ...]


class Request(NamedTuple):
    """A value, where its run begins, how many elements it has, and whether they lie below each other."""

    value: Value
    place: Place
    width: int
    down: bool = False


class Evaluation:
    """`run` numbers the run among those of the thread, which selects the register of a tile with a layout."""

    __slots__ = ("_cg", "_known", "run")

    def __init__(self, cg: Context) -> None:
        self._cg = cg
        self._known: dict[Request, str] = {}
        self.run = 0

    def give(self, value: Value, place: Place, width: int, operand: str) -> None:
        """Says what an anchor's elements are."""
        self._known[Request(value, place, width)] = operand

    def at(self, value: Value, place: Place, width: int, *, down: bool = False) -> str:
        root = Request(value, place, width, down and width > 1)
        if root in self._known:
            return self._known[root]
        writer = self._cg.writer
        consumer = writer.line
        # A list of what is to be done, since a tree may be deeper than Python's stack.
        pending = [root]
        while pending:
            request = pending[-1]
            if request in self._known:
                pending.pop()
                continue
            registers = self._cg.registers.get(request.value)
            if registers is not None:
                self._known[request] = registers[self.run]
                continue
            op = self._cg.ir.definition[request.value]
            needs = self._needs(op, request)
            missing = [need for need in needs if need not in self._known]
            if missing:
                pending += reversed(missing)
                continue
            writer.at_line(op.line)
            self._known[request] = self._result(op, request, [self._known[need] for need in needs])
            pending.pop()
        writer.at_line(consumer)
        return self._known[root]

    def in_pieces(self, value: Value, place: Place, width: int, widest: int, *, down: bool = False) -> str:
        """A run evaluated `widest` elements at a time, where its loads may be no wider."""
        if width <= widest:
            return self.at(value, place, width, down=down)
        half = width // 2
        low = self.in_pieces(value, place, half, widest, down=down)
        high = self.in_pieces(value, _further(place, half, down=down), half, widest, down=down)
        return self._cg.concatenated(low, high, self._cg.type(_tile(value).element), half)

    def _needs(self, op: Op, request: Request) -> list[Request]:
        """Which elements of its operands, or of itself, an op's elements are made of."""
        value, place, width, down = request
        if OPS[op.name].elementwise:
            return [request._replace(value=v) for v in op.operands]
        match op.name:
            case "tril":
                return [request._replace(value=op.operands[0])]
            case "broadcast":
                (source,) = op.operands
                shape = _tile(source).shape
                inner = tuple(ZERO if extent == 1 else coord for extent, coord in zip(shape, place, strict=True))
                if width == 1 or shape[0 if down else -1] == 1:
                    return [Request(source, inner, 1)]
                return [Request(source, inner, width, down)]
            case "transpose":
                row, column = place
                return [Request(op.operands[0], (column, row), width, not down and width > 1)]
            case "gather":
                return [request._replace(value=op.operands[-2])]
            case "load" if down:
                return [Request(value, _further(place, i, down=True), 1) for i in range(width)]
            case "reduce":
                (source,) = op.operands
                run, columns = self._run_of_row(source), _tile(source).shape[1]
                return [Request(source, (place[0], index.fixed(c)), run) for c in range(0, columns, run)]
            case _:
                return []

    def _run_of_row(self, source: Value) -> int:
        """How wide the operand of a `reduce` is read by a thread that folds it alone."""
        views = [load.operands[0] for load in loads_of(self._cg, source)]
        return self._cg.vectors.widest(views, _tile(source).shape[1]).vector

    def _result(self, op: Op, request: Request, operands: list[str]) -> str:
        """The op's elements, from those that it needs."""
        cg, (value, place, width, down) = self._cg, request
        if OPS[op.name].elementwise:
            return elementwise(cg, op, operands, width)
        element = _tile(value).element
        match op.name:
            case "load" if down:
                return cg.gathered(operands, cg.type(element))
            case "load":
                return access.load_run(cg, op, place, width)
            case "splat":
                return cg.splat(cg.scalars[op.operands[0]], element, width)
            case "broadcast":
                repeats = _tile(op.operands[0]).shape[0 if down else -1] == 1
                return cg.splat(operands[0], element, width) if repeats else operands[0]
            case "iota":
                return self._position(request, op.attrs["axis"])
            case "transpose":
                return operands[0]
            case "tril":
                return self._lower_triangle(operands[0], element, request)
            case "gather":
                return self._gathered(op, operands[0], width)
            case "reduce":
                return self._folded(op, operands)
            case _:
                raise AssertionError(f"{op.name} is no value that can be evaluated per element")

    def _folded(self, op: Op, operands: list[str]) -> str:
        cg, how = self._cg, fold.fold_of(op)
        width = self._run_of_row(op.operands[0])
        runs = [fold.run_state(cg, how, run, index.fixed(i * width), width) for i, run in enumerate(operands)]
        state = fold.across(cg, how, fold.folded(cg, how, runs, width), width)
        return fold.result(cg, how, state, element_of(op.result.type))

    def _position(self, request: Request, axis: int) -> str:
        """The index along an axis as i32."""
        cg, (_, place, width, down) = self._cg, request
        along = 0 if down else len(place) - 1
        if axis != along or width == 1:
            return cg.splat(index.operand(cg, place[axis]), I32, width)
        return index.positions(cg, place[axis], width)

    def _lower_triangle(self, operand: str, element: ScalarType, request: Request) -> str:
        cg, width = self._cg, request.width
        row, column = self._position(request, 0), self._position(request, 1)
        kept = cg.writer.pure(f"icmp sle {cg.type(I32, width)} {column}, {row}")
        return select(cg, element, [kept, operand, cg.constant(0, element, width)], width)

    def _gathered(self, op: Op, indices: str, width: int) -> str:
        cg = self._cg
        table, *offsets, positions, _ = op.operands
        buffer = cg.memories[table]
        start = memory.element_pointer(cg, buffer, offsets)
        element = _tile(positions).element
        type = cg.type(element)
        elements = []
        for number in cg.lanes(indices, type, width):
            wide = number if cg.bits(element) == 64 else cg.writer.pure(f"{_extend(element)} {type} {number} to i64")
            offset = index.mul(cg, "i64", wide, str(buffer.element.bytes))
            exists = cg.writer.pure(f"icmp sge i64 {wide}, 0") if "partial" in op.attrs else "true"
            elements.append(access.load(cg, buffer, memory.advanced(cg, buffer, start, offset), 1, exists))
        return cg.gathered(elements, cg.type(buffer.element))


def _further(place: Place, by: int, *, down: bool) -> Place:
    """The place some elements further along a run."""
    if down:
        return (place[0].plus(by), *place[1:])
    return (*place[:-1], place[-1].plus(by))


def _extend(element: ScalarType) -> str:
    return "zext" if element.kind is Kind.UINT else "sext"


def _tile(value: Value) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type
