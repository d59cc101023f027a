"""Three opinions of one kernel: the reference, the compiler with tiles in registers, and the compiler without.

The path without is the general one: every tile that a statement hands to another lies in shared memory. All three must
agree, with whole and with ragged extents, and the emulator must have nothing to report of either path. Bit for bit on
generated kernels, whose values are exact in any order; within the bound of NumPy's word on the examples.
`PHOBOS_EXAMPLES=5000` makes it a long run.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings

import phobos_core as phobos
from phobos_core.runtime.module import Device, Kernel
from tests.differential.kernels import Generated, register_kernels
from tests.differential.paths import held, left, without_registers
from tests.examples.opinions import OPINIONS
from tests.examples.test_examples import Choice, first, largest, only

# Beside those of every kind in `test_generated`, which go by both paths as well.
EXAMPLES = {"sm_80": 90, "sm_75": 30}
LONG = os.environ.get("PHOBOS_EXAMPLES")


@pytest.mark.parametrize("extents", ["whole", "ragged"])
@pytest.mark.parametrize("choose", [first, largest], ids=["first", "largest"])
@pytest.mark.parametrize("name", sorted(OPINIONS))
def test_all_three_agree_on_the_examples(name: str, choose: Choice, extents: str) -> None:
    kernel, opinion = choose(name, "sm_80"), OPINIONS[name]
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


def agree(generated: Generated, target: str) -> int:
    """How many tiles were in registers."""
    note(f"{generated.source}options {dict(generated.options)}, s0 = {generated.scalars[0]}")
    kernel = only(phobos.compile_text(generated.source, name="generated.ph", target=target, **generated.options))
    general = without_registers(kernel)
    arguments = [*generated.arrays.values(), *generated.scalars]
    expected = left(kernel, "reference", (generated.grid,), arguments)
    for each, path in ((kernel, "registers"), (general, "memory")):
        if each is not None:
            got = left(each, "emulator", (generated.grid,), arguments)
            for name, mine, theirs in zip(generated.arrays, got, expected, strict=True):
                np.testing.assert_array_equal(mine, theirs, err_msg=f"{name}, tiles in {path}")
    return held(kernel)


@pytest.mark.parametrize("target", ["sm_80", "sm_75"])
def test_all_three_agree_on_kernels_of_whole_tiles(target: str) -> None:
    in_registers: list[int] = []

    @settings(
        max_examples=int(LONG or EXAMPLES[target]),
        deadline=None,
        derandomize=LONG is None,
        suppress_health_check=list(HealthCheck),
    )
    @given(register_kernels())
    def run(generated: Generated) -> None:
        in_registers.append(agree(generated, target))

    run()
    # Most of these kernels are about tiles in registers.
    assert sum(count > 0 for count in in_registers) > len(in_registers) / 2
