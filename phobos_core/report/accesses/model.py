"""What is told of each access to memory; the names of the fields are the keys of the JSON report."""

from __future__ import annotations

from dataclasses import dataclass

# The bytes that one lane accesses at most.
WIDEST = 16


@dataclass(frozen=True, slots=True)
class BankUse:
    """What the warps of a block need, each making each access once: `phases`, 1 for up to 4 bytes a lane, 2 for 8, 4
    for 16, and `passes` over the banks, one for each phase where none conflicts. `degree` is the passes of one phase,
    the slowest of an access.

    Passes and degree are [least, most], over the accesses and over what `depends_on` names.
    """

    phases: int
    passes: tuple[int, int]
    degree: tuple[int, int]


@dataclass(frozen=True, slots=True)
class SectorUse:
    """The `bytes` that a warp touches by one access, how many 32-byte sectors that takes at least (`needed`), and in
    how many they lie, [least, most]; `efficiency` is the part of the most sectors that is used."""

    bytes: int
    needed: int
    sectors: tuple[int, int]
    efficiency: float


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """The `instructions` of the PTX by which a source line accesses one tensor or tile, alike and `bytes` wide.

    An asynchronous copy is two, one of each space; so is an instruction by which some threads copy to one tile and
    others to another. `lanes` of a warp make it; where it is `masked`, fewer at the
    edges of a tensor. `why_not_wider` is None for 16 bytes. `banks` is for shared memory, `sectors` for global;
    neither where the addresses cannot be told without the data, as `unknown` says. Where there were more cases than
    are tried, the ranges are those of some, and it is `sampled`; so it is where a stride that only the launch knows
    was taken to be large.
    """

    line: int | None
    name: str | None
    kind: str
    space: str
    dtype: str | None
    bytes: int
    instructions: int
    lanes: int
    masked: bool
    why_not_wider: str | None
    banks: BankUse | None
    sectors: SectorUse | None
    depends_on: tuple[str, ...]
    sampled: bool
    unknown: str | None
