"""Splits row reductions that more than a warp shares: each warp stores its part, and every thread folds those.

In: reductions with the number of warps that share a row. Out: each is a `reduce` with that many `parts` into shared
memory, and a second one of the parts, which each thread does alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from phobos_core.ir.builder import Builder
from phobos_core.ir.module import Kernel, Op, Value
from phobos_core.ir.rewrite import edit
from phobos_core.ir.types import TileType
from phobos_core.language.types import BF16, F16, F32
from phobos_core.passes.materialize import name_of
from phobos_core.passes.temporaries import temporary


def part_folds(kernel: Kernel, parts: Mapping[Op, int]) -> Kernel:
    if not parts:
        return kernel
    after: dict[Op, Sequence[Op]] = {}
    values: dict[Value, Value] = {}
    for reduce, count in parts.items():
        after[reduce], values[reduce.result] = _in_parts(reduce, count)
    return replace(kernel, body=edit(kernel.body, after=after, values=values))


def _in_parts(reduce: Op, parts: int) -> tuple[Sequence[Op], Value]:
    (operand,) = reduce.operands
    kind = reduce.attrs["kind"]
    type = reduce.result.type
    assert isinstance(type, TileType)
    # Sums are rounded once, at the end.
    element = F32 if kind == "sum" and type.element in (F16, BF16) else type.element
    build = Builder(reduce.line)
    part = TileType(element, (type.shape[0], parts))
    first = build.op("reduce", (operand,), (part,), {"kind": kind, "parts": parts}).result
    made = temporary(f"parts of {name_of(reduce)}", first, reduce.line)
    build.ops += [*made.write, *made.read]
    return build.ops, build.convert(build.reduce(kind, made.tile), type.element)
