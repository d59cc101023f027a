"""How the statements of a kernel use its shared tiles: which of the uses registers could serve.

In: a kernel after `materialize`. Out: its allocations with the statements that write and read each. A statement is a
store with its value tree. It reads a tile

    own      each element at its own place: the thread that computes an element holds the one that it reads
    row      an [R, 1] tile repeated along the rows: each thread holds the elements of its rows
    fold     all of it, as the operand of a `reduce`: each thread folds what it holds
    memory   in any other way: other threads hold the element, so that the tile has to be in shared memory too

`barred` says why a tile cannot be held at all, if so: part of it is written, or written in an order of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from phobos_core.ir.module import Kernel, Op, Value
from phobos_core.ir.ops import OPS
from phobos_core.ir.regions import Regions
from phobos_core.ir.rewrite import Index
from phobos_core.ir.tree import INNER, Node, buffer_of, held, nodes
from phobos_core.ir.types import TileType
from phobos_core.passes.materialize import name_of
from phobos_core.passes.place_shared import Tile, lifetimes

Mode: TypeAlias = Literal["own", "row", "fold", "memory"]


@dataclass(frozen=True, slots=True, eq=False)
class Statement:
    """A store with its value tree; `buffer` is what is stored to. `by_rows`: it computes an [R, 1] tile as one that is
    held so."""

    store: Op
    buffer: Value
    tree: tuple[Node, ...]
    anchor: Op | None
    by_rows: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return _shape(self.store.operands[1])

    @property
    def dot(self) -> Op | None:
        return self.anchor if self.anchor is not None and self.anchor.name == "dot" else None

    @property
    def fold(self) -> Op | None:
        return self.anchor if self.anchor is not None and self.anchor.name == "reduce" else None

    @property
    def line(self) -> int:
        return self.store.line


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """`why` is where the mode is "memory": the reason, as the end of a sentence about the tile."""

    statement: Statement | None
    op: Op
    mode: Mode
    why: str = ""


@dataclass(slots=True, eq=False)
class SharedTile:
    """An allocation with its uses. `by_rows`: an [R, 1] tile held beside others, an element for each row of theirs;
    else it is held in patches."""

    place: Tile
    by_rows: bool
    written: list[Statement] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    barred: str = ""

    @property
    def alloc(self) -> Op:
        return self.place.alloc

    @property
    def mem(self) -> Value:
        return self.place.alloc.results[0]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.place.shape

    @property
    def name(self) -> str:
        return self.place.name

    @property
    def in_registers(self) -> list[Read]:
        """The reads that registers serve."""
        return [read for read in self.reads if read.mode != "memory"]

    @property
    def in_memory(self) -> list[Read]:
        return [read for read in self.reads if read.mode == "memory"]


@dataclass(frozen=True, slots=True)
class Uses:
    statements: Sequence[Statement]
    tiles: Sequence[SharedTile]


def tile_uses(kernel: Kernel, index: Index) -> Uses:
    stores = [op for op in index.ops if op.name == "store"]
    trees = {store: tuple(nodes(index, store.operands[1])) for store in stores}
    anchors = {store: next((n.op for n in tree if OPS[n.op.name].anchor), None) for store, tree in trees.items()}
    products = {buffer_of(index, s.operands[0]) for s, op in anchors.items() if op is not None and op.name == "dot"}
    tiles: dict[Value, SharedTile] = {}
    for place in lifetimes(kernel):
        mem = place.alloc.results[0]
        tiles[mem] = SharedTile(place, place.shape[1:] == (1,) and mem not in products)
    statements = []
    for store, tree in trees.items():
        buffer = buffer_of(index, store.operands[0])
        by_rows = _by_rows(index, tiles, store, buffer, tree, anchors[store])
        statements.append(Statement(store, buffer, tree, anchors[store], by_rows))
        if buffer in tiles:
            tiles[buffer].written.append(statements[-1])
    regions = Regions(kernel, index)
    for statement in statements:
        _read(index, regions, tiles, statement)
    for tile in tiles.values():
        tile.barred = _barred(index, regions, tile) or ""
        _read_elsewhere(index, tile)
        _made_one(tile)
    return Uses(statements, list(tiles.values()))


def serves(index: Index, statement: Statement, node: Node) -> bool:
    """Whether registers could serve the load of a slice that is a node of a statement's tree."""
    if len(node.axes) != 2 or _order_of_its_own(index, statement):
        return False
    return _mode(node, statement, by_rows=_shape(node.op.result)[1] == 1)[0] != "memory"


