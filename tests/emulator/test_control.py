"""Divergence and reconvergence, loops, indirect branches, guards, and the shape of the grid."""

from collections.abc import Callable

import numpy as np
import pytest

from phobos_core.emulator import EmulatorFault, launch
from phobos_core.emulator.cfg import EXIT, control_flow, immediate_postdominators
from phobos_core.emulator.parser import parse

Kernel = Callable[..., str]


def outcome(kernel: Kernel, body: str, threads: int = 64, grid: int = 1) -> list[int]:
    out = np.zeros(threads, np.uint32)
    launch(kernel(body, threads=threads), "k", (grid, 1, 1), [out])
    return [int(each) for each in out]


def test_both_sides_of_a_branch_meet_again(kernel: Kernel) -> None:
    # The reduction after the branch needs all lanes together.
    body = """and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra EVEN;
    mul.lo.u32 %r2, %t, 3; bra.uni JOIN;
    EVEN: add.u32 %r2, %t, 100;
    JOIN: redux.sync.add.u32 %r3, %r2, 0xffffffff; st.global.u32 [%q], %r3; ret;"""
    values = [t + 100 if t % 2 == 0 else 3 * t for t in range(64)]
    assert outcome(kernel, body) == [sum(values[:32])] * 32 + [sum(values[32:])] * 32


