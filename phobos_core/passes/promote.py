"""Holds accumulators in registers: a tile that contractions add to is where their sums arise.

In: allocations with stores and loads. Out: a tile that a contraction stores to, and that every statement uses whole and
each element at its own place, is a value in the layout of the contraction's patches (`Patches`): a store of it is a
`hold`, a load is that value, and loops and branches carry the value where they carried the token. So an accumulator
goes from registers to its last store and takes no shared memory.

A tile that is used otherwise, or that does not fit the registers beside the others, stays in memory. All tiles of one
shape have one layout, so that a statement may read several. Each outcome is a decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import gcd, prod

from phobos_core.ir.divisors import Vectors
from phobos_core.ir.module import Block, Decision, Kernel, Op, Placement, Value
from phobos_core.ir.ops import OPS
from phobos_core.ir.regions import Regions
from phobos_core.ir.rewrite import Index, without_unused
from phobos_core.ir.tree import Node, buffer_of, nodes
from phobos_core.ir.types import MemType, Patches, TileType, element_of
from phobos_core.passes.materialize import name_of
from phobos_core.passes.place_shared import Tile, lifetimes
from phobos_core.passes.thread_tiles import (
    REGISTERS_BESIDE,
    along,
    operand_registers,
    registers,
    thread_tile,
    words_of,
)

# Each patch of a thread is code of its own where registers hold it.
_MOST_TURNS = 4
_ACCESS_BYTES = 16


@dataclass(frozen=True, slots=True, eq=False)
class _Statement:
    """A store with its value tree."""

    store: Op
    buffer: Value
    tree: tuple[Node, ...]

    @property
    def anchors(self) -> set[Op]:
        return {n.op for n in self.tree if OPS[n.op.name].anchor}

    @property
    def dot(self) -> Op | None:
        return next((op for op in self.anchors if op.name == "dot"), None)


@dataclass(slots=True, eq=False)
class _Candidate:
    """An allocation that a contraction stores to, with the statements that store to it and those that read it."""

    alloc: Op
    tile: Tile
    written: list[_Statement] = field(default_factory=list)
    read: list[tuple[_Statement, Node]] = field(default_factory=list)

    @property
    def mem(self) -> Value:
        return self.alloc.results[0]

    @property
    def statements(self) -> set[_Statement]:
        return {*self.written, *(statement for statement, _ in self.read)}

    @property
    def accumulates(self) -> bool:
        """Whether a contraction is added to what the tile held before."""
        return any(statement.dot is not None and statement.buffer is self.mem for statement, _ in self.read)


def promote(kernel: Kernel) -> Kernel:
    index = Index(kernel.body)
    if not any(op.name == "dot" for op in index.ops):
        return kernel
    candidates = _candidates(kernel, index)
    regions = Regions(kernel, index)
    refused = {c: reason for c in candidates if (reason := _used_otherwise(index, regions, c))}
    layouts = _layouts(kernel, index, [c for c in candidates if c not in refused], refused)
    while over := _one_too_many(kernel, index, layouts):
        held_registers = _registers(over, layouts)
        refused[over] = f"its {held_registers} registers a thread do not fit beside what the contractions need"
        # Where it is stored to from now on may allow the others narrower runs only.
        layouts = _layouts(kernel, index, [c for c in candidates if c not in refused], refused)
    held = {c.mem: layout for c, layout in layouts.items()}
    body = without_unused(_Promotion(index, held).block(kernel.body)) if held else kernel.body
    decisions = [
        _held(index, c, layouts[c]) if c in layouts else _left(c, refused[c])
        for c in candidates
        if c in layouts or c.accumulates
    ]
    return replace(
        kernel,
        body=body,
        decisions=(*kernel.decisions, *decisions),
        tiles=(*kernel.tiles, *_placements(layouts)),
    )


def _candidates(kernel: Kernel, index: Index) -> list[_Candidate]:
    found = {t.alloc.results[0]: _Candidate(t.alloc, t) for t in lifetimes(kernel)}
    for op in index.ops:
        if op.name != "store":
            continue
        statement = _Statement(op, buffer_of(index, op.operands[0]), tuple(nodes(index, op.operands[1])))
        if statement.buffer in found:
            found[statement.buffer].written.append(statement)
        for node in statement.tree:
            if node.op.name in ("load", "gather"):
                buffer = buffer_of(index, node.op.operands[0])
                if buffer in found:
                    found[buffer].read.append((statement, node))
    return [c for c in found.values() if any(s.dot for s in c.written)]


# Which qualify


def _used_otherwise(index: Index, regions: Regions, candidate: _Candidate) -> str | None:
    """Why a tile has to be in memory; None where every use is of the whole tile, each element at its own place."""
    for user in _uses(index, candidate.mem):
        if user.name not in ("load", "store"):
            return _POINTS.get(user.name, "it is copied to asynchronously")
        if not regions.whole_allocation(user.operands[0]):
            return f"line {user.line} uses a part of it"
    for statement, node in candidate.read:
        if not node.own:
            return f"line {statement.store.line} reads it {_elsewhere(node)}"
    for statement in candidate.statements:
        other = next((a for a in statement.anchors if a.name != "dot"), None)
        if other is not None:
            return f"line {statement.store.line} computes a `{name_of(other)}` beside it"
    first = index.used_by(candidate.alloc.results[1])
    if [op.name for op in first] != ["store"]:
        return "it may be read before all of it is written"
    return None


_POINTS = {
    "load_point": "single elements of it are read",
    "store_point": "single elements of it are written",
    "load_run": "threads read runs of it on their own",
    "store_run": "threads store runs of it on their own",
    "gather": "it is a table",
}


def _uses(index: Index, mem: Value) -> Iterator[Op]:
    for user in index.used_by(mem):
        if user.name in ("view", "flat"):
            yield from _uses(index, user.result)
        else:
            yield user


def _elsewhere(node: Node) -> str:
    if node.anchor is not None:
        return f"across threads, in a `{name_of(node.anchor)}`"
    return "at other elements than those it computes"


def _layouts(
    kernel: Kernel, index: Index, candidates: Sequence[_Candidate], refused: dict[_Candidate, str]
) -> dict[_Candidate, Patches]:
    """One layout for the tiles of a shape: in the widest runs that suit all their contractions."""
    shapes: dict[tuple[int, ...], list[_Candidate]] = {}
    for candidate in candidates:
        shapes.setdefault(candidate.tile.shape, []).append(candidate)
    vectors = Vectors(kernel, index)
    found: dict[_Candidate, Patches] = {}
    for (rows, columns), alike in shapes.items():
        allocated = {c.mem for c in alike}
        products = [(s, s.dot) for s in dict.fromkeys(s for c in alike for s in c.statements) if s.dot]
        tm, tn = thread_tile(kernel, max((dot for _, dot in products), key=lambda dot: words_of(dot.result)))
        run = tn
        for statement, dot in products:
            views = [v for v in along(statement.tree, 1) if buffer_of(index, v) not in allocated]
            if statement.buffer not in allocated:
                views.append(statement.store.operands[0])
            most = _ACCESS_BYTES // element_of(dot.result.type).bytes
            run = gcd(run, vectors.widest(views, gcd(tn, columns, most)).vector)
        layout = Patches(kernel.threads, tm, tn, -(-rows // tm), -(-columns // tn), run)
        if layout.turns > _MOST_TURNS:
            refused |= dict.fromkeys(alike, f"each thread would hold {layout.turns} patches of {tm}x{tn}")
        else:
            found |= dict.fromkeys(alike, layout)
    return found


# The budget


def _one_too_many(kernel: Kernel, index: Index, layouts: Mapping[_Candidate, Patches]) -> _Candidate | None:
    """The largest of the first tiles that do not fit the registers together, beside what contractions need."""
    room = registers(kernel) - REGISTERS_BESIDE - _fetched(index) - _contractions(kernel, index, layouts)
    for group in _together(layouts):
        if sum(_registers(c, layouts) for c in group) > room:
            return max(group, key=lambda c: _registers(c, layouts))
    return None


def _registers(candidate: _Candidate, layouts: Mapping[_Candidate, Patches]) -> int:
    layout = layouts[candidate]
    return layout.turns * layout.tm * layout.tn * -(-element_of(candidate.mem.type).bytes // 4)


def _together(layouts: Iterable[_Candidate]) -> Iterator[list[_Candidate]]:
    """The tiles that are in use when one of them begins to be."""
    every = list(layouts)
    for one in every:
        yield [c for c in every if c.tile.first <= one.tile.first <= c.tile.last]


def _fetched(index: Index) -> int:
    """The registers of the slices that are loaded an iteration ahead."""
    found = 0
    for op in index.ops:
        type = op.result.type if op.name == "load" else None
        if isinstance(type, TileType) and type.layout is not None:
            found += -(-type.runs * type.layout.vector * type.element.bytes // 4)
    return found


def _contractions(kernel: Kernel, index: Index, layouts: Mapping[_Candidate, Patches]) -> int:
    """The most registers that a contraction takes beside the tiles held."""
    added = {
        statement.dot
        for candidate in layouts
        for statement, node in candidate.read
        if statement.dot is not None and _added_to(index, statement.dot, node)
    }
    most = 0
    for dot in index.ops:
        if dot.name == "dot":
            tm, tn = thread_tile(kernel, dot)
            words = words_of(dot.result)
            most = max(most, operand_registers(words, tm, tn) + (0 if dot in added else words * tm * tn))
    return most


def _added_to(index: Index, dot: Op, node: Node) -> bool:
    """Whether the product is added to what is made of `node`, so that its sums are the tile's registers."""
    users = index.used_by(dot.result)
    if len(users) != 1 or users[0].name != "add":
        return False
    return any(n.op is node.op for v in users[0].operands if v is not dot.result for n in nodes(index, v))


