"""Windows: the part of a buffer that a name or a slice stands for, and what of it must be masked.

A window's axes carry constraints: ranges of the buffer that an element must lie in to exist. Slicing adds the sliced
window's own range unless the slice is proved to lie inside, and drops inherited ranges that the smaller slice is
proved to keep. The view built from a window has the intersection of what is left as its bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from phobos_core.ir.integers import Integers, Linear
from phobos_core.ir.module import Value
from phobos_core.lower.emitter import Emitter


@dataclass(frozen=True, slots=True)
class Constraint:
    """An element at position x of the axis exists iff lower <= x < upper (`lower` None: 0).

    `promised` is what `@aligned` says that upper - lower is a multiple of, 1 without a promise.
    """

    lower: Value | None
    upper: Value
    promised: int = 1


@dataclass(frozen=True, slots=True)
class WindowAxis:
    """Positions offset .. offset + extent - 1 of the buffer's axis."""

    offset: Value
    extent: Value
    constraints: tuple[Constraint, ...] = ()
    promised: int = 1


@dataclass(frozen=True, slots=True)
class Window:
    """`mem` is addressed by the axes; `base` is the buffer whose tokens order the accesses (not `mem` under flat)."""

    base: Value
    mem: Value
    axes: tuple[WindowAxis, ...]


@dataclass(frozen=True, slots=True)
class Cut:
    """One subscript: start and extent relative to the window, `unmasked` where it cannot pass the end."""

    start: Value
    extent: Value
    unmasked: bool


def root(emit: Emitter, mem: Value, base: Value, extents: Sequence[Value], promised: Sequence[int]) -> Window:
    """All of a buffer."""
    zero = emit.index(0)
    axes = (WindowAxis(zero, extent, (), p) for extent, p in zip(extents, promised, strict=True))
    return Window(base, mem, tuple(axes))


def cut(emit: Emitter, window: Window, cuts: Sequence[Cut]) -> Window:
    axes = (_cut_axis(emit, axis, c) for axis, c in zip(window.axes, cuts, strict=True))
    return Window(window.base, window.mem, tuple(axes))


def cut_axis(emit: Emitter, window: Window, axis: int, start: Value, extent: Value) -> Window:
    """The slice start :+ extent of one axis, whole along the others."""
    axes = list(window.axes)
    axes[axis] = _cut_axis(emit, axes[axis], Cut(start, extent, unmasked=False))
    return Window(window.base, window.mem, tuple(axes))


def _cut_axis(emit: Emitter, axis: WindowAxis, cut: Cut) -> WindowAxis:
    offset = emit.add(axis.offset, cut.start)
    kept = [left for c in axis.constraints if (left := _left(emit.facts, offset, cut.extent, c)) is not None]
    whole = cut.unmasked and emit.facts.constant(cut.start) == 0
    if not cut.unmasked:
        lower = None if emit.facts.constant(axis.offset) == 0 else axis.offset
        own = Constraint(lower, emit.add(axis.offset, axis.extent), axis.promised)
        left = _left(emit.facts, offset, cut.extent, own)
        if left is not None:
            kept.append(left)
    return WindowAxis(offset, cut.extent, tuple(kept), axis.promised if whole else 1)


def _left(facts: Integers, offset: Value, extent: Value, constraint: Constraint) -> Constraint | None:
    """The constraint, without the part that offset .. offset + extent is proved to keep; None when it keeps all."""
    start, length, end = facts.linear(offset), facts.linear(extent), facts.linear(constraint.upper)
    lower = Linear({}, 0) if constraint.lower is None else facts.linear(constraint.lower)
    from_lower = start.minus(lower)
    above_lower = facts.never_negative(from_lower)
    below_upper = facts.never_negative(end.minus(start).minus(length))
    if not below_upper and not length.terms and constraint.promised > 1:
        below_upper = _fits_in_whole_blocks(facts, from_lower, length.constant, constraint.promised)
    if above_lower and below_upper:
        return None
    return Constraint(None, constraint.upper, constraint.promised) if above_lower else constraint


def _fits_in_whole_blocks(facts: Integers, start: Linear, extent: int, promised: int) -> bool:
    """Whether the slice lies within one block of a size that divides the promised one.

    Its block is then whole, in bounds or out of them, and `@aligned` promises that it is in.
    """
    known = facts.range(start)
    block = gcd(known.modulus, promised)
    return known.residue % block + extent <= block


def bounds(emit: Emitter, axis: WindowAxis) -> tuple[Value | None, Value | None]:
    """(lower, upper) as `Builder.view` takes them."""
    if not axis.constraints:
        return None, None
    lowers = [c.lower for c in axis.constraints if c.lower is not None]
    upper = emit.minimum([c.upper for c in axis.constraints])
    if not lowers:
        return None, upper
    return emit.maximum([emit.index(0), *lowers]), upper


def view(emit: Emitter, window: Window) -> Value:
    """The `view` of a window of static extents."""
    shape = []
    for axis in window.axes:
        extent = emit.facts.constant(axis.extent)
        assert extent is not None, "a view has a static shape"
        shape.append(extent)
    offsets = [axis.offset for axis in window.axes]
    return emit.build.view(window.mem, offsets, tuple(shape), [bounds(emit, axis) for axis in window.axes])