def test_each_thread_loops_as_often_as_it_wants(kernel: Kernel) -> None:
    body = """mov.u32 %r1, 0; mov.u32 %r2, 0;
    HEAD: setp.ge.u32 %p1, %r1, %t; @%p1 bra DONE;
    add.u32 %r2, %r2, %r1; add.u32 %r1, %r1, 1; bra HEAD;
    DONE: redux.sync.max.u32 %r4, %r2, 0xffffffff; mad.lo.u32 %r2, %r4, 1000, %r2;
    st.global.u32 [%q], %r2; ret;"""
    sums = [t * (t - 1) // 2 for t in range(64)]
    expected = [sums[t] + 1000 * max(sums[:32] if t < 32 else sums[32:]) for t in range(64)]
    assert outcome(kernel, body) == expected


def test_collatz_with_a_branch_inside_the_loop(kernel: Kernel) -> None:
    body = """add.u32 %r1, %t, 1; mov.u32 %r2, 0;
    HEAD: setp.eq.u32 %p1, %r1, 1; @%p1 bra DONE; and.b32 %r3, %r1, 1; setp.eq.u32 %p2, %r3, 0; @%p2 bra EVEN;
    mad.lo.u32 %r1, %r1, 3, 1; bra NEXT;
    EVEN: shr.u32 %r1, %r1, 1;
    NEXT: add.u32 %r2, %r2, 1; bra HEAD;
    DONE: st.global.u32 [%q], %r2; ret;"""

    def steps(n: int) -> int:
        count = 0
        while n != 1:
            n = 3 * n + 1 if n % 2 else n // 2
            count += 1
        return count

    assert outcome(kernel, body) == [steps(t + 1) for t in range(64)]


def test_nested_loops_with_break_and_continue(kernel: Kernel) -> None:
    body = """mov.u32 %r1, 0; mov.u32 %r5, 0;
    OUTER: setp.ge.u32 %p1, %r1, 5; @%p1 bra DONE; mov.u32 %r2, 0;
    INNER: setp.ge.u32 %p2, %r2, %t; @%p2 bra NEXT;
    and.b32 %r3, %r2, 3; setp.eq.u32 %p3, %r3, 2; @%p3 bra SKIP;
    add.u32 %r4, %r1, %r2; setp.gt.u32 %p4, %r4, 20; @%p4 bra NEXT;
    add.u32 %r5, %r5, %r4;
    SKIP: add.u32 %r2, %r2, 1; bra INNER;
    NEXT: add.u32 %r1, %r1, 1; bra OUTER;
    DONE: st.global.u32 [%q], %r5; ret;"""

    def expected(t: int) -> int:
        total = 0
        for i in range(5):
            for j in range(t):
                if j % 4 == 2:
                    continue
                if i + j > 20:
                    break
                total += i + j
        return total

    assert outcome(kernel, body) == [expected(t) for t in range(64)]


def test_threads_may_leave_early(kernel: Kernel) -> None:
    body = """setp.ge.u32 %p1, %t, 10; @%p1 exit; st.global.u32 [%q], 5;
    setp.ge.u32 %p1, %t, 5; @%p1 ret; st.global.u32 [%q], 6; ret;"""
    assert outcome(kernel, body) == [6] * 5 + [5] * 5 + [0] * 54


def test_indirect_branch(kernel: Kernel) -> None:
    body = """and.b32 %r1, %t, 3;
    TABLE: .branchtargets A, B, C, A;
    brx.idx %r1, TABLE;
    A: mov.u32 %r2, 10; bra END;
    B: mov.u32 %r2, 20; bra END;
    C: mov.u32 %r2, 30;
    END: redux.sync.add.u32 %r3, %r2, 0xffffffff; add.u32 %r2, %r2, %r3; st.global.u32 [%q], %r2; ret;"""
    cases = [10, 20, 30, 10]
    assert outcome(kernel, body) == [cases[t % 4] + 8 * sum(cases) for t in range(64)]


def test_guards(kernel: Kernel) -> None:
    body = """setp.lt.u32 %p1, %t, 8; mov.u32 %r1, 1; @%p1 mov.u32 %r1, 2; @!%p1 add.u32 %r1, %r1, 10;
    @%p1 st.global.u32 [%q], %r1; @!%p1 st.global.u32 [%q], %r1; ret;"""
    assert outcome(kernel, body) == [2] * 8 + [11] * 56


def test_coordinates_of_three_dimensions() -> None:
    names = [f"%{kind}.{axis}" for kind in ("tid", "ntid", "ctaid", "nctaid") for axis in "xyz"]
    lines = "\n".join(f"mov.u32 %r1, {name}; st.global.u32 [%rd1+{4 * i}], %r1;" for i, name in enumerate(names))
    ptx = f""".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 o)
.reqntid 4, 2, 3
{{ .reg .b32 %r<9>; .reg .b64 %rd<3>;
mov.u32 %r1, %ctaid.z; mov.u32 %r2, %nctaid.y; mov.u32 %r3, %ctaid.y; mad.lo.u32 %r1, %r1, %r2, %r3;
mov.u32 %r2, %nctaid.x; mov.u32 %r3, %ctaid.x; mad.lo.u32 %r1, %r1, %r2, %r3;
mov.u32 %r2, %tid.z; mad.lo.u32 %r1, %r1, 3, %r2; mov.u32 %r2, %tid.y; mad.lo.u32 %r1, %r1, 2, %r2;
mov.u32 %r2, %tid.x; mad.lo.u32 %r1, %r1, 4, %r2;
ld.param.u64 %rd1, [o]; mul.wide.u32 %rd2, %r1, 48; add.s64 %rd1, %rd1, %rd2;
{lines} ret; }}"""
    grid = (3, 2, 2)
    out = np.zeros((12, 24, 12), np.uint32)
    launch(ptx, "k", grid, [out])
    for block in range(12):
        for thread in range(24):
            place = [thread % 4, thread // 4 % 2, thread // 8, 4, 2, 3]
            place += [block % 3, block // 3 % 2, block // 6, *grid]
            assert out[block, thread].tolist() == place


def test_more_blocks_than_fit_at_once(kernel: Kernel) -> None:
    out = np.zeros(3000, np.uint32)
    body = """mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %t, 0; @%p1 bra END; mul.wide.u32 %rd1, %r1, 4;
    add.s64 %rd1, %rd1, %g0; st.global.u32 [%rd1], %r1; END: ret;"""
    launch(kernel(body), "k", (3000, 1, 1), [out])
    np.testing.assert_array_equal(out, np.arange(3000))


def test_postdominators_of_a_diamond_and_a_loop() -> None:
    #  0 -> 1, 2; 1 -> 3; 2 -> 3; 3 -> 1, 4; 4 -> end
    assert immediate_postdominators([(1, 2), (3,), (3,), (1, 4), (EXIT,)]) == (3, 3, 3, 4, EXIT)
    # Two ends: nothing is common to both ways.
    assert immediate_postdominators([(1, 2), (EXIT,), (EXIT,)]) == (EXIT, EXIT, EXIT)
    # A loop that never ends postdominates nothing and breaks nothing.
    assert immediate_postdominators([(1, 2), (1,), (EXIT,)]) == (2, EXIT, EXIT)
    # Two ways back to the header of an endless loop, and one that goes in a circle inside it.
    assert immediate_postdominators([(1,), (2,), (1, 3), (1,)]) == (1, EXIT, 1, 1)
    assert immediate_postdominators([(1,), (2, 3), (2, 1), (1,)]) == (1, EXIT, 1, 1)


@pytest.mark.parametrize(
    ("inside", "loop"), [({1}, (1, 3)), ({2}, (2, 2)), ({2, 3}, (1, 3)), ({0, 2}, None), ({4}, None)]
)
def test_the_innermost_loop_around_blocks(kernel: Kernel, inside: set[int], loop: tuple[int, int] | None) -> None:
    body = """A: add.u32 %r1, %r1, 1; B: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 9; @%p1 bra B;
    setp.lt.u32 %p1, %r1, 9; @%p1 bra A; ret;"""
    flow = control_flow(parse(kernel(body)).kernels["k"])
    assert flow.loop_around(inside) == loop


def test_threads_that_part_in_an_endless_loop_meet_in_every_turn(kernel: Kernel) -> None:
    """All of them reach the barrier: what is wrong is that the loop has no end."""
    body = """setp.ne.u32 %p1, %t, 0;
    HEAD: bar.sync 0; @%p1 bra HEAD; st.global.u32 [%q], %t; bra.uni HEAD;"""
    out = np.zeros(64, np.uint32)
    with pytest.raises(EmulatorFault) as raised:
        launch(kernel(body, threads=64), "k", (1, 1, 1), [out], max_steps=10_000)
    assert {each.kind for each in raised.value.result.findings} == {"endless-loop"}
