"""Elements of vectors, taken out no sooner than they are used: alone, repeated, or together with others.

LLVM's passes look at each instruction several times, so a vector that stays whole until the target splits it is
several times less work than its elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from phobos_core.codegen.context import Context


class Lane(NamedTuple):
    """Element `number` of a vector of `width`."""

    vector: str
    width: int
    number: int


def lanes(vector: str, width: int) -> list[Lane]:
    return [Lane(vector, width, number) for number in range(width)]


def scalar(cg: Context, lane: Lane, type: str) -> str:
    """The element alone."""
    return cg.part(lane.vector, type, lane.width, lane.number, 1)


def repeated(cg: Context, lane: Lane, type: str, count: int) -> str:
    """`count` copies of the element."""
    if count == 1 or lane.width == 1:
        return cg.splat_typed(scalar(cg, lane, type), type, count)
    numbers = ", ".join([f"i32 {lane.number}"] * count)
    source = f"<{lane.width} x {type}>"
    return cg.writer.pure(f"shufflevector {source} {lane.vector}, {source} poison, <{count} x i32> <{numbers}>")


def together(cg: Context, elements: Sequence[Lane], type: str) -> str:
    """The vector of these elements, a power of two of them."""
    first, count = elements[0], len(elements)
    if all(e == first._replace(number=first.number + i) for i, e in enumerate(elements)):
        return cg.part(first.vector, type, first.width, first.number, count)
    if all(e.width == first.width and e.number == first.number for e in elements):
        return cg.picked([e.vector for e in elements], type, first.width, first.number)
    return cg.gathered([scalar(cg, e, type) for e in elements], type)
