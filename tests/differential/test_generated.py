"""Generated kernels of every form of the language give the same on the reference and on the emulator, by both paths of
the compiler and whatever the order of the warps, and no check reports anything.

Bit for bit where every value is exact, within a bound elsewhere; `agreement` says how to make them long runs. Dead code
and barriers more than are needed change nothing.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from phobos_core.language.targets import TARGETS
from phobos_core.toolchain import ptxas
from tests.differential.agreement import assert_same, compiled, for_examples, opinions, result
from tests.differential.kernels import Generated, mixed_kernels, padded

SCHEDULES = st.integers(0, 2**16)


@pytest.mark.parametrize("target", ["sm_80", "sm_75"])
def test_exact_kernels_agree_bit_for_bit(target: str) -> None:
    def check(case: tuple[Generated, int]) -> None:
        _, expected, found = opinions(case[0], target, case[1])
        for path, got in found.items():
            assert_same(got, expected, path)

    for_examples(st.tuples(mixed_kernels(), SCHEDULES), 100, check)


def test_approximate_kernels_agree_within_a_bound() -> None:
    """No condition depends on an approximate value, and values are clamped: an error stays small."""

    def check(case: tuple[Generated, int]) -> None:
        _, expected, found = opinions(case[0], "sm_80", case[1])
        for path, got in found.items():
            for name, array in expected.items():
                if array.dtype.kind in "iu" and name != "TOLDI":
                    continue  # tiles of floats are stored there too, and an error may take one past an integer
                a, b = got[name].astype(np.float64), array.astype(np.float64)
                np.testing.assert_allclose(a, b, rtol=0.02, atol=0.05, err_msg=f"{name}, {path}")

    for_examples(st.tuples(mixed_kernels(approximate=True), SCHEDULES), 40, check)


def test_dead_code_and_more_barriers_change_nothing() -> None:
    def check(case: tuple[Generated, Generated]) -> None:
        plain, more = case
        expected = result(compiled(plain, "sm_80"), "emulator", plain)
        assert_same(result(compiled(more, "sm_80"), "emulator", more), expected, "emulator")
        assert_same(result(compiled(more, "sm_80"), "reference", more), expected, "reference")

    for_examples(mixed_kernels().flatmap(lambda plain: st.tuples(st.just(plain), padded(plain))), 20, check)


def test_ptxas_accepts_them_for_every_target() -> None:
    tools = [target for target in TARGETS.values() if target.sm >= 70 and ptxas.for_target(target.name) is not None]
    if not tools:
        pytest.skip("needs ptxas")

    def check(case: tuple[Generated, str]) -> None:
        assert compiled(*case).report.resources.registers

    for_examples(st.tuples(mixed_kernels(), st.sampled_from([target.name for target in tools])), 20, check)
