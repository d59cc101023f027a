"""Warp collectives, against the manual's pseudocode in plain Python."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from phobos_core.emulator import launch, run

Array = npt.NDArray[Any]
Apply = Callable[..., Array]
Kernel = Callable[..., str]


def shuffled(mode: str, values: list[int], b: int, c: int) -> list[tuple[int, int]]:
    """The manual's pseudocode of shfl.sync for one warp: value and predicate of each lane."""
    out = []
    segment = c >> 8 & 31
    for lane in range(32):
        most = (lane & segment) | (c & 31 & ~segment)
        least = lane & segment
        amount = b & 31
        source, within = {
            "up": (lane - amount, lane - amount >= most),
            "down": (lane + amount, lane + amount <= most),
            "bfly": (lane ^ amount, (lane ^ amount) <= most),
            "idx": (least | (amount & ~segment), (least | (amount & ~segment)) <= most),
        }[mode]
        out.append((values[source if within else lane], int(within)))
    return out


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("width", [32, 16, 4])
def test_shuffle(apply: Apply, mode: str, width: int) -> None:
    a = np.arange(64, dtype=np.uint32) * 3 + 5
    clamp = (32 - width) << 8 | (0 if mode == "up" else 31)
    for amount in (0, 1, 3, 8, 17):
        body = (
            f"shfl.sync.{mode}.b32 %x|%p, %a, {amount}, {clamp}, 0xffffffff;"
            "selp.b32 %y, 1000, 0, %p; add.u32 %d, %x, %y;"
        )
        got = apply(body, "u4", registers=".reg .pred %p; .reg .b32 %x, %y;", a=a)
        rows = shuffled(mode, a[:32].tolist(), amount, clamp) + shuffled(mode, a[32:].tolist(), amount, clamp)
        np.testing.assert_array_equal(got, [value + 1000 * within for value, within in rows])


def test_shuffle_from_a_lane_that_differs(apply: Apply) -> None:
    a, b = np.arange(32, dtype=np.uint32) + 100, np.arange(31, -1, -1, dtype=np.uint32)
    got = apply("shfl.sync.idx.b32 %d, %a, %b, 31, -1;", "u4", a=np.resize(a, 64), b=np.resize(b, 64))
    np.testing.assert_array_equal(got[:32], a[::-1])


def test_votes(apply: Apply) -> None:
    a = np.array([1] * 32 + [0] * 31 + [1], np.uint32)
    bits = ".reg .pred %p, %q;"
    start = "setp.ne.u32 %p, %a, 0;"
    end = "selp.b32 %d, 1, 0, %q;"
    cases = {
        "vote.sync.all.pred %q, %p, 0xffffffff;": [1] * 32 + [0] * 32,
        "vote.sync.any.pred %q, %p, 0xffffffff;": [1] * 64,
        "vote.sync.uni.pred %q, %p, 0xffffffff;": [1] * 32 + [0] * 32,
        "vote.sync.any.pred %q, !%p, 0xffffffff;": [0] * 32 + [1] * 32,
    }
    for text, expected in cases.items():
        np.testing.assert_array_equal(apply(start + text + end, "u4", registers=bits, a=a), expected, text)
    got = apply(start + "vote.sync.ballot.b32 %d, %p, 0xffffffff;", "u4", registers=bits, a=a)
    np.testing.assert_array_equal(got, [0xFFFFFFFF] * 32 + [0x80000000] * 32)


def test_match(apply: Apply) -> None:
    a = np.array([lane % 3 for lane in range(32)] + [7] * 32, np.uint32)
    classes = [sum(1 << lane for lane in range(32) if lane % 3 == k) for k in range(3)]
    got = apply("match.any.sync.b32 %d, %a, 0xffffffff;", "u4", a=a)
    np.testing.assert_array_equal(got, [classes[lane % 3] for lane in range(32)] + [0xFFFFFFFF] * 32)
    body = "match.all.sync.b32 %x|%p, %a, 0xffffffff; selp.b32 %d, 1, 0, %p;"
    got = apply(body, "u4", registers=".reg .pred %p; .reg .b32 %x;", a=a)
    np.testing.assert_array_equal(got, [0] * 32 + [1] * 32)


@pytest.mark.parametrize(
    ("name", "function"),
    [("add.s32", np.sum), ("min.s32", np.min), ("max.s32", np.max), ("max.u32", np.max)],
)
def test_reductions(apply: Apply, name: str, function: Callable[[Array], int]) -> None:
    rng = np.random.default_rng(30)
    a = rng.integers(-1000, 1000, 64).astype(np.int32)
    if name.endswith("u32"):
        a = np.abs(a)
    got = apply(f"redux.sync.{name} %d, %a, 0xffffffff;", "i4", a=a)
    np.testing.assert_array_equal(got, [function(a[:32])] * 32 + [function(a[32:])] * 32)


def test_bitwise_reductions(apply: Apply) -> None:
    rng = np.random.default_rng(31)
    a = rng.integers(0, 1 << 32, 64, dtype=np.uint32)
    for name, function in (("and", np.bitwise_and), ("or", np.bitwise_or), ("xor", np.bitwise_xor)):
        got = apply(f"redux.sync.{name}.b32 %d, %a, 0xffffffff;", "u4", a=a)
        np.testing.assert_array_equal(got, [function.reduce(a[:32])] * 32 + [function.reduce(a[32:])] * 32)


