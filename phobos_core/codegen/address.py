"""Addresses: the pointer to an element of a window, put together so that a loop computes as little of it as can be.

In: a window, coordinates. Out: a pointer. What differs between threads is computed in 32 bits where the strides are
static. A window that a loop moves on by the same distance each turn has a pointer that moves with it. Any other sum
takes first what the loops change least, which is then computed before them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from phobos_core.codegen import index
from phobos_core.codegen.context import Context, Memory, Turning, Window
from phobos_core.codegen.index import Coord
from phobos_core.codegen.memory import GLOBAL, advanced, bytes_of, stage_offset
from phobos_core.ir.integers import Linear

# What an access to shared memory can multiply a part of its address by.
_SHIFTED = 16


def address(cg: Context, target: Window, at: Sequence[Coord]) -> str:
    """The pointer to an element of a window."""
    memory = target.memory
    constant = 0
    offsets = []
    for stride, coord in zip(memory.strides, at, strict=True):
        if isinstance(stride, int):
            constant += coord.offset * stride
            offsets.append(0)
        else:
            offsets.append(coord.offset)
    # Tiles that share bytes may differ in the size of an element alone.
    size = memory.element.bytes
    key = (memory.base, memory.strides, size, target.offsets, target.stage, tuple(c.base for c in at), tuple(offsets))
    pointer = cg.writer.known(key)
    if pointer is None:
        pointer = _moving(cg, target, at) or _sum(cg, target, at)
        for stride, offset in zip(memory.strides, offsets, strict=True):
            if offset:
                pointer = advanced(cg, memory, pointer, index.mul(cg, "i64", _pitch(cg, memory, stride), str(offset)))
        cg.writer.remember(key, pointer)
    return advanced(cg, memory, pointer, str(constant * memory.element.bytes))


def either(cg: Context, condition: str, a: tuple[Window, Sequence[Coord]], b: tuple[Window, Sequence[Coord]]) -> str:
    """The pointer to an element of the one window where the condition holds, elsewhere of the other, whose memory is
    alike and whose coordinates have no offsets. Where both move with a loop it is chosen before that."""
    (one, at_one), (other, at_other) = a, b
    memory = one.memory
    type = f"ptr addrspace({memory.space})"
    courses = [_course(cg, window, at) for window, at in (a, b)]
    first, second = courses
    if first is not None and second is not None and first.around is second.around:
        start = index.chosen(cg, type, condition, first.start, second.start)
        distance = index.chosen(cg, "i64", condition, first.distance, second.distance)
        return cg.writer.moving(first.around.loop, type, start, distance)
    stage = one.stage if one.stage is other.stage else None
    if stage is not None:
        one, other = replace(one, stage=None), replace(other, stage=None)
    pointer = index.chosen(cg, type, condition, address(cg, one, at_one), address(cg, other, at_other))
    return pointer if stage is None else advanced(cg, memory, pointer, stage_offset(cg, memory, stage))


def _moving(cg: Context, target: Window, at: Sequence[Coord]) -> str | None:
    """The address of the coordinates' bases as a pointer that a loop moves on, if one does."""
    course = _course(cg, target, at)
    if course is None:
        return None
    memory, made = target.memory, course.around.made
    key = memory.base, memory.strides, memory.element.bytes, target.offsets, tuple(c.base for c in at)
    if key not in made:
        type = f"ptr addrspace({memory.space})"
        made[key] = cg.writer.moving(course.around.loop, type, course.start, course.distance)
    return made[key]


@dataclass(frozen=True, slots=True)
class _Course:
    """A pointer that is at `start` in the first turn of a loop, and `distance` bytes further in each next."""

    around: Turning
    start: str
    distance: str