def _by_rows(
    index: Index, tiles: Mapping[Value, SharedTile], store: Op, buffer: Value, tree: Sequence[Node], anchor: Op | None
) -> bool:
    if _shape(store.operands[1])[1:] != (1,) or (anchor is not None and anchor.name == "dot"):
        return False
    if anchor is not None and anchor.name == "reduce":
        return True
    if buffer in tiles:
        return tiles[buffer].by_rows
    own = (tiles.get(buffer_of(index, n.op.operands[0])) for n in tree if n.own and n.op.name == "load")
    return all(tile.by_rows for tile in own if tile is not None)


def _shape(tile: Value) -> tuple[int, ...]:
    assert isinstance(tile.type, TileType)
    return tile.type.shape


def _barred(index: Index, regions: Regions, tile: SharedTile) -> str | None:
    if len(tile.shape) != 2:
        return "it has no rows and columns"
    for user in _users(index, tile.mem):
        if user.name == "store_point":
            return f"line {user.line} writes a single element of it"
        if user.name == "store_run":
            return f"line {user.line} writes a run of each thread's own to it"
        if user.name == "async_copy":
            return "it is copied to asynchronously"
        if user.name == "store" and not regions.whole_allocation(user.operands[0]):
            return f"line {user.line} writes a part of it"
    for statement in tile.written:
        other = _order_of_its_own(index, statement)
        if other:
            return f"line {statement.line} {other}"
        if statement.fold and not tile.by_rows and tile.shape[1] == 1:
            return f"line {statement.line} reduces rows into what another line multiplies into"
    first = index.used_by(tile.alloc.results[1])
    if [op.name for op in first] != ["store"]:
        return "it may be read before all of it is written"
    return None


def _order_of_its_own(index: Index, statement: Statement) -> str | None:
    """Why a statement is not computed in the order in which registers hold tiles, if so."""
    if len(statement.shape) != 2:
        return "has no rows and columns"
    if statement.anchor is not None and statement.anchor.name == "cumsum":
        return "computes a `cumsum`, down the columns"
    if held(index, statement.store.operands[1]):
        return "stores what was loaded an iteration ahead"
    return None


def _read(index: Index, regions: Regions, tiles: Mapping[Value, SharedTile], statement: Statement) -> None:
    alone = _order_of_its_own(index, statement)
    for node in statement.tree:
        if node.op.name != "load":
            continue
        view = node.op.operands[0]
        tile = tiles.get(buffer_of(index, view))
        if tile is None:
            continue
        mode, why = _mode(node, statement, by_rows=tile.by_rows)
        if not regions.whole_allocation(view):
            mode, why = "memory", f"line {statement.line} reads a part of it"
        elif alone:
            mode, why = "memory", f"line {statement.line} {alone}"
        elif mode == "memory":
            why = f"line {statement.line} reads it {why}"
        tile.reads.append(Read(statement, node.op, mode, why))


def _mode(node: Node, statement: Statement, *, by_rows: bool) -> tuple[Mode, str]:
    """How a statement reads a tile that is held by rows, or in patches."""
    if node.own and statement.by_rows == by_rows:
        return "own", ""
    folded = node.anchor is not None and node.anchor.name == "reduce"
    if node.anchor is None or folded:
        if node.axes == (0, None) and by_rows:
            return "row", ""
        if folded and node.axes == (0, INNER) and not by_rows and _shape(node.op.result)[1] > 1:
            return "fold", ""
    if node.anchor is not None:
        return "memory", f"across threads, in a `{name_of(node.anchor)}`"
    return "memory", "at other elements than those it computes"


def _read_elsewhere(index: Index, tile: SharedTile) -> None:
    """The reads that are no loads of a tree."""
    for user in _users(index, tile.mem):
        if user.name == "load_point":
            tile.reads.append(Read(None, user, "memory", f"line {user.line} reads a single element of it"))
        elif user.name == "load_run":
            tile.reads.append(Read(None, user, "memory", f"line {user.line} reads runs of each thread's own from it"))
        elif user.name == "gather":
            tile.reads.append(Read(None, user, "memory", f"line {user.line} gathers from it"))


def _made_one(tile: SharedTile) -> None:
    """Of a load that is read in several ways the tile in memory serves all."""
    by_op: dict[Op, Read] = {read.op: read for read in tile.in_memory}
    tile.reads = [
        Read(r.statement, r.op, "memory", by_op[r.op].why) if r.op in by_op and r.mode != "memory" else r
        for r in tile.reads
    ]


def _users(index: Index, mem: Value) -> Iterator[Op]:
    for user in index.used_by(mem):
        if user.name in ("view", "flat"):
            yield from _users(index, user.result)
        else:
            yield user
