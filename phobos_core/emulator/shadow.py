"""What the checks remember of memory: for each granule its last write and its readers since the last barrier.

A granule keeps the entry of its first read since its block's last barrier, with flags that say whether other
threads of that warp, or other warps, have read it too. Most reads are over before anything is written again, so they
are only noted, and worked in when a write asks for them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from phobos_core.emulator.clocks import (
    BLOCK_SHIFT,
    CLOCK_SHIFT,
    READ_IN_BLOCK,
    READ_IN_WARP,
    THREAD_BITS,
    Clocks,
    Moment,
)
from phobos_core.emulator.machine import WARP, Array, Index

# An entry and a floor of one block differ by less than this, and those of different blocks by more.
SAME_BLOCK = np.uint64(1 << 47)
NOTES_LIMIT = 1 << 23


@dataclass(frozen=True, slots=True)
class Note:
    """An access: rows of granules, one for each lane, and the moment of it; `low` and `high` bound its bytes."""

    rows: Index
    per_lane: int
    moment: Moment
    mark: int
    low: int
    high: int

    def may_meet(self, other: Note) -> bool:
        return self.low < other.high and other.low < self.high

    def since(self, clocks: Clocks) -> Note:
        """The part that the last barrier of its block has not put in the past."""
        fresh = self.moment.entries >= clocks.floors[self.moment.lanes]
        if fresh.all():
            return self
        at = np.flatnonzero(fresh)
        return replace(self, rows=self.rows[at], moment=self.moment.select(at))


@dataclass(slots=True)
class Shadow:
    """Granules of `1 << shift` bytes; `shared_by_blocks` if entries must name their block."""

    shift: int
    shared_by_blocks: bool
    writes: Index
    reads: Index
    # Of memory that blocks share: of the blocks that have read a granule, one early and the latest.
    early_readers: Index | None = None
    late_readers: Index | None = None
    notes: list[Note] = field(default_factory=list)
    noted: int = 0
    version: int = -1

    @classmethod
    def of(cls, size: int, shift: int, shared_by_blocks: bool) -> Shadow:
        # Room for the widest access at the end.
        count = (-(-size // 64) * 64) >> shift
        return cls(shift, shared_by_blocks, np.zeros(count, np.int64), np.zeros(count, np.int64))

    def clear(self) -> None:
        self.writes[:] = 0
        self.reads[:] = 0
        for readers in (self.early_readers, self.late_readers):
            if readers is not None:
                readers[:] = 0
        self.notes = []
        self.noted = 0

    @staticmethod
    def rows(granules: Index, per_lane: int) -> Index:
        """Granules grouped by the access width, to which accesses are aligned."""
        return granules if per_lane == 1 else granules.reshape(-1, per_lane)

    def entries(self, access: Note) -> Index:
        """The accesses' entries, to be matched with rows of granules."""
        entries = access.moment.entries + access.mark
        return self._by_row(entries, access)

    def _by_row(self, values: Index, access: Note) -> Index:
        if self.shared_by_blocks:
            values = values + access.moment.blocks
        return values if access.per_lane == 1 else values[:, None]

    def late(self, found: Index, access: Note) -> Array | None:
        """Which entries are of the lane's block and not before its floor; None if there are none."""
        if not self.shared_by_blocks and int(found.max()) < access.moment.least_floor:
            return None
        late: Array = (found - self._by_row(access.moment.floors, access)).view(np.uint64) < SAME_BLOCK
        return late if np.count_nonzero(late) else None

    # Readers in other blocks

    def note_block(self, read: Note) -> None:
        """Of readers by one instruction the first lane's and the last lane's stay, so two blocks if there are more."""
        if self.early_readers is None or self.late_readers is None:
            self.early_readers, self.late_readers = np.zeros_like(self.reads), np.zeros_like(self.reads)
        entries = np.broadcast_to(self.entries(read).reshape(-1, 1), (read.rows.size, read.per_lane))
        late, early = (each.reshape(-1, read.per_lane) for each in (self.late_readers, self.early_readers))
        late[read.rows] = entries
        old = early[read.rows]
        kept = (old != 0) & ((old ^ entries) >> BLOCK_SHIFT != 0)
        early[read.rows[::-1]] = np.where(kept, old, entries)[::-1]

    def block_readers(self, write: Note) -> tuple[Index, ...]:
        if self.early_readers is None or self.late_readers is None:
            return ()
        both = (self.early_readers, self.late_readers)
        return tuple(self.rows(each, write.per_lane).take(write.rows, axis=0) for each in both)

    # Readers

    def note(self, note: Note, clocks: Clocks) -> None:
        self._forget(clocks)
        self.notes.append(note)
        self.noted += note.rows.size
        if self.noted > NOTES_LIMIT:
            for each in self.notes:
                self._remember(each, clocks)
            self.notes, self.noted = [], 0

    def _forget(self, clocks: Clocks) -> None:
        """Drops notes that barriers have put in the past."""
        if self.version == clocks.version:
            return
        self.version = clocks.version
        fresh: dict[int, bool] = {}
        for each in self.notes:
            key = id(each.moment)
            if key not in fresh:
                fresh[key] = bool((each.moment.entries >= clocks.floors[each.moment.lanes]).any())
        self.notes = [each for each in self.notes if fresh[id(each.moment)]]
        self.noted = sum(each.rows.size for each in self.notes)

    def settle(self, clocks: Clocks, write: Note) -> None:
        """Works those noted reads into the granules that a write may meet."""
        self._forget(clocks)
        kept = []
        for each in self.notes:
            if each.may_meet(write):
                self._remember(each, clocks)
            else:
                kept.append(each)
        if len(kept) != len(self.notes):
            self.notes = kept
            self.noted = sum(each.rows.size for each in kept)

    def _remember(self, note: Note, clocks: Clocks) -> None:
        note = note.since(clocks)
        reads, rows, per_lane = self.rows(self.reads, note.per_lane), note.rows, note.per_lane
        entries = self.entries(note)
        floors = self._by_row(clocks.floors[note.moment.lanes], note)
        first = reads.take(rows, axis=0)
        stale = (first - floors).view(np.uint64) >= SAME_BLOCK
        if np.count_nonzero(stale):
            reads[rows] = np.where(stale, entries, first)
            first = reads.take(rows, axis=0)
        different = (first ^ entries) & THREAD_BITS
        if np.count_nonzero(different):
            flags = np.where(different >= WARP, READ_IN_BLOCK, READ_IN_WARP)
            missing = (different != 0) & ((first & flags) == 0)
            for flag in (READ_IN_BLOCK, READ_IN_WARP):
                self._set_flag(rows, per_lane, missing & (flags == flag), flag)
        if clocks.warps_synced:
            self._renew(rows, per_lane, first, entries)

    def _set_flag(self, rows: Index, per_lane: int, chosen: Array, flag: int) -> None:
        granules = flat(rows, per_lane, np.flatnonzero(chosen))
        self.reads[granules] |= flag

    def _renew(self, rows: Index, per_lane: int, first: Index, entries: Index) -> None:
        """A read after a barrier of its own warp replaces one before it."""
        same_warp = ((first ^ entries) & THREAD_BITS) < WARP
        at = np.flatnonzero(same_warp & ((first >> CLOCK_SHIFT) < (entries >> CLOCK_SHIFT)))
        granules = flat(rows, per_lane, at)
        self.reads[granules] = entries.ravel()[at // per_lane] | (self.reads[granules] & READ_IN_BLOCK)


def flat(rows: Index, per_lane: int, at: Index) -> Index:
    """Positions in an array of rows of granules, as granules."""
    if per_lane == 1:
        return rows[at]
    return rows[at // per_lane] * per_lane + at % per_lane
