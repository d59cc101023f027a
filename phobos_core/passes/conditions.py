"""Leaves out the `where`s whose condition holds, or fails, for every element.

In: any kernel; best after loops are split, since a mask such as `iota(1) < N - k` holds throughout a whole tile.
Out: the kernel with those selects replaced by the branch that they take.
"""

from __future__ import annotations

from dataclasses import replace

from phobos_core.ir.integers import Integers, Linear, Range, of_kernel
from phobos_core.ir.module import Kernel, Op, Value
from phobos_core.ir.rewrite import Index, edit, indexed, without_unused
from phobos_core.ir.types import TileType, element_of
from phobos_core.language.types import INDEX

# a < b as the sign of b - a - 1, and so on: (which operand comes first in the difference, what is subtracted).
_AT_LEAST = {"lt": (1, 0, 1), "le": (1, 0, 0), "gt": (0, 1, 1), "ge": (0, 1, 0)}
_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}


def fold_conditions(kernel: Kernel) -> Kernel:
    index = indexed(kernel.body)
    selects = [op for op in index.ops if op.name == "select" and isinstance(op.result.type, TileType)]
    if not selects:
        return kernel
    known = _Conditions(index, of_kernel(kernel))
    values: dict[Value, Value] = {}
    for op in selects:
        holds = known.holds(op.operands[0])
        if holds is not None:
            values[op.result] = op.operands[1 if holds else 2]
    if not values:
        return kernel
    return replace(kernel, body=without_unused(edit(kernel.body, values=values)))


class _Conditions:
    def __init__(self, index: Index, facts: Integers) -> None:
        self.index = index
        self.facts = facts

    def holds(self, condition: Value) -> bool | None:
        """Whether a tile of bools is true everywhere (True) or nowhere (False)."""
        op = self.index.definition.get(condition)
        match op.name if op else "":
            case "and" | "or":
                assert op is not None
                neutral = op.name == "and"
                sides = [self.holds(v) for v in op.operands]
                if (not neutral) in sides:
                    return not neutral
                return neutral if sides == [neutral, neutral] else None
            case "broadcast":
                assert op is not None
                return self.holds(op.operands[0])
            case "cmp":
                assert op is not None
                return self.compared(op)
            case _:
                return None

    def compared(self, op: Op) -> bool | None:
        predicate = op.attrs["predicate"]
        sides = [form for v in op.operands if (form := self.linear(v)) is not None]
        if predicate not in _AT_LEAST or len(sides) != 2:
            return None
        for holds in (True, False):
            more, less, by = _AT_LEAST[predicate if holds else _OPPOSITE[predicate]]
            difference = sides[more].minus(sides[less]).plus(Linear({}, -by))
            if self.facts.never_negative(difference):
                return holds
        return None

    def linear(self, tile: Value) -> Linear | None:
        """What every element of an integer tile is, in terms of scalars and of `iota`s. Computed as index, it is
        exact."""
        op = self.index.definition.get(tile)
        if op is None or not isinstance(tile.type, TileType):
            return None
        match op.name:
            case "iota":
                self.facts.declare(tile, Range(0, tile.type.shape[op.attrs["axis"]] - 1))
                return Linear({tile: 1}, 0)
            case "splat" if element_of(tile.type) == INDEX:
                return self.facts.linear(op.operands[0])
            case "broadcast":
                return self.linear(op.operands[0])
            case "convert" if element_of(tile.type) == INDEX:
                return self.linear(op.operands[0])
            case "add" | "sub" if element_of(tile.type) == INDEX:
                a, b = (self.linear(v) for v in op.operands)
                return None if a is None or b is None else a.plus(b, 1 if op.name == "add" else -1)
            case _:
                return None
