"""Says for how many blocks of an SM the assembler shall make room, where it would otherwise spill to fit more.

Left alone, ptxas aims at as many blocks an SM as the kernel's shared memory leaves room for, and keeps to the
registers that so many blocks can have, spilling what is more. With `.minnctapersm` it takes what it wants, up to the
registers that the stated number of blocks can have.

In: a kernel, scheduled and placed, whose `@launch` says neither a number of blocks nor of registers. Out: the kernel
with `resident_blocks` set where registers hold a large tile, or where its contractions, more than one, are estimated to
need more registers than ptxas would leave them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from phobos_core.ir.module import Decision, Kernel, Op, Value
from phobos_core.ir.rewrite import walk
from phobos_core.ir.schedule import Contraction
from phobos_core.ir.types import TileType, element_of
from phobos_core.language.targets import LANES, REGISTERS_PER_SM, TARGETS

# A tile that takes so many of a thread's registers is more than ptxas should trade for blocks.
_MANY = 32
# Addresses, counters and what a loop keeps beside the patch of a contraction, and what each further one keeps alive.
_BESIDE = 40
_EACH_FURTHER = 14
# Registers are handed out by the thread in steps of this many.
_STEP = 8


def residency(kernel: Kernel) -> Kernel:
    if kernel.min_blocks is not None or kernel.max_registers is not None:
        return kernel
    if any(_registers(op.result) >= _MANY for op in walk(kernel.body) if op.name == "hold"):
        return _asking(kernel, 1, "a large tile in registers leaves ptxas few to trade for another block")
    lines = set(_lines(kernel))
    if len(lines) < 2:
        # What one contraction needs beside its sums can be computed again; ptxas was seen to do that in all of them.
        return kernel
    need = max(_patches(kernel)) + _BESIDE + _EACH_FURTHER * (len(lines) - 1)
    need = -(-need // _STEP) * _STEP
    aimed = _blocks(kernel)
    warps = -(-kernel.threads // LANES)
    fitting = max(1, REGISTERS_PER_SM // (need * warps * LANES))
    if fitting >= aimed:
        return kernel
    reason = (
        f"its contractions are estimated to need {need} registers a thread; "
        f"shared memory alone would let {aimed} blocks fit"
    )
    return _asking(kernel, fitting, reason)


def _asking(kernel: Kernel, blocks: int, reason: str) -> Kernel:
    decision = Decision(kernel.line, "blocks", f"registers for {blocks} on an SM", reason)
    return replace(kernel, resident_blocks=blocks, decisions=(*kernel.decisions, decision))


def _registers(held: Value) -> int:
    """What a tile with a layout takes of each thread."""
    assert isinstance(held.type, TileType)
    assert held.type.layout is not None
    return held.type.runs * held.type.layout.vector * held.type.element.bytes // 4


def _patches(kernel: Kernel) -> Iterator[int]:
    """The registers that the sums and the operands of each contraction take."""
    for op, schedule in _contractions(kernel):
        words = -(-element_of(op.operands[0 if op.name == "hold" else 1].type).bits // 32)
        yield words * (schedule.tm * schedule.tn + 2 * (schedule.tm + schedule.tn))


def _lines(kernel: Kernel) -> Iterator[int]:
    """The source lines of the contractions: a loop's remainder repeats those of its whole tiles."""
    return (op.line for op, _ in _contractions(kernel))


def _contractions(kernel: Kernel) -> Iterator[tuple[Op, Contraction]]:
    for op in walk(kernel.body):
        schedule = op.attrs.get("schedule")
        if isinstance(schedule, Contraction):
            yield op, schedule


def _blocks(kernel: Kernel) -> int:
    """The blocks of an SM that all but the registers leave room for."""
    target = TARGETS[kernel.target]
    warps = -(-kernel.threads // LANES)
    granule = target.shared_granule
    shared = -(-(kernel.shared_bytes + target.shared_reserved) // granule) * granule
    by_shared = target.shared_per_sm // shared if shared else target.blocks_per_sm
    return min(target.blocks_per_sm, target.warps_per_sm // warps, by_shared)
