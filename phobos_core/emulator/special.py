"""Special registers: what each thread knows of its place, and counters that stand still here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from phobos_core.emulator.machine import WARP, Array, Geometry

Compute = Callable[[Geometry], Any]


@dataclass(frozen=True, slots=True)
class Special:
    """A row that `update` fills anew for each batch."""

    type: str
    row: Array
    compute: Compute

    def update(self, geometry: Geometry) -> None:
        self.row[...] = self.compute(geometry)


def _axes(shape: tuple[int, int, int], number: Array) -> tuple[Array, Array, Array]:
    x, y, _ = shape
    return number % x, number // x % y, number // (x * y)


def _lane_bits(geometry: Geometry, function: Callable[[Array], Array]) -> Array:
    return function(geometry.lane_of) & 0xFFFFFFFF


def _constant(value: int) -> Compute:
    return lambda geometry: np.int64(value)


def special_registers(geometry: Geometry, shared: int, dynamic_shared: int) -> dict[str, Special]:
    computes: dict[str, tuple[str, Compute]] = {}
    for number, axis in enumerate("xyz"):

        def tid(g: Geometry, number: int = number) -> Array:
            return _axes(g.block, g.thread_of)[number]

        def ctaid(g: Geometry, number: int = number) -> Array:
            return _axes(g.grid, g.first_block + g.block_of)[number]

        computes |= {
            f"%tid.{axis}": ("b32", tid),
            f"%ctaid.{axis}": ("b32", ctaid),
            f"%ntid.{axis}": ("b32", _constant(geometry.block[number])),
            f"%nctaid.{axis}": ("b32", _constant(geometry.grid[number])),
        }
    computes |= {
        "%laneid": ("b32", lambda g: g.lane_of),
        "%warpid": ("b32", lambda g: g.warp_of),
        "%nwarpid": ("b32", _constant(geometry.warps)),
        "%smid": ("b32", lambda g: g.first_block + g.block_of),
        "%nsmid": ("b32", _constant(int(np.prod(geometry.grid)))),
        "%gridid": ("b64", _constant(0)),
        "%clock": ("b32", _constant(0)),
        "%clock64": ("b64", _constant(0)),
        "%globaltimer": ("b64", _constant(0)),
        "%total_smem_size": ("b32", _constant(shared)),
        "%dynamic_smem_size": ("b32", _constant(dynamic_shared)),
        "%lanemask_eq": ("b32", lambda g: _lane_bits(g, lambda lane: 1 << lane)),
        "%lanemask_lt": ("b32", lambda g: _lane_bits(g, lambda lane: (1 << lane) - 1)),
        "%lanemask_le": ("b32", lambda g: _lane_bits(g, lambda lane: (2 << lane) - 1)),
        "%lanemask_gt": ("b32", lambda g: _lane_bits(g, lambda lane: -(2 << lane))),
        "%lanemask_ge": ("b32", lambda g: _lane_bits(g, lambda lane: -(1 << lane))),
        "WARP_SZ": ("b32", _constant(WARP)),
    }
    return {
        name: Special(kind, np.zeros(geometry.lanes, np.uint64 if kind == "b64" else np.uint32), compute)
        for name, (kind, compute) in computes.items()
    }
