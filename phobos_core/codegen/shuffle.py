"""What lanes of a warp exchange: shuffles, of values of any type as 32-bit words, votes, and folds by xor shuffles."""

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
    return _moved(cg, operand, element, lambda word: _shuffled(cg, "bfly", word, str(distance), LANES - 1, members))


def from_lane(cg: Context, operand: str, element: ScalarType, mode: str, lane: str, width: int) -> str:
    """The operand of another lane of the piece of `width` lanes; all lanes of the warp come here."""
    name = {"from": "idx", "xor": "bfly"}.get(mode, mode)
    # The lane bits above the width stay as they are, and the others go up to the last of the piece (down to its first).
    clamp = (LANES - width) << 8 | (0 if mode == "up" else LANES - 1)
    return _moved(cg, operand, element, lambda word: _shuffled(cg, name, word, lane, clamp, str(_ALL)))


def vote(cg: Context, kind: str, operand: str) -> str:
    """`any` or `all` as an i1, `ballot` as an i32."""
    type = "i32" if kind == "ballot" else "i1"
    arguments = (("i32", str(_ALL)), ("i1", operand))
    return cg.writer.value(cg.writer.call_text(type, f"llvm.nvvm.vote.{kind}.sync", *arguments))


def redux(cg: Context, kind: str, operand: str) -> str:
    name = "add" if kind == "sum" else kind
    arguments = (("i32", operand), ("i32", str(_ALL)))
    return cg.writer.value(cg.writer.call_text("i32", f"llvm.nvvm.redux.sync.{name}", *arguments))


def _moved(cg: Context, operand: str, element: ScalarType, move: Callable[[str], str]) -> str:
    """The operand, each of its 32-bit words moved."""
    type, bits = cg.type(element), cg.bits(element)
    integer = f"i{bits}"
    raw = cg.writer.pure(f"bitcast {type} {operand} to {integer}") if element.is_float else operand
    if bits < LANES:
        words = [cg.writer.pure(f"zext {integer} {raw} to i32")]
    elif bits == LANES:
        words = [raw]
    else:
        words = cg.lanes(cg.writer.pure(f"bitcast i64 {raw} to <2 x i32>"), "i32", 2)
    moved = [move(word) for word in words]
    if bits < LANES:
        result = cg.writer.pure(f"trunc i32 {moved[0]} to {integer}")
    elif bits == LANES:
        result = moved[0]
    else:
        result = cg.writer.pure(f"bitcast <2 x i32> {cg.gathered(moved, 'i32')} to i64")
    return cg.writer.pure(f"bitcast {integer} {result} to {type}") if element.is_float else result


def _shuffled(cg: Context, mode: str, word: str, lane: str, clamp: int, members: str) -> str:
    arguments = (("i32", members), ("i32", word), ("i32", lane), ("i32", str(clamp)))
    return cg.writer.value(cg.writer.call_text("i32", f"llvm.nvvm.shfl.sync.{mode}.i32", *arguments))
