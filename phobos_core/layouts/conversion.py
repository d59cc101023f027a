"""What takes a tile from one layout to another: nothing, moves between a thread's registers, shuffles, shared memory.

For each place of the target layout the source has a place that holds the same element. Of all such choices the one is
taken that stays in the warp, then in the lane, where the maps allow it: the quotient of the two maps.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from phobos_core.layouts import gf2
from phobos_core.layouts.layout import Layout


class Exchange(Enum):
    """The cheapest means that suffices, cheapest first."""

    NOTHING = "nothing"
    REGISTERS = "register moves"
    SHUFFLES = "warp shuffles"
    SHARED = "shared memory"


@dataclass(frozen=True, slots=True)
class Conversion:
    """`sources` maps target coordinates (register, lane, warp bits, in that order) to source coordinates."""

    source: Layout
    target: Layout
    sources: gf2.Columns
    exchange: Exchange

    def source_of(self, register: int, lane: int, warp: int) -> dict[str, int]:
        """Where the element of that place of the target lies in the source."""
        registers, lanes = len(self.target.of("register")), len(self.target.of("lane"))
        flat = register | lane << registers | warp << (registers + lanes)
        return self.source.split(gf2.apply(self.sources, flat))


def conversion(source: Layout, target: Layout) -> Conversion:
    """Raises ValueError where the layouts are of different tiles, or the source lacks an element."""
    if source.shape != target.shape:
        raise ValueError(f"layouts of {source.shape} and {target.shape}")
    if not source.covers:
        raise ValueError("the source does not hold every element")
    sources = tuple(column for dim in target.dims for column in _dimension(source, target, dim, target.of(dim)))
    return Conversion(source, target, sources, _exchange(source, target, sources))


def _dimension(source: Layout, target: Layout, dim: str, columns: gf2.Columns) -> list[int]:
    """For each bit of a target dimension, source coordinates that hold its element: its own bit where that works."""
    registers, lanes = len(source.of("register")), len(source.of("lane"))
    own_bits = {
        "register": range(registers),
        "lane": range(registers, registers + lanes),
        "warp": range(registers + lanes, len(source.flat)),
    }[dim]
    flat = source.flat
    held = flat[:registers]
    within_warp = flat[: registers + lanes]
    found = []
    for position, column in enumerate(columns):
        own = own_bits[position] if position < len(own_bits) else None
        choices = []
        if own is not None:
            # The same lane or warp bit, with register moves, or with shuffles, making up the difference.
            for means in (held, within_warp):
                rest = gf2.solve(means, column ^ flat[own])
                if rest is not None:
                    choices.append(rest ^ 1 << own)
        for means in (held, within_warp, flat):
            rest = gf2.solve(means, column)
            if rest is not None:
                choices.append(rest)
        found.append(choices[0])
    return found


def _exchange(source: Layout, target: Layout, sources: gf2.Columns) -> Exchange:
    registers, lanes = len(target.of("register")), len(target.of("lane"))
    same_registers = len(source.of("register")) == registers
    by_bit = [source.split(column) for column in sources]
    for position, place in enumerate(by_bit):
        warp = 1 << (position - registers - lanes) if position >= registers + lanes else 0
        if place["warp"] != warp:
            return Exchange.SHARED
    for position, place in enumerate(by_bit):
        lane = 1 << (position - registers) if registers <= position < registers + lanes else 0
        if place["lane"] != lane:
            return Exchange.SHUFFLES
    for position, place in enumerate(by_bit):
        if place["register"] != (1 << position if position < registers else 0):
            return Exchange.REGISTERS
    return Exchange.NOTHING if same_registers else Exchange.REGISTERS
