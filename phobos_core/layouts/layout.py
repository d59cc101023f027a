"""A layout: the linear map from hardware coordinates to the row-major index of a tile's element.

Coordinates are named dimensions of power-of-two size, `register`, `lane` and `warp` for values; the tile's extents are
powers of two, so that the row-major index is the concatenation of the axes' bits, the last axis lowest.
A zero column means that the coordinate does not matter: all its values hold the same element.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from phobos_core.layouts import gf2

HARDWARE = ("register", "lane", "warp")


@dataclass(frozen=True, slots=True)
class Layout:
    """`columns` has, for each name of `dims` in order, as many columns as the dimension has bits."""

    shape: tuple[int, ...]
    dims: tuple[str, ...]
    columns: tuple[gf2.Columns, ...]

    def __post_init__(self) -> None:
        if any(n < 1 or n & (n - 1) for n in self.shape):
            raise ValueError(f"a linear layout has extents that are powers of two, not {self.shape}")
        if len(self.dims) != len(self.columns):
            raise ValueError("a layout has columns for each of its dimensions")
        if any(column >= prod(self.shape) for columns in self.columns for column in columns):
            raise ValueError("a column lies outside the tile")

    @property
    def bits(self) -> int:
        """Of an element's index."""
        return prod(self.shape).bit_length() - 1

    @property
    def flat(self) -> gf2.Columns:
        """The columns of all dimensions in a row, the first dimension's lowest."""
        return tuple(column for columns in self.columns for column in columns)

    def of(self, dim: str) -> gf2.Columns:
        return self.columns[self.dims.index(dim)]

    def size(self, dim: str) -> int:
        return 1 << len(self.of(dim))

    def index(self, coordinates: Mapping[str, int]) -> int:
        """The row-major index of the element at these coordinates."""
        result = 0
        for dim, columns in zip(self.dims, self.columns, strict=True):
            result ^= gf2.apply(columns, coordinates.get(dim, 0))
        return result

    def element(self, coordinates: Mapping[str, int]) -> tuple[int, ...]:
        """The element at these coordinates, an index per axis."""
        index = self.index(coordinates)
        found = []
        for extent in reversed(self.shape):
            found.append(index % extent)
            index //= extent
        return tuple(reversed(found))

    @property
    def covers(self) -> bool:
        """Whether every element lies somewhere."""
        return gf2.rank(self.flat) == self.bits

    @property
    def is_one_to_one(self) -> bool:
        """Whether no element lies in two places."""
        return gf2.rank(self.flat) == len(self.flat)

    def split(self, vector: int) -> dict[str, int]:
        """A flat coordinate vector by dimension."""
        found = {}
        for dim, columns in zip(self.dims, self.columns, strict=True):
            found[dim] = vector & ((1 << len(columns)) - 1)
            vector >>= len(columns)
        return found

    def transposed(self) -> Layout:
        """Of the tile with its two axes swapped, each element where it was."""
        rows, columns = self.shape

        def turned(index: int) -> int:
            return (index % columns) * rows + index // columns

        return Layout((columns, rows), self.dims, tuple(tuple(map(turned, c)) for c in self.columns))

    def sliced(self, axis: int) -> Layout:
        """Of the tile that a reduction along `axis` leaves (extent 1 there): its elements lie where the row lay."""
        below = prod(self.shape[axis + 1 :])
        extent = self.shape[axis]

        def projected(index: int) -> int:
            return index // (below * extent) * below + index % below

        shape = (*self.shape[:axis], 1, *self.shape[axis + 1 :])
        return Layout(shape, self.dims, tuple(tuple(map(projected, c)) for c in self.columns))

    def without_repeats(self, dim: str) -> Layout:
        """With the columns of `dim` that add no element left out: what a reduction's registers need."""
        others = [c for name, cs in zip(self.dims, self.columns, strict=True) if name != dim for c in cs]
        span = gf2.Span(others)
        kept = tuple(column for column in self.of(dim) if span.add(column))
        columns = tuple(kept if name == dim else cs for name, cs in zip(self.dims, self.columns, strict=True))
        return Layout(self.shape, self.dims, columns)

    def __str__(self) -> str:
        parts = (f"{d}({', '.join(map(str, c))})" for d, c in zip(self.dims, self.columns, strict=True))
        return f"{'x'.join(map(str, self.shape))}: {' '.join(parts)}"


def blocked(
    shape: Sequence[int],
    registers: Sequence[int],
    lanes: Sequence[int],
    warps: Sequence[int],
    *,
    order: Sequence[int] | None = None,
) -> Layout:
    """Each thread a block of `registers` neighbouring elements, lanes and warps side by side, repeated over `shape`.

    All are extents per axis, powers of two. `order` lists the axes from the fastest on (the last first, by default): in
    it registers and lanes are numbered. Where the blocks are larger than the tile, the outermost coordinates repeat
    elements (zero columns); where they are smaller, registers repeat the pattern.
    """
    axes = list(order) if order is not None else list(reversed(range(len(shape))))
    strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    used = [1] * len(shape)

    def take(extents: Sequence[int]) -> list[int]:
        columns = []
        for axis in axes:
            for _ in range(extents[axis].bit_length() - 1):
                columns.append(used[axis] * strides[axis] if used[axis] < shape[axis] else 0)
                used[axis] *= 2
        return columns

    held, lane, warp = take(registers), take(lanes), take(warps)
    held += take([max(1, extent // done) for extent, done in zip(shape, used, strict=True)])
    return Layout(tuple(shape), HARDWARE, (tuple(held), tuple(lane), tuple(warp)))
