"""The value tree of a store: which virtual tiles it evaluates, and at which of their elements.

In: a tile value. Out: its nodes with, for each, how its axes follow those of the tree's root. Whatever asks where a
tree reads (materialising, vector widths, lifetimes, barriers) walks it here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from phobos_core.ir.module import Op, Value
from phobos_core.ir.ops import OPS
from phobos_core.ir.rewrite import Index
from phobos_core.ir.types import MemType, TileType, ViewType

# An axis of a node follows an axis of the root (its number), the axis that the anchor folds or scans (INNER), or
# neither (None: one element for all, or any element).
INNER = -1
Axes: TypeAlias = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Node:
    """`own`: the node has the root's shape and each element depends on the node's element at the same place.

    `anchor` is the anchor below which the node is evaluated, if any."""

    op: Op
    axes: Axes
    own: bool
    anchor: Op | None


@dataclass(frozen=True, slots=True)
class Leaf:
    """A tile held in registers where a tree reads it; `axes` and `anchor` as of a `Node`."""

    value: Value
    axes: Axes
    anchor: Op | None


def nodes(index: Index, root: Value) -> Iterator[Node]:
    """The tree's tile ops from the root down, each op once for each way that its axes follow the root's.

    Ends at loads, and at tiles held in registers, which are evaluated where they are defined.
    """
    return (found for found in _tree(index, root) if isinstance(found, Node))


def leaves(index: Index, root: Value) -> Iterator[Leaf]:
    """The tiles in registers that the tree reads, each once for each way that its axes follow the root's."""
    return (found for found in _tree(index, root) if isinstance(found, Leaf))


def _tree(index: Index, root: Value) -> Sequence[object]:
    found = index.trees.get(root)
    if found is None:
        found = index.trees[root] = tuple(_walk(index, root))
    return found


def _walk(index: Index, root: Value) -> Iterator[Node | Leaf]:
    assert isinstance(root.type, TileType)
    start = tuple(range(len(root.type.shape)))
    pending: list[tuple[Value, Axes, bool, Op | None]] = [(root, start, True, None)]
    seen: set[tuple[Value, Axes, bool, Op | None]] = set()
    while pending:
        entry = pending.pop()
        value, axes, own, anchor = entry
        if entry in seen or not isinstance(value.type, TileType):
            continue
        seen.add(entry)
        op = index.definition.get(value)
        if value.type.layout is not None:
            yield Leaf(value, axes, anchor)
        if op is None or value.type.layout is not None:
            continue
        yield Node(op, axes, own, anchor)
        below = _BELOW.get(op.name, _same)(op, axes)
        inside = op if OPS[op.name].anchor else anchor
        for operand, operand_axes in zip(op.operands, below, strict=False):
            same = own and not OPS[op.name].anchor and operand_axes == axes
            pending.append((operand, operand_axes, same, inside))


def held(index: Index, root: Value, *, but_below: Value | None = None) -> list[Value]:
    """The tiles in registers that the tree of `root` reads, not counting what only `but_below` is made of."""
    found: list[Value] = []
    pending = [root]
    seen: set[Value] = set()
    while pending:
        value = pending.pop()
        if value in seen or value is but_below or not isinstance(value.type, TileType):
            continue
        seen.add(value)
        op = index.definition.get(value)
        if value.type.layout is not None or op is None:
            found.append(value)
        else:
            pending += op.operands
    return found


def _same(op: Op, axes: Axes) -> list[Axes]:
    return [axes] * len(op.operands)


def _broadcast(op: Op, axes: Axes) -> list[Axes]:
    source, result = op.operands[0].type, op.result.type
    assert isinstance(source, TileType)
    assert isinstance(result, TileType)
    return [tuple(a if s == r else None for a, s, r in zip(axes, source.shape, result.shape, strict=True))]


def _transpose(op: Op, axes: Axes) -> list[Axes]:
    rows, columns = axes
    return [(columns, rows)]


def _dot(op: Op, axes: Axes) -> list[Axes]:
    rows, columns = axes
    return [(rows, INNER), (columns, INNER) if op.attrs["transposed"] else (INNER, columns)]


def _reduce(op: Op, axes: Axes) -> list[Axes]:
    return [(axes[0], INNER)]


def _cumsum(op: Op, axes: Axes) -> list[Axes]:
    return [(INNER, axes[1])]


def _gather(op: Op, axes: Axes) -> list[Axes]:
    *where, _, _ = op.operands
    return [*([()] * len(where)), axes]


_BELOW: dict[str, Callable[[Op, Axes], list[Axes]]] = {
    "broadcast": _broadcast,
    "transpose": _transpose,
    "dot": _dot,
    "reduce": _reduce,
    "cumsum": _cumsum,
    "gather": _gather,
}


def views_along(index: Index, root: Value, axis: int) -> list[Value]:
    """The views that the tree of `root` loads of whose last axis follows an axis of the root: neighbours along that
    axis lie side by side."""
    return [n.op.operands[0] for n in nodes(index, root) if n.op.name == "load" and n.axes[-1] == axis]


def read_along_k(index: Index, operand: Value, k_axis: int) -> bool:
    """Whether a contraction reads several k of a row (or column) of an operand together, and not several rows."""
    return not views_along(index, operand, 1 - k_axis) and bool(views_along(index, operand, k_axis))


def buffer_of(index: Index, value: Value) -> Value:
    """The tensor parameter or allocation behind a buffer, a flat view or a view."""
    while isinstance(value.type, MemType | ViewType):
        op = index.definition.get(value)
        if op is None or op.name == "alloc":
            break
        value = op.operands[0]
    return value


@dataclass(frozen=True, slots=True)
class View:
    """The operands of a `view` op by name. `bounds` has (lower, upper) per axis, None where not asked for."""

    mem: Value
    stage: Value | None
    offsets: tuple[Value, ...]
    bounds: tuple[tuple[Value | None, Value | None], ...]


def stages_of(index: Index, mem: Value) -> int:
    """How many copies the buffer has."""
    op = index.definition.get(buffer_of(index, mem))
    return int(op.attrs["stages"]) if op is not None else 1


def view_of(index: Index, view: Value) -> View:
    op = index.definition[view]
    mem, *rest = op.operands
    stage = rest.pop(0) if stages_of(index, mem) > 1 else None
    rank = len(op.attrs["bounds"])
    offsets, limits = rest[:rank], iter(rest[rank:])
    bounds: list[tuple[Value | None, Value | None]] = []
    for kind in op.attrs["bounds"]:
        lower = next(limits) if kind == "both" else None
        bounds.append((lower, next(limits) if kind != "none" else None))
    return View(mem, stage, tuple(offsets), tuple(bounds))