HALF = """
setp.ge.u32 %p1, %t, 16;
@%p1 bra DONE;
{op}
st.global.u32 [%q], %r1;
DONE: ret;
"""


def test_a_collective_of_the_lanes_that_are_there(kernel: Kernel) -> None:
    out = np.zeros(32, np.uint32)
    body = HALF.format(op="redux.sync.add.u32 %r1, %t, 0xffff;")
    launch(kernel(body, threads=32), "k", (1, 1, 1), [out])
    np.testing.assert_array_equal(out, [sum(range(16))] * 16 + [0] * 16)


@pytest.mark.parametrize(
    "op",
    [
        "redux.sync.add.u32 %r1, %t, 0xffffffff;",
        "shfl.sync.bfly.b32 %r1, %t, 1, 31, 0xffffffff;",
        "vote.sync.ballot.b32 %r1, %p1, 0xffffffff;",
        "match.any.sync.b32 %r1, %t, 0xffffffff;",
        "bar.warp.sync 0xffffffff;",
    ],
)
def test_a_collective_that_misses_lanes_is_a_finding(kernel: Kernel, op: str) -> None:
    result = run(kernel(HALF.format(op=op), threads=32), "k", (1, 1, 1), [np.zeros(32, np.uint32)])
    assert [each.kind for each in result.findings] == ["divergent-collective"]
    assert "lane 16" in result.findings[0].message


def test_a_lane_outside_its_own_member_mask_is_a_finding(kernel: Kernel) -> None:
    body = "shfl.sync.idx.b32 %r1, %t, 0, 31, 0xffff; ret;"
    result = run(kernel(body, threads=32), "k", (1, 1, 1), [np.zeros(32, np.uint32)])
    assert [each.kind for each in result.findings] == ["divergent-collective"]
    assert result.findings[0].thread == (16, 0, 0)


def test_shuffle_from_a_lane_outside_the_mask_is_a_finding(kernel: Kernel) -> None:
    body = HALF.format(op="shfl.sync.idx.b32 %r1, %t, 20, 31, 0xffff;")
    result = run(kernel(body, threads=32), "k", (1, 1, 1), [np.zeros(32, np.uint32)])
    assert [each.kind for each in result.findings] == ["divergent-collective"]


def test_active_mask_and_lane_masks(kernel: Kernel) -> None:
    out = np.zeros(32, np.uint32)
    launch(kernel(HALF.format(op="activemask.b32 %r1;"), threads=32), "k", (1, 1, 1), [out])
    np.testing.assert_array_equal(out, [0xFFFF] * 16 + [0] * 16)
    for name, function in {
        "eq": lambda lane: 1 << lane,
        "lt": lambda lane: (1 << lane) - 1,
        "le": lambda lane: (2 << lane) - 1,
        "gt": lambda lane: 0xFFFFFFFF & ~((2 << lane) - 1),
        "ge": lambda lane: 0xFFFFFFFF & ~((1 << lane) - 1),
    }.items():
        launch(
            kernel(f"mov.u32 %r1, %lanemask_{name}; st.global.u32 [%q], %r1; ret;", threads=32),
            "k",
            (1, 1, 1),
            [out],
        )
        np.testing.assert_array_equal(out, [function(lane) for lane in range(32)])


def test_elect_chooses_the_lowest_member(kernel: Kernel) -> None:
    out = np.zeros(64, np.uint32)
    body = "elect.sync %r1|%p1, 0xffffffff; selp.b32 %r2, 1, 0, %p1; st.global.u32 [%q], %r2; ret;"
    launch(kernel(body), "k", (1, 1, 1), [out])
    np.testing.assert_array_equal(out, ([1] + [0] * 31) * 2)


def test_a_short_last_warp(kernel: Kernel) -> None:
    out = np.zeros(48, np.uint32)
    body = "redux.sync.add.u32 %r1, %t, 0xffffffff; st.global.u32 [%q], %r1; ret;"
    launch(kernel(body, threads=48), "k", (1, 1, 1), [out])
    np.testing.assert_array_equal(out, [sum(range(32))] * 32 + [sum(range(32, 48))] * 16)


def test_float_extremes_over_a_warp(apply: Apply) -> None:
    a = np.linspace(-3, 4, 64, dtype=np.float32)
    a[5], a[40] = np.nan, -9
    np.testing.assert_array_equal(
        apply("redux.sync.max.f32 %d, %a, 0xffffffff;", "f4", a=a), [a[31]] * 32 + [a[63]] * 32
    )
    got = apply("redux.sync.max.abs.NaN.f32 %d, %a, 0xffffffff;", "f4", a=a)
    np.testing.assert_array_equal(got, [np.nan] * 32 + [9] * 32)


def test_match_of_64_bits(apply: Apply) -> None:
    a = np.array([lane % 2 << 40 for lane in range(64)], np.uint64)
    got = apply("match.any.sync.b64 %d, %a, 0xffffffff;", "u4", a=a)
    np.testing.assert_array_equal(got, [0x55555555, 0xAAAAAAAA] * 32)