def _course(cg: Context, target: Window, at: Sequence[Coord]) -> _Course | None:
    """Where the coordinates' bases are that a loop moves on, if one does."""
    forms = [cg.facts.linear(offset) for offset in target.offsets]
    around = next((turning for turning in reversed(cg.loops) if any(turning.variable in f.terms for f in forms)), None)
    if around is None or target.memory.space != GLOBAL:
        return None
    needed = [cg.scalars[atom] for form in forms for atom in form.terms if atom is not around.variable]
    needed += [coord.base for coord in at if coord.base is not None]
    if any(name.startswith("%") and cg.writer.varies(name, around.loop) for name in needed):
        return None
    return _started(cg, around, forms, target.memory, at)


def _started(cg: Context, around: Turning, forms: Sequence[Linear], memory: Memory, at: Sequence[Coord]) -> _Course:
    begin, distance = "0", "0"
    for form, stride in zip(forms, memory.strides, strict=True):
        first = index.linear(cg, form, {around.variable: around.lo})
        begin = index.add(cg, cg.index, begin, index.mul(cg, cg.index, first, str(stride)))
        moved = index.mul(cg, cg.index, around.step, str(form.terms.get(around.variable, 0)))
        distance = index.add(cg, cg.index, distance, index.mul(cg, cg.index, moved, str(stride)))
    start = advanced(cg, memory, memory.base, bytes_of(cg, memory, begin))
    for part in _parts(cg, memory, at):
        start = advanced(cg, memory, start, part)
    return _Course(around, start, bytes_of(cg, memory, distance))


def _sum(cg: Context, target: Window, at: Sequence[Coord]) -> str:
    """The address of the coordinates' bases.

    The structure of what the innermost loop does not change is hidden: LLVM's loop strength reduction would weigh every
    way to put the sum together, which takes longer than all the rest of its work and gains nothing.
    """
    memory, writer = target.memory, cg.writer
    parts = [*_parts(cg, memory, at, staged=target.stage is not None)]
    for offset, stride in zip(target.offsets, memory.strides, strict=True):
        parts.append(bytes_of(cg, memory, index.mul(cg, cg.index, cg.scalars[offset], str(stride))))
    if target.stage is not None:
        parts.append(stage_offset(cg, memory, target.stage))
    pointer, hidden = memory.base, False
    for part in sorted(parts, key=writer.depth):
        if not hidden and pointer != memory.base and part.startswith("%") and writer.varies(part):
            type = f"ptr addrspace({memory.space})"
            pointer = writer.call(type, f"llvm.launder.invariant.group.p{memory.space}", (type, pointer))
            hidden = True
        pointer = advanced(cg, memory, pointer, part)
    return pointer


def _parts(cg: Context, memory: Memory, at: Sequence[Coord], *, staged: bool = False) -> Iterator[str]:
    """The bytes from 0 to each coordinate's base."""
    for stride, coord in zip(memory.strides, at, strict=True):
        if coord.base is None:
            continue
        if isinstance(stride, int):
            yield _distance(cg, coord, stride * memory.element.bytes, staged=staged)
        else:
            base = index.resized(cg, coord.base, "i32", "i64", "zext")
            yield index.mul(cg, "i64", base, _pitch(cg, memory, stride))


def _pitch(cg: Context, memory: Memory, stride: int | str) -> str:
    """A dynamic stride in bytes."""
    return bytes_of(cg, memory, str(stride))


def _distance(cg: Context, coord: Coord, stride: int, *, staged: bool) -> str:
    """The bytes from 0 to the coordinate's base as an i64 operand, computed in 32 bits where they fit.

    ptxas joins a shift to the sum that takes it: with the place of the copy that a turn of a loop uses, in each turn.
    Accesses to shared memory can add that place themselves, and shift a little.
    """
    assert coord.base is not None
    if coord.limit * stride < 1 << 31:
        if staged and stride > _SHIFTED:
            masked = index.masked_multiple(cg, coord.base, stride)
            if masked is not None:
                return index.resized(cg, masked, "i32", "i64", "zext")
        return index.resized(cg, index.mul(cg, index.COORD, coord.base, str(stride)), "i32", "i64", "zext")
    return index.mul(cg, "i64", index.resized(cg, coord.base, "i32", "i64", "zext"), str(stride))
