"""Races between blocks on global memory: what a flag, an atomic or a grid's barrier orders, and what nothing orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import phobos_core as phobos
from phobos_core.emulator import run
from phobos_core.runtime.devices import KernelFault

Kernel = Callable[..., str]
# Word 0 is a flag, and word 8 the data.
BLOCK = "mov.u32 %r1, %ctaid.x;"


def found(kernel: Kernel, body: str, *, threads: int = 32, grid: int = 2) -> list[str]:
    result = run(kernel(body, threads=threads), "k", (grid, 1, 1), [np.zeros(64, np.uint32)])
    assert {each.kind for each in result.findings} <= {"race-global"}
    return [each.message for each in result.findings]


def test_blocks_that_write_different_values(kernel: Kernel) -> None:
    (message,) = found(kernel, f"{BLOCK} st.global.u32 [%g0], %r1; ret;")
    assert "writes what block 1 writes with another value at the same time" in message


def test_blocks_that_write_one_value(kernel: Kernel) -> None:
    assert found(kernel, "st.global.u32 [%g0], 7; ret;") == []


def test_blocks_that_write_apart(kernel: Kernel) -> None:
    assert found(kernel, f"{BLOCK} mad.wide.u32 %rd1, %r1, 4, %g0; st.global.u32 [%rd1], %r1; ret;") == []


def test_atomics_of_blocks(kernel: Kernel) -> None:
    assert found(kernel, "atom.global.add.u32 %r1, [%g0], 1; ret;", grid=5) == []


def test_a_plain_read_of_what_another_block_adds_to(kernel: Kernel) -> None:
    (message,) = found(kernel, "atom.global.add.u32 %r1, [%g0], 1; ld.global.u32 %r2, [%g0]; ret;", threads=1)
    assert "reads what block 1 has written" in message


def test_a_write_after_a_read_of_another_block(kernel: Kernel) -> None:
    body = f"""{BLOCK} ld.global.u32 %r2, [%g0+32]; bar.sync 0;
    setp.ne.u32 %p1, %r1, {{}}; @%p1 bra END; st.global.u32 [%g0+32], 5; END: ret;"""
    for writer in (0, 1, 2):
        messages = found(kernel, body.format(writer), grid=3)
        assert messages
        assert all("writes what block" in each and "has read" in each for each in messages)
    assert found(kernel, body.format(9), grid=3) == []


HANDOVER = f"""{BLOCK} setp.ne.u32 %p1, %r1, 0; @%p1 bra WAIT;
{{write}} {{before}}
setp.ne.u32 %p2, %t, 0; @%p2 bra END; {{release}} bra END;
WAIT: {{acquire}} setp.eq.u32 %p3, %r2, 0; @%p3 bra WAIT; {{after}}
ld.global.u32 %r3, [%g0+32];
END: ret;"""
# The last warp's last thread writes.
WRITE = "setp.ne.u32 %p2, %t, 63; @!%p2 st.global.u32 [%g0+32], 5;"


@pytest.mark.parametrize(
    ("release", "acquire", "before", "after", "ordered"),
    [
        ("st.release.gpu.global.u32 [%g0], 1;", "ld.acquire.gpu.global.u32 %r2, [%g0];", "bar.sync 0;", "", True),
        ("st.release.sys.global.u32 [%g0], 1;", "ld.acquire.sys.global.u32 %r2, [%g0];", "bar.sync 0;", "", True),
        ("st.release.gpu.global.u32 [%g0], 1;", "ld.acquire.gpu.global.u32 %r2, [%g0];", "", "", False),
        ("st.relaxed.gpu.global.u32 [%g0], 1;", "ld.acquire.gpu.global.u32 %r2, [%g0];", "bar.sync 0;", "", False),
        ("st.release.gpu.global.u32 [%g0], 1;", "ld.relaxed.gpu.global.u32 %r2, [%g0];", "bar.sync 0;", "", False),
        ("st.volatile.global.u32 [%g0], 1;", "ld.volatile.global.u32 %r2, [%g0];",
         "bar.sync 0; membar.gl;", "membar.gl;", True),
        ("atom.acq_rel.gpu.global.add.u32 %r4, [%g0], 1;", "atom.acq_rel.gpu.global.add.u32 %r2, [%g0], 0;",
         "bar.sync 0;", "", True),
        ("atom.global.add.u32 %r4, [%g0], 1;", "atom.global.add.u32 %r2, [%g0], 0;", "bar.sync 0;", "", False),
    ],
)  # fmt: skip
def test_a_value_handed_over(
    kernel: Kernel, release: str, acquire: str, before: str, after: str, ordered: bool
) -> None:
    body = HANDOVER.format(write=WRITE, release=release, acquire=acquire, before=before, after=after)
    messages = found(kernel, body, threads=64)
    assert (messages == []) == ordered
    assert all(
        "reads what block 0 has written" in each and "with no flag or grid barrier between" in each for each in messages
    )


def test_what_comes_after_the_release_is_not_handed_over(kernel: Kernel) -> None:
    late = "st.release.gpu.global.u32 [%g0], 1; st.global.u32 [%g0+32], 5;"
    body = HANDOVER.format(write="", before="", release=late, acquire="ld.acquire.gpu.global.u32 %r2, [%g0];", after="")
    assert len(found(kernel, body)) == 1


def test_a_value_handed_on_by_a_third_block(kernel: Kernel) -> None:
    body = f"""{BLOCK} setp.eq.u32 %p1, %r1, 0; @%p1 bra FIRST; setp.eq.u32 %p1, %r1, 1; @%p1 bra SECOND;
    THIRD: ld.acquire.gpu.global.u32 %r2, [%g0+4]; setp.eq.u32 %p2, %r2, 0; @%p2 bra THIRD;
    ld.global.u32 %r3, [%g0+32]; bra END;
    SECOND: ld.acquire.gpu.global.u32 %r2, [%g0]; setp.eq.u32 %p2, %r2, 0; @%p2 bra SECOND;
    {{}}.gpu.global.u32 [%g0+4], 1; bra END;
    FIRST: st.global.u32 [%g0+32], 5; st.release.gpu.global.u32 [%g0], 1;
    END: ret;"""
    assert found(kernel, body.format("st.release"), threads=1, grid=3) == []
    assert len(found(kernel, body.format("st.relaxed"), threads=1, grid=3)) == 1


TWO_PHASES = """
@persistent
@launch(64)
kernel k(X: tensor<f32>[N, 64], BAR: tensor<i32>[2], C: tensor<i32>[1]) {
  let b = ctx.block.x
  let next = (b + 1) % ctx.blocks.x
  X[b, ctx.thread] = f32(ctx.thread)
  FIRST
  let x = X[next, ctx.thread]
  SECOND
  X[b, ctx.thread] = x + 1.0
}
"""
MEET = "grid_barrier(BAR)"
COUNT = "if atomic_add(C, 0, 1) < 0 { return }"  # orders those that come later after those before, not all


@pytest.mark.parametrize("target", ["sm_61", "sm_80"])
@pytest.mark.parametrize(
    ("first", "second", "ordered"),
    [(MEET, MEET, True), ("barrier()", MEET, False), (MEET, "barrier()", False), (COUNT, MEET, False)],
)
def test_phases_of_a_kernel(target: Any, first: str, second: str, ordered: bool) -> None:
    source = TWO_PHASES.replace("FIRST", first).replace("SECOND", second)
    (kernel,) = phobos.compile_text(source, target=target).values()
    args = [np.zeros((4, 64), np.float32), np.zeros(2, np.int32), np.zeros(1, np.int32)]
    if ordered:
        kernel.launch((4,), *args, device="emulator")
        np.testing.assert_array_equal(args[0], np.tile(np.arange(64) + 1, (4, 1)))
        return
    with pytest.raises(KernelFault) as caught:
        kernel.launch((4,), *args, device="emulator")
    assert {each.diagnostic.code for each in caught.value.findings} == {"race-global"}
