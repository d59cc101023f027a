"""From a compiled kernel and what ptxas said of it to its report.

In: the tile IR after the last pass, the resources of its entry (None where no ptxas assembled it), and the dimensions
that the options bind. Out: a `KernelReport`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from phobos_core.ir import module as ir
from phobos_core.language.targets import TARGETS
from phobos_core.language.types import INDEX, ScalarType
from phobos_core.report.accesses.model import MemoryAccess
from phobos_core.report.model import (
    Decision,
    KernelReport,
    Launch,
    OccupancyReport,
    Param,
    Resources,
    Status,
    Tile,
)
from phobos_core.report.occupancy import BlockUse, nearest_cliff, occupancy
from phobos_core.toolchain.messages import Resources as Assembled


def collect(
    kernel: ir.Kernel,
    file: str,
    assembled: Assembled | None,
    *,
    dims: Mapping[str, int],
    suggested_grid: Sequence[str] = (),
    cluster: Mapping[str, tuple[int, ...]] = MappingProxyType({}),
    status: Status = "ok",
    notes: Sequence[str] = (),
    accesses: Sequence[MemoryAccess] = (),
) -> KernelReport:
    dynamic = kernel.shared_bytes if kernel.dynamic_shared else 0
    resources, fits, coresident, cliff = _resources(kernel, assembled, dynamic)
    return KernelReport(
        kernel=kernel.name,
        file=file,
        line=kernel.line,
        target=kernel.target,
        config=dict(kernel.config),
        dims=dict(dims),
        index_bits=kernel.index_bits,
        artifacts={},
        launch=Launch(kernel.threads, kernel.min_blocks, kernel.max_registers, dynamic, kernel.persistent),
        params=tuple(Param(p.name, p.kind, _dtype(p.dtype, kernel.index_bits), p.dims) for p in kernel.params),
        resources=resources,
        occupancy=fits,
        tiles=tuple(
            Tile(t.name, t.line, t.shape, str(t.dtype), t.storage, t.bytes, t.offset, t.live) for t in kernel.tiles
        ),
        decisions=tuple(Decision(d.line, d.op, d.choice, d.reason) for d in kernel.decisions),
        requires=tuple(r.text for r in kernel.requires),
        suggested_grid=tuple(suggested_grid),
        cluster=dict(cluster),
        coresident_grid=coresident,
        shared_bytes_without_reuse=kernel.shared_bytes_without_reuse,
        cliff=cliff,
        status=status,
        notes=(*kernel.notes, *notes),
        accesses=tuple(accesses),
    )


def _dtype(dtype: ScalarType, index_bits: int) -> str:
    """The type as the entry takes it: an index is an integer of the width compiled for."""
    return f"i{index_bits}" if dtype == INDEX else str(dtype)


def _resources(
    kernel: ir.Kernel, assembled: Assembled | None, dynamic: int
) -> tuple[Resources, OccupancyReport, str | None, str | None]:
    """What a block takes, how many fit an SM, the largest co-resident grid, and the nearest cliff."""
    if assembled is None:
        return Resources(), OccupancyReport(), None, None
    target = TARGETS[kernel.target]
    shared = assembled.shared_bytes + dynamic
    use = BlockUse(kernel.threads, assembled.registers, shared, assembled.barriers)
    fits = occupancy(target, use)
    cliff = nearest_cliff(target, use)
    return (
        Resources(
            registers=assembled.registers,
            shared_bytes=shared,
            local_bytes=assembled.local_bytes,
            spill_store_bytes=assembled.spill_store_bytes,
            spill_load_bytes=assembled.spill_load_bytes,
            constant_bytes=assembled.constant_bytes,
            barriers=assembled.barriers,
        ),
        OccupancyReport(fits.blocks, fits.warps, fits.fraction, fits.limiters[0], fits.limiters),
        f"{fits.blocks} * SMs",
        str(cliff) if cliff else None,
    )
