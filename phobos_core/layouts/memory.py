"""Tiles in shared memory: how wide an access may be, how many banks it meets, and the placement that suits both sides.

The bank model is that of the hardware: 32 banks of 4 bytes; an access of 8 bytes a lane goes in two phases of 16 lanes,
one of 16 bytes in four phases of 8; a phase takes as many cycles as the most distinct words that fall in one bank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phobos_core.layouts import gf2
from phobos_core.layouts.layout import Layout

BANKS = 32
WORD = 4
LANES = 32
WIDEST = 16


@dataclass(frozen=True, slots=True)
class Placement:
    """`columns` maps the bits of an element's row-major index to those of its offset, in elements, one to one.

    `vector_bits` is log2 of the neighbouring elements of one access.
    """

    columns: gf2.Columns
    vector_bits: int


def row_major(layout: Layout, element_bytes: int) -> Placement:
    """Without a swizzle; accesses as wide as the layout allows."""
    columns = gf2.identity(layout.bits)
    return Placement(columns, vector_bits(layout, columns, element_bytes))


def vector_bits(layout: Layout, columns: Sequence[int], element_bytes: int) -> int:
    """log2 of the most neighbouring offsets that every thread holds together, at most 16 bytes of them."""
    held = gf2.Span(gf2.compose(columns, layout.of("register")))
    bits = 0
    while (element_bytes << (bits + 1)) <= WIDEST and bits < layout.bits and 1 << bits in held:
        bits += 1
    return bits


def phase_visits(addresses: Sequence[int | None], width: int) -> list[int]:
    """For each phase of one access of a warp, how many times over it goes: 1 is free of conflicts.

    `addresses` are the lanes' byte addresses, multiples of `width`, the bytes of each lane's access; None for a lane
    that makes none. Lanes that read the same word share it. A phase without an access is left out.
    """
    lanes_a_phase = min(LANES, LANES * WORD // max(width, WORD))
    found = []
    for first in range(0, len(addresses), lanes_a_phase):
        words = {
            (address + byte) // WORD
            for address in addresses[first : first + lanes_a_phase]
            if address is not None
            for byte in range(0, width, WORD)
        }
        if not words:
            continue
        by_bank = [0] * BANKS
        for word in words:
            by_bank[word % BANKS] += 1
        found.append(max(by_bank))
    return found


def bank_degree(addresses: Sequence[int], width: int) -> int:
    """Of the slowest phase."""
    return max(phase_visits(addresses, width))


def access_degree(layout: Layout, placement: Placement, element_bytes: int) -> int:
    """The bank degree of the accesses by which a warp reads or writes its part of the tile."""
    lanes = gf2.compose(placement.columns, layout.of("lane"))
    run = (1 << placement.vector_bits) - 1
    addresses = [(gf2.apply(lanes, lane) & ~run) * element_bytes for lane in range(1 << len(lanes))]
    return bank_degree(addresses, element_bytes << placement.vector_bits)


def swizzle(write: Layout, read: Layout, element_bytes: int) -> Placement:
    """A placement by which both layouts pass through shared memory as wide as both allow, without conflicts.

    The offset's bits are, from the lowest: the elements of a vector, which both sides hold in registers, and what else
    a word holds; the bank; the row of banks. Lanes of a phase that differ in the row must differ in the bank, so no
    direction of the rows may lie in the span of the lanes and the word
    (Zhou et al., 2025, on optimal swizzling). The rows' directions are picked one by one outside both sides' spans: a
    space is never the union of two proper subspaces, so there is one as long as neither side is exhausted.
    """
    if write.shape != read.shape:
        raise ValueError(f"layouts of {write.shape} and {read.shape}")
    dimension = write.bits
    shared = gf2.intersection(write.of("register"), read.of("register"))
    vector = _contiguous_first(shared)[: (WIDEST // element_bytes).bit_length() - 1]
    width, together = element_bytes << len(vector), len(vector)
    phase = (min(LANES, LANES * WORD // max(WORD, width))).bit_length() - 1
    lanes = [side.of("lane")[:phase] for side in (write, read)]
    vector += _within_word(vector, lanes, dimension)[: (max(WORD, width) // width).bit_length() - 1]
    sides = [gf2.Span([*vector, *lane]) for lane in lanes]
    taken = gf2.Span(vector)
    rows: list[int] = []
    bank_bits = (BANKS * WORD // max(WORD, width)).bit_length() - 1
    for _ in range(dimension - len(vector) - bank_bits):
        direction = _outside(sides, taken, dimension)
        rows.append(direction)
        for span in (taken, *sides):
            span.add(direction)
    # Among the banks any directions do: lanes differ in them because the rows keep clear.
    banks = gf2.complement([*vector, *rows], dimension)
    columns = gf2.inverse([*vector, *banks, *rows], dimension)
    assert columns is not None
    return Placement(columns, together)


def _contiguous_first(vectors: Sequence[int]) -> list[int]:
    """A basis of the span with its unit vectors first, lowest first: neighbours in the tile stay neighbours."""
    span = gf2.Span(vectors)
    top = max((v.bit_length() for v in vectors), default=0)
    units = [1 << bit for bit in range(top) if 1 << bit in span]
    found = gf2.Span(units)
    return units + [v for v in vectors if found.add(v)]


def _within_word(vector: Sequence[int], lanes: Sequence[Sequence[int]], dimension: int) -> list[int]:
    """Directions for what a word has room for beside a narrower vector: lanes that share a word never conflict, so
    those in which both sides' lanes differ come first."""
    span = gf2.Span(vector)
    return [v for v in (*gf2.intersection(*lanes), *gf2.identity(dimension)) if span.add(v)]


def _outside(sides: Sequence[gf2.Span], taken: gf2.Span, dimension: int) -> int:
    """A vector outside both sides' spans; where a side has become the whole space, outside as much as can be."""
    open_sides = [side for side in sides if side.dimension < dimension] or [taken]
    first, last = open_sides[0], open_sides[-1]
    units = gf2.identity(dimension)[::-1]
    for unit in units:
        if unit not in first and unit not in last:
            return unit
    return next(u for u in units if u not in first) ^ next(u for u in units if u not in last)
