"""Types of tile IR values.

Scalars use `language.types.ScalarType`. A tile is a value; memory is behind a `MemType` handle and is read and
written through a `ViewType`, ordered by `Token`s.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal, TypeAlias

from phobos_core.language.types import ScalarType

Space: TypeAlias = Literal["global", "shared"]


@dataclass(frozen=True, slots=True)
class Cyclic:
    """Distribution over threads, row-major: thread t holds the runs of `vector` elements number t, t + threads, ...

    Element e of the tile (row-major) is in thread (e / vector) % threads. Fits any extent; the last runs may be
    missing in some threads. `@registers` fixes vector = 1.
    """

    threads: int
    vector: int

    def __str__(self) -> str:
        return f"cyclic<{self.threads}, {self.vector}>"


# How a tile value lies in registers. A linear layout over GF(2) will be the second kind.
Layout: TypeAlias = Cyclic


@dataclass(frozen=True, slots=True)
class TileType:
    """A tile of static shape. Without a layout the value is virtual: whoever consumes it evaluates it per element."""

    element: ScalarType
    shape: tuple[int, ...]
    layout: Layout | None = None

    @property
    def runs(self) -> int:
        """How many runs of a tile with a layout a thread holds, the last perhaps missing."""
        assert self.layout is not None
        return -(-prod(self.shape) // (self.layout.threads * self.layout.vector))

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
class TokenType:
    def __str__(self) -> str:
        return "token"


TOKEN = TokenType()

Type: TypeAlias = ScalarType | TileType | MemType | ViewType | TokenType


def element_of(type: Type) -> ScalarType:
    """The scalar type of a scalar, tile, view or buffer. Raises TypeError on a token."""
    match type:
        case ScalarType():
            return type
        case TileType() | MemType() | ViewType():
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
