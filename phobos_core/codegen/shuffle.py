"""Folds across the lanes of a warp by xor shuffles; a value moves as 32-bit words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from phobos_core.codegen import index
from phobos_core.codegen.context import Context
from phobos_core.language.targets import LANES
from phobos_core.language.types import ScalarType

_ALL = -1


def butterfly(
    cg: Context,
    elements: Sequence[ScalarType],
    combine: Callable[[Context, tuple[str, ...], tuple[str, ...], int], tuple[str, ...]],
    states: Sequence[tuple[str, ...]],
    lanes: int,
    active: int,
) -> list[tuple[str, ...]]:
    """For each state, the fold of those of each `lanes` neighbouring threads (a power of two), in each of them.

    The first `active` threads of the CTA, a whole number of groups, reach this together and no other does. States go
    from lane to lane side by side, so that their shuffles do not wait for each other.
    """
    members = _members(cg, active)
    states = list(states)
    distance = lanes // 2
    while distance:
        others = [
            tuple(exchanged(cg, operand, e, distance, members) for operand, e in zip(state, elements, strict=True))
            for state in states
        ]
        states = [combine(cg, state, other, 1) for state, other in zip(states, others, strict=True)]
        distance //= 2
    return states


def _members(cg: Context, active: int) -> str:
    """The mask of the lanes of this thread's warp that take part."""
    whole, rest = divmod(active, LANES)
    if rest == 0:
        return str(_ALL)
    partial = (1 << rest) - 1
    if whole == 0:
        return str(partial)
    full = index.less(cg, cg.thread, whole * LANES)
    return cg.writer.pure(f"select i1 {full}, i32 {_ALL}, i32 {partial}")


def exchanged(cg: Context, operand: str, element: ScalarType, distance: int, members: str) -> str:
    """The operand of the lane `distance` away by xor."""
    type, bits = cg.type(element), cg.bits(element)
    integer = f"i{bits}"
    raw = cg.writer.pure(f"bitcast {type} {operand} to {integer}") if element.is_float else operand
    if bits < LANES:
        words = [cg.writer.pure(f"zext {integer} {raw} to i32")]
    elif bits == LANES:
        words = [raw]
    else:
        words = cg.lanes(cg.writer.pure(f"bitcast i64 {raw} to <2 x i32>"), "i32", 2)
    moved = [_shuffled(cg, word, distance, members) for word in words]
    if bits < LANES:
        result = cg.writer.pure(f"trunc i32 {moved[0]} to {integer}")
    elif bits == LANES:
        result = moved[0]
    else:
        result = cg.writer.pure(f"bitcast <2 x i32> {cg.gathered(moved, 'i32')} to i64")
    return cg.writer.pure(f"bitcast {integer} {result} to {type}") if element.is_float else result


def _shuffled(cg: Context, word: str, distance: int, members: str) -> str:
    arguments = (("i32", members), ("i32", word), ("i32", str(distance)), ("i32", str(LANES - 1)))
    return cg.writer.value(cg.writer.call_text("i32", "llvm.nvvm.shfl.sync.bfly.i32", *arguments))
