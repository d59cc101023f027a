"""Linear algebra over GF(2): a vector is an integer whose bit i is coordinate i; addition is xor.

A linear map is the tuple of its columns: the images of the unit vectors 1, 2, 4, ... .
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

Columns: TypeAlias = tuple[int, ...]


def apply(columns: Sequence[int], vector: int) -> int:
    """The image of `vector`. Raises IndexError where it has more coordinates than the map takes."""
    result = 0
    position = 0
    while vector:
        if vector & 1:
            result ^= columns[position]
        vector >>= 1
        position += 1
    return result


def compose(outer: Sequence[int], inner: Sequence[int]) -> Columns:
    """The map that applies `inner`, then `outer`."""
    return tuple(apply(outer, column) for column in inner)


def identity(dimension: int) -> Columns:
    return tuple(1 << i for i in range(dimension))


class Span:
    """The subspace that vectors span, in echelon form; grows by `add`."""

    __slots__ = ("_by_pivot",)

    def __init__(self, vectors: Iterable[int] = ()) -> None:
        # Pivot (bit length) to (reduced vector, which of the added vectors make it up).
        self._by_pivot: dict[int, int] = {}
        for vector in vectors:
            self.add(vector)

    def rest(self, vector: int) -> int:
        """What is left of `vector` when the span's part is taken off: 0 iff it lies in the span."""
        while vector and (row := self._by_pivot.get(vector.bit_length())) is not None:
            vector ^= row
        # A lower pivot may still occur below a leading bit that no row has.
        if vector:
            lead = 1 << (vector.bit_length() - 1)
            return lead | self.rest(vector ^ lead)
        return 0

    def add(self, vector: int) -> bool:
        """Whether the vector was new to the span."""
        rest = self.rest(vector)
        if rest:
            self._by_pivot[rest.bit_length()] = rest
        return bool(rest)

    def __contains__(self, vector: int) -> bool:
        return self.rest(vector) == 0

    @property
    def dimension(self) -> int:
        return len(self._by_pivot)

    def basis(self) -> list[int]:
        return list(self._by_pivot.values())


def rank(vectors: Iterable[int]) -> int:
    return Span(vectors).dimension


def complement(vectors: Iterable[int], dimension: int) -> list[int]:
    """Unit vectors that together with the span of `vectors` make up the whole space."""
    span = Span(vectors)
    return [unit for unit in identity(dimension) if span.add(unit)]


def solve(columns: Sequence[int], target: int) -> int | None:
    """An x with `apply(columns, x) == target`, that uses the first columns that will do; None if there is none."""
    rows: dict[int, tuple[int, int]] = {}
    for position, column in enumerate(columns):
        vector, made_of = _reduced(rows, column, 1 << position)
        if vector:
            rows[vector.bit_length()] = (vector, made_of)
    vector, made_of = _reduced(rows, target, 0)
    return None if vector else made_of


def inverse(columns: Sequence[int], dimension: int) -> Columns | None:
    """A right inverse: for each unit vector of the target space a vector that maps to it. None if not surjective."""
    found = [solve(columns, unit) for unit in identity(dimension)]
    whole = tuple(x for x in found if x is not None)
    return whole if len(whole) == dimension else None


def kernel(columns: Sequence[int]) -> list[int]:
    """A basis of the vectors that map to 0."""
    rows: dict[int, tuple[int, int]] = {}
    found = []
    for position, column in enumerate(columns):
        vector, made_of = _reduced(rows, column, 1 << position)
        if vector:
            rows[vector.bit_length()] = (vector, made_of)
        else:
            found.append(made_of)
    return found


def intersection(a: Sequence[int], b: Sequence[int]) -> list[int]:
    """A basis of the vectors that lie in both spans."""
    a, b = Span(a).basis(), Span(b).basis()
    return Span(apply(a, x & ((1 << len(a)) - 1)) for x in kernel([*a, *b])).basis()


def _reduced(rows: dict[int, tuple[int, int]], vector: int, made_of: int) -> tuple[int, int]:
    while vector and (row := rows.get(vector.bit_length())) is not None:
        vector ^= row[0]
        made_of ^= row[1]
    return vector, made_of
