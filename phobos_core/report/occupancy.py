"""How many blocks of a kernel an SM holds, what limits it, and the nearest change that would hold more.

In: a target and what one block uses (threads, registers from ptxas, shared memory, barriers). Out: an
`Occupancy` and, by `nearest_cliff`, the smallest single change that raises it. The formula is NVIDIA's, of
`cuda_occupancy.h`; a test holds it to that header.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from phobos_core.language.targets import (
    LANES,
    MAX_REGISTERS_PER_THREAD,
    MAX_THREADS,
    REGISTER_GRANULE,
    REGISTERS_PER_SM,
    STATIC_SHARED_LIMIT,
    SUB_PARTITIONS,
    Target,
)

# In the order in which a tie names the limiter: what the author can change first.
Limiter = Literal["registers", "shared memory", "warps", "barriers", "blocks"]

Resource = Literal["registers", "bytes of shared memory", "threads"]


@dataclass(frozen=True, slots=True)
class BlockUse:
    """What one block takes. `shared` is static plus dynamic bytes, without what the driver reserves."""

    threads: int
    registers: int
    shared: int
    barriers: int = 1


@dataclass(frozen=True, slots=True)
class Occupancy:
    """`limiters` are all resources that allow no more than `blocks`, the most telling first."""

    blocks: int
    warps: int
    fraction: float
    limiters: tuple[Limiter, ...]


@dataclass(frozen=True, slots=True)
class Cliff:
    """`amount` fewer of `resource` in each block puts `blocks` on an SM."""

    resource: Resource
    amount: int
    blocks: int

    def __str__(self) -> str:
        plural = "block" if self.blocks == 1 else "blocks"
        return f"{self.amount} {_fewer(self.resource, self.amount)}: {self.blocks} {plural}"


def _fewer(resource: str, amount: int) -> str:
    """ "4 registers fewer", "1 thread fewer", "512 bytes of shared memory fewer"."""
    noun, _, rest = resource.partition(" ")
    noun = noun.removesuffix("s") if amount == 1 else noun
    return " ".join(part for part in (noun, rest, "fewer") if part)


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def _warps(use: BlockUse) -> int:
    return -(-use.threads // LANES)


def _by_registers(use: BlockUse) -> int:
    if use.registers > MAX_REGISTERS_PER_THREAD:
        return 0
    per_warp = _round_up(use.registers * LANES, REGISTER_GRANULE)
    if per_warp * _round_up(_warps(use), SUB_PARTITIONS) > REGISTERS_PER_SM:
        return 0
    warps = REGISTERS_PER_SM // SUB_PARTITIONS // per_warp * SUB_PARTITIONS
    return warps // _warps(use)


def _by_shared(target: Target, use: BlockUse, allocated: int) -> int:
    limit = STATIC_SHARED_LIMIT if use.shared <= STATIC_SHARED_LIMIT else target.shared_per_block
    return 0 if allocated > limit + target.shared_reserved else target.shared_per_sm // allocated


def limits(target: Target, use: BlockUse) -> dict[Limiter, int]:
    """The most blocks that each resource of an SM allows, without those that a block uses none of."""
    found: dict[Limiter, int] = {}
    if use.registers:
        found["registers"] = _by_registers(use)
    if allocated := _round_up(use.shared + target.shared_reserved, target.shared_granule):
        found["shared memory"] = _by_shared(target, use, allocated)
    found["warps"] = target.warps_per_sm // _warps(use) if use.threads <= MAX_THREADS else 0
    if target.barrier_slots is not None and use.barriers:
        found["barriers"] = target.barrier_slots // use.barriers
    found["blocks"] = target.blocks_per_sm
    return found


def occupancy(target: Target, use: BlockUse) -> Occupancy:
    found = limits(target, use)
    blocks = min(found.values())
    warps = blocks * _warps(use)
    limiters = [name for name, most in found.items() if most == blocks]
    if warps == target.warps_per_sm:
        # The SM is full: nothing else stands in the way, whatever else is used up by chance.
        limiters.sort(key=lambda name: name != "warps")
    return Occupancy(blocks, warps, warps / target.warps_per_sm, tuple(limiters))


def nearest_cliff(target: Target, use: BlockUse) -> Cliff | None:
    """The smallest cut, relative to what is used now, of one resource that puts more warps on an SM.

    None where no single resource is in the way: several limit at once, or the SM is full.
    """
    now = occupancy(target, use)
    resources: tuple[tuple[Resource, int, int, int, Callable[[int], BlockUse]], ...] = (
        ("registers", use.registers, 1, 1, lambda n: replace(use, registers=n)),
        ("bytes of shared memory", use.shared, target.shared_granule, 0, lambda n: replace(use, shared=n)),
        ("threads", use.threads, LANES, LANES, lambda n: replace(use, threads=n)),
    )
    found: list[tuple[float, Cliff]] = []
    for resource, used, step, least, using in resources:
        if used <= least or occupancy(target, using(least)).blocks <= now.blocks:
            continue
        for amount in range((used - 1) // step * step, least - 1, -step):
            then = occupancy(target, using(amount))
            if then.blocks > now.blocks and then.warps > now.warps:
                found.append(((used - amount) / used, Cliff(resource, used - amount, then.blocks)))
                break
    return min(found, key=lambda item: item[0], default=(0.0, None))[1]
