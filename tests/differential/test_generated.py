"""Generated kernels give the same on the reference and on the emulator, by both paths of the compiler, and no check
reports anything.

Bit for bit where every value is exact, within a bound elsewhere. `PHOBOS_EXAMPLES=5000` makes it a long run.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from numpy.typing import NDArray

import phobos_core as phobos
from phobos_core.runtime.module import Device, Kernel
from tests.differential.kernels import Generated, tile_kernels
from tests.differential.paths import left, without_registers

EXAMPLES = int(os.environ.get("PHOBOS_EXAMPLES", "40"))
LONG_RUN = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="PHOBOS_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)


def results(kernel: Generated, target: str) -> list[dict[str, NDArray[Any]]]:
    """What the reference leaves in the arrays, and what the emulator does by each path."""
    note(f"{kernel.source}options {dict(kernel.options)}, s0 = {kernel.scalars[0]}")
    (compiled,) = phobos.compile_text(kernel.source, name="generated.ph", target=target, **kernel.options).values()
    general = without_registers(compiled)
    paths: list[tuple[Kernel, Device]] = [(compiled, "reference"), (compiled, "emulator")]
    paths += [(general, "emulator")] if general else []
    arguments = [*kernel.arrays.values(), *kernel.scalars]
    found = [left(each, device, (kernel.grid,), arguments) for each, device in paths]
    return [dict(zip(kernel.arrays, arrays, strict=True)) for arrays in found]


@pytest.mark.parametrize("target", ["sm_80", "sm_75"])
def test_exact_kernels_agree_bit_for_bit(target: str) -> None:
    @LONG_RUN
    @given(tile_kernels())
    def run(kernel: Generated) -> None:
        expected, *found = results(kernel, target)
        for got in found:
            for name in kernel.arrays:
                np.testing.assert_array_equal(got[name], expected[name], err_msg=name)

    run()


def test_approximate_kernels_agree_within_a_bound() -> None:
    """No condition depends on an approximate value, and values are clamped: an error stays small."""

    @LONG_RUN
    @given(tile_kernels(approximate=True))
    def run(kernel: Generated) -> None:
        expected, *found = results(kernel, "sm_80")
        for got in found:
            for name, array in kernel.arrays.items():
                if array.dtype.kind in "iu":
                    continue  # tiles of floats are stored there too, and an error may take one past an integer
                a, b = got[name].astype(np.float64), expected[name].astype(np.float64)
                np.testing.assert_allclose(a, b, rtol=0.02, atol=0.05, err_msg=name)

    run()
