"""Splits a loop over a dynamic extent into its whole tiles, without masks, and one masked remainder.

    for i in range(lo, hi, s) { body }
becomes
    for i in range(lo, hi - (s - 1), s) { body without the masks that i + s <= hi makes needless }   (`whole`)
    if rest < hi { body at i = rest }                                  with rest = lo + (hi - lo) / s * s

In: any kernel. Out: the same kernel with loops split where that drops at least one mask. A mask against a static
extent stays in place, as the language says. The remainder runs at most once, so the loops inside it stay whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from phobos_core.ir.builder import Builder
from phobos_core.ir.integers import Integers, Linear, of_kernel
from phobos_core.ir.module import Block, Decision, Kernel, Op, Value
from phobos_core.ir.rewrite import Index, clone, indexed, walk, with_attrs
from phobos_core.ir.tree import buffer_of, view_of
from phobos_core.ir.types import ViewType
from phobos_core.passes.copies import name_of

# The axes of each view that need no mask.
Unmasked = Mapping[Op, frozenset[int]]


def split_loops(kernel: Kernel) -> Kernel:
    splitter = _Splitter(indexed(kernel.body), of_kernel(kernel))
    body = splitter.block(kernel.body, {})
    if not splitter.splits:
        return kernel
    return replace(kernel, body=body, decisions=(*kernel.decisions, *splitter.decisions()))


@dataclass(frozen=True, slots=True)
class _Split:
    loop: Op
    masks: Unmasked


class _Splitter:
    def __init__(self, index: Index, facts: Integers) -> None:
        self.index = index
        self.facts = facts
        self.splits: list[_Split] = []

    def block(self, block: Block, unmasked: Unmasked) -> Block:
        """The block with its loops split, and without the masks that are needless here."""
        ops: list[Op] = []
        for op in block.ops:
            if op.name == "for" and (masks := self.needless(op)):
                self.splits.append(_Split(op, masks))
                ops += self.split(op, unmasked, _joined(unmasked, masks))
            elif op.regions:
                ops.append(replace(op, regions=tuple(self.block(r, unmasked) for r in op.regions)))
            else:
                ops.append(_without_masks(op, unmasked))
        return Block(block.args, tuple(ops))

    def needless(self, loop: Op) -> Unmasked:
        """The masks in the loop that hold anyway in an iteration that fits before the end."""
        _, hi, step = loop.operands[:3]
        by = self.facts.constant(step)
        if by is None or by < 1 or not self.facts.linear(hi).terms:
            return {}
        variable = loop.regions[0].args[0]
        last = {variable: self.facts.linear(hi).plus(Linear({}, -by))}
        found: dict[Op, frozenset[int]] = {}
        for op in walk(loop.regions[0]):
            if op.name == "view":
                axes = frozenset(self.inside(op, variable, last))
                if axes:
                    found[op] = axes
        return found

    def inside(self, view: Op, variable: Value, last: Mapping[Value, Linear]) -> Sequence[int]:
        """The masked axes along which the view moves with the variable and lies inside its bounds."""
        parts, type = view_of(self.index, view.result), view.result.type
        assert isinstance(type, ViewType)
        axes = []
        for axis, (offset, (lower, upper)) in enumerate(zip(parts.offsets, parts.bounds, strict=True)):
            if upper is None or not self.facts.linear(upper).terms:
                continue
            start = self.facts.linear(offset)
            if variable not in start.terms:
                continue
            least = Linear({}, 0) if lower is None else self.facts.linear(lower)
            room = self.facts.linear(upper).minus(start).plus(Linear({}, -type.shape[axis]))
            if all(self.facts.never_negative(form, last) for form in (start, start.minus(least), room)):
                axes.append(axis)
        return axes

    def split(self, loop: Op, around: Unmasked, inside: Unmasked) -> list[Op]:
        lo, hi, step = loop.operands[:3]
        build = Builder(loop.line)
        by = self.facts.constant(step) or 1
        end = build.binary("sub", hi, build.index(by - 1))
        results = tuple(Value(v.type, v.hint) for v in loop.results)
        whole = with_attrs(
            replace(
                loop,
                operands=(lo, end, step, *loop.operands[3:]),
                results=results,
                regions=(self.block(loop.regions[0], inside),),
            ),
            whole=True,
        )
        build.append(whole)
        tiles = build.binary("div", build.binary("sub", hi, lo), step)
        rest = build.binary("add", lo, build.binary("mul", tiles, step))
        some = build.cmp("lt", rest, hi)
        variable, *carried = loop.regions[0].args
        body = _everywhere(loop.regions[0], around)
        remainder = clone(body, {variable: rest, **dict(zip(carried, results, strict=True))})
        nothing = Builder(loop.line)
        nothing.yield_(results)
        regions = (Block((), remainder.ops), nothing.block())
        build.append(Op("if", (some,), loop.results, {"remainder": True}, regions, loop.line))
        return build.ops

    def decisions(self) -> list[Decision]:
        found = []
        for split in self.splits:
            loop = split.loop
            by = self.facts.constant(loop.operands[2])
            names = dict.fromkeys(buffer_of(self.index, view.operands[0]).hint for view in split.masks)
            reason = (
                f"{self.extent(loop.operands[1])} need not be a multiple of {by}; in the whole tiles the slices of "
                f"{', '.join(names)} need no mask"
            )
            found.append(Decision(loop.line, name_of(loop), "whole tiles and one masked remainder", reason))
        return found

    def extent(self, end: Value) -> str:
        return end.hint or "the loop's end"


def _joined(a: Unmasked, b: Unmasked) -> Unmasked:
    return {**a, **{op: axes | a.get(op, frozenset()) for op, axes in b.items()}}


def _everywhere(block: Block, unmasked: Unmasked) -> Block:
    """The block without the needless masks, its loops as they are."""
    ops = []
    for op in block.ops:
        if op.regions:
            op = replace(op, regions=tuple(_everywhere(r, unmasked) for r in op.regions))
        ops.append(_without_masks(op, unmasked))
    return Block(block.args, tuple(ops))


def _without_masks(op: Op, unmasked: Unmasked) -> Op:
    axes = unmasked.get(op)
    if not axes:
        return op
    kinds: tuple[str, ...] = op.attrs["bounds"]
    counts = {"none": 0, "upper": 1, "both": 2}
    first = len(op.operands) - sum(counts[kind] for kind in kinds)
    operands = list(op.operands[:first])
    limits = iter(op.operands[first:])
    for axis, kind in enumerate(kinds):
        taken = [next(limits) for _ in range(counts[kind])]
        if axis not in axes:
            operands += taken
    bounds = tuple("none" if axis in axes else kind for axis, kind in enumerate(kinds))
    return with_attrs(replace(op, operands=tuple(operands)), bounds=bounds)
