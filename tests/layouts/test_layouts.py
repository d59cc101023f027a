"""Layouts against the plain statement of what they mean: which element lies where."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phobos_core.layouts import (
    Exchange,
    Layout,
    bank_degree,
    blocked,
    conversion,
    gf2,
    row_major,
    swizzle,
    vector_bits,
)
from phobos_core.layouts.memory import access_degree

HARDWARE = ("register", "lane", "warp")


def places(layout: Layout) -> dict[tuple[int, int, int], tuple[int, ...]]:
    sizes = [range(layout.size(dim)) for dim in HARDWARE]
    return {at: layout.element(dict(zip(HARDWARE, at, strict=True))) for at in product(*sizes)}


def test_a_blocked_layout_by_hand() -> None:
    layout = blocked((8, 32), registers=(1, 4), lanes=(4, 8), warps=(2, 1))
    assert layout.covers
    assert layout.is_one_to_one
    for (register, lane, warp), element in places(layout).items():
        assert element == (warp * 4 + lane // 8, lane % 8 * 4 + register)


def test_registers_repeat_a_block_that_is_smaller_than_the_tile() -> None:
    layout = blocked((4, 64), registers=(1, 2), lanes=(2, 16), warps=(1, 1))
    for (register, lane, _), element in places(layout).items():
        low, high = register % 2, register // 2
        assert element == (lane // 16 + 2 * (high // 2), lane % 16 * 2 + low + 32 * (high % 2))


def test_lanes_past_the_tile_repeat_elements() -> None:
    layout = blocked((2, 8), registers=(1, 1), lanes=(4, 8), warps=(1, 1))
    assert layout.covers
    assert not layout.is_one_to_one
    for (_, lane, _), element in places(layout).items():
        assert element == (lane // 8 % 2, lane % 8)


@st.composite
def layouts(draw: st.DrawFn, bits: int = 7, shape: tuple[int, int] = (8, 16)) -> Layout:
    """Any layout that holds every element: a random one-to-one map cut into three, plus columns that repeat."""
    order = draw(st.permutations(list(range(bits))))
    columns = [1 << bit for bit in order]
    for to, source in draw(st.lists(st.tuples(st.integers(0, bits - 1), st.integers(0, bits - 1)), max_size=12)):
        if to != source:
            columns[to] ^= columns[source]
    for at in draw(st.lists(st.integers(0, bits), max_size=2)):
        columns.insert(at, draw(st.integers(0, 2**bits - 1)))
    first, second = sorted((draw(st.integers(0, len(columns))), draw(st.integers(0, len(columns)))))
    parts = (tuple(columns[:first]), tuple(columns[first:second]), tuple(columns[second:]))
    return Layout(shape, HARDWARE, parts)


@given(layouts(), layouts())
def test_a_conversion_finds_each_element(source: Layout, target: Layout) -> None:
    converted = conversion(source, target)
    for at, element in places(target).items():
        assert source.element(converted.source_of(*at)) == element


@given(layouts(), layouts())
def test_a_conversion_says_what_it_needs(source: Layout, target: Layout) -> None:
    converted = conversion(source, target)
    found = {at: converted.source_of(*at) for at in places(target)}
    if converted.exchange is not Exchange.SHARED:
        assert all(place["warp"] == at[2] for at, place in found.items())
    if converted.exchange in (Exchange.NOTHING, Exchange.REGISTERS):
        assert all(place["lane"] == at[1] for at, place in found.items())
    if converted.exchange is Exchange.NOTHING:
        assert all(place["register"] == at[0] for at, place in found.items())


def possible_within(source: Layout, target: Layout, *, lanes: bool) -> bool:
    """Whether each element can come from the same warp (and lane), by looking at every place."""
    held: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    for (_, lane, warp), element in places(source).items():
        held.setdefault((lane, warp) if lanes else (warp,), set()).add(element)
    return all(
        element in held.get((lane, warp) if lanes else (warp,), set())
        for (_, lane, warp), element in places(target).items()
    )


@given(layouts(), layouts())
def test_no_conversion_takes_a_dearer_way_than_it_must(source: Layout, target: Layout) -> None:
    exchange = conversion(source, target).exchange
    if possible_within(source, target, lanes=True):
        assert exchange in (Exchange.NOTHING, Exchange.REGISTERS)
    elif possible_within(source, target, lanes=False):
        assert exchange is Exchange.SHUFFLES
    else:
        assert exchange is Exchange.SHARED


@given(layouts())
def test_a_layout_converts_to_itself_for_nothing(layout: Layout) -> None:
    assert conversion(layout, layout).exchange is Exchange.NOTHING


@given(layouts())
def test_transposing_swaps_the_axes(layout: Layout) -> None:
    turned = places(layout.transposed())
    assert {at: element[::-1] for at, element in places(layout).items()} == turned
    assert layout.transposed().transposed() == layout


@pytest.mark.parametrize("axis", [0, 1])
@given(layout=layouts())
def test_a_slice_lies_where_its_row_lay(axis: int, layout: Layout) -> None:
    sliced = places(layout.sliced(axis))
    for at, element in places(layout).items():
        expected = tuple(0 if i == axis else x for i, x in enumerate(element))
        assert sliced[at] == expected


@given(layouts())
def test_registers_without_repeats_hold_the_same_elements(layout: Layout) -> None:
    row = layout.sliced(1)
    lean = row.without_repeats("register")
    assert set(places(lean).values()) == set(places(row).values())
    assert len(lean.of("register")) <= len(row.of("register"))


@given(layouts(), layouts(), st.sampled_from([1, 2, 4, 8]))
def test_a_placement_is_one_to_one(write: Layout, read: Layout, element_bytes: int) -> None:
    placement = swizzle(write, read, element_bytes)
    assert {gf2.apply(placement.columns, index) for index in range(prod(write.shape))} == set(range(prod(write.shape)))


@st.composite
def warp_layouts(draw: st.DrawFn) -> Layout:
    """Of 64 x 64 elements, each in one place, over 32 lanes and 4 warps."""
    order = draw(st.permutations(list(range(12))))
    columns = [1 << bit for bit in order]
    for to, source in draw(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=20)):
        if to != source:
            columns[to] ^= columns[source]
    return Layout((64, 64), HARDWARE, (tuple(columns[:5]), tuple(columns[5:10]), tuple(columns[10:])))


@given(warp_layouts(), warp_layouts(), st.sampled_from([1, 2, 4, 8]))
def test_any_two_layouts_pass_through_shared_memory_without_conflicts(
    write: Layout, read: Layout, element_bytes: int
) -> None:
    placement = swizzle(write, read, element_bytes)
    assert access_degree(write, placement, element_bytes) == 1
    assert access_degree(read, placement, element_bytes) == 1


@pytest.mark.parametrize("element_bytes", [2, 4])
def test_a_transposition_through_shared_memory_meets_no_conflict(element_bytes: int) -> None:
    rows = blocked((64, 64), registers=(1, 1), lanes=(1, 32), warps=(4, 1))
    columns = blocked((64, 64), registers=(1, 1), lanes=(32, 1), warps=(1, 4), order=(0, 1))
    plain = row_major(columns, 4)
    # A column of 64 words of 4 bytes lies in one bank: 32 lanes, 32 turns.
    assert access_degree(columns, plain, 4) == 32
    placement = swizzle(rows, columns, element_bytes)
    assert access_degree(rows, placement, element_bytes) == 1
    assert access_degree(columns, placement, element_bytes) == 1


def test_both_sides_keep_their_vectors() -> None:
    write = blocked((64, 64), registers=(1, 4), lanes=(2, 16), warps=(4, 1))
    read = blocked((64, 64), registers=(1, 4), lanes=(32, 1), warps=(1, 4))
    placement = swizzle(write, read, 4)
    assert placement.vector_bits == 2
    assert all(vector_bits(side, placement.columns, 4) >= 2 for side in (write, read))
    assert access_degree(write, placement, 4) == access_degree(read, placement, 4) == 1


def test_bank_degree_by_hand() -> None:
    assert bank_degree([4 * lane for lane in range(32)], 4) == 1
    assert bank_degree([8 * lane for lane in range(32)], 4) == 2
    assert bank_degree([128 * lane for lane in range(32)], 4) == 32
    assert bank_degree([0] * 32, 4) == 1  # one word for all
    assert bank_degree([16 * lane for lane in range(32)], 16) == 1  # four phases of eight lanes
    assert bank_degree([128 * lane for lane in range(32)], 16) == 8
    assert bank_degree([2 * lane for lane in range(32)], 2) == 1  # two lanes share a word


def test_extents_are_powers_of_two() -> None:
    with pytest.raises(ValueError, match="powers of two"):
        Layout((3, 4), HARDWARE, ((), (), ()))
