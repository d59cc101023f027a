"""Passes keep what a kernel computes: random programs give the same tensors before and after."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phobos_core.ir.module import Kernel
from phobos_core.ir.verifier import verify
from phobos_core.passes import PASSES
from tests.passes.interpreter import ELEMENT, Array, Interpreter
from tests.passes.programs import ROWS, SIDE, Programs


def result(kernel: Kernel, turns: int, condition: bool) -> Array:
    tensors = {
        name: np.arange(ROWS * SIDE, dtype=ELEMENT).reshape(ROWS, SIDE) * ELEMENT(factor) + ELEMENT(1)
        for name, factor in (("X", 3), ("Y", 7))
    }
    Interpreter(kernel, tensors, {"n": turns, "c": condition}).run()
    return tensors["Y"]


@pytest.mark.parametrize("skipped", [None, "forward", "stage", "promote"])
@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_every_pass_keeps_the_meaning(skipped: str | None, seed: int) -> None:
    before = after = Programs(Random(seed)).kernel()
    verify(before)
    for step in PASSES:
        if step.__name__ != skipped:
            after = step(after)
            verify(after)
    for turns, condition in ((0, True), (1, False), (3, True), (2, False)):
        assert np.array_equal(result(before, turns, condition), result(after, turns, condition))
