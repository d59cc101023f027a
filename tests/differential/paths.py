"""Launches by the two paths of the compiler: with tiles in registers, and the general one, all of them in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from phobos_core.passes import GENERAL_PATH
from phobos_core.runtime.compiler import translate
from phobos_core.runtime.module import Device, Kernel


def without_registers(kernel: Kernel) -> Kernel | None:
    """The same kernel by the general path; None where it needs more shared memory than a block has."""
    translated = translate(replace(kernel._translated.request, steps=GENERAL_PATH))
    if translated.ptx is None:
        assert [d.code for d in translated.diagnostics] == ["over-shared-limit"]
        return None
    return Kernel(translated)


def left(kernel: Kernel, device: Device, grid: Sequence[int], arguments: Sequence[Any]) -> list[NDArray[Any]]:
    """What a launch leaves in its arrays. What the emulator reports is raised."""
    mine = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    with np.errstate(all="ignore"):
        kernel.launch(grid, *mine, device=device)
    return [a for a in mine if isinstance(a, np.ndarray)]


def held(kernel: Kernel) -> int:
    return sum(tile.storage == "registers" for tile in kernel._kernel.tiles)
