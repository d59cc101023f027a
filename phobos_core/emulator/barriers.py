"""Barriers of a block: who waits, who has arrived, and when they may go on."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from phobos_core.emulator.checks import RaceChecker
from phobos_core.emulator.groups import Group
from phobos_core.emulator.machine import WARP, Active, Array, Geometry, HaltError, Index, Mask, Recorder
from phobos_core.emulator.program import Barrier
from phobos_core.emulator.ptx import Instruction


@dataclass(slots=True, eq=False)
class Waiting:
    """A group at a barrier; per block, its threads, and its warps as the threads that a count counts."""

    group: Group
    barrier: Barrier
    threads: Index
    counted: Index


# Groups that may go on, and the block each goes to.
Released = list[tuple[Group, int]]


@dataclass(slots=True)
class Barriers:
    """All barriers of a batch, by number; counts are per block."""

    geometry: Geometry
    recorder: Recorder
    races: RaceChecker | None
    waiting: list[Waiting] = field(default_factory=list)
    arrivals: dict[int, Index] = field(default_factory=dict)
    arrived_lanes: dict[int, Mask] = field(default_factory=dict)

    def reset(self) -> None:
        self.waiting = []
        self.arrivals = {}
        self.arrived_lanes = {}

    def groups(self) -> list[Group]:
        return [each.group for each in self.waiting]

    def counted(self) -> bool:
        """Whether some wait is for a number of threads rather than all."""
        return any(each.barrier.count is not None for each in self.waiting)

    # Arriving

    def wait(self, group: Group, barrier: Barrier) -> Released:
        self._check_aligned(group.active, barrier)
        self.waiting.append(self._waiting(group, barrier))
        return self._release(self._number(barrier, group.active), whole=True)

    def arrive(self, active: Active, barrier: Barrier) -> Released:
        self._check_aligned(active, barrier)
        number = self._number(barrier, active)
        zero = np.zeros(self.geometry.blocks, np.int64)
        self.arrivals[number] = self.arrivals.get(number, zero) + self._counted(active)
        none = np.zeros(self.geometry.lanes, np.bool_)
        self.arrived_lanes[number] = self.arrived_lanes.get(number, none) | active.mask
        return self._release(number, whole=True)

    def release_complete_blocks(self) -> Released:
        """Lets single blocks go whose threads have all come, leaving those of other blocks behind."""
        numbers = {self._number(each.barrier, each.group.active) for each in self.waiting}
        return [each for number in sorted(numbers) for each in self._release(number, whole=False)]

    def _waiting(self, group: Group, barrier: Barrier) -> Waiting:
        active = group.active
        threads = np.bincount(self.geometry.block_of[active.lanes], minlength=self.geometry.blocks)
        return Waiting(group, barrier, threads, self._counted(active))

    def _counted(self, active: Active) -> Index:
        """A barrier's thread count goes in whole warps, so a short warp counts as a full one."""
        g = self.geometry
        warps = np.unique(g.block_of[active.lanes] * g.warps + g.warp_of[active.lanes])
        return WARP * np.bincount(warps // g.warps, minlength=g.blocks)

    def _number(self, barrier: Barrier, active: Active) -> int:
        return self._uniform(np.asarray(barrier.number), active, barrier.site)

    def _wanted(self, each: Waiting) -> Index:
        """The number of threads that each block waits for; the threads of a block must agree on it."""
        count = np.asarray(each.barrier.count)
        wanted = np.zeros(self.geometry.blocks, np.int64)
        lanes = each.group.active.lanes
        values = np.broadcast_to(count, self.geometry.lanes)[lanes]
        wanted[self.geometry.block_of[lanes]] = values
        if (wanted[self.geometry.block_of[lanes]] != values).any():
            raise self._disagreement(each.barrier.site, int(lanes[0]))
        return wanted

    def _disagreement(self, site: Instruction, lane: int) -> HaltError:
        message = f"`{site.name}` has different operands in different threads"
        return self.recorder.halt("divergent-barrier", message, site, lane)

    def _uniform(self, value: Array, active: Active, site: Instruction) -> int:
        if value.ndim == 0:
            return int(value)
        values = value[active.lanes]
        if values.min() != values.max():
            raise self._disagreement(site, int(active.lanes[0]))
        return int(values[0])

    def _check_aligned(self, active: Active, barrier: Barrier) -> None:
        """An aligned barrier must be executed by all threads of a warp together."""
        if (torn := self.torn(active, barrier)) is not None:
            lane, here = torn
            raise self.recorder.halt(
                "divergent-barrier",
                f"`{barrier.site.name}` is reached by only {here} of the "
                f"{int(self.geometry.warp_size[lane])} threads of a warp",
                barrier.site,
                lane,
            )

    def torn(self, active: Active, barrier: Barrier) -> tuple[int, int] | None:
        """A lane of a warp that comes to an aligned barrier in part, and how many of the warp do."""
        if active.full or not barrier.aligned:
            return None
        g = self.geometry
        number = g.block_of[active.lanes] * g.warps + g.warp_of[active.lanes]
        here = np.bincount(number, minlength=g.blocks * g.warps)[number]
        torn = np.flatnonzero(here != g.warp_size[active.lanes])
        return (int(active.lanes[torn[0]]), int(here[torn[0]])) if torn.size else None

    # Releasing

    def _release(self, number: int, whole: bool) -> Released:
        """Ends the waits on a barrier: once every block concerned is complete, or else by block."""
        entries = [each for each in self.waiting if self._number(each.barrier, each.group.active) == number]
        if not entries:
            return []
        arrived = self.arrivals.get(number, 0)
        total = sum((each.counted for each in entries), np.zeros(self.geometry.blocks, np.int64)) + arrived
        # A barrier for the whole block is one instruction: other instructions do not complete it.
        complete = np.zeros(self.geometry.blocks, np.bool_)
        for each in entries:
            if each.barrier.count is None:
                same = [other for other in entries if other.barrier.site is each.barrier.site]
                complete |= sum(other.threads for other in same) == self.geometry.threads
            else:
                complete |= (each.threads > 0) & (total >= self._wanted(each))
        concerned = np.zeros(self.geometry.blocks, np.bool_)
        for each in entries:
            concerned |= each.threads > 0
        going = complete & concerned
        if not going.any() or (whole and not np.array_equal(going, concerned)):
            return []
        return self._let_go(number, entries, going)

    def _let_go(self, number: int, entries: list[Waiting], going: Mask) -> Released:
        mask = going[self.geometry.block_of]
        met = np.zeros(self.geometry.lanes, np.bool_)
        for each in entries:
            met |= each.group.active.mask & mask
        if number in self.arrived_lanes:
            met |= self.arrived_lanes[number] & mask
            self.arrived_lanes[number] = self.arrived_lanes[number] & ~mask
            self.arrivals[number] = np.where(going, 0, self.arrivals[number])
        if self.races:
            self.races.clocks.barrier(met)
        self._reduce([each for each in entries if each.barrier.destination is not None], going)
        released: Released = []
        for each in entries:
            group = each.group
            part = Active.of(group.active.mask & mask)
            if not part.count:
                continue
            self.waiting.remove(each)
            if part.count != group.active.count:
                parted = group.split(part, Active.of(group.active.mask & ~mask))
                self.waiting.append(self._waiting(group, each.barrier))
                group = parted
            released.append((group, each.barrier.following))
        return released

    def _reduce(self, entries: list[Waiting], going: Mask) -> None:
        """`bar.red`: the count, conjunction or disjunction of a predicate over the block."""
        if not entries:
            return
        true = np.zeros(self.geometry.blocks, np.int64)
        total = np.zeros(self.geometry.blocks, np.int64)
        for each in entries:
            row = np.broadcast_to(np.asarray(each.barrier.source), self.geometry.lanes) != each.barrier.negated
            lanes = each.group.active.lanes
            true += np.bincount(self.geometry.block_of[lanes[row[lanes]]], minlength=self.geometry.blocks)
            total += each.threads
        for each in entries:
            assert each.barrier.destination is not None
            result = {"popc": true, "and": true == total, "or": true > 0}[each.barrier.kind]
            mask = each.group.active.mask & going[self.geometry.block_of]
            values = result[self.geometry.block_of].astype(each.barrier.destination.dtype)
            np.putmask(each.barrier.destination, mask, values)

    # Hanging

    def hang(self) -> HaltError:
        """Reports a wait that nothing can end."""
        for each in self.waiting:
            if each.barrier.count is None:
                return self._report_divergent(each)
        each = self.waiting[0]
        lane = int(each.group.active.lanes[0])
        assert each.barrier.count is not None
        wanted = int(self._wanted(each)[self.geometry.block_of[lane]])
        number = self._number(each.barrier, each.group.active)
        block = int(self.geometry.block_of[lane])
        same = [w for w in self.waiting if self._number(w.barrier, w.group.active) == number]
        come = sum(int(w.counted[block]) for w in same)
        if number in self.arrivals:
            come += int(self.arrivals[number][block])
        return self.recorder.halt(
            "deadlock",
            f"barrier {number} waits for {wanted} threads and only {come} ever come",
            each.barrier.site,
            lane,
        )

    def _report_divergent(self, each: Waiting) -> HaltError:
        lane = int(each.group.active.lanes[0])
        block = int(self.geometry.block_of[lane])
        site = each.barrier.site
        here = sum(int(w.threads[block]) for w in self.waiting if w.barrier.site is site)
        others = {w.barrier.site for w in self.waiting if w.barrier.site is not site and w.threads[block]}
        places = sorted(f"line {o.line}" if o.line else f"PTX line {o.ptx_line}" for o in others)
        rest = f"others wait at {', '.join(places)}" if places else "the others never come to it"
        return self.recorder.halt(
            "divergent-barrier",
            f"only {here} of the {self.geometry.threads} threads of the block reach the barrier; {rest}",
            site,
            lane,
        )
