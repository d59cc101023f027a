"""Types of tile IR values.

Scalars use `language.types.ScalarType`. A tile is a value; memory is behind a `MemType` handle and is read and
written through a `ViewType`, ordered by `Token`s.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal, TypeAlias

from phobos_core.language.targets import LANES
from phobos_core.language.types import ScalarType

Space: TypeAlias = Literal["global", "shared"]


@dataclass(frozen=True, slots=True)
class Cyclic:
    """Distribution over threads, row-major: thread t holds the runs of `vector` elements number t, t + threads, ...

    Element e of the tile (row-major) is in thread (e / vector) % threads. Fits any extent; the last runs may be
    missing in some threads. `@registers` fixes vector = 1. Of a tile of few runs thread number `first` may have the
    first one, and no thread before it or past the runs any.
    """

    threads: int
    vector: int
    first: int = 0

    def __str__(self) -> str:
        return f"cyclic<{self.threads}, {self.vector}{f', {self.first}' if self.first else ''}>"


@dataclass(frozen=True, slots=True)
class Patches:
    """Distribution as the products of a contraction arise: a grid of `rows` x `columns` patches, each `tm` x `tn`.

    Thread t has patch number t and, where patches outnumber threads, t + threads, ... . They are numbered row by row;
    with `across`, warp by warp: 32 numbers are a block of `across` patches side by side in each of 32 / across rows, so
    that a warp reads little of either operand. Patch (r, c) is the runs of `height` rows number r, r + rows, ... (tm
    rows in all) and the runs of `vector` columns number c, c + columns, ... (tn columns in all); a thread holds its
    runs of columns patch by patch, row by row. Fits any extents that `height` and `vector` divide: a place past them
    holds a copy of the last element's rows or run, and a thread without a patch holds nothing of use.
    """

    threads: int
    tm: int
    tn: int
    rows: int
    columns: int
    vector: int
    height: int = 1
    across: int = 0

    def place(self, number: int) -> tuple[int, int]:
        """The row and the column, in the grid, of a patch."""
        if not self.across:
            return divmod(number, self.columns)
        block, lane = divmod(number, LANES)
        row, column = divmod(block, self.columns // self.across)
        return row * (LANES // self.across) + lane // self.across, column * self.across + lane % self.across

    @property
    def turns(self) -> int:
        """How many patches a thread has, the last perhaps missing."""
        return -(-self.rows * self.columns // self.threads)

    @property
    def row_layout(self) -> Rows:
        """Of the tile that has one element for each row of this one."""
        return Rows(self.threads, self.tm, self.rows, self.columns, self.height, self.across)

    def covers(self, shape: tuple[int, ...]) -> bool:
        """Whether the patches make up a tile of this shape without a place past its extents."""
        return shape == (self.rows * self.tm, self.columns * self.tn)

    def __str__(self) -> str:
        return _spelled("patches", self.threads, self.tm, self.tn, self.rows, self.columns, self.vector, *_order(self))


@dataclass(frozen=True, slots=True)
class Rows:
    """Distribution of an [R, 1] tile beside tiles in `Patches`: a thread holds the rows of its patches.

    The threads of one row of patches hold the same elements. A place past the extent holds a copy of the last element's
    run of rows.
    """

    threads: int
    tm: int
    rows: int
    columns: int
    height: int = 1
    across: int = 0

    @property
    def patches(self) -> Patches:
        """The same distribution: of patches one element wide, all those of a row but the first past the extent."""
        return Patches(self.threads, self.tm, 1, self.rows, self.columns, 1, self.height, self.across)

    @property
    def turns(self) -> int:
        return self.patches.turns

    @property
    def vector(self) -> int:
        return 1

    def __str__(self) -> str:
        return _spelled("rows", self.threads, self.tm, self.rows, self.columns, *_order(self))


def _order(layout: Patches | Rows) -> tuple[int, ...]:
    """What need not be said where it is as usual."""
    return (layout.height, layout.across) if (layout.height, layout.across) != (1, 0) else ()


def _spelled(name: str, *numbers: int) -> str:
    return f"{name}<{', '.join(map(str, numbers))}>"


# How a tile value lies in registers: in runs of `vector` neighbouring elements, an equal number in each thread.
Layout: TypeAlias = Cyclic | Patches | Rows


@dataclass(frozen=True, slots=True)
class TileType:
    """A tile of static shape. Without a layout the value is virtual: whoever consumes it evaluates it per element."""

    element: ScalarType
    shape: tuple[int, ...]
    layout: Layout | None = None

    @property
    def runs(self) -> int:
        """How many runs of a tile with a layout a thread holds, the last perhaps missing."""
        match self.layout:
            case Cyclic(threads, vector):
                return -(-prod(self.shape) // (threads * vector))
            case Patches() as layout:
                return layout.turns * layout.tm * (layout.tn // layout.vector)
            case Rows() as layout:
                return layout.turns * layout.tm
            case None:
                raise AssertionError("a virtual tile is held by no thread")

    def __str__(self) -> str:
        layout = f", {self.layout}" if self.layout else ""
        return f"tile<{self.element}>[{'x'.join(map(str, self.shape))}{layout}]"


@dataclass(frozen=True, slots=True)
class MemType:
    """A buffer: a tensor parameter (global) or an allocation of the CTA (shared). `None` is a dynamic extent."""

    element: ScalarType
    shape: tuple[int | None, ...]
    space: Space

    def __str__(self) -> str:
        dims = "x".join("?" if d is None else str(d) for d in self.shape)
        return f"mem<{self.element}>[{dims}, {self.space}]"


@dataclass(frozen=True, slots=True)
class ViewType:
    """A window of static shape onto a buffer."""

    element: ScalarType
    shape: tuple[int, ...]
    space: Space

    def __str__(self) -> str:
        return f"view<{self.element}>[{'x'.join(map(str, self.shape))}, {self.space}]"


@dataclass(frozen=True, slots=True)
class RunType:
    """Neighbouring elements of a buffer in the registers of one thread, each thread with its own."""

    element: ScalarType
    length: int

    def __str__(self) -> str:
        return f"run<{self.element}>[{self.length}]"


@dataclass(frozen=True, slots=True)
class TokenType:
    def __str__(self) -> str:
        return "token"


TOKEN = TokenType()

Type: TypeAlias = ScalarType | TileType | MemType | ViewType | RunType | TokenType


def element_of(type: Type) -> ScalarType:
    """The scalar type of a scalar, tile, view, buffer or run. Raises TypeError on a token."""
    match type:
        case ScalarType():
            return type
        case TileType() | MemType() | ViewType() | RunType():
            return type.element
        case TokenType():
            raise TypeError("a token has no element type")


def with_element(type: Type, element: ScalarType) -> Type:
    """The same scalar-or-tile shape (and layout) with another element type."""
    match type:
        case ScalarType():
            return element
        case TileType():
            return TileType(element, type.shape, type.layout)
        case _:
            raise TypeError(f"{type} is neither a scalar nor a tile")
