"""What a launch asks of its caller, and what it gives back."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from phobos_core.emulator import LaunchError, launch, run

Kernel = Callable[..., str]


@pytest.mark.parametrize(
    ("entry", "grid", "args", "options", "message"),
    [
        ("other", (1, 1, 1), 1, {}, "no entry `other`; it has `k`"),
        ("k", (1, 1, 1), 2, {}, "`k` has 1 parameters and got 2 arguments"),
        ("k", (0, 1, 1), 1, {}, "a grid is three positive numbers"),
        ("k", (1, 1, 1), 1, {"block": 65}, "a block of 65 threads, where `k` allows 1 to 64"),
        ("k", (1, 1, 1), 1, {"block": (0, 1, 1)}, "a block of 0 threads"),
    ],
)
def test_a_wrong_launch(
    kernel: Kernel, entry: str, grid: tuple[int, int, int], args: int, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(LaunchError, match=message):
        run(kernel("ret;"), entry, grid, [np.zeros(4)] * args, **options)


def test_arguments_of_the_wrong_type() -> None:
    ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u32 n, .param .f32 x) { ret; }"
    assert run(ptx, "k", (1, 1, 1), [1, 2], block=1).ok
    with pytest.raises(LaunchError, match=r"parameter `n` is an integer \(\.u32\) and got 1\.5"):
        run(ptx, "k", (1, 1, 1), [1.5, 2.0], block=1)
    with pytest.raises(LaunchError, match=r"parameter `n` is \.u32 and got an array"):
        run(ptx, "k", (1, 1, 1), [np.zeros(3), 2.0], block=1)
    with pytest.raises(LaunchError, match="needs a number or an array and got str"):
        run(ptx, "k", (1, 1, 1), ["1", 2.0], block=1)
    with pytest.raises(LaunchError, match=r"no \.maxntid"):
        run(ptx, "k", (1, 1, 1), [1, 2.0])


def test_a_read_only_array_may_be_read_but_not_written(kernel: Kernel) -> None:
    array = np.zeros(64, np.uint32)
    array.flags.writeable = False
    assert run(kernel("ld.global.u32 %r1, [%q]; ret;"), "k", (1, 1, 1), [array]).ok
    with pytest.raises(LaunchError, match="the kernel writes to `p0`, which is a read-only array"):
        run(kernel("st.global.u32 [%q], 1; ret;"), "k", (1, 1, 1), [array])


def test_a_smaller_block_than_allowed(kernel: Kernel) -> None:
    out = np.zeros(64, np.uint32)
    launch(kernel("mov.u32 %r1, %ntid.x; st.global.u32 [%q], %r1; ret;"), "k", (1, 1, 1), [out], block=10)
    np.testing.assert_array_equal(out, [10] * 10 + [0] * 54)


def test_statistics_count_groups_and_threads(kernel: Kernel) -> None:
    straight = run(kernel("ret;"), "k", (3, 1, 1), [np.zeros(64, np.uint32)]).stats
    assert straight.lane_instructions == straight.instructions * 3 * 64
    body = "setp.lt.u32 %p1, %t, 10; @%p1 bra FEW; ret; FEW: add.u32 %r1, %r1, 1; ret;"
    branching = run(kernel(body), "k", (1, 1, 1), [np.zeros(64, np.uint32)]).stats
    common = straight.instructions - 1 + 2
    assert branching.instructions == common + 1 + 2
    assert branching.lane_instructions == 64 * common + 54 * 1 + 10 * 2


def test_the_source_name_is_that_of_the_line_table(kernel: Kernel) -> None:
    ptx = kernel(".loc 1 4 1\ntrap;") + '\t.file\t1 "/kernels/x.ph"\n'
    result = run(ptx, "k", (1, 1, 1), [np.zeros(4, np.uint32)])
    assert result.source_name == "/kernels/x.ph"
    assert result.findings[0].render(result.source_name).startswith("/kernels/x.ph:4: trap: ")


EXPONENTIAL = "ld.global.b32 %r1, [%q]; ex2.approx.f32 %r1, %r1; st.global.b32 [%q], %r1; ret;"


def test_perturbation_stays_within_the_documented_error(kernel: Kernel) -> None:
    given = np.linspace(-3, 3, 64, dtype=np.float32)
    exact = np.exp2(given.astype(np.float64))
    seen = []
    for seed in (1, 2, 1):
        out = given.copy()
        launch(kernel(EXPONENTIAL), "k", (1, 1, 1), [out], perturb=True, seed=seed)
        # The bound of the manual, and the rounding of the result.
        np.testing.assert_allclose(out, exact, rtol=2.0**-22 + 2.0**-24)
        seen.append(out)
    assert (seen[0] != exact.astype(np.float32)).any()
    assert (seen[0] != seen[1]).any()
    np.testing.assert_array_equal(seen[0], seen[2])
