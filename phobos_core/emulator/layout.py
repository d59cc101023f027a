"""Where a launch's variables lie, the shape of its blocks, and how many of them run at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from phobos_core.emulator.clocks import MAX_BLOCKS
from phobos_core.emulator.decode import DTYPES
from phobos_core.emulator.machine import Geometry
from phobos_core.emulator.program import polls
from phobos_core.emulator.ptx import Kernel, Variable
from phobos_core.emulator.result import Coordinates, LaunchError

LANES_PER_BATCH = 8192
POLLING_LANES_PER_BATCH = 1 << 16
BYTES_PER_BATCH = 64 << 20
REGISTER_BYTES_PER_BATCH = 32 << 20
POLLING_BYTES_PER_BATCH = 512 << 20
MAX_THREADS = 1024
ALIGNMENT = 128


@dataclass(slots=True)
class Layout:
    """Where the variables of a window lie."""

    offsets: dict[str, int] = field(default_factory=dict)
    size: int = 0

    def place(self, variable: Variable, size: int) -> None:
        align = max(1, variable.align)
        start = -(-self.size // align) * align
        self.offsets[variable.name] = start
        self.size = start + size


def lay_out(variables: Sequence[Variable], space: str, dynamic: int) -> Layout:
    """Variables of a state space one after the other, and the `dynamic` bytes that unsized arrays share."""
    layout = Layout()
    for variable in variables:
        if variable.space == space and variable.size:
            layout.place(variable, variable.size)
    unsized = [variable for variable in variables if variable.space == space and not variable.size]
    if unsized:
        align = max([16, *(variable.align for variable in unsized)])
        start = -(-layout.size // align) * align
        layout.offsets |= {variable.name: start for variable in unsized}
        layout.size = start + dynamic
    return layout


def block_shape(kernel: Kernel, block: Coordinates | int | None) -> Coordinates:
    given = kernel.directives.get("reqntid") or kernel.directives.get("maxntid")
    if block is not None:
        given = (block,) if isinstance(block, int) else block
    if not given:
        raise LaunchError(f"`{kernel.name}` has no .maxntid, so the launch must say the block's shape")
    x, y, z = (*given, 1, 1)[:3]
    threads = x * y * z
    limit = math.prod(kernel.directives.get("maxntid", (MAX_THREADS,)))
    if not 0 < threads <= min(limit, MAX_THREADS):
        raise LaunchError(f"a block of {threads} threads, where `{kernel.name}` allows 1 to {min(limit, MAX_THREADS)}")
    return x, y, z


def batch_geometry(kernel: Kernel, grid: Coordinates, block: Coordinates, shared: int, local: int) -> Geometry:
    """As many blocks at once as keep arrays near the cache and memory bounded, in equal batches."""
    threads, total = math.prod(block), math.prod(grid)
    registers = max(1, sum(DTYPES[kind].itemsize for kind in kernel.registers.values() if kind in DTYPES))
    if any(polls(at) for at in kernel.instructions):
        # Blocks may wait for each other, so as many as can should be there together.
        lanes = min(POLLING_LANES_PER_BATCH, POLLING_BYTES_PER_BATCH // registers)
    else:
        lanes = min(LANES_PER_BATCH, REGISTER_BYTES_PER_BATCH // registers)
    per_block = max(1, shared + local * threads)
    most = max(1, min(lanes // threads, BYTES_PER_BATCH // per_block, MAX_BLOCKS, total))
    batches = max(1, -(-total // most))
    return Geometry(grid, block, max(1, -(-total // batches)))
