"""Corners of the language on both devices, with values from NumPy: each was once wrong on one of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import phobos_core as phobos

DEVICES = ["reference", "emulator"]


def launch(device: str, source: str, *args: NDArray[Any] | int, target: str = "sm_80", grid: int = 1) -> None:
    (kernel,) = phobos.compile_text(source, target=target).values()
    kernel.launch((grid,), *args, device=device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("row", "column"), [(0, 0), (0, 5), (1, -3), (-1, 0), (3, 2)])
def test_a_gather_from_a_slice_past_the_edge_reads_zeros(device: str, row: int, column: int) -> None:
    source = """\
@launch(32)
kernel k(T: tensor<i32>[M, N], V: tensor<f16>[N], X: tensor<i32>[2, 8], O: tensor<i32>[2, 8], P: tensor<f16>[2, 8],
         row: i32, column: i32) {
  O[:, :] = gather(T[row :+ 1, column :+ 8], X[:, :])
  P[:, :] = gather(V[column :+ 8], X[:, :])
}
"""
    rng = np.random.default_rng(0)
    table = rng.integers(1, 100, (3, 8)).astype(np.int32)
    vector = rng.integers(1, 100, 8).astype(np.float16)
    at = rng.permutation(16).reshape(2, 8).astype(np.int32) % 8
    out, other = np.zeros((2, 8), np.int32), np.zeros((2, 8), np.float16)
    launch(device, source, table, vector, at, out, other, row, column)
    # Zeros around the table stand for what lies outside.
    around, beside = np.pad(table, 8), np.pad(vector, 8)
    np.testing.assert_array_equal(out, around[8 + row, 8 + column :][:8][at])
    np.testing.assert_array_equal(other, beside[8 + column :][:8][at])
