"""Bank conflicts: 32 banks of 4 bytes; 8 bytes a thread are two phases of 16 threads, 16 bytes four of 8.

The degree of a phase is the most different words in one bank (CUDA C++ Programming Guide, "Shared Memory").
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phobos_core.emulator import SharedAccess, run
from phobos_core.emulator.banks import degrees
from tests.emulator.conftest import HEADER

KINDS = {1: "b8", 2: "b16", 4: "b32", 8: "v2.b32", 16: "v4.b32"}


def shared_stores(size: int, offsets: str, *, threads: int = 32, guard: str = "", grid: int = 1) -> SharedAccess:
    """One store of `size` bytes a thread to `offsets`, which computes %a from %t, the number of the thread."""
    values = {1: "%h", 2: "%h", 4: "%t", 8: "{%t, %t}", 16: "{%t, %t, %t, %t}"}[size]
    ptx = (
        f"{HEADER}.visible .entry k()\n.maxntid {threads}\n{{\n"
        ".reg .b32 %t, %a, %b; .reg .b16 %h; .reg .pred %p; .shared .align 16 .b8 s[16384];\n"
        "mov.u32 %t, %tid.x; cvt.u16.u32 %h, %t;\n"
        f"{offsets}\n{guard}st.shared.{KINDS[size]} [%a], {values};\nret;\n}}\n"
    )
    result = run(ptx, "k", (grid, 1, 1), [], checks=False, profile=True)
    assert result.ok
    (access,) = result.shared
    return access


@pytest.mark.parametrize(
    ("size", "stride", "degree"),
    [
        (4, 4, 1),  # one word of each bank
        (4, 0, 1),  # one word for all
        (4, 8, 2),
        (4, 64, 16),
        (4, 128, 32),  # a column of a row of 32 words
        (4, 132, 1),  # the same, padded by a word
        (1, 1, 1),  # four threads in a word
        (2, 2, 1),
        (2, 128, 32),
        (8, 8, 1),
        (8, 16, 2),  # 16 threads over 64 words
        (8, 128, 16),
        (16, 16, 1),
        (16, 32, 2),
        (16, 128, 8),  # a column of 16-byte vectors
        (16, 144, 1),  # padded by a vector
    ],
)
def test_strides(size: int, stride: int, degree: int) -> None:
    access = shared_stores(size, f"mul.lo.u32 %a, %t, {stride};")
    phases = max(1, size // 4)
    assert (access.size, access.warps, access.phases) == (size, 1, phases)
    assert (access.degree, access.passes) == (degree, degree * phases)


def test_every_warp_of_every_block_counts() -> None:
    access = shared_stores(4, "mul.lo.u32 %a, %t, 8;", threads=80, grid=3)
    # The third warp has 16 threads, whose 31 words lie in different banks.
    assert (access.warps, access.phases, access.passes, access.degree) == (9, 9, 3 * (2 + 2 + 1), 2)


def test_threads_that_a_guard_keeps_out_do_not_conflict() -> None:
    access = shared_stores(4, "mul.lo.u32 %a, %t, 128; setp.lt.u32 %p, %t, 4;", guard="@%p ")
    assert (access.warps, access.phases, access.passes, access.degree) == (1, 1, 4, 4)


def test_a_phase_without_threads_takes_no_pass() -> None:
    access = shared_stores(16, "mul.lo.u32 %a, %t, 16; setp.lt.u32 %p, %t, 8;", guard="@%p ")
    assert (access.warps, access.phases, access.passes) == (1, 1, 1)


def test_an_xor_swizzle_is_free_of_conflicts() -> None:
    """Row r of 8 vectors of 16 bytes keeps vector c at c ^ (r % 8): a column touches every bank once."""
    access = shared_stores(16, "and.b32 %b, %t, 7; shl.b32 %b, %b, 4; shl.b32 %a, %t, 7; or.b32 %a, %a, %b;")
    assert (access.degree, access.passes) == (1, 4)


def test_nothing_is_counted_unless_asked_for() -> None:
    ptx = (
        f"{HEADER}.visible .entry k()\n.maxntid 32\n{{\n.reg .b32 %t; .shared .b32 s[1];\n"
        "mov.u32 %t, 1; st.shared.b32 [s], %t;\nret;\n}\n"
    )
    assert run(ptx, "k", (1, 1, 1), []).shared == ()


@settings(max_examples=60, deadline=None)
@given(data=st.data(), size=st.sampled_from([1, 2, 4, 8, 16]))
def test_any_addresses_agree_with_counting_words(data: st.DataObject, size: int) -> None:
    lanes = sorted(data.draw(st.sets(st.integers(0, 31), min_size=1)))
    places = data.draw(st.lists(st.integers(0, 1023), min_size=len(lanes), max_size=len(lanes)))
    addresses = [place * size for place in places]
    width = 32 // max(1, size // 4)
    expected = []
    for first in range(0, 32, width):
        words = {
            word
            for lane, address in zip(lanes, addresses, strict=True)
            if first <= lane < first + width
            for word in range(address // 4, (address + size - 1) // 4 + 1)
        }
        if words:
            banks = [word % 32 for word in words]
            expected.append(max(banks.count(bank) for bank in banks))
    found, warps = degrees(np.array(addresses), size, np.array(lanes), np.full(len(lanes), 5))
    assert found.tolist() == expected
    assert set(warps.tolist()) == {5}
