"""Which accesses of a block go side by side: the threads after those that make the one make the other.

In: the ops of a block that have their schedules. Out: for a store, or a load to registers, the next one if it begins in
the thread after the last of this one and nothing between the two has an effect, so that one access may do for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from phobos_core.ir.module import Op
from phobos_core.ir.ops import OPS
from phobos_core.ir.schedule import Sweep
from phobos_core.ir.types import Cyclic, TileType, ViewType


def partner(ops: Sequence[Op], number: int) -> Op | None:
    """The next access, if it goes beside this one and nothing between them has an effect."""
    mine = spread(ops[number])
    if mine is None or mine[1]:
        return None
    runs, _, vector = mine
    for other in ops[number + 1 :]:
        if (beside := spread(other)) is not None:
            return other if other.name == ops[number].name and beside == (runs, runs, vector) else None
        virtual = other.name == "load" and not _to_registers(other)
        if other.regions or not (virtual or other.name == "alloc" or OPS[other.name].effect == "none"):
            return None
    return None


def _to_registers(load: Op) -> bool:
    assert isinstance(load.result.type, TileType)
    return load.result.type.layout is not None


def spread(op: Op) -> tuple[int, int, int] | None:
    """The runs, the thread that has the first of them, and the elements of a run."""
    match op.name:
        case "store":
            schedule, type = op.attrs["schedule"], op.operands[0].type
            assert isinstance(type, ViewType)
            if isinstance(schedule, Sweep):
                return prod(type.shape) // schedule.vector, schedule.first, schedule.vector
        case "load":
            assert isinstance(op.result.type, TileType)
            layout = op.result.type.layout
            if isinstance(layout, Cyclic):
                return prod(op.result.type.shape) // layout.vector, layout.first, layout.vector
    return None
