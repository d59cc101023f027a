"""What the lanes of a warp touch together: passes over the banks of shared memory, sectors of global memory.

In: the form of an access's address, its bytes, the threads that make it. Out: for each warp the degree of each phase,
or the sectors. What is not known of an address moves all lanes alike (and then matters by its remainder only), or
sets lanes apart: by so much that two lanes meet only where they have the same multiple of it, or by nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import gcd
from typing import TypeAlias

from phobos_core.layouts.memory import BANKS, LANES, WORD, phase_visits
from phobos_core.report.accesses.forms import Form, Vector, multiple_of
from phobos_core.report.accesses.logic import NO
from phobos_core.report.accesses.operations import Need, need

SECTOR = 32
BANK_ROW = BANKS * WORD
# What sets lanes apart by an unknown distance: more than any other does, and a multiple of all that matters here.
_APART = 1 << 40

# Of the lanes of a warp, None for one that makes no access.
Addresses: TypeAlias = tuple[int | None, ...]


def distances(address: Form) -> Form:
    """What is not known of an address and not the same for all threads."""
    return Form(0, {m: c for m, c in address.terms.items() if not isinstance(c, int)})


def warps(address: Form, active: Vector, threads: int, modulus: int, *, near: bool = False) -> Iterator[Addresses]:
    """The addresses of each warp that makes an access, right modulo `modulus` and as to which lanes meet. `near`: where
    nothing sets them apart.

    Raises a `Need` where what is not known of one decides that.
    """
    apart = distances(address)
    if any(multiple_of(c) % modulus for c in apart.terms.values()):
        raise need(apart, modulus)
    choice = next((atom for atom in apart.atoms if atom.kind == "choice"), None)
    if choice is not None:
        # One of two distances, and not any.
        raise Need(choice, 0)
    addresses = address.constant
    if apart.terms and not near:
        # Threads that are moved alike by what is not known, by number.
        alike: dict[tuple[int, ...], int] = {}
        moved = zip(*(_every(c, threads) for c in apart.terms.values()), strict=True)
        numbers = [alike.setdefault(each, len(alike)) for each in moved]
        addresses = tuple([a + n * _APART for a, n in zip(_every(addresses, threads), numbers, strict=True)])
    for first in range(0, threads, LANES):
        lanes: Addresses = _part(addresses, first, min(LANES, threads - first))
        makes = _part(active, first, len(lanes))
        if NO in makes:
            lanes = tuple([None if made == NO else a for a, made in zip(lanes, makes, strict=True)])
        if any(made != NO for made in makes):
            yield lanes


def _every(vector: Vector, threads: int) -> tuple[int, ...]:
    return (vector,) * threads if isinstance(vector, int) else vector


def _part(vector: Vector, first: int, count: int) -> tuple[int, ...]:
    return (vector,) * count if isinstance(vector, int) else vector[first : first + count]


def shifts(address: Form, modulus: int) -> range:
    """What the part that is not known, and the same for all lanes, may be modulo `modulus`."""
    return range(0, modulus, gcd(modulus, *(c for c in address.terms.values() if isinstance(c, int))))


def bank_phases(addresses: Addresses, size: int) -> tuple[int, ...]:
    """The degree of each phase of one access of a warp."""
    return _phases(_from_first(addresses, WORD), size)


@lru_cache(maxsize=4096)
def _phases(addresses: Addresses, size: int) -> tuple[int, ...]:
    return tuple(phase_visits(addresses, size))


def sectors(addresses: Addresses, size: int, by: Sequence[int]) -> list[int]:
    """How many 32-byte sectors one access of a warp touches, moved by each of `by` bytes."""
    alike = _from_first(addresses, SECTOR)
    return [_sectors(alike, size, shift) for shift in by]


@lru_cache(maxsize=4096)
def _sectors(addresses: Addresses, size: int, by: int) -> int:
    made = [a + by for a in addresses if a is not None]
    return len({a // SECTOR for a in made} | {(a + size - 1) // SECTOR for a in made})


def bytes_touched(addresses: Addresses, size: int) -> int:
    """Different bytes; accesses lie at multiples of their size, and so are one or apart."""
    return len({a for a in addresses if a is not None}) * size


def _from_first(addresses: Addresses, unit: int) -> Addresses:
    """Moved by a multiple of `unit`, so that accesses that are alike are known again."""
    first = next(a for a in addresses if a is not None) // unit * unit
    return addresses if first == 0 else tuple([None if a is None else a - first for a in addresses])


def moved(addresses: Addresses, by: int) -> Addresses:
    return tuple([None if a is None else a + by for a in addresses]) if by else addresses
