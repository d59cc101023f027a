"""The state of a kernel being generated: what can be read and written where, and how large its values may be.

Every float value is a small integer. A tile never holds more than its `cap` in magnitude: an expression that may be
larger is clamped before it is assigned, also inside loops, so every sum is exact in any order. Integers wrap, and need
no cap; they are masked before they become floats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hypothesis import strategies as st

from phobos_core.language.types import SPELLED

T = TypeVar("T")
Shape = tuple[int, ...]

FLOATS = ("f32", "f16", "bf16", "f64")
INTEGERS = ("i32", "i8", "i64")
UNSIGNED = ("u8", "u16", "u32")
# The largest magnitude below which sums of integers are exact.
EXACT = {"f32": 2**24, "f16": 2**11, "bf16": 2**8, "f64": 2**50}
CAP = 4
# How far a value may differ, and what the control around a statement depends on.
UNIFORM, WARP, LANE = 0, 1, 2
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
    root: str = ""  # what a view is a view of
    inside: bool = True  # all of it exists, so that single elements may be read and written

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def memory(self) -> str:
        return self.root or self.name


@dataclass(frozen=True)
class Value:
    text: str
    bound: int  # of a float's magnitude; 0 for integers


@dataclass(frozen=True)
class Scalar:
    """A value of each thread, as an expression or a name; `bound` as of a `Value`."""

    text: str
    type: str  # "index", "bool" or an element type
    spread: int
    bound: int = 0
    mutable: bool = False


@dataclass
class Program:
    """`uses` says of the memory that single threads use since the last barrier whether each keeps to its own elements,
    by which division of them, or they read each other's: the two never meet without a barrier between."""

    draw: Any
    inputs: list[Place]
    in_range: bool  # slices of inputs stay inside the extents
    approximate: bool = False
    threads: int = 256
    statements: Sequence[Callable[[Program], None]] = ()  # of nested bodies
    control: int = UNIFORM
    uses: dict[str, str] = field(default_factory=dict)
    scalars: list[Scalar] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    extras: set[str] = field(default_factory=set)  # parameters and attributes that statements ask for
    may_return: bool = True
    left: bool = False  # some blocks may have ended
    inlined: int = 0  # bodies of functions around
    marks: list[tuple[int, int]] = field(default_factory=list)  # lines of uniform control, with their depth
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
        """A name that nothing has, and that is no type's, as `f` with 32 would be."""
        self.names += 1
        name = f"{prefix}{self.names}"
        return self.fresh(prefix) if name in SPELLED else name

    @property
    def whole_warps(self) -> bool:
        return self.threads % 32 == 0

    def emit(self, text: str) -> None:
        if self.control == UNIFORM and not self.inlined and not text.startswith("}"):
            self.marks.append((len(self.lines), self.depth))
        self.lines.append("  " * self.depth + text)

    def barrier(self) -> None:
        self.emit("barrier()")
        self.uses = {}

    def settle(self) -> None:
        """Before the control of a whole CTA splits, meets or turns back."""
        if self.uses and self.control == UNIFORM:
            self.barrier()

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is declared inside goes out of scope at the end."""
        kept = list(self.places), list(self.integers), list(self.variables), list(self.scalars), self.control
        yield
        self.places, self.integers, self.variables, self.scalars, self.control = kept

    @contextmanager
    def block(self, head: str, tail: str = "}", control: int = UNIFORM) -> Iterator[None]:
        """The control inside is at least as varying as that around."""
        if control == UNIFORM:
            self.settle()
        self.emit(head)
        with self.scope():
            self.control = max(self.control, control)
            self.depth += 1
            yield
            self.settle()
            self.depth -= 1
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
