"""Questions about value trees: what they cost, which anchor they hold, which loads follow their last axis.

A tree may be as deep as a kernel has statements, and one value may have many readers in it: walks keep a list of what
is to be seen, and see each value once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from phobos_core.codegen.context import Context
from phobos_core.ir.module import Op, Value
from phobos_core.ir.ops import OPS
from phobos_core.ir.types import TileType

# Ops that LLVM turns into more than one instruction, roughly.
_WEIGHTS = {"div": 8, "rem": 30, "math": 3, "gather": 3}
_FREE = {"splat", "broadcast", "transpose", "iota"}
_LOAD = 2


def cost(cg: Context, value: Value, width: int) -> int:
    """About how many instructions one run takes, its store included."""
    total = _LOAD
    for op in _ops(cg, value, lambda op: op.name != "load"):
        if op.name == "load":
            total += _LOAD
        elif op.name not in _FREE:
            total += _WEIGHTS.get(op.name, 1) * width
    return total


def anchor_of(cg: Context, value: Value) -> Op | None:
    """The anchor that a tree reaches through ops that keep each element at its place."""
    found = _ops(cg, value, lambda op: OPS[op.name].elementwise or op.name in ("tril", "gather"))
    return next((op for op in found if OPS[op.name].anchor), None)


def loads_of(cg: Context, value: Value) -> list[Op]:
    """Every load in a tree, but not below its anchor, that walks its view's last axis along the value's last axis."""
    ends = ("load", "transpose", "gather")
    found = _ops(cg, value, lambda op: op.name not in ends and not OPS[op.name].anchor)
    return [op for op in found if op.name == "load"]


def _ops(cg: Context, root: Value, descend: Callable[[Op], bool]) -> Iterator[Op]:
    """The virtual tile ops of a tree from the root down, each once, below those only that `descend` lets through."""
    pending, seen = [root], set()
    while pending:
        value = pending.pop()
        op = cg.ir.definition.get(value)
        if value in seen or op is None or value in cg.registers or not isinstance(value.type, TileType):
            continue
        seen.add(value)
        yield op
        if descend(op):
            pending += reversed(op.operands)
