"""Whether the schedule of a store or a hold fits its tree: what codegen relies on.

In: an op with a schedule. Out: what is wrong with it, None if nothing. A schedule says how the tile is spread; the
layouts of what registers hold must say the same, and the tree holds the anchor that the schedule is for, and no other.
"""

from __future__ import annotations

from phobos_core.ir.module import Op, Value
from phobos_core.ir.ops import OPS
from phobos_core.ir.rewrite import Index
from phobos_core.ir.schedule import (
    ColumnScan,
    Contraction,
    PatchSweep,
    RowFold,
    RowReduction,
    RowSweep,
    Schedule,
    Sweep,
)
from phobos_core.ir.tree import INNER, Leaf, leaves, nodes
from phobos_core.ir.types import Cyclic, Layout, Patches, Rows, TileType
from phobos_core.language.targets import LANES

# The anchors that a tree may hold under each schedule, and whether it must hold one.
_ANCHORS: dict[type[Schedule], tuple[str, bool]] = {
    Sweep: ("", False),
    PatchSweep: ("", False),
    Contraction: ("dot", True),
    RowSweep: ("reduce", False),
    RowFold: ("reduce", True),
    RowReduction: ("reduce", True),
    ColumnScan: ("cumsum", True),
}


def schedule_fault(index: Index, op: Op, threads: int) -> str | None:
    schedule: Schedule = op.attrs["schedule"]
    tile = op.operands[1 if op.name == "store" else 0]
    anchors = [n for n in nodes(index, tile) if OPS[n.op.name].anchor]
    name, needed = _ANCHORS[type(schedule)]
    if any(n.op.name != name or not n.own for n in anchors) or (needed and len({n.op for n in anchors}) != 1):
        return f"has a tree with {'one' if needed else 'no anchor but'} {name or 'one'}, at its own place"
    anchor = anchors[0].op if anchors else None
    layout = _spread(schedule, threads)
    return (
        _grid(layout, threads, _shape(anchor.operands[0] if isinstance(schedule, RowFold) and anchor else tile))
        or _parts(op, schedule, [n.op for n in anchors])
        or (_held(op.result, schedule, layout) if op.name == "hold" else None)
        or next((fault for leaf in leaves(index, tile) if (fault := _leaf(leaf, schedule, layout))), None)
    )


def _spread(schedule: Schedule, threads: int) -> Layout | None:
    """How the elements lie that the schedule is about."""
    match schedule:
        case Sweep(vector, first):
            return Cyclic(threads, vector, first)
        case PatchSweep(layout) | RowFold(layout) | RowSweep(layout):
            return layout
        case Contraction():
            return schedule.layout(threads)
        case RowReduction() | ColumnScan():
            return None


def _grid(layout: Layout | None, threads: int, shape: tuple[int, ...]) -> str | None:
    """What is wrong with a layout of a tile."""
    match layout:
        case Rows():
            if shape[1:] != (1,):
                return "has rows of a tile [R, 1]"
            patches = layout.patches
        case Patches():
            patches = layout
        case _:
            return None
    if patches.threads != threads:
        return f"is for a kernel of {patches.threads} threads"
    if len(shape) != 2 or patches.rows * patches.tm < shape[0] or patches.columns * patches.tn < shape[1]:
        return "has patches that make up the tile"
    if (
        patches.tn % patches.vector
        or shape[1] % patches.vector
        or patches.tm % patches.height
        or shape[0] % patches.height
    ):
        return "has runs of columns and of rows that divide"
    across = patches.across
    if across and (LANES % across or patches.columns % across or patches.rows % (LANES // across)):
        return "has warps that are blocks of its grid"
    return None


def _parts(op: Op, schedule: Schedule, reduces: list[Op]) -> str | None:
    """A `reduce` has parts where, and only where, the butterflies of its rows of patches end at a warp."""
    given = [r.attrs["parts"] for r in reduces if "parts" in r.attrs]
    if not isinstance(schedule, RowFold):
        return "has a reduce of parts that no warps cut" if given else None
    layout = schedule.layout
    if layout.across:
        return "has patches that are numbered row by row"
    if layout.columns & (layout.columns - 1) or layout.threads % layout.columns:
        return "has columns that are a power of two and divide the threads"
    if layout.vector % schedule.vector:
        return "has a vector that divides its layout's"
    if layout.columns <= LANES:
        return "has a reduce of parts that no warps cut" if given else None
    if op.name == "hold":
        return "holds what no lane knows: a row of patches is wider than a warp"
    return None if given == [layout.columns // LANES] else "has a reduce with a part for each warp of a row"


def _held(result: Value, schedule: Schedule, layout: Layout | None) -> str | None:
    match schedule:
        case PatchSweep() | Contraction() | RowSweep():
            expected = layout
        case RowFold(patches):
            expected = patches.row_layout
        case _:
            return "holds no tile in registers"
    assert isinstance(result.type, TileType)
    return None if result.type.layout == expected else f"gives a tile in {expected}"


def _leaf(leaf: Leaf, schedule: Schedule, layout: Layout | None) -> str | None:
    """Whether the thread that evaluates the tree has the elements it needs of what registers hold."""
    own = leaf.axes == ((0, INNER) if isinstance(schedule, RowFold) else (0, 1))
    below = leaf.anchor is not None
    assert isinstance(leaf.value.type, TileType)
    match leaf.value.type.layout, layout:
        case Cyclic() as mine, Cyclic():
            fits = mine == layout
        case Patches() as mine, Patches():
            fits = mine == layout and own and below is isinstance(schedule, RowFold)
        case Rows() as mine, Patches() | Rows():
            rows = layout.row_layout if isinstance(layout, Patches) else layout
            fits = mine == rows and leaf.axes[0] == 0 and not (below and isinstance(schedule, Contraction))
        case _:
            fits = False
    return (
        None if fits else f"reads %{leaf.value.hint} in {leaf.value.type.layout}, of which other threads have elements"
    )


def _shape(value: Value) -> tuple[int, ...]:
    assert isinstance(value.type, TileType)
    return value.type.shape
