"""The report of a build as data: what `build --format json` prints, in the same names and the same shape.

In: built by `report.collect` from a compiled kernel. Out: frozen dataclasses, which `report.as_json`, `report.text`
and `report.html` render. Lines are 1-based. A number that only ptxas can give is None where there was none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from phobos_core.report.accesses.model import MemoryAccess
from phobos_core.report.sass.model import Code

SCHEMA = "phobos.build/1"

Status = Literal["ok", "skipped", "error"]


@dataclass(frozen=True, slots=True)
class Launch:
    """How the host has to launch the entry. `cooperative`: all blocks of the grid have to be co-resident."""

    threads: int
    min_blocks: int | None
    max_registers: int | None
    dynamic_shared_bytes: int
    cooperative: bool


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of the PTX entry, in order. A dimension bound at compile time stands in `dims` as its value."""

    name: str
    kind: Literal["tensor", "scalar", "dim"]
    dtype: str
    dims: tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Resources:
    """As ptxas reports them; `shared_bytes` is static plus dynamic."""

    registers: int | None = None
    shared_bytes: int | None = None
    local_bytes: int | None = None
    spill_store_bytes: int | None = None
    spill_load_bytes: int | None = None
    constant_bytes: int | None = None
    barriers: int | None = None


@dataclass(frozen=True, slots=True)
class OccupancyReport:
    """`limiters` are all resources that allow no more blocks, `limiter` the first of them to look at."""

    blocks_per_sm: int | None = None
    warps_per_sm: int | None = None
    fraction: float | None = None
    limiter: str | None = None
    limiters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile and where its bytes are. `live` is the first and the last source line that needs them."""

    name: str
    line: int
    shape: tuple[int, ...]
    dtype: str
    storage: Literal["registers", "shared", "view"]
    bytes: int
    offset: int | None
    live: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Decision:
    line: int
    op: str
    choice: str
    reason: str


@dataclass(frozen=True, slots=True)
class KernelReport:
    """One kernel in one configuration for one target.

    `suggested_grid` has an expression over the dimensions for each grid axis that the slices give one for;
    `cluster` has the super-tile dimensions of `@cluster` with the choices of each;
    `coresident_grid` is the most blocks that run at once, over the number of SMs; `cliff` is the smallest change
    that puts more blocks on an SM; `accesses` are those to memory, as the PTX makes them; `code` is what the machine
    code is made of, where it was disassembled.
    """

    kernel: str
    file: str
    line: int
    target: str
    config: Mapping[str, int]
    dims: Mapping[str, int]
    index_bits: int
    artifacts: Mapping[str, str]
    launch: Launch
    params: tuple[Param, ...]
    resources: Resources
    occupancy: OccupancyReport
    tiles: tuple[Tile, ...]
    decisions: tuple[Decision, ...]
    requires: tuple[str, ...]
    suggested_grid: tuple[str, ...]
    cluster: Mapping[str, tuple[int, ...]]
    coresident_grid: str | None
    shared_bytes_without_reuse: int
    cliff: str | None
    status: Status
    notes: tuple[str, ...]
    accesses: tuple[MemoryAccess, ...] = ()
    code: Code | None = None

    @property
    def placed_bytes(self) -> int:
        """The shared memory that the tiles take, which needs no ptxas."""
        return max((tile.offset + tile.bytes for tile in self.tiles if tile.offset is not None), default=0)


@dataclass(frozen=True, slots=True)
class Assembler:
    path: str
    version: str
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Toolchain:
    """What made the numbers: `ptxas` has every assembler that was used, none where none was found."""

    phobos: str
    llvm: str
    ptxas: tuple[Assembler, ...]
