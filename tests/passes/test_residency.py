"""Kernels of contractions tell ptxas for how many blocks to make room; others leave it to ptxas."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import phobos_core as phobos
from phobos_core.language.targets import TARGETS, registers_of_a_thread
from phobos_core.report.occupancy import BlockUse, limits

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

TWO = """\
{launch}
kernel k(A: tensor<f32>[M, 64], B: tensor<f32>[M, 64], C: tensor<f32>[M, 64]) {{
  let row = ctx.block.x * 64
  var s: tile<f32>[64, 64] = dot_t(A[row :+ 64, :], B[row :+ 64, :])
  var p: tile<f32>[64, 64] = tril(s)
  C[row :+ 64, :] = dot(p, B[row :+ 64, :])
}}
"""
ONE = """\
@launch(256)
kernel k(A: tensor<f32>[M, 64], B: tensor<f32>[64, 64], C: tensor<f32>[M, 64]) {
  let row = ctx.block.x * 64
  C[row :+ 64, :] = dot(A[row :+ 64, :], B[:, :])
}
"""

LOOP = """\
@launch({threads})
@aligned(M = 64, N = 64, K = 8)
kernel k(A: tensor<f32>[M, K], B: tensor<f32>[N, K], C: tensor<f32>[M, N]) {{
  let row = ctx.block.x * 64
  let column = ctx.block.y * 64
  var sum: tile<f32>[64, 64] = 0.0
  for k in range(0, K, 8) {{
    sum += dot_t(A[row :+ 64, k :+ 8], B[column :+ 64, k :+ 8])
  }}
  C[row :+ 64, column :+ 64] = sum * sum
}}
"""

NONE = """\
kernel k(A: tensor<f32>[M, 64], B: tensor<f32>[M, 64]) {
  let row = ctx.block.x * 8
  B[row :+ 8, :] = A[row :+ 8, :] * 2.0
}
"""


def kernel(source: str, target: str = "sm_90") -> phobos.Kernel:
    return phobos.compile_text(source, target=target)["k"]


def test_two_contractions_ask_for_registers() -> None:
    asked = kernel(TWO.format(launch="@launch(256)"))
    (decision,) = [d for d in asked.report.decisions if d.op == "blocks"]
    blocks = int(decision.choice.split()[2])
    assert f".minnctapersm {blocks}" in asked.ptx
    # What that many blocks can have holds the sums, the operands and more; and not one block fewer would do as well.
    assert 65536 // (blocks * 256) >= 16 + 16 + 40
    assert asked.report.launch.min_blocks is None
    assert asked.report.resources.spill_store_bytes == 0


@pytest.mark.parametrize("threads", [64, 96, 160, 288])
def test_so_many_blocks_have_the_registers_that_are_needed(threads: int) -> None:
    """By NVIDIA's formula, in which the warps of an SM come in fours."""
    asked = kernel(LOOP.format(threads=threads), "sm_80")
    (decision,) = [d for d in asked.report.decisions if d.op == "blocks"]
    (need,) = map(int, re.findall(r"estimated to need (\d+) registers", decision.reason))
    blocks = int(decision.choice.split()[2])
    assert blocks == limits(TARGETS["sm_80"], BlockUse(threads, need, 0))["registers"]
    assert asked.report.resources.spill_store_bytes == 0


@pytest.mark.parametrize("warps", range(1, 65))
def test_the_registers_of_a_thread_are_the_most_that_fit(warps: int) -> None:
    most = registers_of_a_thread(warps)
    fitting = [limits(TARGETS["sm_90"], BlockUse(32, n, 0))["registers"] >= warps for n in (most, most + 1)]
    assert fitting == [True, False]


def test_launch_has_the_last_word() -> None:
    assert ".minnctapersm 5" in kernel(TWO.format(launch="@launch(256, 5)")).ptx
    assert ".minnctapersm" not in kernel(TWO.format(launch="@launch(256, 1, 200)")).ptx.replace(".minnctapersm 1", "")


def test_one_contraction_asks_for_its_patch() -> None:
    """4 x 4 sums a thread, four words of four rows and a word of four columns, and more."""
    asked = kernel(ONE)
    (decision,) = [d for d in asked.report.decisions if d.op == "blocks"]
    blocks = int(decision.choice.split()[2])
    assert f".minnctapersm {blocks}" in asked.ptx
    assert 65536 // ((blocks + 1) * 256) < 16 + 16 + 4 + 40 <= 65536 // (blocks * 256)


def test_what_a_loop_and_its_remainder_add_to_counts_once() -> None:
    """128 x 128 sums are 64 a thread, carried by a loop and added to by its remainder, in one branch or the other."""
    source = (EXAMPLES / "sgemm.ph").read_text()
    config = {"TILE_M": 128, "TILE_N": 128, "TILE_K": 16}
    (asked,) = phobos.compile_text(source, target="sm_80", config=config).values()
    (decision,) = [d for d in asked.report.decisions if d.op == "blocks"]
    (need,) = re.findall(r"estimated to need (\d+) registers", decision.reason)
    assert 64 + 40 <= int(need) < 2 * 64 + 40


def test_what_has_no_contraction_is_left_to_ptxas() -> None:
    assert ".minnctapersm" not in kernel(NONE).ptx
