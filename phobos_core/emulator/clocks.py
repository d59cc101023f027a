"""What each warp of a block knows of the others' progress, and the entries that name an access.

Each warp has a clock that a barrier advances, and knows how far each other warp's clock had come at their last
common barrier: an access is ordered before a thread's next one if that thread's warp knows a later clock. The oldest
clock known to all warps of a block is its *floor*; what happened before it is ordered before everything to come.

An *entry* is one integer for "this thread, at this clock, by this instruction". Entries of global memory also name
the block, since all blocks share its shadow.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from phobos_core.emulator.machine import WARP, Active, Geometry, Index, Mask

# An entry from its lowest bit: lane 5, warp 5, flags 4, instruction 12, clock 22, block 15.
THREAD_BITS = (1 << 10) - 1
READ_IN_WARP = 1 << 10
READ_IN_BLOCK = 1 << 11
STRONG = 1 << 12
PENDING = 1 << 13
SITE_SHIFT = 14
SITE_LIMIT = (1 << 12) - 1
CLOCK_SHIFT = 26
CLOCK_MASK = (1 << 22) - 1
BLOCK_SHIFT = 48
MAX_BLOCKS = (1 << 15) - 1


def warp_of(entries: Index) -> Index:
    return (entries >> 5) & (WARP - 1)


def clock_of(entries: Index) -> Index:
    return (entries >> CLOCK_SHIFT) & CLOCK_MASK


def thread_of(entry: int) -> int:
    return entry & THREAD_BITS


@dataclass(frozen=True, slots=True)
class Moment:
    """The active lanes' entries and floors, and the least floor, as they are between two barriers."""

    lanes: Index
    entries: Index
    floors: Index
    least_floor: int
    blocks: Index

    def select(self, chosen: Index) -> Moment:
        return Moment(
            self.lanes[chosen],
            self.entries[chosen],
            self.floors[chosen],
            self.least_floor,
            self.blocks[chosen],
        )


@dataclass(slots=True)
class Clocks:
    geometry: Geometry
    known: Index = field(init=False)
    entries: Index = field(init=False)
    floors: Index = field(init=False)
    block_bits: Index = field(init=False)
    thread: Index = field(init=False)
    version: int = 0
    warps_synced: bool = False
    partly_synced: bool = False

    def __post_init__(self) -> None:
        g = self.geometry
        self.thread = (g.warp_of << 5) | g.lane_of
        self.block_bits = g.block_of << BLOCK_SHIFT
        self.reset()

    def reset(self) -> None:
        g = self.geometry
        self.known = np.ones((g.blocks, g.warps, g.warps), np.int64)
        self.warps_synced = False
        self.partly_synced = False
        self._publish()

    def _publish(self) -> None:
        g = self.geometry
        own = np.einsum("bww->bw", self.known)
        self.entries = self.thread + (own[g.block_of, g.warp_of] << CLOCK_SHIFT)
        self.floors = self.known.min(axis=(1, 2))[g.block_of] << CLOCK_SHIFT
        self.version += 1

    def barrier(self, mask: Mask) -> None:
        """The lanes under the mask have met: their warps order all that came before, block by block."""
        if mask.all():
            self.known[:] = self.known.max(axis=(1, 2), keepdims=True) + 1
        else:
            met = self._warps(mask)
            whole = met.all(axis=1)
            self.known[whole] = self.known[whole].max(axis=(1, 2), keepdims=True) + 1
            for block in np.flatnonzero(met.any(axis=1) & ~whole):
                self.partly_synced = True
                warps = np.flatnonzero(met[block])
                view = self.known[block]
                merged = view[warps].max(axis=0)
                merged[warps] = view[warps, warps] + 1
                view[warps] = merged
        self._publish()

    def warp_barrier(self, mask: Mask) -> None:
        blocks, warps = np.nonzero(self._warps(mask))
        self.known[blocks, warps, warps] += 1
        self.warps_synced = True
        self._publish()

    def after_release(self, numbers: Index) -> None:
        """What these warps, counted through all blocks, do from now on is not what they have released."""
        blocks, warps = np.divmod(numbers, self.geometry.warps)
        self.known[blocks, warps, warps] += 1
        self.warps_synced = True
        self._publish()

    def _warps(self, mask: Mask) -> Mask:
        g = self.geometry
        met = np.zeros((g.blocks, g.warps), np.bool_)
        lanes = np.flatnonzero(mask)
        met[g.block_of[lanes], g.warp_of[lanes]] = True
        return met

    def moment(self, active: Active) -> Moment:
        """The active lanes' view, kept until the next barrier."""
        kept = active.moment
        if kept is None or kept[0] != self.version:
            lanes = active.lanes
            floors = self.floors.take(lanes)
            least = int(floors.min()) if floors.size else 0
            now = Moment(lanes, self.entries.take(lanes), floors, least, self.block_bits.take(lanes))
            kept = active.moment = (self.version, now)
        return kept[1]

    def unordered(self, mine: Index, lanes: Index, other: Index) -> Mask:
        """Whether other accesses, of the lanes' own blocks, are not known to be over."""
        known = self.known[self.geometry.block_of[lanes], warp_of(mine), warp_of(other)]
        result: Mask = clock_of(other) >= known
        return result
