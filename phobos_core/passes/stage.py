"""Copies to shared memory what a contraction reads more than once.

In: contractions over any operands. Out: an operand that several threads read and that is a slice of a tensor, or is
computed, is a shared temporary: once per slice, and outside the loops in which it does not change.

What does not fit gives way, the cheapest first: copies made outside of a loop move into it, then the largest stay
where they are and each thread reads or computes what it needs. Each choice is a decision.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Literal, TypeAlias

from phobos_core.ir.module import Block, Decision, Kernel, Op, Value
from phobos_core.ir.ops import OPS
from phobos_core.ir.regions import Regions
from phobos_core.ir.rewrite import Index, edit, indexed, with_body, without_unused
from phobos_core.ir.tree import buffer_of
from phobos_core.ir.types import TileType
from phobos_core.passes.canonicalize import canonicalize
from phobos_core.passes.conditions import fold_conditions
from phobos_core.passes.fitting import Pass, fits_after
from phobos_core.passes.materialize import name_of
from phobos_core.passes.promote import promote
from phobos_core.passes.slices import blocks_around, slice_of
from phobos_core.passes.split_loops import split_loops
from phobos_core.passes.temporaries import temporary
from phobos_core.passes.unroll import unroll

Mode: TypeAlias = Literal["outside", "inside", "left"]

# What decides how much memory the tiles take.
_FOLLOWING: tuple[Pass, ...] = (split_loops, fold_conditions, unroll, canonicalize, promote)


@dataclass(frozen=True, slots=True, eq=False)
class Staged:
    """A value to copy: `uses` are the operands that it stands for, the first of which is the one to compute.

    `loop` is the outermost loop in which it does not change, None where it changes in all around it."""

    name: str
    dot: Op
    uses: tuple[Value, ...]
    loop: Op | None
    bytes: int

    @property
    def value(self) -> Value:
        return self.uses[0]


def stage(kernel: Kernel) -> Kernel:
    index = indexed(kernel.body)
    found = _operands(kernel, index)
    if not found:
        return kernel
    modes: dict[Staged, Mode] = {s: "outside" if s.loop else "inside" for s in found}
    meant = staged = _apply(kernel, index, modes)
    concessions = _concessions(index, found)
    while not fits_after(staged, _FOLLOWING):
        weaker = next(concessions, None)
        if weaker is None:
            # Nothing helps: show what the kernel would need as it is meant.
            staged, modes = meant, {s: "outside" if s.loop else "inside" for s in found}
            break
        modes |= weaker
        staged = _apply(kernel, index, modes)
    decisions = [_decision(s, mode) for s, mode in modes.items()]
    return replace(staged, decisions=(*kernel.decisions, *decisions))


def _concessions(index: Index, found: Sequence[Staged]) -> Iterator[dict[Staged, Mode]]:
    """What to give up, step by step."""
    largest_first = sorted(found, key=lambda s: -s.bytes)
    for s in largest_first:
        if s.loop is not None and _first_reaches_all(index, s):
            yield {s: "inside"}
    for s in largest_first:
        yield {s: "left"}


def _first_reaches_all(index: Index, staged: Staged) -> bool:
    """Whether what stands where the first use does is computed before every other."""
    home = index.block_of[index.definition[staged.value]]
    return all(home in blocks_around(index, index.definition[use]) for use in staged.uses)


def _decision(staged: Staged, mode: Mode) -> Decision:
    match mode:
        case "outside":
            assert staged.loop is not None
            choice = f"copied to shared memory once, before the loop on line {staged.loop.line}"
            reason = "several threads read it, and it does not change in the loop"
        case "inside":
            choice = "copied to shared memory"
            reason = "several threads read it"
        case "left":
            choice = "not copied to shared memory: each thread reads or computes what it needs"
            reason = f"its {staged.bytes:,} bytes do not fit beside the tiles"
    return Decision(staged.dot.line, staged.name, choice, reason)


# What to stage


def _operands(kernel: Kernel, index: Index) -> list[Staged]:
    regions = Regions(kernel, index)
    found: dict[Block, dict[object, Staged]] = {}
    for dot in index.ops:
        if dot.name != "dot":
            continue
        rows, columns = _shape(dot.result)
        for operand, readers in zip(dot.operands, (columns, rows), strict=True):
            value = _core(index, operand)
            if readers > 1 and _worth_copying(index, value):
                _add(index, found, dot, value, _key(index, regions, value))
    return [s for block in found.values() for s in block.values()]


def _add(index: Index, found: dict[Block, dict[object, Staged]], dot: Op, value: Value, key: object) -> None:
    op = index.definition[value]
    loop = _unchanging(index, value)
    for block in blocks_around(index, op):
        known = found.get(block, {}).get(key)
        if known is not None:
            if value not in known.uses:
                found[block][key] = replace(known, uses=(*known.uses, value))
            return
    assert isinstance(value.type, TileType)
    size = prod(value.type.shape) * value.type.element.bytes
    home = index.block_of[loop or op]
    found.setdefault(home, {})[key] = Staged(_name(index, dot, op), dot, (value,), loop, size)


def _name(index: Index, dot: Op, op: Op) -> str:
    if op.name == "load":
        return f"slice of {buffer_of(index, op.operands[0]).hint}"
    return f"operand of {name_of(dot)}"


def _core(index: Index, operand: Value) -> Value:
    """The operand below what costs nothing to do again at each read: transposing and widening."""
    while True:
        op = index.definition[operand]
        widens = op.name == "convert" and _bytes(op.operands[0]) <= _bytes(op.result)
        if op.name != "transpose" and not widens:
            return operand
        operand = op.operands[0]


def _worth_copying(index: Index, value: Value) -> bool:
    """Whether `value` is a slice of a tensor or is computed, and not held in registers."""
    assert isinstance(value.type, TileType)
    op = index.definition[value]
    if value.type.layout is not None:
        return False
    return op.name != "load" or buffer_of(index, op.operands[0]) not in index.definition


def _key(index: Index, regions: Regions, value: Value) -> object:
    """Equal for slices with the same elements; a computed value is like no other."""
    op = index.definition[value]
    return slice_of(index, regions, op) if op.name == "load" else value


def _unchanging(index: Index, value: Value) -> Op | None:
    """The outermost loop around `value`, with only loops between, in which it does not change."""
    outermost = None
    for around in index.ancestors(index.definition[value]):
        if around.name not in ("for", "while") or _lifted(index, value, around) is None:
            break
        outermost = around
    return outermost


def _lifted(index: Index, value: Value, loop: Op) -> list[Op] | None:
    """The ops inside `loop` that compute `value`, in order; None where they depend on the iteration."""
    needed: set[Op] = set()
    pending = [value]
    while pending:
        wanted = pending.pop()
        if not index.inside(wanted, loop):
            continue
        op = index.definition.get(wanted)
        if op is None or OPS[op.name].effect not in ("none", "read") or op.name in ("alloc", "load_point", "load_run"):
            return None
        needed.add(op)
        pending += op.operands
    return sorted(needed, key=lambda op: index.position[op])


# How to stage


def _apply(kernel: Kernel, index: Index, modes: dict[Staged, Mode]) -> Kernel:
    before: dict[Op, list[Op]] = {}
    after: dict[Op, list[Op]] = {}
    values: dict[Value, Value] = {}
    for staged, mode in modes.items():
        line = staged.dot.line
        if mode == "outside":
            assert staged.loop is not None
            ops, value = _copied(index, staged.value, staged.loop)
            made = temporary(staged.name, value, line)
            before.setdefault(staged.loop, []).extend([*ops, *made.write, *made.read])
        elif mode == "inside":
            made = temporary(staged.name, staged.value, line)
            after.setdefault(index.definition[staged.value], []).extend([*made.write, *made.read])
        else:
            continue
        values |= dict.fromkeys(staged.uses, made.tile)
    body = edit(kernel.body, before=before, after=after, values=values)
    return with_body(kernel, without_unused(body).ops)


def _copied(index: Index, value: Value, loop: Op) -> tuple[list[Op], Value]:
    """New ops, to stand before `loop`, that compute `value`."""
    known: dict[Value, Value] = {}
    copies = []
    for op in _lifted(index, value, loop) or ():
        results = tuple(Value(v.type, v.hint) for v in op.results)
        operands = tuple(known.get(v, v) for v in op.operands)
        copies.append(replace(op, operands=operands, results=results))
        known |= dict(zip(op.results, results, strict=True))
    return copies, known[value]


def _shape(value: Value) -> tuple[int, int]:
    assert isinstance(value.type, TileType)
    rows, columns = value.type.shape
    return rows, columns


def _bytes(value: Value) -> int:
    assert isinstance(value.type, TileType)
    return value.type.element.bytes
