"""WARP_M and WARP_N: the block of a product that the threads of a warp compute together."""

from __future__ import annotations

import numpy as np
import pytest

import phobos_core as phobos
from phobos_core.ir.rewrite import walk
from phobos_core.ir.schedule import Contraction
from tests.differential.agreement import left, without_registers

SOURCE = """\
@autotune({names})
@launch({threads})
kernel k(A: tensor<f32>[M, K], B: tensor<f32>[K, N], C: tensor<f32>[M, N]) {{
  let row = ctx.block.x * 128
  let column = ctx.block.y * 64
  var sum: tile<f32>[128, 64] = 0.0
  for k in range(0, K, 8) {{
    sum += dot(A[row :+ 128, k :+ 8], B[k :+ 8, column :+ 64])
  }}
  {after}
  C[row :+ 128, column :+ 64] = sum
}}
"""


def compiled(choices: dict[str, int], after: str = "", threads: int = 128) -> phobos.Kernel:
    names = ", ".join(f"{name} in [{n}, {n}, {n}]" for name, n in choices.items())
    return phobos.compile_text(SOURCE.format(names=names, after=after, threads=threads))["k"]


def why(kernel: phobos.Kernel) -> tuple[str, str]:
    """Of the `dot`: its path, and the reason."""
    choice, reason = next((d.choice, d.reason) for d in kernel._kernel.decisions if d.op == "dot")
    return choice, reason


@pytest.mark.parametrize(
    "choices",
    [
        {"WARP_M": 32, "WARP_N": 64},
        {"WARP_M": 64, "WARP_N": 32},
        {"WARP_M": 128, "WARP_N": 16},
        {"WARP_M": 32, "WARP_N": 32},
        {"WARP_M": 16, "WARP_N": 64, "TILE_TM": 4, "TILE_TN": 8},
        {"WARP_M": 32, "WARP_N": 16, "TILE_TM": 4, "TILE_TN": 4},
    ],
    ids=str,
)
def test_a_warp_computes_so_many_rows_and_columns(choices: dict[str, int]) -> None:
    kernel = compiled(choices)
    assert f"{choices['WARP_M']}x{choices['WARP_N']} a warp" in why(kernel)[0]
    plans = [plan for op in walk(kernel._kernel.body) if isinstance(plan := op.attrs.get("schedule"), Contraction)]
    assert plans
    for plan in plans:
        layout = plan.layout(128)
        for warp in range(layout.rows * layout.columns // 32):
            places = [layout.place(warp * 32 + lane) for lane in range(32)]
            rows, columns = ({place[axis] for place in places} for axis in range(2))
            assert (len(rows) * plan.tm, len(columns) * plan.tn) == (choices["WARP_M"], choices["WARP_N"])
            assert len(set(places)) == 32


@pytest.mark.parametrize("rows", [128, 100])
@pytest.mark.parametrize(
    "choices", [{"WARP_M": 64, "WARP_N": 32}, {"WARP_N": 16, "TILE_TN": 4}, {"WARP_M": 32}], ids=str
)
def test_the_product_is_the_same(choices: dict[str, int], rows: int) -> None:
    random = np.random.default_rng(3)
    a, b = (random.integers(-4, 5, shape).astype(np.float32) for shape in ((rows, 20), (20, 64)))
    kernel = compiled(choices)
    assert "a warp" in why(kernel)[0]
    general = without_registers(kernel)
    assert general is None or "a warp" in why(general)[0]
    for each in filter(None, (kernel, general)):
        *_, c = left(each, "emulator", (1, 1), [a, b, np.zeros((rows, 64), np.float32)])
        np.testing.assert_array_equal(c, a @ b)


@pytest.mark.parametrize(
    ("choices", "after", "threads"),
    [
        ({"WARP_M": 7, "WARP_N": 32}, "", 128),
        ({"WARP_M": 256, "WARP_N": 8}, "", 128),
        ({"WARP_M": 64, "WARP_N": 64, "TILE_TM": 8, "TILE_TN": 8}, "", 128),
        ({"WARP_M": 64, "WARP_N": 32}, "sum = sum - rowmax(sum)", 128),
        ({"WARP_M": 64, "WARP_N": 32}, "", 65),
    ],
    ids=str,
)
def test_a_warp_that_cannot_be_is_told_of(choices: dict[str, int], after: str, threads: int) -> None:
    choice, reason = why(compiled(choices, after, threads))
    assert "a warp" not in choice
    assert f"WARP_M = {choices['WARP_M']} and WARP_N = {choices['WARP_N']} make no whole warps" in reason


def test_where_nothing_is_asked_nothing_is_told() -> None:
    choice, reason = why(compiled({"U": 1}))
    assert "warp" not in choice + reason


def test_a_narrower_product_in_the_same_places_has_a_smaller_warp() -> None:
    """Each thread has as many columns less as the product has."""
    source = """\
@autotune(WARP_M in [32, 32, 32], WARP_N in [32, 32, 32])
@launch(128)
kernel k(A: tensor<f32>[64, 32], B: tensor<f32>[32, 64], D: tensor<f32>[64, 128], r: tensor<f32>[64, 1],
         C: tensor<f32>[64, 64], E: tensor<f32>[64, 128]) {
  let row = r[:, :]
  var s: tile<f32>[64, 64] = dot(A[:, :], B[:, :])
  s = s * row
  C[:, :] = s
  var e: tile<f32>[64, 128] = 0.0
  for i in range(0, 2) { e += dot(s, D[:, :]) * row }
  E[:, :] = e + row
}
"""
    kernel = phobos.compile_text(source)["k"]
    first, second = [(d.choice, d.reason) for d in kernel._kernel.decisions if d.op == "dot"]
    assert "32x32 a warp" in second[0]
    assert "WARP_N" not in second[1]
    assert "32x16 a warp" in first[0]
    assert "WARP_M = 32 and WARP_N = 32 for the wider product" in first[1]
    random = np.random.default_rng(3)
    shapes = (64, 32), (32, 64), (64, 128), (64, 1)
    a, b, d, r = (random.integers(-3, 4, shape).astype(np.float32) for shape in shapes)
    outs = [np.zeros((64, columns), np.float32) for columns in (64, 128)]
    *_, c, e = left(kernel, "emulator", (1, 1), [a, b, d, r, *outs])
    np.testing.assert_array_equal(c, (a @ b) * r)
    np.testing.assert_array_equal(e, 2 * (c @ d) * r + r)
