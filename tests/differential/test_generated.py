"""Generated tile kernels give the same bits on the reference and on the emulator, and no check reports anything.

`PHOBOS_EXAMPLES=5000` makes it a long run.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings

import phobos_core as phobos
from tests.differential.kernels import Generated, tile_kernels

EXAMPLES = int(os.environ.get("PHOBOS_EXAMPLES", "60"))


@pytest.mark.parametrize("target", ["sm_80", "sm_75"])
def test_reference_and_emulator_agree(target: str) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize="PHOBOS_EXAMPLES" not in os.environ,
        suppress_health_check=list(HealthCheck),
    )
    @given(tile_kernels())
    def run(kernel: Generated) -> None:
        note(kernel.source)
        (compiled,) = phobos.compile_text(kernel.source, name="generated.ph", target=target).values()
        results = {}
        for device in ("reference", "emulator"):
            arrays = {name: array.copy() for name, array in kernel.arrays.items()}
            compiled.launch((kernel.grid,), *arrays.values(), device=device)
            results[device] = arrays
        for name in kernel.arrays:
            np.testing.assert_array_equal(results["emulator"][name], results["reference"][name], err_msg=name)

    run()