# The rewriting


class _Promotion:
    """`tiles` has the value that stands for each token and each load."""

    def __init__(self, index: Index, layouts: Mapping[Value, Patches]) -> None:
        self._index = index
        self._layouts = layouts
        self._tiles: dict[Value, Value] = {}
        self._buffers: dict[Value, Value] = {}

    def block(self, block: Block) -> Block:
        args = tuple(self._tiles.get(v, v) for v in block.args)
        ops: list[Op] = []
        for op in block.ops:
            ops += self._op(op)
        return Block(args, tuple(ops))

    def _op(self, op: Op) -> Sequence[Op]:
        match op.name:
            case "alloc" if op.results[0] in self._layouts:
                self._buffers[op.results[1]] = op.results[0]
                return ()
            case "view" if buffer_of(self._index, op.result) in self._layouts:
                return ()
            case "load" if self._promoted(op.operands[0]):
                self._tiles[op.result] = self._tiles[op.operands[1]]
                return ()
            case "store" if self._promoted(op.operands[0]):
                return self._hold(op)
            case "sync" if any(token in self._buffers for token in op.operands):
                return (self._sync(op),)
            case "for" | "while" | "if":
                return (self._control(op),)
            case _:
                return (self._renamed(op),)

    def _sync(self, op: Op) -> Op:
        """A barrier changes nothing of what registers hold."""
        kept = []
        for token, following in zip(op.operands, op.results, strict=True):
            if token in self._buffers:
                self._buffers[following], self._tiles[following] = self._buffers[token], self._tiles[token]
            else:
                kept.append((token, following))
        operands, results = zip(*kept, strict=True) if kept else ((), ())
        return replace(op, operands=operands, results=results)

    def _promoted(self, view: Value) -> bool:
        return buffer_of(self._index, view) in self._layouts

    def _hold(self, store: Op) -> Sequence[Op]:
        view, tile, _ = store.operands
        value = self._tiles.get(tile, tile)
        buffer = self._buffers[store.result] = buffer_of(self._index, view)
        if value is not tile:
            # A copy of another tile that registers hold.
            self._tiles[store.result] = value
            return ()
        held = self._carried(store.result, buffer)
        return (Op("hold", (value,), (held,), {}, (), store.line),)

    def _carried(self, token: Value, buffer: Value) -> Value:
        """A tile value to stand for a token."""
        assert isinstance(buffer.type, MemType)
        tile = TileType(
            buffer.type.element, tuple(n for n in buffer.type.shape if n is not None), self._layouts[buffer]
        )
        self._buffers[token] = buffer
        self._tiles[token] = held = Value(tile, buffer.hint)
        return held

    def _control(self, op: Op) -> Op:
        # A `for` takes three bounds before what it carries, and gives its region the variable before that.
        sources = op.operands[2:] if op.name == "for" else op.operands
        for region in op.regions:
            for source, argument in zip(sources, region.args, strict=False):
                if source in self._buffers:
                    self._carried(argument, self._buffers[source])
        regions = tuple(self.block(region) for region in op.regions)
        yields = op.regions[0].ops[-1].operands[1 if op.name == "while" else 0 :]
        for result, yielded in zip(op.results, yields, strict=True):
            if yielded in self._buffers:
                self._carried(result, self._buffers[yielded])
        results = tuple(self._tiles.get(v, v) for v in op.results)
        return replace(self._renamed(op), results=results, regions=regions)

    def _renamed(self, op: Op) -> Op:
        operands = tuple(self._tiles.get(v, v) for v in op.operands)
        return op if operands == op.operands else replace(op, operands=operands)


