"""Barriers by the simulator: enough of them on every path, and none too many."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phobos_core.ir.module import Kernel
from phobos_core.ir.rewrite import edit, walk, with_body
from phobos_core.ir.verifier import verify
from phobos_core.language.targets import LANES
from phobos_core.passes.materialize import materialize
from phobos_core.passes.place_barriers import place_barriers
from phobos_core.passes.place_shared import place_shared
from phobos_core.passes.schedule import schedule
from tests.passes.programs import ROWS, Programs
from tests.passes.simulator import Simulation
from tests.passes.spread import spread

PATHS = 12
# Of 0, 1, 2, 3 trips, and enough for the loop variable to reach every row of a tensor.
TRIP_WEIGHTS = (6, 6, 6, 6, 1)
# A needed barrier shows on some path; the rarest takes a certain side of several branches.
MANY_PATHS = 400


def placed(kernel: Kernel, choices: Random | None = None) -> Kernel:
    """With `choices`, what is swept and reduced is spread in patches and held in registers."""
    kernel = schedule(materialize(kernel))
    if choices is not None:
        kernel = spread(kernel, choices)
        verify(kernel)
    return place_barriers(place_shared(kernel))


def conflicts(kernel: Kernel, seed: int, shift: int = 0) -> list[str]:
    """On the path that the seed chooses; the first two run every loop twice and take one side each."""
    random = Random(seed)
    if seed < 2:
        return Simulation(kernel, lambda: 2, lambda: seed == 0, shift).run()
    trips = (0, 1, 2, 3, ROWS)
    return Simulation(
        kernel, lambda: random.choices(trips, TRIP_WEIGHTS)[0], lambda: random.random() < 0.5, shift
    ).run()


def generated(seed: int, *, registers: bool) -> Kernel:
    choices = Random(seed)
    program = Programs(choices).kernel()
    verify(program)
    if registers and choices.random() < 0.4:
        # Enough threads for rows of patches wider than a warp.
        program = replace(program, threads=2 * LANES)
    kernel = placed(program, choices if registers else None)
    verify(kernel)
    return kernel


@pytest.mark.parametrize("registers", [False, True])
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_no_byte_crosses_threads_without_a_barrier(registers: bool, seed: int) -> None:
    kernel = generated(seed, registers=registers)
    for path in range(PATHS):
        assert conflicts(kernel, path) == []


@pytest.mark.parametrize("registers", [False, True])
@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32))
def test_without_any_one_of_them_some_byte_does(registers: bool, seed: int) -> None:
    kernel = generated(seed, registers=registers)
    for barrier in (op for op in walk(kernel.body) if op.name == "barrier"):
        fewer = with_body(kernel, edit(kernel.body, replaced={barrier: ()}).ops)
        assert any(conflicts(fewer, path, shift=1 + path % 3) for path in range(MANY_PATHS)), (
            f"the one on line {barrier.line}"
        )
