"""Kernels of contractions tell ptxas for how many blocks to make room; others leave it to ptxas."""

from __future__ import annotations

import re
from pathlib import Path

import phobos_core as phobos

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
