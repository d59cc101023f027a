"""A virtual tile value evaluated at a run of elements: what fuses a value tree into its consumer.

In: a value, the coordinates of a run's first element, the run's width. Out: one operand, a vector when the width is
more than 1. A run lies along the last axis. A `reduce` that is not given is folded here, over its whole row. An element
that several parts of the tree ask for is evaluated once; an `Evaluation` therefore lives no longer than the loads that
it remembers stay true and dominate.
"""

from __future__ import annotations

from typing import TypeAlias

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
# A value, where its run begins, and how wide it is.
Request: TypeAlias = tuple[Value, Place, int]


class Evaluation:
    """`run` numbers the run among those of the thread, which selects the register of a tile with a layout."""

    __slots__ = ("_cg", "_known", "run")

    def __init__(self, cg: Context) -> None:
        self._cg = cg
        self._known: dict[Request, str] = {}
        self.run = 0

    def give(self, value: Value, place: Place, width: int, operand: str) -> None:
        """Says what an anchor's elements are."""
        self._known[value, place, width] = operand

    def at(self, value: Value, place: Place, width: int) -> str:
        root = (value, place, width)
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
            registers = self._cg.registers.get(request[0])
            if registers is not None:
                self._known[request] = registers[self.run]
                continue
            op = self._cg.ir.definition[request[0]]
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

    def in_pieces(self, value: Value, place: Place, width: int, widest: int) -> str:
        """A run evaluated `widest` elements at a time, where its loads may be no wider."""
        if width <= widest:
            return self.at(value, place, width)
        half = width // 2
        low = self.in_pieces(value, place, half, widest)
        high = self.in_pieces(value, (*place[:-1], place[-1].plus(half)), half, widest)
        return self._cg.concatenated(low, high, self._cg.type(_tile(value).element), half)

    def _needs(self, op: Op, request: Request) -> list[Request]:
        """Which elements of its operands an op's elements are made of."""
        _, place, width = request
        if OPS[op.name].elementwise:
            return [(v, place, width) for v in op.operands]
        match op.name:
            case "tril":
                return [(op.operands[0], place, width)]
            case "broadcast":
                (source,) = op.operands
                shape = _tile(source).shape
                inner = tuple(ZERO if extent == 1 else coord for extent, coord in zip(shape, place, strict=True))
                return [(source, inner, 1 if shape[-1] == 1 else width)]
            case "transpose":
                row, column = place
                return [(op.operands[0], (column.plus(i), row), 1) for i in range(width)]
            case "gather":
                return [(op.operands[-2], place, width)]
            case "reduce":
                (source,) = op.operands
                run = self._run_of_row(source)
                return [(source, (place[0], index.fixed(c)), run) for c in range(0, _tile(source).shape[1], run)]
            case _:
                return []

    def _run_of_row(self, source: Value) -> int:
        """How wide the operand of a `reduce` is read by a thread that folds it alone."""
        views = [load.operands[0] for load in loads_of(self._cg, source)]
        return self._cg.vectors.widest(views, _tile(source).shape[1]).vector

    def _result(self, op: Op, request: Request, operands: list[str]) -> str:
        """The op's elements, from those that it needs."""
        cg, (value, place, width) = self._cg, request
        if OPS[op.name].elementwise:
            return elementwise(cg, op, operands, width)
        element = _tile(value).element
        match op.name:
            case "load":
                window = cg.windows[op.operands[0]]
                condition = memory.valid(cg, window, place)
                return access.load(cg, window.memory, memory.address(cg, window, place), width, condition)
            case "splat":
                return cg.splat(cg.scalars[op.operands[0]], element, width)
            case "broadcast":
                repeats = _tile(op.operands[0]).shape[-1] == 1
                return cg.splat(operands[0], element, width) if repeats else operands[0]
            case "iota":
                return self._position(place, op.attrs["axis"], width)
            case "transpose":
                return cg.gathered(operands, cg.type(element))
            case "tril":
                return self._lower_triangle(operands[0], element, place, width)
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

    def _position(self, place: Place, axis: int, width: int) -> str:
        """The index along an axis as i32."""
        cg, coord = self._cg, place[axis]
        if axis < len(place) - 1 or width == 1:
            return cg.splat(index.operand(cg, coord), I32, width)
        return index.positions(cg, coord, width)

    def _lower_triangle(self, operand: str, element: ScalarType, place: Place, width: int) -> str:
        cg = self._cg
        row, column = self._position(place, 0, width), self._position(place, 1, width)
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
            elements.append(access.load(cg, buffer, memory.advanced(cg, buffer, start, offset), 1))
        return cg.gathered(elements, cg.type(buffer.element))


def _extend(element: ScalarType) -> str:
    return "zext" if element.kind is Kind.UINT else "sext"


def _tile(value: Value) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type
