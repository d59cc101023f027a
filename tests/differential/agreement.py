"""Opinions of one kernel, which must be one: the reference, and the emulator by the compiler's two paths, with tiles in
registers and the general one, all of them in memory.

Hypothesis draws the kernels. `PHOBOS_EXAMPLES=5000` makes the tests that use `for_examples` long runs, of a new seed
each time; a failure names its seed, and `PHOBOS_SEED` repeats it. Shrinking a failure can take as long as the run:
`PHOBOS_SHRINK=0` shows it as it was found.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from secrets import randbelow
from typing import Any, TypeVar

import numpy as np
from hypothesis import HealthCheck, Phase, given, note, seed, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import phobos_core as phobos
from phobos_core.passes import GENERAL_PATH
from phobos_core.runtime.compiler import translate
from phobos_core.runtime.module import Device, Kernel
from tests.differential.kernels import Generated

T = TypeVar("T")
Arrays = dict[str, NDArray[Any]]
LONG = os.environ.get("PHOBOS_EXAMPLES")
SEED = int(os.environ.get("PHOBOS_SEED", randbelow(2**32) if LONG else 0))
PHASES = [phase for phase in Phase if phase != Phase.shrink or os.environ.get("PHOBOS_SHRINK") != "0"]


def for_examples(strategy: st.SearchStrategy[T], count: int, check: Callable[[T], None]) -> None:
    number = int(LONG or count)

    @seed(SEED)
    @settings(max_examples=number, phases=PHASES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(strategy)
    def run(example: T) -> None:
        note(f"PHOBOS_SEED={SEED} PHOBOS_EXAMPLES={number} repeats this run")
        check(example)

    run()


def compiled(generated: Generated, target: str) -> Kernel:
    note(f"{generated.source}options {dict(generated.options)}, s0 = {generated.scalars[0]}, target {target}")
    module = phobos.compile_text(generated.source, name="generated.ph", target=target, **generated.options)
    (kernel,) = module.values()
    return kernel


def without_registers(kernel: Kernel) -> Kernel | None:
    """The same kernel by the general path; None where it needs more shared memory than a block has."""
    translated = translate(replace(kernel._translated.request, steps=GENERAL_PATH))
    if translated.ptx is None:
        assert [d.code for d in translated.diagnostics if d.severity == "error"] == ["over-shared-limit"]
        return None
    return Kernel(translated)


def left(
    kernel: Kernel, device: Device, grid: Sequence[int], arguments: Sequence[Any], schedule: int | None = None
) -> list[NDArray[Any]]:
    """What a launch leaves in its arrays. What the emulator reports is raised."""
    mine = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    with np.errstate(all="ignore"):
        kernel.launch(grid, *mine, device=device, schedule=schedule)
    return [a for a in mine if isinstance(a, np.ndarray)]


def result(kernel: Kernel, device: Device, generated: Generated, schedule: int | None = None) -> Arrays:
    """What a generated kernel leaves, but for what is the compiler's own."""
    arrays = left(kernel, device, (generated.grid,), [*generated.arrays.values(), *generated.scalars], schedule)
    return {name: a for name, a in zip(generated.arrays, arrays, strict=True) if name != generated.private}


def opinions(
    generated: Generated, target: str, schedule: int | None = None
) -> tuple[Kernel, Arrays, dict[str, Arrays]]:
    """The kernel, what the reference says of it, and what each path of the compiler does. The general path runs in step
    or under a schedule: what has no race is the same under all of them."""
    kernel = compiled(generated, target)
    general = without_registers(kernel)
    found = {"registers": result(kernel, "emulator", generated)}
    if general is not None:
        found[f"memory, schedule {schedule}"] = result(general, "emulator", generated, schedule)
    return kernel, result(kernel, "reference", generated), found


def assert_same(found: Arrays, expected: Arrays, path: str = "") -> None:
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=f"{name}, {path}")


def held(kernel: Kernel) -> int:
    return sum(tile.storage == "registers" for tile in kernel._kernel.tiles)
