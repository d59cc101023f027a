"""Tile IR to tile IR: from what lowering gives to the normal form that code generation takes.

Each pass is a function from kernel to kernel in a module of its name, makes one kind of choice, and records those that
cost or save the user something as decisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from phobos_core.ir.module import Kernel
from phobos_core.ir.verifier import verify
from phobos_core.passes.canonicalize import canonicalize
from phobos_core.passes.conditions import fold_conditions
from phobos_core.passes.errors import PassError
from phobos_core.passes.fitting import Pass
from phobos_core.passes.forward import forward
from phobos_core.passes.k_major import k_major
from phobos_core.passes.masks import report_masks
from phobos_core.passes.materialize import materialize
from phobos_core.passes.pipeline import pipeline
from phobos_core.passes.place_barriers import place_barriers
from phobos_core.passes.place_shared import place_shared
from phobos_core.passes.promote import promote
from phobos_core.passes.residency import residency
from phobos_core.passes.schedule import schedule
from phobos_core.passes.split_loops import split_loops
from phobos_core.passes.stage import stage
from phobos_core.passes.unroll import unroll
from phobos_core.passes.widen_runs import widen_runs

__all__ = ["GENERAL_PATH", "PASSES", "Pass", "PassError", "run"]

PASSES: tuple[Pass, ...] = (
    canonicalize,
    forward,
    materialize,
    stage,
    split_loops,
    fold_conditions,
    report_masks,
    k_major,
    pipeline,
    unroll,
    canonicalize,
    promote,
    widen_runs,
    schedule,
    place_shared,
    place_barriers,
    residency,
)


def in_memory(kernel: Kernel) -> Kernel:
    """The kernel with no tile in registers from one statement to another."""
    return replace(kernel, in_registers=False)


# Right for every program, and what the path through registers is compared with.
GENERAL_PATH: tuple[Pass, ...] = (in_memory, *PASSES)


def run(kernel: Kernel, steps: Sequence[Pass] = PASSES, *, check: bool = False) -> Kernel:
    """The passes in order. Raises `PassError` where the kernel cannot be built as the source asks.

    `check` verifies what goes in and what each pass gives.
    """
    if check:
        verify(kernel)
    for step in steps:
        kernel = step(kernel)
        if check:
            verify(kernel)
    # A loop that was split into whole tiles and a remainder, or unrolled, has each decision more than once.
    return replace(kernel, decisions=tuple(dict.fromkeys(kernel.decisions)))
