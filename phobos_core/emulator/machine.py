"""The threads of one batch of blocks, side by side: which lane is which thread, and what has been found so
far.

Every array that describes threads has one element per lane; lane `block * threads + thread` is that thread of
that block of the batch. An `Active` is the set of lanes that execute together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from phobos_core.emulator.ptx import Instruction
from phobos_core.emulator.result import Coordinates, Finding

# A row of register values; its element type is known only when an instruction is decoded.
Array = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
Index = npt.NDArray[np.int64]

WARP = 32


class HaltError(Exception):
    """A fault after which the launch cannot go on; it is recorded already."""


@dataclass(slots=True)
class Active:
    """Lanes under a mask. `full` means every lane of the batch, which lets an operation skip the mask."""

    mask: Mask
    count: int
    full: bool
    _lanes: Index | None = None
    # What the checks keep of these lanes, with the version it is of.
    moment: tuple[int, Any] | None = None

    @classmethod
    def of(cls, mask: Mask, count: int | None = None) -> Active:
        number = int(np.count_nonzero(mask)) if count is None else count
        return cls(mask, number, number == mask.size)

    @property
    def lanes(self) -> Index:
        if self._lanes is None:
            self._lanes = np.flatnonzero(self.mask)
        return self._lanes

    def select(self, row: Array) -> Array:
        """The row's values at the active lanes only."""
        return row if self.full else row.take(self.lanes)


@dataclass(slots=True)
class Geometry:
    """The shape of a batch: `blocks` blocks of `threads` threads."""

    grid: Coordinates
    block: Coordinates
    blocks: int
    first_block: int = 0
    threads: int = field(init=False)
    lanes: int = field(init=False)
    warps: int = field(init=False)
    block_of: Index = field(init=False)
    thread_of: Index = field(init=False)
    warp_of: Index = field(init=False)
    lane_of: Index = field(init=False)
    warp_start: Index = field(init=False)
    warp_size: Index = field(init=False)

    def __post_init__(self) -> None:
        x, y, z = self.block
        self.threads = x * y * z
        self.lanes = self.blocks * self.threads
        self.warps = -(-self.threads // WARP)
        lane = np.arange(self.lanes, dtype=np.int64)
        self.block_of = lane // self.threads
        self.thread_of = lane % self.threads
        self.warp_of = self.thread_of // WARP
        self.lane_of = self.thread_of % WARP
        self.warp_start = lane - self.lane_of
        self.warp_size = np.minimum(WARP, self.threads - self.warp_of * WARP)

    def block_coordinates(self, lane: int) -> Coordinates:
        number = self.first_block + int(self.block_of[lane])
        x, y, _ = self.grid
        return number % x, number // x % y, number // (x * y)

    def block_name(self, block: int) -> str:
        """A block of the batch as messages call it: its number, or in a grid of several axes its coordinates."""
        x, y, z = self.block_coordinates(block * self.threads)
        return str(x) if self.grid[1:] == (1, 1) else f"({x}, {y}, {z})"

    def thread_coordinates(self, lane: int) -> Coordinates:
        number = int(self.thread_of[lane])
        x, y, _ = self.block
        return number % x, number // x % y, number // (x * y)


def _place(site: Instruction) -> tuple[bool, int]:
    """Where an instruction comes from, as far as is known: its source line, else its PTX line."""
    return (True, site.line) if site.line else (False, site.ptx_line)


@dataclass(slots=True)
class Recorder:
    """Findings, each pair of places once."""

    geometry: Geometry
    schedule: int | None = None
    findings: list[Finding] = field(default_factory=list)
    seen: set[tuple[str, tuple[bool, int], tuple[bool, int] | None]] = field(default_factory=set)

    def report(
        self,
        kind: str,
        message: str,
        site: Instruction,
        lane: int | None = None,
        address: int | None = None,
        other: Instruction | None = None,
    ) -> None:
        places = (kind, _place(site), _place(other) if other else None)
        if places in self.seen:
            return
        self.seen.add(places)
        self.findings.append(
            Finding(
                kind,
                message,
                site.line,
                site.ptx_line,
                None if lane is None else self.geometry.block_coordinates(lane),
                None if lane is None else self.geometry.thread_coordinates(lane),
                address,
                other.line if other else None,
                other.ptx_line if other else None,
                self.schedule,
            )
        )

    def halt(
        self,
        kind: str,
        message: str,
        site: Instruction,
        lane: int | None = None,
        address: int | None = None,
    ) -> HaltError:
        self.report(kind, message, site, lane, address)
        return HaltError()
