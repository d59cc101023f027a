"""A virtual tile value evaluated at a run of elements: the recursion that fuses a value tree into its consumer.

In: a value, the coordinates of a run's first element, the run's width. Out: one operand, a vector when the width is
more than 1. A run lies along the last axis. An element that several parts of the tree ask for is evaluated once; an
`Evaluation` therefore lives no longer than the loads that it remembers stay true and dominate.
"""

from __future__ import annotations

from typing import TypeAlias

from phobos_core.codegen import access, index, memory
from phobos_core.codegen.arithmetic import elementwise, select
from phobos_core.codegen.context import Context
from phobos_core.codegen.index import ZERO, Coord
from phobos_core.ir.module import Op, Value
from phobos_core.ir.ops import OPS
from phobos_core.ir.types import TileType
from phobos_core.language.types import I32, Kind, ScalarType

Place: TypeAlias = tuple[Coord, ...]


class Evaluation:
    """`run` numbers the run among those of the thread, which selects the register of a tile with a layout."""

    __slots__ = ("_cg", "_known", "run")

    def __init__(self, cg: Context) -> None:
        self._cg = cg
        self._known: dict[tuple[Value, Place, int], str] = {}
        self.run = 0

    def give(self, value: Value, place: Place, width: int, operand: str) -> None:
        """Says what an anchor's elements are."""
        self._known[value, place, width] = operand

    def at(self, value: Value, place: Place, width: int) -> str:
        registers = self._cg.registers.get(value)
        if registers is not None:
            return registers[self.run]
        key = (value, place, width)
        found = self._known.get(key)
        if found is None:
            op, writer = self._cg.ir.definition[value], self._cg.writer
            consumer = writer.line
            writer.at_line(op.line)
            found = self._known[key] = self._compute(op, place, width)
            writer.at_line(consumer)
        return found

    def in_pieces(self, value: Value, place: Place, width: int, widest: int) -> str:
        """A run evaluated `widest` elements at a time, where its loads may be no wider."""
        if width <= widest:
            return self.at(value, place, width)
        half = width // 2
        low = self.in_pieces(value, place, half, widest)
        high = self.in_pieces(value, (*place[:-1], place[-1].plus(half)), half, widest)
        return self._cg.concatenated(low, high, self._cg.type(_tile(value).element), half)

    def _compute(self, op: Op, place: Place, width: int) -> str:
        cg = self._cg
        if OPS[op.name].elementwise:
            operands = [self.at(v, place, width) for v in op.operands]
            return elementwise(cg, op, operands, width)
        match op.name:
            case "load":
                window = cg.windows[op.operands[0]]
                condition = memory.valid(cg, window, place)
                return access.load(cg, window.memory, memory.address(cg, window, place), width, condition)
            case "splat":
                (scalar,) = op.operands
                return cg.splat(cg.scalars[scalar], _tile(op.results[0]).element, width)
            case "broadcast":
                return self._broadcast(op.operands[0], place, width)
            case "iota":
                return self._position(place, op.attrs["axis"], width)
            case "transpose":
                return self._transposed(op.operands[0], place, width)
            case "tril":
                return self._lower_triangle(op.operands[0], place, width)
            case "gather":
                return self._gathered(op, place, width)
            case _:
                raise AssertionError(f"{op.name} is no value that can be evaluated per element")

    def _broadcast(self, operand: Value, place: Place, width: int) -> str:
        shape = _tile(operand).shape
        inner = tuple(ZERO if extent == 1 else coord for extent, coord in zip(shape, place, strict=True))
        if width > 1 and shape[-1] == 1:
            return self._cg.splat(self.at(operand, inner, 1), _tile(operand).element, width)
        return self.at(operand, inner, width)

    def _position(self, place: Place, axis: int, width: int) -> str:
        """The index along an axis as i32."""
        cg, coord = self._cg, place[axis]
        if axis < len(place) - 1 or width == 1:
            return cg.splat(index.operand(cg, coord), I32, width)
        return index.positions(cg, coord, width)

    def _transposed(self, operand: Value, place: Place, width: int) -> str:
        row, column = place
        elements = [self.at(operand, (column.plus(i), row), 1) for i in range(width)]
        return self._cg.gathered(elements, self._cg.type(_tile(operand).element))

    def _lower_triangle(self, operand: Value, place: Place, width: int) -> str:
        cg, element = self._cg, _tile(operand).element
        row, column = self._position(place, 0, width), self._position(place, 1, width)
        kept = cg.writer.pure(f"icmp sle {cg.type(I32, width)} {column}, {row}")
        zero = cg.constant(0, element, width)
        return select(cg, element, [kept, self.at(operand, place, width), zero], width)

    def _gathered(self, op: Op, place: Place, width: int) -> str:
        cg = self._cg
        table, *offsets, indices, _ = op.operands
        buffer = cg.memories[table]
        start = memory.element_pointer(cg, buffer, offsets)
        position = _tile(indices).element
        type = cg.type(position)
        elements = []
        for number in cg.lanes(self.at(indices, place, width), type, width):
            wide = number if cg.bits(position) == 64 else cg.writer.pure(f"{_extend(position)} {type} {number} to i64")
            offset = index.mul(cg, "i64", wide, str(buffer.element.bytes))
            elements.append(access.load(cg, buffer, memory.advanced(cg, buffer, start, offset), 1))
        return cg.gathered(elements, cg.type(buffer.element))


def _extend(element: ScalarType) -> str:
    return "zext" if element.kind is Kind.UINT else "sext"


def _tile(value: Value) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type
