"""The order in which warps go on, picked at random but always the same for one seed.

In: groups that may run. Out: which of them runs next, how far, and how groups are dealt out anew: some warps of some
blocks together, the others apart. Without a schedule all warps of all blocks advance in step; under one, a kernel whose
result depends on their order shows it, and a kernel without races gives the same under every seed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np

from phobos_core.emulator.groups import Group
from phobos_core.emulator.machine import Active, Geometry, Mask

# Groups that warps are dealt to at the start and where a barrier lets them go: every group costs a run of its own.
_PARTS = 4
# One step in so many sets a group back, to let others overtake it.
_PREEMPTED = 3


@dataclass(slots=True)
class Schedule:
    geometry: Geometry
    seed: int
    _random: Random = field(init=False)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)

    def batches(self, total: int) -> Sequence[int]:
        """The first block of each batch, in the order in which they run."""
        firsts = list(range(0, total, self.geometry.blocks))
        self._random.shuffle(firsts)
        return firsts

    def next(self, runnable: list[Group]) -> Group:
        """Takes one out. A group that has polled waits until all others have had their turn."""
        if all(group.polled for group in runnable):
            for group in runnable:
                group.polled = False
        ready = [number for number, group in enumerate(runnable) if not group.polled]
        return runnable.pop(self._random.choice(ready))

    def preempts(self) -> bool:
        return self._random.randrange(_PREEMPTED) == 0

    def shuffle(self, sides: list[Group]) -> None:
        self._random.shuffle(sides)

    def dealt(self, groups: Iterable[Group], *, together: bool) -> list[Group]:
        """The same lanes in other groups: of those at one place and on their way to one join, each warp in any part."""
        alike: dict[tuple[int, int | None], list[Group]] = {}
        for group in groups:
            alike.setdefault((group.block, id(group.join) if group.join else None), []).append(group)
        return [part for each in alike.values() for part in self._deal(each, 1 if together else _PARTS)]

    def _deal(self, groups: Sequence[Group], most: int) -> list[Group]:
        g, (first, *others) = self.geometry, groups
        mask: Mask = np.logical_or.reduce([group.active.mask for group in groups])
        if first.join is not None:
            first.join.pending -= len(others)
        number = self._random.randrange(1, most + 1)
        warps = np.array([self._random.randrange(number) for _ in range(g.blocks * g.warps)])
        part_of = warps[g.block_of * g.warps + g.warp_of]
        parts = [part for n in range(number) if (part := Active.of(mask & (part_of == n))).count]
        if first.join is not None:
            first.join.pending += len(parts) - 1
        return [Group(part, first.block, first.join) for part in parts]
