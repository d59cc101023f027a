"""Gives a temporary to each part of a value tree that cannot be evaluated where the store stands.

In: stores of any value trees. Out: each store's tree holds at most one anchor (`dot`, `reduce`, `cumsum`), reached
from the root through ops that keep each element at its place; and no tree reads its target's buffer at other elements
than those that the same thread writes. What does not fit goes through a shared temporary.

An anchor is computed by all threads together in its own order, so a second one, or one that another op reads at other
places, has to be complete before the sweep that reads it. A sweep that reads elements of its target that other threads
write would see some of them changed.
"""

from __future__ import annotations

from collections.abc import Sequence

from phobos_core.ir.module import Kernel, Op, Value
from phobos_core.ir.ops import OPS
from phobos_core.ir.regions import Regions, disjoint
from phobos_core.ir.rewrite import Index, edit, indexed, with_body
from phobos_core.ir.tree import Node, buffer_of, nodes
from phobos_core.passes.early_reads import early_reads
from phobos_core.passes.temporaries import temporary

# Which anchor of several stays in the store: the one whose temporary would cost most.
_WEIGHT = {"reduce": 0, "cumsum": 1, "dot": 2}


def materialize(kernel: Kernel) -> Kernel:
    kernel = early_reads(kernel, indexed(kernel.body))
    kernel = _split_anchors(kernel)
    return _protect_targets(kernel)


def _split_anchors(kernel: Kernel) -> Kernel:
    index = indexed(kernel.body)
    after: dict[Op, Sequence[Op]] = {}
    values: dict[Value, Value] = {}
    kept: set[Op] = set()
    for store in index.ops:
        if store.name != "store":
            continue
        tree = list(nodes(index, store.operands[1]))
        anchors = {n.op for n in tree if OPS[n.op.name].anchor}
        keep = _kept(index, tree)
        if keep is not None and keep not in after:
            kept.add(keep)
        for op in anchors - {keep}:
            if op not in after:
                made = temporary(name_of(op), op.result, op.line)
                after[op] = [*made.write, *made.read]
                values[op.result] = made.tile
    # An anchor that one tree keeps and another reads from a temporary is read from there by both.
    return with_body(kernel, edit(kernel.body, after=after, values=values).ops) if after else kernel


def _kept(index: Index, tree: list[Node]) -> Op | None:
    """The anchor that the store computes itself. It is reached at its own place only, and below no other."""
    elsewhere = {n.op for n in tree if not n.own}
    candidates = [n.op for n in tree if OPS[n.op.name].anchor and n.own and n.op not in elsewhere]
    return max(candidates, key=lambda op: (_WEIGHT[op.name], index.position[op]), default=None)


def name_of(anchor: Op) -> str:
    """The anchor as the source names it."""
    match anchor.name:
        case "dot":
            return "dot_t" if anchor.attrs["transposed"] else "dot"
        case "reduce":
            return f"row{anchor.attrs['kind']}"
        case name:
            return name


def _protect_targets(kernel: Kernel) -> Kernel:
    index = indexed(kernel.body)
    regions = Regions(kernel, index)
    replaced: dict[Op, Sequence[Op]] = {}
    for store in index.ops:
        if store.name == "store" and _reads_others(index, regions, store):
            view, tile, token = store.operands
            target = buffer_of(index, view).hint
            made = temporary(f"new {target}", tile, store.line)
            moved = Op(store.name, (view, made.tile, token), store.results, store.attrs, (), store.line)
            replaced[store] = [*made.write, *made.read, moved]
    return with_body(kernel, edit(kernel.body, replaced=replaced).ops) if replaced else kernel


def _reads_others(index: Index, regions: Regions, store: Op) -> bool:
    """Whether the tree reads elements of the target that it may also write, other than each at its own place."""
    view, tile, _ = store.operands
    buffer = buffer_of(index, view)
    written = regions.of_view(view)
    for node in nodes(index, tile):
        if node.op.name == "gather" and buffer_of(index, node.op.operands[0]) is buffer:
            return True
        if node.op.name != "load" or buffer_of(index, node.op.operands[0]) is not buffer:
            continue
        read = regions.of_view(node.op.operands[0])
        own = node.own and node.anchor is None and read == written
        if not own and not disjoint(read, written):
            return True
    return False
