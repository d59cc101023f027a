"""The operands of a `view` op by what they mean."""

from __future__ import annotations

from dataclasses import dataclass

from phobos_core.ir.module import Op, Value

_LIMITS = {"none": 0, "upper": 1, "both": 2}


@dataclass(frozen=True, slots=True)
class ViewOperands:
    """`bounds` has per axis None, or the lower (None for 0) and the upper bound."""

    buffer: Value
    stage: Value | None
    offsets: tuple[Value, ...]
    bounds: tuple[tuple[Value | None, Value] | None, ...]


def view_operands(op: Op) -> ViewOperands:
    kinds = op.attrs["bounds"]
    limits = iter(op.operands[len(op.operands) - sum(_LIMITS[k] for k in kinds) :])
    first = len(op.operands) - sum(_LIMITS[k] for k in kinds) - len(kinds)
    bounds: list[tuple[Value | None, Value] | None] = []
    for kind in kinds:
        match kind:
            case "none":
                bounds.append(None)
            case "upper":
                bounds.append((None, next(limits)))
            case _:
                bounds.append((next(limits), next(limits)))
    stage = op.operands[1] if first == 2 else None
    return ViewOperands(op.operands[0], stage, op.operands[first : first + len(kinds)], tuple(bounds))
