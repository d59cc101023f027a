"""What is told of a kernel's machine code; the names of the fields are the keys of the JSON report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoopCode:
    """A loop of the machine code, the loops inside it included.

    `name` is `L2` for the second loop that is in no other, `L2.1` for the first one inside it, with a `depth` of 2.
    `line` is that of the comparison which the branch back goes by, `first` and `last` the lowest and the highest
    address. `mix` counts instructions by class, `math_share` is the part of them that computes.
    """

    name: str
    line: int | None
    depth: int
    first: int
    last: int
    instructions: int
    mix: Mapping[str, int]
    math_share: float


@dataclass(frozen=True, slots=True)
class LineCode:
    """What one source line became. `live_registers` is the most that are live at one of its instructions."""

    line: int
    instructions: int
    live_registers: int | None
    mix: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class AccessCode:
    """The `count` instructions of one source line that access memory alike; `bits` is what one thread moves."""

    line: int | None
    operation: str
    bits: int
    count: int


@dataclass(frozen=True, slots=True)
class Code:
    """An outer loop stands before those inside it. `local_accesses` are spills, and arrays not in registers."""

    instructions: int
    live_registers: int | None
    loops: tuple[LoopCode, ...]
    lines: tuple[LineCode, ...]
    accesses: tuple[AccessCode, ...]
    local_accesses: tuple[AccessCode, ...]

    @property
    def largest_loop(self) -> LoopCode | None:
        """The loop with the most instructions: in a kernel without rolled inner loops, its main loop."""
        return max(self.loops, key=lambda loop: loop.instructions, default=None)