# What is recorded


def _held(index: Index, candidate: _Candidate, layout: Patches) -> Decision:
    times = "" if layout.turns == 1 else f"{layout.turns} times "
    choice = f"held in registers: {times}{layout.tm}x{layout.tn} elements a thread"
    loops = sorted({loop.line for loop in _carrying(index, candidate)})
    if loops:
        lines = ", ".join(map(str, loops))
        choice += f", carried by the loop{'s' if len(loops) > 1 else ''} on line {lines}"
    return Decision(
        candidate.alloc.line,
        str(candidate.alloc.attrs["name"]),
        choice,
        "every statement uses each element where the contraction computes it",
    )


def _left(candidate: _Candidate, reason: str) -> Decision:
    return Decision(candidate.alloc.line, str(candidate.alloc.attrs["name"]), "held in shared memory", reason)


def _carrying(index: Index, candidate: _Candidate) -> Iterator[Op]:
    """The loops around a store of the tile that the tile is declared outside of."""
    for statement in candidate.written:
        for around in index.ancestors(statement.store):
            if around.name in ("for", "while") and not index.inside(candidate.mem, around):
                yield around


def _placements(layouts: Iterable[_Candidate]) -> list[Placement]:
    """A row for each tile of the source, however many copies of it splitting and unrolling loops made."""
    rows: dict[object, Placement] = {}
    for candidate in layouts:
        tile = candidate.tile
        key = (tile.name, tile.alloc.line, tile.shape, tile.mem)
        live = tile.lines
        if key in rows:
            live = min(live[0], rows[key].live[0]), max(live[1], rows[key].live[1])
        size = prod(tile.shape) * tile.mem.element.bytes
        rows[key] = Placement(tile.name, tile.alloc.line, tile.shape, tile.mem.element, "registers", size, None, live)
    return list(rows.values())
