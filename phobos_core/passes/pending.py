"""Which accesses of a set conflict with a given one, found without looking at each.

In: the accesses of a kernel, entered as they become known. Out: sets of them as `Bits`, and `Pending.conflicts`.

Accesses are kept by where they are: those of a tensor by the tensor, those of shared memory by the pages of bytes that
they lie in. There, windows of one shape whose starts differ by constants only form a family, kept in cells as large as
the window: what may overlap one of a family's kind is in the cells around it. So the time that a kernel takes grows
with its accesses, not with their pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import TypeAlias

from phobos_core.ir.accesses import FIRST_THREAD, Access, conflict
from phobos_core.ir.module import Value
from phobos_core.ir.regions import Form, Region, disjoint

# A set of accesses: bit n stands for the access that was entered as number n. As an integer it is joined and compared
# at the speed of machine words, and can be a key.
Bits: TypeAlias = int

Cell: TypeAlias = tuple[int, ...]

# Bytes of shared memory that are looked up together.
_PAGE = 2048
# So many are compared one by one.
_FEW = 16


@dataclass(slots=True)
class _Family:
    """Accesses of one kind to windows of one shape, whose starts differ by constants. `around` holds all of them."""

    sample: Access
    around: Region
    members: Bits = 0
    cells: dict[Cell, Bits] = field(default_factory=dict)


@dataclass(slots=True)
class _Place:
    """`waiting` are members that are not in a family yet: none needs to be while there are few."""

    members: Bits = 0
    families: dict[object, _Family] = field(default_factory=dict)
    waiting: list[tuple[Access, Bits]] = field(default_factory=list)


class Pending:
    """All accesses of a kernel."""

    def __init__(self) -> None:
        self._all: list[Access] = []
        self._numbers: dict[Access, int] = {}
        self._places: dict[object, _Place] = {}
        self._places_of: list[list[_Place]] = []
        self._known: dict[tuple[int, int], bool] = {}

    def bit(self, access: Access) -> Bits:
        """The set of this access alone."""
        number = self._numbers.get(access)
        if number is None:
            number = self._numbers[access] = len(self._all)
            self._all.append(access)
            places = [self._places.setdefault(key, _Place()) for key in _where(access)]
            self._places_of.append(places)
            for place in places:
                place.members |= 1 << number
                place.waiting.append((access, 1 << number))
        return 1 << number

    def of(self, bits: Bits) -> Iterator[Access]:
        return (self._all[number] for number in _numbers(bits))

    def conflicts(self, access: Access, bits: Bits) -> bool:
        """Whether `access` conflicts with one of the set."""
        mine = self._numbers[access]
        places = self._places_of[mine]
        together = 0
        for place in places:
            together |= place.members
        together &= bits
        if together.bit_count() <= _FEW:
            return any(self._conflict(mine, other) for other in _numbers(together))
        for place in places:
            for family in _families(place):
                candidates = family.members & bits
                if candidates and _may_conflict(access, family):
                    candidates &= _near(access.region, family)
                    if any(self._conflict(mine, other) for other in _numbers(candidates)):
                        return True
        return False

    def _conflict(self, a: int, b: int) -> bool:
        known = self._known.get((a, b))
        if known is None:
            known = self._known[a, b] = conflict(self._all[a], self._all[b])
        return known


def _families(place: _Place) -> Iterable[_Family]:
    for access, bit in place.waiting:
        key = (access.write, access.threads == FIRST_THREAD, *_kind(access.region), access.region.shape)
        family = place.families.get(key)
        if family is None:
            family = place.families[key] = _Family(access, access.region)
        family.around = _enclosing(family.around, access.region)
        family.members |= bit
        extents = access.region.shape
        cell = tuple(first // extent for first, extent in zip(_constants(access.region), extents, strict=True))
        family.cells[cell] = family.cells.get(cell, 0) | bit
    place.waiting.clear()
    return place.families.values()


def _numbers(bits: Bits) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _where(access: Access) -> Sequence[Value] | Sequence[int]:
    if access.bytes is None:
        return (access.region.buffer,)
    first, end = access.bytes
    return range(first // _PAGE, -(-end // _PAGE))


def _kind(region: Region) -> tuple[object, ...]:
    """Equal for regions of one buffer whose starts differ by constants."""
    return (region.buffer, region.flat, region.stage, *(start and start[0] for start in region.starts))


def _constants(region: Region) -> Iterator[int]:
    return (0 if start is None else start[1] for start in region.starts)


def _may_conflict(access: Access, family: _Family) -> bool:
    sample = family.sample
    if not (access.write or sample.write) or access.threads == sample.threads == FIRST_THREAD:
        return False
    return access.region.buffer is not family.around.buffer or not disjoint(access.region, family.around)


def _near(region: Region, family: _Family) -> Bits:
    """The members that may overlap the region, and perhaps more."""
    if _kind(region) != _kind(family.around):
        return family.members
    axes = [
        range((start - extent + 1) // extent, (start + size - 1) // extent + 1)
        for start, size, extent in zip(_constants(region), region.shape, family.sample.region.shape, strict=True)
    ]
    if prod(map(len, axes)) > len(family.cells):
        return family.members
    near = 0
    for cell in product(*axes):
        near |= family.cells.get(cell, 0)
    return near


def _enclosing(a: Region, b: Region) -> Region:
    """The region that holds both, which are of one kind."""
    starts: list[Form | None] = []
    shape = []
    for start_a, start_b, size_a, size_b in zip(a.starts, b.starts, a.shape, b.shape, strict=True):
        if start_a is None or start_b is None:
            starts.append(None)
            shape.append(max(size_a, size_b))
        else:
            first = min(start_a[1], start_b[1])
            starts.append((start_a[0], first))
            shape.append(max(start_a[1] + size_a, start_b[1] + size_b) - first)
    return replace(a, starts=tuple(starts), shape=tuple(shape))
