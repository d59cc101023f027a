"""Lane-instructions a second of the emulator, with its checks and without, on what the compiler emits.

Flash attention at 256 x 256 with D 64 in f32 has a target. Run: python -m bench.emulator_throughput
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import phobos_core as phobos
from bench.measure import EXAMPLES, heading
from phobos_core import emulator

ROUNDS = 3
TARGET_SECONDS = 10

Array = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel of the examples, its PTX arguments, and what its last array must hold afterwards."""

    title: str
    example: str
    grid: tuple[int, int, int]
    arguments: Sequence[object]
    output: Array
    expected: Array


def random(*shape: int) -> Array:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def flash_attention(rows: int = 256, depth: int = 64) -> Case:
    q, k, v = random(rows, depth), random(rows, depth)[::-1].copy(), random(rows, depth)[:, ::-1].copy()
    scores = q.astype(np.float64) @ k.T / 8
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected = (weights / weights.sum(axis=1, keepdims=True)) @ v
    out = np.zeros_like(q)
    arguments = [q, k, v, out, 0.125, rows, rows]
    return Case("flash attention 256 x 256, D 64", "flash_attention", (rows // 32, 1, 1), arguments, out, expected)


def matrix_product(size: int = 256) -> Case:
    a, b, out = random(size, size), random(size, size).T.copy(), np.zeros((size, size), np.float32)
    grid = (size // 32, size // 32, 1)
    return Case("SGEMM 256 x 256 x 256", "sgemm", grid, [a, b, out, 1.0, 0.0, size, size, size], out, a @ b)


def softmax(rows: int = 4096, columns: int = 128) -> Case:
    x, out = random(rows, columns), np.zeros((rows, columns), np.float32)
    weights = np.exp(x - x.max(axis=1, keepdims=True))
    expected = weights / weights.sum(axis=1, keepdims=True)
    return Case("softmax 4096 x 128", "softmax", (rows // 4, 1, 1), [x, out, rows], out, expected)


def measure(case: Case, ptx: str, checks: bool) -> tuple[float, emulator.Stats]:
    """The best of some rounds, in time of the processor, and what was executed."""
    best, stats = float("inf"), emulator.Stats(0, 0)
    for _ in range(ROUNDS):
        start = time.process_time()
        stats = emulator.launch(ptx, case.example, case.grid, case.arguments, checks=checks).stats
        best = min(best, time.process_time() - start)
        np.testing.assert_allclose(case.output, case.expected, rtol=1e-4, atol=1e-4)
    return best, stats


def main() -> int:
    heading("the emulator on PTX of the compiler")
    met = True
    for case in (flash_attention(), matrix_product(), softmax()):
        kernel = phobos.compile(EXAMPLES / f"{case.example}.ph", target="sm_80")[case.example]
        print(f"  {case.title}")
        for checks in (True, False):
            seconds, stats = measure(case, kernel.ptx, checks)
            rate = stats.lane_instructions / seconds / 1e6
            print(
                f"    {'checks' if checks else 'no checks':10} {seconds:6.2f} s, "
                f"{stats.lane_instructions / 1e6:7.1f} M lane-instructions, {rate:6.1f} M a second, "
                f"{seconds / stats.instructions * 1e6:6.1f} us an instruction"
            )
            if case.example == "flash_attention" and checks:
                met = seconds <= TARGET_SECONDS
    print(f"target: at most {TARGET_SECONDS} s for flash attention with checks")
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
