"""Races, uninitialised reads and unwaited copies, found by what each granule of memory remembers.

An *entry* is one integer for "this thread, at this clock, by this instruction". A granule keeps the entry of
its last write and of its first read since its block's last barrier, with flags that say whether other threads
of the same warp or of other warps have read it too. Each warp has a clock that a barrier advances, and knows
how far each other warp's clock had come at their last common barrier: an access is ordered before a thread's
next one if that thread's warp knows a later clock. The oldest clock known to all warps of a block, its
*floor*, settles most accesses with one comparison.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from phobos_core.emulator.machine import WARP, Active, Geometry, Index, Mask, Recorder
from phobos_core.emulator.memory import Shadow, Store
from phobos_core.emulator.ptx import Instruction

# An entry from its lowest bit: lane 5, warp 5, flags 4, instruction 12, clock 22, block 15.
THREAD_BITS = (1 << 10) - 1
WARP_BITS = THREAD_BITS & ~(WARP - 1)
READ_IN_WARP = 1 << 10
READ_IN_BLOCK = 1 << 11
STRONG = 1 << 12
PENDING = 1 << 13
SITE_SHIFT = 14
SITE_LIMIT = (1 << 12) - 1
CLOCK_SHIFT = 26
CLOCK_MASK = (1 << 22) - 1
BLOCK_SHIFT = 48
SAME_BLOCK = np.uint64(1 << (BLOCK_SHIFT - 1))
MAX_BLOCKS = (1 << 15) - 1


@dataclass(slots=True)
class Clocks:
    """What each warp knows of the clocks of the warps of its block."""

    geometry: Geometry
    known: Index = field(init=False)
    entries: Index = field(init=False)
    floors: Index = field(init=False)
    thread: Index = field(init=False)
    version: int = 0
    warps_synced: bool = False

    def __post_init__(self) -> None:
        g = self.geometry
        self.thread = (g.block_of << BLOCK_SHIFT) | (g.warp_of << 5) | g.lane_of
        self.reset()

    def reset(self) -> None:
        g = self.geometry
        self.known = np.ones((g.blocks, g.warps, g.warps), np.int64)
        self.warps_synced = False
        self._publish()

    def _publish(self) -> None:
        g = self.geometry
        own = np.einsum("bww->bw", self.known)
        self.entries = self.thread + (own[g.block_of, g.warp_of] << CLOCK_SHIFT)
        floor = self.known.min(axis=(1, 2))
        self.floors = (g.block_of << BLOCK_SHIFT) + (floor[g.block_of] << CLOCK_SHIFT)
        self.version += 1

    def barrier(self, mask: Mask) -> None:
        """The lanes under the mask have met: their warps order all that came before, block by block."""
        g = self.geometry
        if mask.all():
            top = self.known.max(axis=(1, 2), keepdims=True) + 1
            self.known[:] = top
            self._publish()
            return
        met = np.zeros((g.blocks, g.warps), np.bool_)
        lanes = np.flatnonzero(mask)
        met[g.block_of[lanes], g.warp_of[lanes]] = True
        for block in np.flatnonzero(met.any(axis=1)):
            warps = np.flatnonzero(met[block])
            view = self.known[block]
            merged = view[warps].max(axis=0)
            merged[warps] = view[warps, warps] + 1
            view[warps] = merged
        self._publish()

    def warp_barrier(self, mask: Mask) -> None:
        g = self.geometry
        met = np.zeros((g.blocks, g.warps), np.bool_)
        lanes = np.flatnonzero(mask)
        met[g.block_of[lanes], g.warp_of[lanes]] = True
        blocks, warps = np.nonzero(met)
        self.known[blocks, warps, warps] += 1
        self.warps_synced = True
        self._publish()

    def of(self, active: Active) -> tuple[Index, Index]:
        """Entries and floors of the active lanes, kept until the next barrier."""
        if active.full:
            return self.entries, self.floors
        kept = active._entries
        if kept is None or kept[0] != self.version:
            lanes = active.lanes
            kept = active._entries = (self.version, self.entries.take(lanes), self.floors.take(lanes))
        return kept[1], kept[2]


@dataclass(frozen=True, slots=True)
class Touch:
    """One instruction's accesses to one store: granules and entries, one element per lane and granule."""

    shadow: Shadow
    store: Store
    granules: Index
    entries: Index
    floors: Index
    lanes: Index
    per_lane: int
    site: Instruction

    def lane(self, at: int) -> int:
        return int(self.lanes[at // self.per_lane])


@dataclass(slots=True)
class RaceChecker:
    geometry: Geometry
    recorder: Recorder
    clocks: Clocks
    sites: list[Instruction | None] = field(default_factory=lambda: [None])
    pending_copies: int = 0

    def site_number(self, site: Instruction) -> int:
        """The number that entries carry for an instruction; 0 once there are more than an entry can hold."""
        if len(self.sites) > SITE_LIMIT:
            return 0
        self.sites.append(site)
        return len(self.sites) - 1

    def touch(
        self,
        store: Store,
        index: Index,
        size: int,
        active: Active,
        chosen: Index | None,
        site: Instruction,
        mark: int,
    ) -> Touch | None:
        """`mark` is the site's number, shifted into place, with flags."""
        shadow = store.shadow
        if shadow is None:
            return None
        entries, floors = self.clocks.of(active)
        lanes = active.lanes
        if chosen is not None:
            entries, floors, lanes = entries[chosen], floors[chosen], lanes[chosen]
        granules = index >> shadow.shift
        per_lane = max(1, size >> shadow.shift)
        if per_lane > 1:
            granules = (granules[:, None] + np.arange(per_lane)).ravel()
            entries, floors = np.repeat(entries, per_lane), np.repeat(floors, per_lane)
        return Touch(shadow, store, granules, entries + mark, floors, lanes, per_lane, site)

    # Reading

    def read(self, touch: Touch) -> None:
        writes = touch.shadow.writes.take(touch.granules)
        if touch.store.space == "shared":
            if self.pending_copies:
                self._report_pending(touch, writes)
            if not writes.all():
                self._report_uninitialised(touch, int(np.flatnonzero(writes == 0)[0]))
        late = (writes - touch.floors).view(np.uint64) < SAME_BLOCK
        if np.count_nonzero(late):
            at = self._unordered(touch, writes, late)
            if at.size:
                self._report_race(touch, writes, at, "reads", "written")
        if touch.store.reads_matter:
            self._remember_read(touch)

    def _remember_read(self, touch: Touch) -> None:
        reads, granules, entries = touch.shadow.reads, touch.granules, touch.entries
        first = reads.take(granules)
        stale = (first - touch.floors).view(np.uint64) >= SAME_BLOCK
        number = np.count_nonzero(stale)
        if number:
            if number == stale.size:
                reads[granules] = entries
            else:
                reads[granules[stale]] = entries[stale]
            first = reads.take(granules)
        different = (first ^ entries) & THREAD_BITS
        if np.count_nonzero(different):
            flags = np.where(different >= WARP, READ_IN_BLOCK, READ_IN_WARP)
            missing = (different != 0) & ((first & flags) == 0)
            if np.count_nonzero(missing):
                for flag in (READ_IN_BLOCK, READ_IN_WARP):
                    chosen = granules[missing & (flags == flag)]
                    reads[chosen] = reads.take(chosen) | flag
        if self.clocks.warps_synced:
            newer = ((first ^ entries) & WARP_BITS == 0) & ((first >> CLOCK_SHIFT) < (entries >> CLOCK_SHIFT))
            chosen = granules[newer]
            reads[chosen] = entries[newer] | (reads.take(chosen) & READ_IN_BLOCK)

    # Writing

    def before_write(self, touch: Touch, same_value: Mask) -> None:
        """`same_value`: the lanes whose write leaves its bytes as they are."""
        self._check_reads(touch)
        writes = touch.shadow.writes.take(touch.granules)
        if self.pending_copies and touch.store.space == "shared":
            self._report_pending(touch, writes)
        late = (writes - touch.floors).view(np.uint64) < SAME_BLOCK
        if np.count_nonzero(late):
            late &= ~(np.repeat(same_value, touch.per_lane) if touch.per_lane > 1 else same_value)
            at = self._unordered(touch, writes, late)
            if at.size:
                self._report_race(touch, writes, at, "writes", "written")
        touch.shadow.writes[touch.granules] = touch.entries

    def after_write(self, touch: Touch, lost: Mask) -> None:
        """`lost`: the lanes whose value memory does not hold, because another lane wrote another one."""
        if not np.count_nonzero(lost):
            return
        at = np.flatnonzero(np.repeat(lost, touch.per_lane))
        left = touch.shadow.writes.take(touch.granules[at])
        difference = left ^ touch.entries[at]
        # Blocks do not race with each other here, since nothing orders them.
        winners = at[(difference >> BLOCK_SHIFT == 0) & (difference & THREAD_BITS != 0)]
        if winners.size:
            first = int(winners[0])
            other = self._describe(int(touch.shadow.writes[touch.granules[first]]))
            message = f"writes what {other} writes with another value in the same instruction"
            self._report(touch, first, message, touch.site)

    def _check_reads(self, touch: Touch) -> None:
        reads = touch.shadow.reads.take(touch.granules)
        late = (reads - touch.floors).view(np.uint64) < SAME_BLOCK
        if not np.count_nonzero(late):
            return
        foreign = ((reads ^ touch.entries) & THREAD_BITS != 0) | (reads & (READ_IN_WARP | READ_IN_BLOCK) != 0)
        late &= foreign
        if np.count_nonzero(late):
            at = self._after_clock(touch, reads, np.flatnonzero(late))
            if at.size:
                self._report_race(touch, reads, at, "writes", "read")

    # Atomic and strong accesses

    def strong(self, touch: Touch, writes_too: bool) -> None:
        """An atomic, volatile, relaxed, acquire or release access: no race with another such access."""
        writes = touch.shadow.writes.take(touch.granules)
        if touch.store.space == "shared" and not writes.all():
            self._report_uninitialised(touch, int(np.flatnonzero(writes == 0)[0]))
        late = ((writes - touch.floors).view(np.uint64) < SAME_BLOCK) & (writes & STRONG == 0)
        if np.count_nonzero(late):
            at = self._unordered(touch, writes, late)
            if at.size:
                self._report_race(touch, writes, at, "accesses", "written")
        if writes_too:
            self._check_reads(touch)
            touch.shadow.writes[touch.granules] = touch.entries | STRONG

    # Common parts

    def _unordered(self, touch: Touch, entries: Index, late: Mask) -> Index:
        at = np.flatnonzero(late & ((entries ^ touch.entries) & THREAD_BITS != 0))
        return self._after_clock(touch, entries, at)

    def _after_clock(self, touch: Touch, entries: Index, at: Index) -> Index:
        """Those accesses whose clock the accessing warp does not know to have passed."""
        if not at.size:
            return at
        other = entries[at]
        mine = touch.entries[at]
        known = self.clocks.known[mine >> BLOCK_SHIFT, (mine >> 5) & 31, (other >> 5) & 31]
        clock = (other >> CLOCK_SHIFT) & CLOCK_MASK
        unordered: Index = at[clock >= known]
        return unordered

    def _describe(self, entry: int) -> str:
        thread = ((entry >> 5) & 31) * WARP + (entry & 31)
        return f"thread {thread}"

    def _report_race(self, touch: Touch, entries: Index, at: Index, verb: str, done: str) -> None:
        numbers = (entries[at] >> SITE_SHIFT) & SITE_LIMIT
        for number in np.unique(numbers):
            first = int(at[np.flatnonzero(numbers == number)[0]])
            other = self.sites[int(number)]
            where = ""
            if other is not None:
                where = f" at line {other.line}" if other.line else f" at PTX line {other.ptx_line}"
            who = self._describe(int(entries[first]))
            self._report(touch, first, f"{verb} what {who} has {done}{where} with no barrier between", other)

    def _report(self, touch: Touch, at: int, message: str, other: Instruction | None) -> None:
        kind = "race-shared" if touch.store.space == "shared" else "race-global"
        lane = touch.lane(at)
        who = f"thread {int(self.geometry.thread_of[lane])} {message}"
        self.recorder.report(kind, who, touch.site, lane, self._address(touch, at), other)

    def _address(self, touch: Touch, at: int) -> int:
        byte = int(touch.granules[at]) << touch.shadow.shift
        if touch.store.space == "shared":
            byte %= max(1, touch.store.data.size // self.geometry.blocks)
        return byte

    def _report_uninitialised(self, touch: Touch, at: int) -> None:
        address = self._address(touch, at)
        self.recorder.report(
            "uninitialised-shared",
            f"`{touch.site.name}` reads byte {address} of shared memory, which nothing has written",
            touch.site,
            touch.lane(at),
            address,
        )

    def _report_pending(self, touch: Touch, writes: Index) -> None:
        pending = np.flatnonzero(writes & PENDING)
        if pending.size:
            at = int(pending[0])
            number = (int(writes[at]) >> SITE_SHIFT) & SITE_LIMIT
            other = self.sites[number]
            where = f" of line {other.line}" if other is not None and other.line else ""
            self.recorder.report(
                "async-unwaited",
                f"`{touch.site.name}` touches what a cp.async{where} writes, which has not been waited for",
                touch.site,
                touch.lane(at),
                self._address(touch, at),
                other,
            )
