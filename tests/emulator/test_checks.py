"""Each check, with a kernel that commits the fault and a close relative that does not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from phobos_core.emulator import EmulatorFault, Result, launch, run

Array = npt.NDArray[Any]
Kernel = Callable[..., str]

SHARED = ".shared .align 16 .b8 s[1024];"
# Thread t's own word of shared memory is [%r9], its neighbour's (t ^ 1) [%r10], that of 32 threads on [%r11].
ADDRESSES = """
shl.b32 %r8, %t, 2; mov.u32 %r9, s; add.u32 %r9, %r9, %r8;
xor.b32 %r10, %r9, 4; xor.b32 %r11, %r9, 128;
"""
BARRIER = "bar.sync 0;"
STORE_OUT = "st.global.u32 [%q], %r1; ret;"


def execute(kernel: Kernel, body: str, *, threads: int = 64, grid: int = 1, size: int = 64, **options: Any) -> Result:
    ptx = kernel(body, threads=threads, declarations=SHARED)
    return run(ptx, "k", (grid, 1, 1), [np.zeros(size, np.uint32)], **options)


def kinds(result: Result) -> list[str]:
    return [each.kind for each in result.findings]


# Bounds and alignment


def test_store_past_the_end(kernel: Kernel) -> None:
    body = ".loc 1 7 3\nst.global.u32 [%q+4], %t;\nret;"
    assert kinds(execute(kernel, body, size=65)) == []
    result = execute(kernel, body)
    assert kinds(result) == ["out-of-bounds"]
    finding = result.findings[0]
    assert (finding.line, finding.thread, finding.block) == (7, (63, 0, 0), (0, 0, 0))
    assert "byte 256 of `p0`, which has 256 bytes" in finding.message


def test_load_before_the_start(kernel: Kernel) -> None:
    result = execute(kernel, "ld.global.u32 %r1, [%q+-4]; st.global.u32 [%q], %r1; ret;")
    assert kinds(result) == ["out-of-bounds"]
    assert result.findings[0].thread == (0, 0, 0)


def test_nothing_is_written_by_a_store_out_of_bounds(kernel: Kernel) -> None:
    first, second = np.zeros(64, np.uint32), np.full(64, 5, np.uint32)
    ptx = kernel("st.global.u32 [%q+256], %t; ret;", parameters=2)
    with pytest.raises(EmulatorFault) as caught:
        launch(ptx, "k", (1, 1, 1), [first, second])
    assert caught.value.findings[0].kind == "out-of-bounds"
    np.testing.assert_array_equal(second, 5)


def test_an_empty_tensor_has_no_element(kernel: Kernel) -> None:
    result = execute(kernel, "ld.global.u32 %r1, [%g0]; ret;", size=0)
    assert kinds(result) == ["out-of-bounds"]


def test_a_null_pointer_is_out_of_bounds(kernel: Kernel) -> None:
    result = execute(kernel, "mov.b64 %rd1, 0; ld.global.u32 %r1, [%rd1]; ret;")
    assert kinds(result) == ["out-of-bounds"]


def test_shared_memory_out_of_bounds(kernel: Kernel) -> None:
    for offset, expected in ((1020 - 63 * 4, []), (1024 - 63 * 4, ["out-of-bounds"])):
        result = execute(kernel, f"{ADDRESSES} st.shared.u32 [%r9+{offset}], %t; ret;")
        assert kinds(result) == expected
    assert "shared memory, which has 1024 bytes" in result.findings[0].message


def test_misaligned_vector(kernel: Kernel) -> None:
    body = "ld.global.v4.u32 {{%r1, %r2, %r3, %r4}}, [%g0+{}]; ret;"
    assert kinds(execute(kernel, body.format(16))) == []
    result = execute(kernel, body.format(8))
    assert kinds(result) == ["misaligned"]
    assert "a multiple of 16" in result.findings[0].message


def test_checks_off_still_keep_memory_safe(kernel: Kernel) -> None:
    assert kinds(execute(kernel, "st.global.u32 [%q+4], %t; ret;", checks=False)) == ["out-of-bounds"]


# Uninitialised shared memory


def test_read_of_shared_memory_that_nothing_wrote(kernel: Kernel) -> None:
    read = f".loc 1 12 3\nld.shared.u32 %r1, [%r9];\n{STORE_OUT}"
    assert kinds(execute(kernel, f"{ADDRESSES} st.shared.u32 [%r9], %t; {read}")) == []
    result = execute(kernel, f"{ADDRESSES} {read}")
    assert kinds(result) == ["uninitialised-shared"]
    assert result.findings[0].line == 12


def test_half_a_vector_uninitialised(kernel: Kernel) -> None:
    body = "mov.u32 %r9, s; st.shared.u32 [%r9], 1; ld.shared.v2.u32 {%r1, %r2}, [%r9]; ret;"
    result = execute(kernel, body, threads=1)
    assert kinds(result) == ["uninitialised-shared"]
    assert result.findings[0].address == 4


def test_shared_memory_does_not_survive_from_block_to_block(kernel: Kernel) -> None:
    body = f"""{ADDRESSES} mov.u32 %r2, %ctaid.x; setp.ne.u32 %p1, %r2, 0; @%p1 bra READ;
    st.shared.u32 [%r9], %t;
    READ: ld.shared.u32 %r1, [%r9]; ret;"""
    assert kinds(execute(kernel, body, grid=1)) == []
    assert kinds(execute(kernel, body, grid=3)) == ["uninitialised-shared"]


# Races in shared memory


@pytest.mark.parametrize("barrier", ["bar.sync 0;", "barrier.sync 0;", "bar.sync 3, 64;", "bar.cta.sync 1;"])
def test_read_after_write_needs_a_barrier(kernel: Kernel, barrier: str) -> None:
    body = ADDRESSES + ".loc 1 5 1\nst.shared.u32 [%r9], %t; {} \n.loc 1 6 1\nld.shared.u32 %r1, [%r11];" + STORE_OUT
    assert kinds(execute(kernel, body.format(barrier))) == []
    result = execute(kernel, body.format(""))
    assert kinds(result) == ["race-shared"]
    assert (result.findings[0].line, result.findings[0].other_line) == (6, 5)
    assert "written at line 5 with no barrier between" in result.findings[0].message


def test_own_word_needs_no_barrier(kernel: Kernel) -> None:
    body = f"{ADDRESSES} st.shared.u32 [%r9], %t; ld.shared.u32 %r1, [%r9]; st.shared.u32 [%r9], 1; ret;"
    assert kinds(execute(kernel, body)) == []


def test_lanes_of_one_warp_race_without_a_barrier(kernel: Kernel) -> None:
    body = ADDRESSES + "st.shared.u32 [%r9], %t; {} ld.shared.u32 %r1, [%r10];" + STORE_OUT
    assert kinds(execute(kernel, body.format(""))) == ["race-shared"]
    assert kinds(execute(kernel, body.format("bar.warp.sync 0xffffffff;"))) == []


def test_a_warp_barrier_does_not_order_other_warps(kernel: Kernel) -> None:
    body = f"{ADDRESSES} st.shared.u32 [%r9], %t; bar.warp.sync -1; ld.shared.u32 %r1, [%r11]; ret;"
    assert kinds(execute(kernel, body)) == ["race-shared"]


@pytest.mark.parametrize("neighbour", ["%r10", "%r11"])
def test_write_after_read_needs_a_barrier(kernel: Kernel, neighbour: str) -> None:
    body = (
        f"{ADDRESSES} st.shared.u32 [%r9], %t; bar.sync 0; ld.shared.u32 %r1, [{neighbour}];"
        "{} st.shared.u32 [%r9], 7;" + STORE_OUT
    )
    assert kinds(execute(kernel, body.format(BARRIER))) == []
    result = execute(kernel, body.format(""))
    assert kinds(result) == ["race-shared"]
    assert "writes what" in result.findings[0].message


def test_write_after_a_read_by_all_threads(kernel: Kernel) -> None:
    # Every thread reads word 0, then thread 0 writes it, which is also the last to have read it.
    body = (
        ADDRESSES
        + "mov.u32 %r2, s; setp.ne.u32 %p1, %t, 0; @%p1 bra NEXT; st.shared.u32 [%r2], 1; NEXT: bar.sync 0;"
        + "ld.shared.u32 %r1, [%r2]; {} @%p1 bra END;"
        + "ld.shared.u32 %r1, [%r2]; st.shared.u32 [%r2], 2; END: ret;"
    )
    assert kinds(execute(kernel, body.format(BARRIER))) == []
    assert kinds(execute(kernel, body.format(""))) == ["race-shared"]


def test_writes_of_different_values_race(kernel: Kernel) -> None:
    body = ADDRESSES + "st.shared.u32 [%r9], {first}; {barrier} st.shared.u32 [%r11], {second}; ret;"
    assert kinds(execute(kernel, body.format(first=1, second=2, barrier=BARRIER))) == []
    assert kinds(execute(kernel, body.format(first=1, second=1, barrier=""))) == []
    assert kinds(execute(kernel, body.format(first=1, second=2, barrier=""))) == ["race-shared"]


def test_one_instruction_may_race_with_itself(kernel: Kernel) -> None:
    body = "mov.u32 %r9, s; st.shared.u32 [%r9], {}; ret;"
    assert kinds(execute(kernel, body.format("7"))) == []
    result = execute(kernel, body.format("%t"))
    assert kinds(result) == ["race-shared"]
    assert "in the same instruction" in result.findings[0].message


@pytest.mark.parametrize(("kind", "shift"), [("u8", 0), ("u16", 1)])
def test_neighbouring_bytes_do_not_race(kernel: Kernel, kind: str, shift: int) -> None:
    body = (
        f"mov.u32 %r9, s; shl.b32 %r8, %t, {shift}; add.u32 %r9, %r9, %r8; cvt.u16.u32 %h1, %t;"
        f"st.shared.{kind} [%r9], %h1; ld.shared.{kind} %h2, [%r9]; ret;"
    )
    assert kinds(execute(kernel, body)) == []


def test_a_wide_read_of_narrow_writes_needs_a_barrier(kernel: Kernel) -> None:
    body = (
        "mov.u32 %r9, s; add.u32 %r10, %r9, %t; cvt.u16.u32 %h1, %t; st.shared.u8 [%r10], %h1; {}"
        "and.b32 %r11, %r10, 0xfffffffc; ld.shared.u32 %r1, [%r11];" + STORE_OUT
    )
    assert kinds(execute(kernel, body.format(BARRIER))) == []
    assert kinds(execute(kernel, body.format(""))) == ["race-shared"]


def test_atomics_do_not_race_with_each_other(kernel: Kernel) -> None:
    start = "mov.u32 %r9, s; setp.ne.u32 %p1, %t, 0; @%p1 bra NEXT; st.shared.u32 [%r9], 0; NEXT: bar.sync 0;"
    add = "red.shared.add.u32 [%r9], 1; atom.shared.add.u32 %r1, [%r9], 1;"
    read = "ld.shared.u32 %r1, [%r9];" + STORE_OUT
    assert kinds(execute(kernel, f"{start} {add} bar.sync 0; {read}")) == []
    assert kinds(execute(kernel, f"{start} {add} {read}")) == ["race-shared"]
    assert kinds(execute(kernel, f"{start.replace('bar.sync 0;', '')} {add} ret;")) == ["race-shared"]


def test_a_barrier_for_some_warps_orders_only_them(kernel: Kernel) -> None:
    # Warps 0 and 1 meet at barrier 1; warp 2 reads what warp 0 wrote without having met it.
    body = (
        ADDRESSES
        + "mov.u32 %r2, s; setp.ge.u32 %p1, %t, 64; @%p1 bra THIRD; setp.ge.u32 %p2, %t, 1; @%p2 bra MEET;"
        + "st.shared.u32 [%r2], 5; MEET: bar.sync 1, 64; ld.shared.u32 %r1, [%r2]; bra END;"
        + "THIRD: {} END: ret;"
    )
    assert kinds(execute(kernel, body.format(""), threads=96)) == []
    result = execute(kernel, body.format("ld.shared.u32 %r1, [%r2];"), threads=96)
    assert "race-shared" in kinds(result)


def test_races_are_collected_once_for_each_pair_of_lines(kernel: Kernel) -> None:
    body = (
        f"{ADDRESSES}\n.loc 1 1 1\nst.shared.u32 [%r9], %t;\n.loc 1 2 1\nld.shared.u32 %r1, [%r10];\n"
        ".loc 1 3 1\nld.shared.u32 %r1, [%r11];\n.loc 1 4 1\nret;"
    )
    result = execute(kernel, body, grid=4)
    assert [(each.kind, each.line, each.other_line) for each in result.findings] == [
        ("race-shared", 2, 1),
        ("race-shared", 3, 1),
    ]
    # An unrolled loop is one place of the source.
    unrolled = body.replace("ld.shared.u32 %r1, [%r10];", "ld.shared.u32 %r1, [%r10];" * 3)
    assert len(execute(kernel, unrolled, grid=4).findings) == 2


def test_blocks_at_different_places_of_a_loop_keep_their_own_time(kernel: Kernel) -> None:
    # Block b goes round b + 1 times; each time every thread writes its word and reads its neighbour's.
    body = (
        ADDRESSES
        + """mov.u32 %r1, %ctaid.x; mov.u32 %r2, 0;
    LOOP: st.shared.u32 [%r9], %r2; bar.sync 0; ld.shared.u32 %r3, [%r11]; {}
    add.u32 %r2, %r2, 1; setp.le.u32 %p1, %r2, %r1; @%p1 bra LOOP; ret;"""
    )
    assert kinds(execute(kernel, body.format(BARRIER), grid=6)) == []
    assert kinds(execute(kernel, body.format(""), grid=1)) == []
    assert kinds(execute(kernel, body.format(""), grid=2)) == ["race-shared"]


# Races in global memory

NEIGHBOUR = "xor.b64 %rd1, %o, 4; add.s64 %rd1, %rd1, %g0;"


def test_threads_of_a_block_race_on_global_memory(kernel: Kernel) -> None:
    body = NEIGHBOUR + "st.global.u32 [%q], %t; {} ld.global.u32 %r1, [%rd1]; ret;"
    assert kinds(execute(kernel, body.format(BARRIER))) == []
    assert kinds(execute(kernel, body.format(""))) == ["race-global"]


def test_writes_of_one_value_to_global_memory_do_not_race(kernel: Kernel) -> None:
    assert kinds(execute(kernel, "st.global.u32 [%g0], 9; ret;")) == []
    assert kinds(execute(kernel, "st.global.u32 [%g0], %t; ret;")) == ["race-global"]


def test_write_after_read_of_global_memory(kernel: Kernel) -> None:
    body = NEIGHBOUR + "ld.global.u32 %r1, [%rd1]; {} st.global.u32 [%q], %r1; ret;"
    assert kinds(execute(kernel, body.format(BARRIER))) == []
    assert kinds(execute(kernel, body.format(""))) == ["race-global"]


# Asynchronous copies

COPY = ADDRESSES + "cp.async.ca.shared.global [%r9], [%q], 4;"


def test_asynchronous_copy_read_before_its_wait(kernel: Kernel) -> None:
    read = "\n.loc 1 9 1\nld.shared.u32 %r1, [%r9];\n" + STORE_OUT
    assert kinds(execute(kernel, COPY + "cp.async.wait_all;" + read)) == []
    assert kinds(execute(kernel, COPY + "cp.async.commit_group; cp.async.wait_group 0;" + read)) == []
    for wait in ("", "cp.async.commit_group; cp.async.wait_group 1;", "cp.async.wait_group 0;"):
        result = execute(kernel, COPY + wait + read)
        assert kinds(result) == ["async-unwaited"], wait
        assert result.findings[0].line == 9


def test_another_thread_needs_wait_and_barrier(kernel: Kernel) -> None:
    read = "ld.shared.u32 %r1, [%r11];" + STORE_OUT
    assert kinds(execute(kernel, COPY + "cp.async.wait_all; bar.sync 0;" + read)) == []
    assert kinds(execute(kernel, COPY + "cp.async.wait_all;" + read)) == ["race-shared"]
    # A barrier before the wait orders nothing.
    assert kinds(execute(kernel, COPY + "bar.sync 0; cp.async.wait_all;" + read)) == ["race-shared"]


def test_a_stage_overwritten_while_others_still_read_it(kernel: Kernel) -> None:
    start = COPY + "cp.async.wait_all; bar.sync 0; ld.shared.u32 %r1, [%r11];"
    again = "cp.async.ca.shared.global [%r9], [%q], 4; cp.async.wait_all; bar.sync 0; ret;"
    assert kinds(execute(kernel, start + BARRIER + again)) == []
    assert kinds(execute(kernel, start + again)) == ["race-shared"]


# Barriers, hangs and traps


def test_barrier_reached_by_part_of_a_warp(kernel: Kernel) -> None:
    body = "setp.ge.u32 %p1, %t, 16; @%p1 bra DONE;\n.loc 1 3 1\nbar.sync 0;\nDONE: ret;"
    result = execute(kernel, body, threads=32)
    assert kinds(result) == ["divergent-barrier"]
    assert result.findings[0].line == 3
    assert "only 16 of the 32 threads" in result.findings[0].message


def test_barrier_reached_by_one_warp_of_two(kernel: Kernel) -> None:
    body = "setp.ge.u32 %p1, %t, 32; @%p1 bra DONE;\n.loc 1 3 1\nbar.sync 0;\nDONE: {} ret;"
    for after in ("", "bar.sync 0;"):
        result = execute(kernel, body.format(after))
        assert kinds(result) == ["divergent-barrier"], after
        assert result.findings[0].line == 3
        assert "only 32 of the 64 threads" in result.findings[0].message


def test_a_uniform_branch_may_hold_a_barrier(kernel: Kernel) -> None:
    body = "mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 1; @%p1 bra DONE; bar.sync 0; DONE: ret;"
    assert kinds(execute(kernel, body, grid=4)) == []


def test_a_barrier_in_a_loop_whose_count_differs_between_blocks(kernel: Kernel) -> None:
    body = """mov.u32 %r1, %ctaid.x; add.u32 %r1, %r1, 1; mov.u32 %r2, 0;
    LOOP: bar.sync 0; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r1; @%p1 bra LOOP;
    mov.u32 %r3, %ctaid.x; mul.wide.u32 %rd1, %r3, 4; add.s64 %rd1, %rd1, %g0;
    st.global.u32 [%rd1], %r2; ret;"""
    out = np.zeros(8, np.uint32)
    result = run(kernel(body), "k", (8, 1, 1), [out])
    assert kinds(result) == []
    np.testing.assert_array_equal(out, np.arange(1, 9))


def test_half_of_the_blocks_go_on_from_a_barrier_while_the_other_half_waits(kernel: Kernel) -> None:
    # Both blocks come to barrier 1 together, but in block 1 it waits for warp 2, which spins until block 0 is done.
    body = """mov.u32 %r1, %ctaid.x; setp.lt.u32 %p1, %t, 64; @%p1 bra PAIR;
    setp.eq.u32 %p2, %r1, 0; @%p2 bra JOIN;
    WAIT: ld.acquire.gpu.global.u32 %r2, [%g0]; setp.eq.u32 %p2, %r2, 0; @%p2 bra WAIT;
    bar.arrive 1, 96; bra JOIN;
    PAIR: mov.u32 %r3, 64; setp.eq.u32 %p2, %r1, 0; @%p2 bra MEET; mov.u32 %r3, 96;
    MEET: bar.sync 1, %r3; setp.ne.u32 %p2, %r1, 0; @%p2 bra JOIN; st.release.gpu.global.u32 [%g0], 1;
    JOIN: mul.wide.u32 %rd1, %r1, 384; add.s64 %rd1, %rd1, %q; st.global.u32 [%rd1+64], %t; ret;"""
    out = np.zeros(16 + 2 * 96, np.uint32)
    result = run(kernel(body, threads=96), "k", (2, 1, 1), [out])
    assert kinds(result) == []
    np.testing.assert_array_equal(out[16:], np.tile(np.arange(96), 2))


def test_threads_that_wait_for_different_numbers_of_threads(kernel: Kernel) -> None:
    result = execute(kernel, "shr.u32 %r1, %t, 5; add.u32 %r1, %r1, 1; shl.b32 %r1, %r1, 5; bar.sync 1, %r1; ret;")
    assert kinds(result) == ["divergent-barrier"]
    assert "different operands in different threads" in result.findings[0].message


def test_specialised_warps_meet_at_counted_barriers(kernel: Kernel) -> None:
    # Warp 0 produces and arrives at barrier 1; warp 1 waits for it there.
    body = (
        ADDRESSES
        + "setp.ge.u32 %p1, %t, 32; @%p1 bra CONSUMER; st.shared.u32 [%r9], %t; {} bra END;"
        + "CONSUMER: bar.sync 1, 64; ld.shared.u32 %r1, [%r11]; st.global.u32 [%q], %r1; END: ret;"
    )
    assert kinds(execute(kernel, body.format("bar.arrive 1, 64;"))) == []
    result = execute(kernel, body.format(""))
    assert kinds(result) == ["deadlock"]
    assert "waits for 64 threads and only 32 ever come" in result.findings[0].message


def test_barrier_reduction(kernel: Kernel) -> None:
    out = np.zeros(64, np.uint32)
    body = "setp.lt.u32 %p1, %t, 40; bar.red.popc.u32 %r1, 0, %p1; st.global.u32 [%q], %r1; ret;"
    launch(kernel(body), "k", (1, 1, 1), [out])
    np.testing.assert_array_equal(out, 40)
    for name, expected in (("and", 0), ("or", 1)):
        body = (
            f"setp.lt.u32 %p1, %t, 40; bar.red.{name}.pred %p2, 0, %p1; selp.b32 %r1, 1, 0, %p2;"
            "st.global.u32 [%q], %r1; ret;"
        )
        launch(kernel(body), "k", (1, 1, 1), [out])
        np.testing.assert_array_equal(out, expected)


SPIN = """mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, {waiter}; @%p1 bra SET;
.loc 1 4 1
WAIT: ld.acquire.gpu.global.u32 %r2, [%g0]; setp.eq.u32 %p2, %r2, 0; @%p2 bra WAIT;
.loc 1 6 1
bra END;
SET: mov.u32 %r3, {value}; st.release.gpu.global.u32 [%g0], %r3;
END: ret;"""


@pytest.mark.parametrize("waiter", [0, 1])
def test_a_block_may_wait_for_another(kernel: Kernel, waiter: int) -> None:
    assert kinds(execute(kernel, SPIN.format(waiter=waiter, value=1), threads=1, grid=2)) == []


def test_waiting_for_what_never_comes(kernel: Kernel) -> None:
    result = execute(kernel, SPIN.format(waiter=0, value=0), threads=1, grid=2)
    assert kinds(result) == ["deadlock"]
    assert result.findings[0].line == 4
    waits = "block 0 waits here for a value that no running thread of the grid writes; block 1 has ended"
    assert result.findings[0].message == waits


def test_a_hang_says_which_blocks_wait_where(kernel: Kernel) -> None:
    # Blocks 0 to 2 wait for word 0, blocks 3 and 4 for word 1, and block 5 ends.
    body = """mov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 5; @%p1 bra END; setp.gt.u32 %p1, %r1, 2; @%p1 bra SECOND;
    .loc 1 4 1
    FIRST: ld.acquire.gpu.global.u32 %r2, [%g0]; setp.eq.u32 %p2, %r2, 0; @%p2 bra FIRST;
    bra END;
    .loc 1 7 1
    SECOND: ld.acquire.gpu.global.u32 %r2, [%g0+4]; setp.eq.u32 %p2, %r2, 0; @%p2 bra SECOND;
    END: ret;"""
    (finding,) = execute(kernel, body, threads=32, grid=6).findings
    places = {4: "blocks 0, 1 and 2 wait", 7: "blocks 3 and 4 wait"}
    assert finding.kind == "deadlock"
    assert finding.line is not None
    here = f"{places.pop(finding.line)} here for a value that no running thread of the grid writes"
    ((line, others),) = places.items()
    assert finding.message == f"{here}; {others} at line {line}; block 5 has ended"


@pytest.mark.parametrize("threads", [1, 32, 64])
def test_one_thread_of_a_block_that_waits_for_good_is_the_hang_and_not_the_barrier_of_the_others(
    kernel: Kernel, threads: int
) -> None:
    body = """
    .loc 1 5 1
    setp.ne.u32 %p1, %t, 0; @%p1 bra MEET;
    WAIT: ld.acquire.gpu.global.u32 %r2, [%g0]; setp.eq.u32 %p2, %r2, 0; @%p2 bra WAIT;
    .loc 1 6 1
    MEET: bar.sync 0; ret;"""
    (finding,) = execute(kernel, body, threads=threads, grid=2).findings
    assert (finding.kind, finding.line) == ("deadlock", 5)
    assert "wait here for a value that no running thread of the grid writes" in finding.message


@pytest.mark.parametrize("setter", ["other block", "other warp", "other lane"])
def test_a_thread_may_wait_for_one_that_is_past_the_branch(kernel: Kernel, setter: str) -> None:
    # Thread 0 spins; the one that will release it already waits where the two ways meet.
    shapes = {"other block": (1, 1, 2), "other warp": (32, 64, 1), "other lane": (1, 32, 1)}
    distance, threads, grid = shapes[setter]
    body = f"""mov.u32 %r1, %ctaid.x; mad.lo.u32 %r1, %r1, {threads}, %t;
    setp.ne.u32 %p1, %r1, 0; @%p1 bra JOIN;
    WAIT: ld.relaxed.gpu.global.u32 %r2, [%g0]; setp.eq.u32 %p2, %r2, 0; @%p2 bra WAIT;
    JOIN: setp.ne.u32 %p1, %r1, {distance}; @%p1 bra END; st.relaxed.gpu.global.u32 [%g0], 1;
    END: ret;"""
    assert kinds(execute(kernel, body, threads=threads, grid=grid)) == []


def test_a_long_loop_of_atomics_is_no_hang(kernel: Kernel) -> None:
    body = """mov.u32 %r1, 0;
    LOOP: atom.global.add.u32 %r2, [%g0], 1; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 5000;
    @%p1 bra LOOP; ret;"""
    out = np.zeros(1, np.uint32)
    assert kinds(run(kernel(body, threads=1), "k", (1, 1, 1), [out])) == []
    assert out[0] == 5000


def test_a_lock_that_nobody_gives_back(kernel: Kernel) -> None:
    body = """
    .loc 1 8 1
    TRY: atom.global.cas.b32 %r1, [%g0], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra TRY;
    {} ret;"""
    released = body.format("atom.global.exch.b32 %r2, [%g0], 0;")
    assert kinds(execute(kernel, released, threads=1, grid=4)) == []
    result = execute(kernel, body.format(""), threads=1, grid=4)
    assert [(each.kind, each.line) for each in result.findings] == [("deadlock", 8)]


def test_endless_loop_names_its_line(kernel: Kernel) -> None:
    body = """mov.u32 %r1, 0;
    .loc 1 20 1
    LOOP: add.u32 %r1, %r1, {};
    setp.lt.u32 %p1, %r1, 100;
    @%p1 bra LOOP;
    .loc 1 21 1
    ret;"""
    assert kinds(execute(kernel, body.format(1), max_steps=10_000)) == []
    result = execute(kernel, body.format(0), max_steps=10_000)
    assert kinds(result) == ["endless-loop"]
    assert result.findings[0].line == 20


def test_endless_loop_around_one_that_ends(kernel: Kernel) -> None:
    body = """mov.u32 %r1, 0;
    OUTER: mov.u32 %r2, 0;
    .loc 1 30 1
    INNER: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 50; @%p1 bra INNER;
    .loc 1 31 1
    setp.lt.u32 %p2, %r1, 100; @%p2 bra OUTER;
    ret;"""
    result = execute(kernel, body, max_steps=10_000)
    assert [(each.kind, each.line) for each in result.findings] == [("endless-loop", 31)]


def test_a_short_warp_counts_as_a_whole_one_at_a_counted_barrier(kernel: Kernel) -> None:
    assert kinds(execute(kernel, "bar.sync 1, 64; st.global.u32 [%q], 1; ret;", threads=48)) == []


def test_trap_with_its_line(kernel: Kernel) -> None:
    body = "setp.ne.u32 %p1, %t, {};\n@%p1 bra FINE;\n.loc 1 2 1\ntrap;\nFINE: ret;"
    assert kinds(execute(kernel, body.format(1000).replace("ne", "lt"))) == []
    result = execute(kernel, body.format(33))
    assert kinds(result) == ["trap"]
    assert (result.findings[0].line, result.findings[0].thread) == (2, (33, 0, 0))


def test_launch_raises_with_the_source_line(kernel: Kernel) -> None:
    ptx = kernel(".loc 1 2 1\ntrap;\nret;")
    with pytest.raises(EmulatorFault, match=r"x\.ph:2: trap"):
        launch(ptx, "k", (1, 1, 1), [np.zeros(4, np.uint32)], source_name="x.ph")
