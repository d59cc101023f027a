"""The GPUs that Phobos compiles for: limits, features and the PTX version of each, stated once.

In: a name such as `sm_80`. Out: a `Target`, read by the checker (limits, least targets), the passes (which
hardware path exists), codegen (PTX version) and the report (occupancy).

Sources: the limits are those of NVIDIA's `cuda_occupancy.h`, against which a test proves the occupancy
computed from them; features and PTX versions are those of the "PTX ISA" manual, "Target ISA Notes".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

LANES = 32
MAX_THREADS = 1024
REGISTERS_PER_SM = 65536
MAX_REGISTERS_PER_THREAD = 255
# Registers are handed to a warp in units of this many.
REGISTER_GRANULE = 256
# Each sub-partition of an SM holds a quarter of its registers and runs a quarter of its warps.
SUB_PARTITIONS = 4
STATIC_SHARED_LIMIT = 48 * 1024
DEFAULT = "sm_80"

Feature = Literal[
    "dp4a",
    "acquire_release",
    "wmma",
    "mma_sync",
    "mma_int8",
    "tanh_approx",
    "bf16",
    "cp_async",
    "redux",
    "bf16_arithmetic",
]

# The first `sm` number with each ability.
LEAST_SM: dict[Feature, int] = {
    "dp4a": 61,
    "acquire_release": 70,  # ld.acquire, st.release
    "wmma": 70,
    "mma_sync": 75,  # mma.sync on f16, with ldmatrix
    "mma_int8": 75,  # mma.m8n8k16 on i8
    "tanh_approx": 75,
    "bf16": 80,  # cvt to bf16, fma and mma on bf16
    "cp_async": 80,
    "redux": 80,  # redux.sync on i32
    "bf16_arithmetic": 90,  # add, sub, mul on bf16, cvt from bf16
}


@dataclass(frozen=True, slots=True)
class Target:
    """One compute capability. Sizes are bytes.

    `ptx` is the least PTX version that has both the target and every instruction the compiler emits for it.
    `shared_per_block` is what a kernel may opt in to; `shared_reserved` is what the driver takes from each
    block. `barrier_slots` is None where barriers do not limit the blocks of an SM. `f32_pairs`: two f32 multiply-adds
    are one instruction; elsewhere ptxas makes two of a `fma.rn.f32x2`.
    """

    sm: int
    ptx: tuple[int, int]
    warps_per_sm: int
    blocks_per_sm: int
    shared_per_sm: int
    shared_per_block: int
    shared_reserved: int
    shared_granule: int
    barrier_slots: int | None
    f32_pairs: bool

    @property
    def name(self) -> str:
        return f"sm_{self.sm}"

    def has(self, feature: Feature) -> bool:
        return self.sm >= LEAST_SM[feature]


def _target(
    sm: int,
    ptx: tuple[int, int],
    *,
    warps: int,
    blocks: int,
    shared_kb: int,
    per_block_kb: int,
    barriers: int | None = None,
    f32_pairs: bool = False,
) -> Target:
    reserved, granule = (1024, 128) if sm >= 80 else (0, 256)
    shared, per_block = shared_kb * 1024, per_block_kb * 1024
    return Target(sm, ptx, warps, blocks, shared, per_block, reserved, granule, barriers, f32_pairs)


# sm_61 and sm_70 take PTX 6.0 for the `.sync` shuffles and votes; sm_75 takes 7.0 for tanh.approx and 6.5's
# ldmatrix. Every other target takes the version that introduced it.
TARGETS: dict[str, Target] = {
    t.name: t
    for t in (
        _target(61, (6, 0), warps=64, blocks=32, shared_kb=96, per_block_kb=48),
        _target(70, (6, 0), warps=64, blocks=32, shared_kb=96, per_block_kb=96),
        _target(75, (7, 0), warps=32, blocks=16, shared_kb=64, per_block_kb=64),
        _target(80, (7, 0), warps=64, blocks=32, shared_kb=164, per_block_kb=163),
        _target(86, (7, 1), warps=48, blocks=16, shared_kb=100, per_block_kb=99),
        _target(87, (7, 4), warps=48, blocks=16, shared_kb=164, per_block_kb=163),
        _target(88, (9, 0), warps=48, blocks=16, shared_kb=100, per_block_kb=99),
        _target(89, (7, 8), warps=48, blocks=24, shared_kb=100, per_block_kb=99),
        _target(90, (7, 8), warps=64, blocks=32, shared_kb=228, per_block_kb=227, barriers=64),
        _target(100, (8, 6), warps=64, blocks=32, shared_kb=228, per_block_kb=227, barriers=64, f32_pairs=True),
        _target(103, (8, 8), warps=64, blocks=32, shared_kb=228, per_block_kb=227, barriers=32, f32_pairs=True),
        _target(110, (9, 0), warps=48, blocks=24, shared_kb=228, per_block_kb=227, barriers=24),
        _target(120, (8, 7), warps=48, blocks=24, shared_kb=100, per_block_kb=99, barriers=24),
        _target(121, (8, 8), warps=48, blocks=24, shared_kb=100, per_block_kb=99, barriers=24),
    )
}


def least_target(feature: Feature) -> Target:
    """The smallest target that has `feature`, which an error about a missing one names."""
    return min((t for t in TARGETS.values() if t.has(feature)), key=lambda t: t.sm)


def registers_of_a_thread(warps: int) -> int:
    """The most that each thread can have where so many warps are on an SM: a sub-partition shares out its quarter."""
    in_one = -(-warps // SUB_PARTITIONS)
    per_warp = REGISTERS_PER_SM // SUB_PARTITIONS // in_one // REGISTER_GRANULE * REGISTER_GRANULE
    return min(MAX_REGISTERS_PER_THREAD, per_warp // LANES)
