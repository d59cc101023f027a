"""A contraction whose K only one operand gives as a number: the other is checked at the launch."""

from __future__ import annotations

import numpy as np
import pytest

import phobos_core as phobos
from phobos_core.runtime.arguments import LaunchError

SOURCE = """\
@launch(64)
kernel k(A: tensor<f32>[M, 24], B: tensor<f32>[N, E], D: tensor<f32>[E, N],
         C: tensor<f32>[M, N], F: tensor<f32>[M, N]) {
  C[0 :+ 8, 0 :+ 16] = dot_t(A[0 :+ 8, :], B[0 :+ 16, :])
  var a = A[0 :+ 8, :]
  F[0 :+ 8, 0 :+ 16] = dot(abs(a), D[:, 0 :+ 16])
}
"""


@pytest.mark.parametrize("device", ["reference", "emulator"])
def test_the_static_extent_holds_for_both(device: str) -> None:
    kernel = phobos.compile_text(SOURCE)["k"]
    assert "E == 24" in kernel.report.requires
    rng = np.random.default_rng(0)
    a, b, d = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((8, 24), (16, 24), (24, 16)))
    c, f = np.zeros((8, 16), np.float32), np.zeros((8, 16), np.float32)
    kernel.launch((1,), a, b, d, c, f, device=device)
    np.testing.assert_array_equal(c, a @ b.T)
    np.testing.assert_array_equal(f, abs(a) @ d)


def test_another_extent_is_refused_at_the_launch() -> None:
    kernel = phobos.compile_text(SOURCE)["k"]
    a, b, d = (np.zeros(shape, np.float32) for shape in ((8, 24), (16, 20), (20, 16)))
    c, f = np.zeros((8, 16), np.float32), np.zeros((8, 16), np.float32)
    with pytest.raises(LaunchError, match="requires E == 24; here E = 20"):
        kernel.launch((1,), a, b, d, c, f)
