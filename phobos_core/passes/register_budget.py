"""Whether tiles fit a thread's registers beside what the statements need.

In: the tiles held and their layouts. Out: one tile too many, of those in use at a statement that lacks registers: one
that can be spared, else the largest. The tiles in use count there, and the operands and sums of a contraction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from phobos_core.ir.module import Kernel, Op, Value
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
    kernel: Kernel,
    index: Index,
    statements: Sequence[Statement],
    layouts: Mapping[SharedTile, Layout],
    spared: Collection[Value],
) -> SharedTile | None:
    room = registers(kernel) - REGISTERS_BESIDE - _fetched(index)
    held = {tile.mem: tile for tile in layouts}
    own = _read_at_their_place(layouts)
    for statement, live in _in_use(index, statements, layouts):
        target = held.get(statement.buffer)
        need = sum(registers_of(tile, layouts[tile]) for tile in live)
        need += _contraction(kernel, index, statement, target, own.get(statement, []), layouts)
        need -= _given_up(index.position[statement.store], statement, target, own.get(statement, []), layouts)
        if live and need > room:
            return max(live, key=lambda tile: (tile.mem in spared, registers_of(tile, layouts[tile])))
    return None


def _in_use(
    index: Index, statements: Sequence[Statement], tiles: Iterable[SharedTile]
) -> Iterator[tuple[Statement, list[SharedTile]]]:
    """The tiles in use at each statement, in program order."""
    coming = sorted(tiles, key=lambda tile: tile.place.first, reverse=True)
    live: list[SharedTile] = []
    for statement in sorted(statements, key=lambda s: index.position[s.store]):
        at = index.position[statement.store]
        while coming and coming[-1].place.first <= at:
            live.append(coming.pop())
        live = [tile for tile in live if at <= tile.place.last]
        yield statement, live


def _read_at_their_place(tiles: Iterable[SharedTile]) -> dict[Statement, list[tuple[SharedTile, Op]]]:
    """What each statement reads of tiles held, each element where it computes one."""
    found: dict[Statement, list[tuple[SharedTile, Op]]] = {}
    for tile in tiles:
        for read in tile.in_registers:
            if read.statement is not None and read.mode == "own":
                found.setdefault(read.statement, []).append((tile, read.op))
    return found


def registers_of(tile: SharedTile, layout: Layout) -> int:
    """What a thread needs to hold its part of a tile."""
    element = element_of(tile.mem.type)
    return TileType(element, tile.shape, layout).runs * layout.vector * -(-element.bytes // 4)


def _given_up(
    at: int,
    statement: Statement,
    target: SharedTile | None,
    own: Sequence[tuple[SharedTile, Op]],
    layouts: Mapping[SharedTile, Layout],
) -> int:
    """The registers that an element-wise statement reads for the last time, and writes anew."""
    read = [registers_of(tile, layouts[tile]) for tile, _ in own if tile.place.last == at]
    if statement.anchor is not None or target is None or target.place.first != at or not read:
        return 0
    return min(registers_of(target, layouts[target]), max(read))


def _contraction(
    kernel: Kernel,
    index: Index,
    statement: Statement,
    target: SharedTile | None,
    own: Sequence[tuple[SharedTile, Op]],
    layouts: Mapping[SharedTile, Layout],
) -> int:
    """The registers of a contraction beside the tiles held; its sums may be those of one of them."""
    dot = statement.dot
    if dot is None:
        return 0
    spread = [layouts[tile] for tile in (target, *(tile for tile, _ in own)) if tile is not None]
    patches = next((layout for layout in spread if isinstance(layout, Patches)), None)
    tm, tn = (patches.tm, patches.tn) if patches else thread_tile(kernel, dot)
    words = words_of(dot.result)
    starts = target is not None and all(tile is not target for tile, _ in own)
    loads = {load for _, load in own}
    added = any(_added_to(index, dot, node) for node in statement.tree if node.op in loads)
    return operand_registers(words, tm, tn) + (0 if starts or added else words * tm * tn)


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
