"""Three opinions of one kernel: the reference, the compiler with tiles in registers, and the compiler without.

The path without is the general one: every tile that a statement hands to another lies in shared memory. All three must
agree, with whole and with ragged extents, and the emulator must have nothing to report of either path. Bit for bit on
generated kernels, whose values are exact in any order; within the bound of NumPy's word on the examples.
`agreement` says how to make it a long run.
"""

from __future__ import annotations

import numpy as np
import pytest

from phobos_core.runtime.module import Device, Kernel
from tests.differential.agreement import assert_same, for_examples, held, left, opinions, without_registers
from tests.differential.kernels import Generated, register_kernels
from tests.examples.opinions import OPINIONS
from tests.examples.test_examples import Choice, first, largest, small_tiles

# Beside those of every kind in `test_generated`, which go by both paths as well.
EXAMPLES = {"sm_80": 90, "sm_75": 30}


@pytest.mark.parametrize("extents", ["whole", "ragged"])
@pytest.mark.parametrize("choose", [first, largest], ids=["first", "largest"])
@pytest.mark.parametrize("name", sorted(OPINIONS))
def test_all_three_agree_on_the_examples(name: str, choose: Choice, extents: str) -> None:
    three_agree(choose(name, "sm_80"), name, extents)


@pytest.mark.parametrize("extents", ["whole", "ragged"])
@pytest.mark.parametrize("name", ["sgemm", "sgemm_aligned"])
@pytest.mark.parametrize("target", ["sm_120", "sm_80", "sm_75"])
def test_all_three_agree_on_tiles_that_half_of_the_threads_copy(target: str, name: str, extents: str) -> None:
    three_agree(small_tiles(name, target), name, extents)


def three_agree(kernel: Kernel, name: str, extents: str) -> None:
    opinion = OPINIONS[name]
    sizes = (opinion.ragged if extents == "ragged" and opinion.ragged else opinion.whole)(kernel.config)
    launch = opinion.make(sizes, kernel.config, np.random.default_rng(11))
    general = without_registers(kernel)
    paths: list[tuple[Kernel, Device]] = [(kernel, "reference"), (kernel, "emulator")]
    paths += [(general, "emulator")] if general else []
    found = [left(each, device, launch.grid, launch.args) for each, device in paths]
    for other in found[1:]:
        for mine, theirs in zip(found[0], other, strict=True):
            a, b = mine.astype(np.float64), theirs.astype(np.float64)
            np.testing.assert_allclose(b, a, rtol=2 * launch.tolerance, atol=2 * launch.tolerance)


@pytest.mark.parametrize("target", ["sm_80", "sm_75"])
def test_all_three_agree_on_kernels_of_whole_tiles(target: str) -> None:
    in_registers: list[int] = []

    def check(generated: Generated) -> None:
        kernel, expected, found = opinions(generated, target)
        for path, got in found.items():
            assert_same(got, expected, path)
        in_registers.append(held(kernel))

    for_examples(register_kernels(), EXAMPLES[target], check)
    # Most of these kernels are about tiles in registers.
    assert sum(count > 0 for count in in_registers) > len(in_registers) / 2
