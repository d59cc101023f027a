"""Races, uninitialised reads and unwaited copies: each access compared with what its granules remember.

Two accesses race if they are by different threads, touch a common granule, one of them writes, and nothing orders them:
within a block a barrier, between blocks a flag or an atomic, as in a grid barrier. Writes of the same value do not
race, nor do atomic and other strong accesses among themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from phobos_core.emulator.between_blocks import BlockOrder
from phobos_core.emulator.clocks import (
    BLOCK_SHIFT,
    PENDING,
    READ_IN_BLOCK,
    READ_IN_WARP,
    SITE_LIMIT,
    SITE_SHIFT,
    STRONG,
    THREAD_BITS,
    Clocks,
    Moment,
    thread_of,
)
from phobos_core.emulator.machine import Active, Array, Geometry, Index, Mask, Recorder
from phobos_core.emulator.memory import Access, Chunk, Store
from phobos_core.emulator.ptx import Instruction
from phobos_core.emulator.shadow import Note, Shadow, flat


@dataclass(frozen=True, slots=True)
class Touch:
    """One instruction's accesses to one store: a row of granules for each lane."""

    shadow: Shadow
    store: Store
    note: Note
    site: Instruction

    @property
    def rows(self) -> Index:
        return self.note.rows

    @property
    def per_lane(self) -> int:
        return self.note.per_lane

    @property
    def moment(self) -> Moment:
        return self.note.moment

    @property
    def entries(self) -> Index:
        return self.shadow.entries(self.note)

    def writes(self) -> Index:
        return self.shadow.rows(self.shadow.writes, self.per_lane).take(self.rows, axis=0)

    def reads(self) -> Index:
        return self.shadow.rows(self.shadow.reads, self.per_lane).take(self.rows, axis=0)

    def leave(self, flags: int = 0) -> None:
        """Records these accesses as the last writes."""
        self.shadow.rows(self.shadow.writes, self.per_lane)[self.rows] = self.entries | flags

    def per_granule(self, lanes: Mask) -> Mask:
        return lanes if self.per_lane == 1 else lanes[:, None]

    def lane(self, at: int) -> int:
        return int(self.moment.lanes[at // self.per_lane])

    def granule(self, at: int) -> int:
        return int(flat(self.rows, self.per_lane, np.array([at]))[0])


@dataclass(slots=True)
class RaceChecker:
    geometry: Geometry
    recorder: Recorder
    clocks: Clocks
    between: BlockOrder
    sites: list[Instruction | None] = field(default_factory=lambda: [None])
    pending_copies: int = 0

    def mark(self, site: Instruction) -> int:
        """An instruction's number, in its place in an entry; 0 once there are more than an entry can tell apart."""
        if len(self.sites) > SITE_LIMIT:
            return 0
        self.sites.append(site)
        return (len(self.sites) - 1) << SITE_SHIFT

    def touch(self, chunk: Chunk, access: Access, active: Active, mark: int) -> Touch | None:
        """What an access touches of a chunk, or None if nobody can race there."""
        shadow = chunk.store.shadow
        if shadow is None:
            return None
        moment = self.clocks.moment(active)
        if chunk.chosen is not None:
            moment = moment.select(chunk.chosen)
        per_lane = max(1, access.size >> shadow.shift)
        rows = chunk.offsets // (per_lane << shadow.shift)
        note = Note(rows, per_lane, moment, mark, chunk.low, chunk.high)
        return Touch(shadow, chunk.store, note, access.site)

    def read(self, touch: Touch) -> None:
        writes = touch.writes()
        if touch.store.space == "shared":
            self._check_usable(touch, writes)
        late = touch.shadow.late(writes, touch.note)
        if late is not None:
            self._check_order(touch, writes, late, "reads", "written")
        if self._between_blocks(touch):
            self._check_blocks(touch, writes, None, "reads", "written")
            touch.shadow.note_block(touch.note)
        touch.shadow.note(touch.note, self.clocks)

    def before_write(self, touch: Touch, changes: Callable[[], Mask]) -> None:
        """`changes` gives the lanes whose write alters its bytes."""
        self._check_readers(touch)
        writes = touch.writes()
        if self.pending_copies and touch.store.space == "shared":
            self._check_pending(touch, writes)
        late = touch.shadow.late(writes, touch.note)
        if late is not None:
            self._check_order(touch, writes, late & touch.per_granule(changes()), "writes", "written")
        if self._between_blocks(touch):
            self._check_blocks(touch, writes, changes, "writes", "written")
            for readers in touch.shadow.block_readers(touch.note):
                self._check_blocks(touch, readers, changes, "writes", "read")
        touch.leave()

    def after_write(self, touch: Touch, lost: Mask) -> None:
        """`lost`: the lanes whose value memory does not hold, because another lane wrote another one."""
        if not np.count_nonzero(lost):
            return
        left = touch.writes()
        difference = left ^ touch.entries
        beaten = touch.per_granule(lost) & (difference >> BLOCK_SHIFT == 0) & (difference & THREAD_BITS != 0)
        winners = np.flatnonzero(beaten)
        foreign = np.flatnonzero(touch.per_granule(lost) & (difference >> BLOCK_SHIFT != 0))
        if foreign.size and touch.shadow.shared_by_blocks:
            at = int(foreign[0])
            rival = self._block_name(int(left.ravel()[at]))
            self._report(touch, at, f"writes what {rival} writes with another value at the same time", touch.site)
        if winners.size:
            at = int(winners[0])
            other = thread_of(int(left.ravel()[at]))
            message = f"writes what thread {other} writes with another value in the same instruction"
            self._report(touch, at, message, touch.site)

    def strong(self, touch: Touch, writes_too: bool) -> None:
        """An atomic, volatile, relaxed, acquire or release access: no race with another such access."""
        writes = touch.writes()
        if touch.store.space == "shared":
            self._check_usable(touch, writes)
        site = touch.site
        blocks = self._between_blocks(touch)
        orders = blocks and self.between.orders(site)
        places = (id(touch.store), touch.rows * touch.per_lane, touch.moment.lanes)
        if orders and site.opcode in ("ld", "ldu"):
            self.between.acquire(*places)
        late = touch.shadow.late(writes, touch.note)
        if late is not None:
            self._check_order(touch, writes, late & (writes & STRONG == 0), "accesses", "written")
        if blocks:
            self._check_blocks(touch, np.where(writes & STRONG, 0, writes), None, "accesses", "written")
        if writes_too:
            self._check_readers(touch)
            touch.leave(STRONG)
        if orders and writes_too:
            self.between.release(*places, acquires=site.opcode == "atom")

    # Comparing

    def _between_blocks(self, touch: Touch) -> bool:
        return touch.shadow.shared_by_blocks and self.geometry.blocks > 1

    def _check_blocks(
        self, touch: Touch, others: Index, changes: Callable[[], Mask] | None, verb: str, done: str
    ) -> None:
        """Reports accesses of other blocks that nothing orders before this one."""
        foreign = (others != 0) & ((others ^ touch.entries) >> BLOCK_SHIFT != 0)
        if not np.count_nonzero(foreign):
            return
        if changes is not None:
            foreign &= touch.per_granule(changes())
        at = np.flatnonzero(foreign)
        other = others.ravel()[at]
        unordered = self.between.unordered(touch.moment, at // touch.per_lane, other)
        for number in np.unique((other[unordered] >> SITE_SHIFT) & SITE_LIMIT):
            chosen = np.flatnonzero(unordered & ((other >> SITE_SHIFT) & SITE_LIMIT == number))[0]
            site = self.sites[int(number)]
            where = "" if site is None else f" at line {site.line}" if site.line else f" at PTX line {site.ptx_line}"
            who = self._block_name(int(other[chosen]))
            message = f"{verb} what {who} has {done}{where} with no flag or grid barrier between"
            self._report(touch, int(at[chosen]), message, site)

    def _block_name(self, entry: int) -> str:
        return f"block {self.geometry.block_name(entry >> BLOCK_SHIFT)}"

    def _check_order(self, touch: Touch, others: Index, late: Array, verb: str, done: str) -> None:
        foreign = (others ^ touch.entries) & THREAD_BITS != 0
        self._check_clocks(touch, others, np.flatnonzero(late & foreign), verb, done)

    def _check_readers(self, touch: Touch) -> None:
        """A write meets the first reader, whom the entry names, or others, whom its flags only count."""
        touch.shadow.settle(self.clocks, touch.note)
        reads = touch.reads()
        late = touch.shadow.late(reads, touch.note)
        if late is None:
            return
        named = (reads ^ touch.entries) & THREAD_BITS != 0
        counted = reads & (READ_IN_WARP | READ_IN_BLOCK) != 0
        at = np.flatnonzero(late & (named | counted))
        if not at.size:
            return
        found, owner = reads.ravel()[at], at // touch.per_lane
        unordered = self.clocks.unordered(touch.moment.entries[owner], touch.moment.lanes[owner], found)
        by_name = unordered & named.ravel()[at]
        if np.count_nonzero(by_name):
            self._report_race(touch, found[by_name], at[by_name], "writes", "read")
        # Of readers in several warps one at least is unordered, while only barriers of whole blocks were met.
        several = (found & READ_IN_BLOCK != 0) & (not self.clocks.partly_synced)
        by_number = ~by_name & (unordered | several)
        if np.count_nonzero(by_number):
            message = "writes what other threads have read, with no barrier between"
            self._report(touch, int(at[by_number][0]), message, None)

    def _check_clocks(self, touch: Touch, others: Index, at: Index, verb: str, done: str) -> None:
        """Reports those of the accesses at some places that clocks do not order."""
        if not at.size:
            return
        other = others.ravel()[at]
        owner = at // touch.per_lane
        unordered = self.clocks.unordered(touch.moment.entries[owner], touch.moment.lanes[owner], other)
        if np.count_nonzero(unordered):
            self._report_race(touch, other[unordered], at[unordered], verb, done)

    def _check_usable(self, touch: Touch, writes: Index) -> None:
        """Shared memory that is read must have been written, and not by a copy still in flight."""
        if self.pending_copies:
            self._check_pending(touch, writes)
        if not int(writes.min()):
            at = int(np.flatnonzero(writes == 0)[0])
            address = self._address(touch, at)
            self.recorder.report(
                "uninitialised-shared",
                f"`{touch.site.name}` reads byte {address} of shared memory, which nothing has written",
                touch.site,
                touch.lane(at),
                address,
            )

    def _check_pending(self, touch: Touch, writes: Index) -> None:
        pending = np.flatnonzero(writes & PENDING)
        if pending.size:
            at = int(pending[0])
            other = self._site(int(writes.ravel()[at]))
            where = f" of line {other.line}" if other is not None and other.line else ""
            self.recorder.report(
                "async-unwaited",
                f"`{touch.site.name}` touches what a cp.async{where} writes, which has not been waited for",
                touch.site,
                touch.lane(at),
                self._address(touch, at),
                other,
            )

    # Reporting

    def _site(self, entry: int) -> Instruction | None:
        return self.sites[(entry >> SITE_SHIFT) & SITE_LIMIT]

    def _report_race(self, touch: Touch, others: Index, at: Index, verb: str, done: str) -> None:
        numbers = (others >> SITE_SHIFT) & SITE_LIMIT
        for number in np.unique(numbers):
            first = int(np.flatnonzero(numbers == number)[0])
            other = self.sites[int(number)]
            where = ""
            if other is not None:
                where = f" at line {other.line}" if other.line else f" at PTX line {other.ptx_line}"
            who = thread_of(int(others[first]))
            message = f"{verb} what thread {who} has {done}{where} with no barrier between"
            self._report(touch, int(at[first]), message, other)

    def _report(self, touch: Touch, at: int, message: str, other: Instruction | None) -> None:
        kind = "race-shared" if touch.store.space == "shared" else "race-global"
        lane = touch.lane(at)
        who = f"thread {int(self.geometry.thread_of[lane])} {message}"
        self.recorder.report(kind, who, touch.site, lane, self._address(touch, at), other)

    def _address(self, touch: Touch, at: int) -> int:
        """The byte within the tensor, or within the block's shared memory."""
        byte = touch.granule(at) << touch.shadow.shift
        if touch.store.space == "shared":
            byte %= max(1, touch.store.data.size // self.geometry.blocks)
        return byte
