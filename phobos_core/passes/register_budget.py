"""Whether tiles fit a thread's registers beside what the statements need.

In: the tiles held and their grids. Out: one tile too many, the largest of those in use where most is needed. At each
statement those count that are in use, and the operands and sums of its contraction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from phobos_core.ir.module import Kernel, Op
from phobos_core.ir.rewrite import Index
from phobos_core.ir.tree import Node, nodes
from phobos_core.ir.types import Layout, Patches, TileType, element_of
from phobos_core.passes.thread_tiles import (
    REGISTERS_BESIDE,
    operand_registers,
    registers,
    thread_tile,
    words_of,
)
from phobos_core.passes.tile_uses import SharedTile, Statement


def one_too_many(
    kernel: Kernel, index: Index, statements: Sequence[Statement], layouts: Mapping[SharedTile, Layout]
) -> SharedTile | None:
    room = registers(kernel) - REGISTERS_BESIDE - _fetched(index)
    for statement in statements:
        at = index.position[statement.store]
        live = [tile for tile in layouts if tile.place.first <= at <= tile.place.last]
        need = sum(registers_of(tile, layouts[tile]) for tile in live)
        need += _contraction(kernel, index, statement, layouts) - _given_up(at, statement, live, layouts)
        if live and need > room:
            return max(live, key=lambda tile: registers_of(tile, layouts[tile]))
    return None


def registers_of(tile: SharedTile, layout: Layout) -> int:
    """What a thread needs to hold its part of a tile."""
    element = element_of(tile.mem.type)
    return TileType(element, tile.shape, layout).runs * layout.vector * -(-element.bytes // 4)


def _given_up(at: int, statement: Statement, live: Sequence[SharedTile], layouts: Mapping[SharedTile, Layout]) -> int:
    """The registers that an element-wise statement reads for the last time, and writes anew."""
    made = [tile for tile in live if tile.mem is statement.buffer and tile.place.first == at]
    read = [
        tile
        for tile in live
        if tile.place.last == at and any(r.statement is statement and r.mode == "own" for r in tile.reads)
    ]
    if statement.anchor is not None or not made or not read:
        return 0
    return min(registers_of(made[0], layouts[made[0]]), max(registers_of(tile, layouts[tile]) for tile in read))


def _contraction(kernel: Kernel, index: Index, statement: Statement, layouts: Mapping[SharedTile, Layout]) -> int:
    """The registers of a contraction beside the tiles held; its sums may be those of one of them."""
    dot = statement.dot
    if dot is None:
        return 0
    target = next((tile for tile in layouts if tile.mem is statement.buffer), None)
    reads = [r.op for tile in layouts for r in tile.in_registers if r.statement is statement and r.mode == "own"]
    layout = layouts[target] if target is not None else _beside(statement, layouts)
    if isinstance(layout, Patches):
        tm, tn = layout.tm, layout.tn
    else:
        tm, tn = thread_tile(kernel, dot)
    words = words_of(dot.result)
    starts = target is not None and not any(r.statement is statement for r in target.in_registers)
    added = any(_added_to(index, dot, n) for n in statement.tree if n.op in reads)
    return operand_registers(words, tm, tn) + (0 if starts or added else words * tm * tn)


def _beside(statement: Statement, layouts: Mapping[SharedTile, Layout]) -> Layout | None:
    """The layout of a tile that a statement reads where it computes a product."""
    for tile, layout in layouts.items():
        if any(r.statement is statement and r.mode == "own" for r in tile.reads):
            return layout
    return None


def _added_to(index: Index, dot: Op, node: Node) -> bool:
    """Whether the product is added to what is made of `node`, so that its sums are the tile's registers."""
    users = index.used_by(dot.result)
    if len(users) != 1 or users[0].name != "add":
        return False
    return any(n.op is node.op for v in users[0].operands if v is not dot.result for n in nodes(index, v))


def _fetched(index: Index) -> int:
    """The registers of the slices that are loaded an iteration ahead."""
    found = 0
    for op in index.ops:
        type = op.result.type if op.name == "load" else None
        if isinstance(type, TileType) and type.layout is not None:
            found += -(-type.runs * type.layout.vector * type.element.bytes // 4)
    return found
