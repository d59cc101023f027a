"""`cp.async`: copies in flight, by thread and by group, until they are waited for.

The bytes are taken when the copy is issued and land when its thread waits for its group, so a read before the
wait sees what was there before. Copies of one issue stay together; a thread's commit count tells the groups
apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from phobos_core.emulator.checks import RaceChecker, Touch
from phobos_core.emulator.clocks import PENDING
from phobos_core.emulator.machine import Active, Index, Mask
from phobos_core.emulator.memory import Store
from phobos_core.emulator.ptx import Instruction


@dataclass(slots=True)
class Flight:
    """One executed cp.async: for each lane its bytes, where they go, and the group they belong to."""

    store: Store
    lanes: Index
    index: Index
    data: npt.NDArray[np.uint8]
    group: Index
    mark: int
    site: Instruction

    def part(self, chosen: Mask) -> Flight:
        return Flight(
            self.store,
            self.lanes[chosen],
            self.index[chosen],
            self.data[chosen],
            self.group[chosen],
            self.mark,
            self.site,
        )


@dataclass(slots=True)
class AsyncCopies:
    lanes: int
    races: RaceChecker | None
    committed: Index = field(init=False)
    flights: list[Flight] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.committed = np.zeros(self.lanes, np.int64)
        self.flights = []
        if self.races:
            self.races.pending_copies = 0

    def issue(self, flight: Flight, touch: Touch | None) -> None:
        self.flights.append(flight)
        if self.races and touch is not None:
            self.races.before_write(touch, lambda: np.ones(flight.lanes.size, np.bool_))
            touch.leave(PENDING)
            self.races.pending_copies += 1

    def commit(self, active: Active) -> None:
        self.committed[active.lanes] += 1

    def wait(self, newest: int | None, active: Active) -> None:
        """Lands all but the `newest` committed groups of each active thread; None lands everything."""
        kept = []
        for flight in self.flights:
            bound = self.committed[flight.lanes] - (newest or 0)
            done = active.mask[flight.lanes]
            if newest is not None:
                done &= flight.group < bound
            number = np.count_nonzero(done)
            if not number:
                kept.append(flight)
                continue
            whole = number == done.size
            self._land(flight if whole else flight.part(done))
            if not whole:
                kept.append(flight.part(~done))
        self.flights = kept
        if self.races:
            self.races.pending_copies = len(kept)

    def _land(self, flight: Flight) -> None:
        size = flight.data.shape[1]
        flight.store.data[flight.index[:, None] + np.arange(size)] = flight.data
        shadow = flight.store.shadow
        if self.races is None or shadow is None:
            return
        granules = (flight.index[:, None] + np.arange(0, size, 1 << shadow.shift)) >> shadow.shift
        shadow.writes[granules] = (self.races.clocks.entries[flight.lanes] + flight.mark)[:, None]
