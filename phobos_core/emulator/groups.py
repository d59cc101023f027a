"""Lanes that go the same way, and the places where those that parted come together again."""

from __future__ import annotations

from dataclasses import dataclass

from phobos_core.emulator.machine import Active, Mask


@dataclass(slots=True, eq=False)
class Join:
    """Where diverged lanes meet again: `pending` groups are still on their way, `arrived` lanes wait."""

    block: int
    parent: Join | None
    arrived: Mask
    pending: int = 0


@dataclass(slots=True, eq=False)
class Group:
    active: Active
    block: int
    join: Join | None
    polled: bool = False  # it waits for memory to change

    def split(self, going: Active, staying: Active) -> Group:
        """The part that goes on as a group of its own, on its way to the same join."""
        self.active = staying
        if self.join is not None:
            self.join.pending += 1
        return Group(going, self.block, self.join)
