"""Buffers and windows: where they begin, how their elements are spaced, and whether one is inside the bounds.

In: `alloc`, `flat` and `view` ops, coordinates. Out: what `address` makes pointers of, and conditions.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from phobos_core.codegen import index
from phobos_core.codegen.context import Context, Memory, Turning, Window
from phobos_core.codegen.index import Coord
from phobos_core.ir.integers import Linear
from phobos_core.ir.module import Op, Param, Value
from phobos_core.ir.tree import view_of
from phobos_core.ir.types import MemType, ViewType

GLOBAL, SHARED = 1, 3


def tensor(cg: Context, param: Param, pointer: str, *, read_only: bool) -> Memory:
    strides: list[int | str] = [1]
    extents = [_extent(cg, param, axis) for axis in range(len(param.mem.shape))]
    for extent in reversed(extents[1:]):
        strides.append(_operand_or_int(index.mul(cg, cg.index, str(strides[-1]), str(extent))))
    return Memory(param.mem.element, GLOBAL, pointer, tuple(reversed(strides)), 0, read_only)


def _extent(cg: Context, param: Param, axis: int) -> int | str:
    static = param.mem.shape[axis]
    if static is not None:
        return static
    name = param.dims[axis]
    (value,) = [p.value for p in cg.kernel.params if p.kind == "dim" and p.name == name]
    return cg.scalars[value]


def _operand_or_int(operand: str) -> int | str:
    return operand if operand.startswith("%") else int(operand)


def stage_bytes(mem: MemType, pitch: int | None) -> int:
    """One copy of an allocation."""
    shape = [d for d in mem.shape if d is not None]
    return prod(shape[:-1]) * (pitch or shape[-1]) * mem.element.bytes


def allocation(cg: Context, op: Op, buffer: str) -> Memory:
    mem = op.results[0].type
    assert isinstance(mem, MemType)
    pitch = op.attrs.get("pitch")
    strides = row_major([d for d in mem.shape if d is not None], pitch)
    base = _advanced(cg, buffer, SHARED, op.attrs["offset"])
    return Memory(mem.element, SHARED, base, strides, stage_bytes(mem, pitch), read_only=False)


def row_major(shape: Sequence[int], pitch: int | None = None) -> tuple[int, ...]:
    strides = [1]
    for i, extent in enumerate(reversed(shape[1:])):
        strides.append(strides[-1] * (pitch if pitch and i == 0 else extent))
    return tuple(reversed(strides))


def flat(memory: Memory, mem: MemType) -> Memory:
    """[R, C] as [1, R * C]: its rows are not padded."""
    (columns,) = [d for d in mem.shape[1:] if d is not None]
    return Memory(memory.element, memory.space, memory.base, (columns, 1), memory.stage_bytes, memory.read_only)


def window(cg: Context, op: Op) -> Window:
    view = op.result
    assert isinstance(view.type, ViewType)
    parts = view_of(cg.ir, view)
    bounds = tuple(
        None if upper is None else _bounds(cg, offset, lower, upper, extent)
        for (lower, upper), offset, extent in zip(parts.bounds, parts.offsets, view.type.shape, strict=True)
    )
    return Window(cg.memories[parts.mem], parts.offsets, parts.stage, view.type.shape, bounds)


def element_pointer(cg: Context, memory: Memory, indices: Sequence[Value], stage: Value | None = None) -> str:
    """The address of one element, by index values."""
    elements = "0"
    for value, stride in zip(indices, memory.strides, strict=True):
        elements = index.add(cg, cg.index, elements, index.mul(cg, cg.index, cg.scalars[value], str(stride)))
    pointer = advanced(cg, memory, memory.base, bytes_of(cg, memory, elements))
    return pointer if stage is None else advanced(cg, memory, pointer, stage_offset(cg, memory, stage))


def stage_offset(cg: Context, memory: Memory, stage: Value) -> str:
    """The bytes to a copy of a buffer; where a loop alternates between two, they do so themselves."""
    form = cg.facts.linear(stage)
    for turning in cg.loops:
        for carried in turning.alternating:
            if form in (Linear({carried: 1}, 0), Linear({carried: -1}, 1)):
                return _alternating(cg, turning, carried, memory.stage_bytes)[form.constant]
    number = index.resized(cg, cg.scalars[stage], cg.index, "i64")
    return index.mul(cg, "i64", number, str(memory.stage_bytes))


def _alternating(cg: Context, turning: Turning, carried: Value, size: int) -> tuple[str, str]:
    """The bytes to the copy that is used in a turn of a loop, and to the other."""
    now, then = (carried, size, 0), (carried, size, 1)
    if now not in turning.made:
        copies = 0, size
        begin = turning.alternating[carried]
        turning.made[now], turning.made[then] = cg.writer.alternating(turning.loop, copies[begin], copies[1 - begin])
    return turning.made[now], turning.made[then]


def bytes_of(cg: Context, memory: Memory, elements: str) -> str:
    """A number of elements, an index value, as bytes."""
    return index.mul(cg, "i64", index.resized(cg, elements, cg.index, "i64"), str(memory.element.bytes))


def _bounds(cg: Context, offset: Value, lower: Value | None, upper: Value, extent: int) -> tuple[str, str]:
    """The valid indices of an axis of a window, first and last + 1."""
    at, facts = cg.scalars[offset], cg.facts
    start = facts.linear(offset)
    low = facts.linear(lower) if lower is not None else None
    inside = facts.never_negative(start.minus(low) if low is not None else start)
    first = "0"
    if not inside:
        base = cg.scalars[lower] if lower is not None else "0"
        first = _within(cg, index.sub(cg, cg.index, base, at), extent)
    return first, _within(cg, index.sub(cg, cg.index, cg.scalars[upper], at), extent)


def _within(cg: Context, value: str, extent: int) -> str:
    """An index value clamped to 0 .. extent, as an i32 operand."""
    capped = index.extremum(cg, "smin", cg.index, value, str(extent))
    return index.resized(cg, index.extremum(cg, "smax", cg.index, capped, "0"), cg.index, "i32")


def valid(cg: Context, target: Window, at: Sequence[Coord]) -> str:
    """The condition under which the element (or the run that starts there) is inside the bounds."""
    condition = "true"
    for bound, coord in zip(target.bounds, at, strict=True):
        if bound is None:
            continue
        first, end = bound
        position = index.operand(cg, coord)
        condition = index.both(cg, condition, cg.writer.pure(f"icmp slt i32 {position}, {end}"))
        if first != "0":
            condition = index.both(cg, condition, cg.writer.pure(f"icmp sge i32 {position}, {first}"))
    return condition


def advanced(cg: Context, memory: Memory, pointer: str, offset: str) -> str:
    """A pointer moved by bytes; it may leave the buffer as long as nothing is accessed there."""
    return _advanced(cg, pointer, memory.space, offset)


def _advanced(cg: Context, pointer: str, space: int, offset: int | str) -> str:
    if str(offset) == "0":
        return pointer
    return cg.writer.pure(f"getelementptr i8, ptr addrspace({space}) {pointer}, i64 {offset}")
