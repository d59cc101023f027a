"""The state of a kernel being generated: what can be read and written where, and how large its values may be.

Every float value is a small integer. A tile never holds more than its `cap` in magnitude: an expression that may be
larger is clamped before it is assigned, also inside loops, so every sum is exact in any order. Integers wrap, and need
no cap; they are masked before they become floats.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
Shape = tuple[int, ...]

FLOATS = ("f32", "f16", "bf16", "f64")
INTEGERS = ("i32", "i8", "i64")
UNSIGNED = ("u8", "u16", "u32")
# The largest magnitude below which sums of integers are exact.
EXACT = {"f32": 2**24, "f16": 2**11, "bf16": 2**8, "f64": 2**50}
CAP = 4
EXTENTS = [1, 2, 3, 4, 5, 7, 8, 12, 16]


@dataclass(frozen=True)
class Place:
    """What a name stands for: a tile, a view of a tensor or a tile, or a tensor with its dimensions as declared."""

    name: str
    element: str
    shape: Shape
    kind: str  # "tile", "view" or "tensor"
    writable: bool
    dims: tuple[str, ...] = ()

    @property
    def rank(self) -> int:
        return len(self.shape)


@dataclass(frozen=True)
class Value:
    text: str
    bound: int  # of a float's magnitude; 0 for integers


@dataclass
class Program:
    draw: Any
    inputs: list[Place]
    in_range: bool  # slices of inputs stay inside the extents
    approximate: bool = False
    places: list[Place] = field(default_factory=list)
    integers: list[str] = field(default_factory=list)  # uniform scalars of small magnitude
    variables: list[str] = field(default_factory=list)  # of the loops around
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    loops: int = 0
    names: int = 0

    def pick(self, choices: Sequence[T]) -> T:
        return self.draw(st.sampled_from(choices))  # type: ignore[no-any-return]

    def integer(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))  # type: ignore[no-any-return]

    def chance(self, of: int = 2) -> bool:
        return self.integer(1, of) == 1

    def draw_order(self, choices: Sequence[T]) -> list[T]:
        return self.draw(st.permutations(choices))  # type: ignore[no-any-return]

    def fresh(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def emit(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    @contextmanager
    def block(self, head: str, tail: str = "}") -> Iterator[None]:
        """What is declared inside goes out of scope at the end."""
        self.emit(head)
        places, integers, variables = list(self.places), list(self.integers), list(self.variables)
        self.depth += 1
        yield
        self.depth -= 1
        self.places, self.integers, self.variables = places, integers, variables
        if tail:
            self.emit(tail)

    def shape(self, rank: int | None = None) -> Shape:
        rank = rank or self.pick([1, 2, 2, 2, 2, 3])
        if rank == 2 and self.chance(12):
            return self.pick([(1, 64), (40, 1), (32, 32), (13, 31)])
        return tuple(self.pick(EXTENTS if rank < 3 else [1, 2, 3, 4]) for _ in range(rank))

    def element(self) -> str:
        """One that expressions compute in; mostly one of the inputs', so that values meet."""
        mine = [p.element for p in self.inputs if p.element not in UNSIGNED]
        return self.pick([*mine, *mine, *FLOATS, *INTEGERS])


def is_float(element: str) -> bool:
    return element in FLOATS


def literal(number: int, element: str) -> str:
    return f"{number}.0" if is_float(element) else str(number)


def clamped(value: Value, element: str, cap: int = CAP) -> Value:
    if not is_float(element) or value.bound <= cap:
        return value
    return Value(f"min(max({value.text}, -{cap}.0), {cap}.0)", cap)


def room(element: str) -> int:
    return EXACT.get(element, 2**62) // 4
