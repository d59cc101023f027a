"""Bank conflicts of shared memory, counted exactly for the accesses of a run.

Shared memory has 32 banks of 4 bytes, and one pass over it gives one word of each bank. A warp's access of up to 4
bytes a thread is one phase; of 8 bytes two phases of 16 threads; of 16 bytes four phases of 8. A phase takes as many
passes as there are different words in one bank, its *degree*; 1 is free of conflicts. In: the addresses of every
access, from `WindowSpace`. Out: a `SharedAccess` for each instruction. Atomics are not counted: what they wait for
is each other more than banks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from phobos_core.emulator.machine import WARP, Active, Geometry, Index
from phobos_core.emulator.ptx import Instruction
from phobos_core.emulator.result import SharedAccess

BANKS = 32
WORD = 4
_WORDS = 1 << 30  # more than shared memory has, and a multiple of the number of banks
_COUNTED = frozenset({"ld", "st", "cp", "ldmatrix", "stmatrix"})


def degrees(addresses: Index, size: int, lane: Index, warp: Index) -> tuple[Index, Index]:
    """The degree of each phase that has a thread, and the warp that each of these phases is of."""
    words = max(1, size // WORD)
    phases = words  # 4 bytes: 1 phase of the whole warp, 8: 2 halves, 16: 4 quarters
    phase = warp * phases + lane * phases // WARP
    word = addresses[:, None] // WORD + np.arange(words)
    different = np.unique((phase[:, None] * _WORDS + word).ravel())
    present, number = np.unique(different // _WORDS, return_inverse=True)
    per_bank = np.bincount(number * BANKS + different % BANKS, minlength=present.size * BANKS)
    return per_bank.reshape(-1, BANKS).max(axis=1), present // phases


@dataclass(slots=True)
class _Count:
    site: Instruction
    size: int
    warps: int = 0
    phases: int = 0
    passes: int = 0
    degree: int = 0


@dataclass(slots=True)
class BankCounter:
    """Sees every access to shared memory. A warp that has diverged accesses once for each of its parts."""

    geometry: Geometry
    counts: dict[int, _Count] = field(default_factory=dict)

    def see(self, site: Instruction, size: int, addresses: Index, active: Active) -> None:
        if site.opcode not in _COUNTED:
            return
        geometry, lanes = self.geometry, active.lanes
        warp = geometry.block_of[lanes] * geometry.warps + geometry.warp_of[lanes]
        found, of_warp = degrees(addresses, size, geometry.lane_of[lanes], warp)
        count = self.counts.setdefault(id(site), _Count(site, size))
        count.warps += np.unique(of_warp).size
        count.phases += found.size
        count.passes += int(found.sum())
        count.degree = max(count.degree, int(found.max()))

    def accesses(self) -> tuple[SharedAccess, ...]:
        """In the order of the PTX."""
        return tuple(
            SharedAccess(c.site.line, c.site.ptx_line, c.site.name, c.size, c.warps, c.phases, c.passes, c.degree)
            for c in sorted(self.counts.values(), key=lambda c: c.site.ptx_line)
        )
