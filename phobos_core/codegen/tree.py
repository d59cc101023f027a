"""Questions about value trees: what they cost, which anchor they hold, how wide their loads may be."""

from __future__ import annotations

from phobos_core.codegen.context import Context
from phobos_core.ir.module import Op, Value
from phobos_core.ir.ops import OPS
from phobos_core.ir.types import TileType

# Ops that LLVM turns into more than one instruction, roughly.
_WEIGHTS = {"div": 8, "rem": 30, "math": 3, "gather": 3}
_CHEAP = {"splat", "broadcast", "transpose", "iota"}


def cost(cg: Context, value: Value, width: int) -> int:
    """About how many instructions one run takes."""
    seen: set[Value] = set()
    return 2 + _cost(cg, value, width, seen)


def _cost(cg: Context, value: Value, width: int, seen: set[Value]) -> int:
    if value in seen or value in cg.registers or value not in cg.ir.definition:
        return 0
    seen.add(value)
    op = cg.ir.definition[value]
    if op.name == "load":
        return 2
    own = 0 if op.name in _CHEAP else _WEIGHTS.get(op.name, 1) * width
    return own + sum(_cost(cg, v, width, seen) for v in op.operands)


def anchor_of(cg: Context, value: Value) -> Op | None:
    """The anchor that a tree reaches through ops that keep each element at its place."""
    op = cg.ir.definition.get(value)
    if op is None:
        return None
    if OPS[op.name].anchor:
        return op
    if not OPS[op.name].elementwise and op.name != "tril":
        return None
    found = (anchor_of(cg, v) for v in op.operands)
    return next((a for a in found if a is not None), None)


def loads_of(cg: Context, value: Value) -> list[Op]:
    """Every load in a tree, but not below its anchor, that walks its view's last axis along the value's last axis."""
    op = cg.ir.definition.get(value)
    if op is None or OPS[op.name].anchor:
        return []
    if op.name == "load":
        return [op]
    if op.name in ("transpose", "gather"):
        return []
    operands = [v for v in op.operands if isinstance(v.type, TileType)]
    return [load for v in operands for load in loads_of(cg, v)]
