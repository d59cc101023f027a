"""Says where a mask stayed, and what would remove it.

In: a kernel whose loops are split. Out: the same kernel with a decision for each axis of a slice that is masked other
than in the remainder of a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from phobos_core.ir.integers import Integers, of_kernel
from phobos_core.ir.module import Decision, Kernel, Op, Value
from phobos_core.ir.rewrite import indexed
from phobos_core.ir.tree import buffer_of, view_of
from phobos_core.ir.types import ViewType

# The source line, the buffer and the axis of a slice.
_Place: TypeAlias = tuple[int, Value, int]


def report_masks(kernel: Kernel) -> Kernel:
    index, facts = indexed(kernel.body), of_kernel(kernel)
    masked: dict[_Place, str] = {}
    free: set[_Place] = set()
    dims = {p.value: p.name for p in kernel.params if p.kind == "dim"}
    for op in index.ops:
        if op.name == "view":
            parts = view_of(index, op.result)
            for axis, (_, upper) in enumerate(parts.bounds):
                place = (op.line, buffer_of(index, op.result), axis)
                if upper is None:
                    free.add(place)
                else:
                    reason = _reason(kernel, facts, op, axis, parts.offsets, upper, dims.get(upper))
                    masked.setdefault(place, reason)
    decisions = [
        Decision(line, f"slice of {buffer.hint}", f"masked along axis {axis}", reason)
        for (line, buffer, axis), reason in masked.items()
        if (line, buffer, axis) not in free
    ]
    return replace(kernel, decisions=(*kernel.decisions, *decisions)) if decisions else kernel


def _reason(
    kernel: Kernel,
    facts: Integers,
    view: Op,
    axis: int,
    offsets: Sequence[Value],
    upper: Value,
    dim: str | None,
) -> str:
    assert isinstance(view.result.type, ViewType)
    extent = view.result.type.shape[axis]
    if dim is None:
        known = facts.constant(upper)
        return "it may pass the slice that it is taken from" if known is None else f"it may pass the extent {known}"
    reason = f"it may pass {dim}, which is known at launch only"
    if facts.range(offsets[axis]).multiple % extent == 0 and extent > 1:
        named = [name for name, value in kernel.config.items() if value == extent]
        tile = named[0] if len(named) == 1 else extent
        reason += f"; `@aligned({dim} = {tile})` would promise whole tiles"
    return reason
