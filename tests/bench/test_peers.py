"""The CUDA kernels that ours are compared with compute the same: what nvcc makes of them is run on the emulator."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from bench.quality import CASES, Missing, judge, nvcc
from phobos_core.emulator import launch
from phobos_core.toolchain import ptxas, sass

SGEMM, FLASH = (case for case in CASES if case.peer)


def ptx_of(index: int) -> str:
    try:
        code = nvcc(CASES[index], "sm_80").code
    except Missing as missing:
        pytest.skip(f"needs nvcc and a host compiler: {missing}")
    assert isinstance(code, str)
    return code


def uniform(seed: int, *shape: int) -> npt.NDArray[np.float32]:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def test_sgemm() -> None:
    a, b, c = uniform(1, 128, 24), uniform(2, 24, 256), uniform(3, 128, 256)
    expected = 1.5 * (a.astype(np.float64) @ b) - 0.5 * c
    arguments: list[Any] = [a, b, c, np.float32(1.5), np.float32(-0.5), np.int32(256), np.int32(24)]
    assert SGEMM.peer
    launch(ptx_of(0), SGEMM.peer, (1, 2, 1), arguments)
    np.testing.assert_allclose(c, expected, rtol=0, atol=1e-4)


def test_flash_attention_with_ragged_ends() -> None:
    q, k, v = uniform(4, 70, 64), uniform(5, 45, 64), uniform(6, 45, 64)
    out = np.zeros_like(q)
    assert FLASH.peer
    launch(ptx_of(1), FLASH.peer, (2, 1, 1), [q, k, v, out, np.float32(0.25), np.int64(70), np.int64(45)])
    scores = 0.25 * (q.astype(np.float64) @ k.T)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, weights / weights.sum(axis=1, keepdims=True) @ v, rtol=0, atol=1e-4)


def test_the_table_reads_the_loop_of_a_hand_written_kernel() -> None:
    """8 x 8 products a thread for each of the 8 steps: 512 in the loop, which reads 32 vectors of 16 bytes."""
    assembler, disassembler = ptxas.for_target("sm_80"), sass.nvdisasm()
    if assembler is None or disassembler is None:
        pytest.skip(f"needs ptxas and {sass.PACKAGE}")
    try:
        emitted = nvcc(SGEMM, "sm_80")
    except Missing as missing:
        pytest.skip(f"needs nvcc and a host compiler: {missing}")
    found = judge(emitted, "sm_80", assembler, Path(disassembler))
    assert found.loop is not None
    assert (found.loop.mix["FFMA"], found.loop.mix["LDS"]) == (512, 32)
    assert {access.bits for access in found.code.accesses if access.operation == "LDS"} == {128}
    assert (found.spilled, found.code.local_accesses) == (0, ())
