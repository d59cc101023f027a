"""Hands a tile's value to its only reader instead of storing and loading it.

In: one store per statement, as lowered. Out: a whole-tile store whose value a single later statement reads, element by
element, is gone, and that statement computes the value itself: a product that only feeds the element-wise statement
after it is updated as it is written out, and chains of element-wise statements become one sweep. A tile that is never
stored any more takes no memory.

The reader must see what the store saw: no store in between may touch what the value reads. And it must evaluate each
element once: at its own place, or as the operand of a `reduce` or `cumsum`. A tile that is another one transposed is
not stored either, whoever reads it and how often: they read that one, at the swapped place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

from phobos_core.ir.module import Decision, Kernel, Op, Placement, Value
from phobos_core.ir.ops import OPS
from phobos_core.ir.regions import Region, Regions
from phobos_core.ir.rewrite import Index, edit, indexed, without_unused
from phobos_core.ir.tree import INNER, Node, buffer_of, nodes
from phobos_core.ir.types import MemType, TileType

_T = TypeVar("_T")


@dataclass(slots=True)
class _Value:
    """What a store's value tree holds, with what was handed to it: anchors, and what it reads.

    `reads` has the regions of each buffer, and whether the value needs of it just the element at its own place."""

    anchors: set[Op] = field(default_factory=set)
    tokens: set[Value] = field(default_factory=set)
    reads: dict[Value, set[tuple[bool, Region]]] = field(default_factory=dict)

    def copied(self) -> _Value:
        reads = {buffer: set(regions) for buffer, regions in self.reads.items()}
        return _Value(set(self.anchors), set(self.tokens), reads)

    def take(self, handed: _Value) -> None:
        """All that `handed` holds, which is of no use afterwards: the smaller sets go into the larger ones."""
        self.anchors = _joined(self.anchors, handed.anchors)
        self.tokens = _joined(self.tokens, handed.tokens)
        if len(self.reads) < len(handed.reads):
            self.reads, handed.reads = handed.reads, self.reads
        for buffer, regions in handed.reads.items():
            self.reads[buffer] = _joined(self.reads.get(buffer, set()), regions)


def _joined(a: set[_T], b: set[_T]) -> set[_T]:
    smaller, larger = sorted((a, b), key=len)
    larger |= smaller
    return larger


def forward(kernel: Kernel) -> Kernel:
    index = indexed(kernel.body)
    finder = _Finder(index, Regions(kernel, index))
    handed = [(store, reader) for store in index.ops if store.name == "store" for reader in finder.readers(store)]
    if not handed:
        return kernel
    values: dict[Value, Value] = {}
    for store, _ in handed:
        _, tile, token = store.operands
        values[store.result] = token
        for user in index.used_by(store.result):
            if user.name == "load":
                values[user.result] = tile
    body = edit(kernel.body, replaced={store: () for store, _ in handed}, values=values)
    body = without_unused(body)
    left = {op.results[0] for op in indexed(body).ops if op.name == "alloc"}
    decisions = dict.fromkeys(_decision(index, store, reader) for store, reader in handed)
    return replace(
        kernel,
        body=body,
        decisions=(*kernel.decisions, *decisions),
        tiles=(*kernel.tiles, *_never_stored(index, handed, left)),
    )


def _decision(index: Index, store: Op, reader: Op) -> Decision:
    name = buffer_of(index, store.operands[0]).hint
    if (source := _turned(index, store)) is not None:
        choice = f"not stored: line {reader.line} reads `{source.hint}` transposed"
        return Decision(store.line, name, choice, f"it is `{source.hint}` with rows and columns swapped")
    choice = f"not stored: line {reader.line} takes each element as it is computed"
    return Decision(store.line, name, choice, "nothing else reads this value")


def _never_stored(index: Index, handed: Sequence[tuple[Op, Op]], left: set[Value]) -> list[Placement]:
    """The tiles that need no memory any more."""
    lines: dict[Value, list[int]] = {}
    turned: set[Value] = set()
    for store, reader in handed:
        buffer = buffer_of(index, store.operands[0])
        lines.setdefault(buffer, []).extend((store.line, reader.line))
        if _turned(index, store) is not None:
            turned.add(buffer)
    found = []
    for buffer, used in lines.items():
        if buffer not in left:
            alloc, mem = index.definition[buffer], buffer.type
            assert isinstance(mem, MemType)
            shape = tuple(n for n in mem.shape if n is not None)
            live = (min(used), max(used))
            name = str(alloc.attrs["name"])
            storage: Literal["view", "registers"] = "view" if buffer in turned else "registers"
            found.append(Placement(name, alloc.line, shape, mem.element, storage, 0, None, live))
    return found


class _Finder:
    """Looks at the stores in program order; a reader found takes over what the store's value holds."""

    def __init__(self, index: Index, regions: Regions) -> None:
        self._index = index
        self._regions = regions
        self._values: dict[Op, _Value] = {}
        self._trees: dict[Op, list[Node]] = {}
        self._readers: dict[Op, set[Op]] = {}
        for op in index.ops:
            if op.name == "store":
                self._trees[op] = tree = list(nodes(index, op.operands[1]))
                for node in tree:
                    self._readers.setdefault(node.op, set()).add(op)

    def readers(self, store: Op) -> list[Op]:
        """The stores that can compute the value of `store` themselves, none if that one has to be made."""
        value = self._value(store)
        loads = self._loads(store)
        if not loads:
            return []
        readers = sorted(
            set().union(*(self._readers.get(load, set()) for load in loads)), key=self._index.position.__getitem__
        )
        if any(self._index.block_of[reader] is not self._index.block_of[store] for reader in readers):
            return []
        again = _turned(self._index, store) is not None
        if not again and (len(readers) != 1 or not self._evaluates_once(readers[0], loads, value)):
            return []
        if not readers or not all(self._unchanged(store, reader, value) for reader in readers):
            return []
        for reader in readers:
            self._value(reader).take(value.copied() if again else value)
        return readers

    def _value(self, store: Op) -> _Value:
        if store not in self._values:
            value = self._values[store] = _Value()
            for node in self._trees[store]:
                op = node.op
                if OPS[op.name].anchor:
                    value.anchors.add(op)
                if OPS[op.name].effect == "read":
                    place = op.operands[0]
                    region = self._regions.of_view(place) if op.name == "load" else self._regions.whole(place)
                    value.tokens.add(op.operands[-1])
                    value.reads.setdefault(region.buffer, set()).add((node.own and node.anchor is None, region))
        return self._values[store]

    def _loads(self, store: Op) -> list[Op] | None:
        """The loads of what `store` wrote, if those and a store that overwrites all of it are all that follows."""
        if not self._regions.whole_allocation(store.operands[0]):
            return None
        loads = []
        for user in self._index.used_by(store.result):
            if user.name not in ("load", "store") or not self._regions.whole_allocation(user.operands[0]):
                return None
            if user.name == "load":
                if not _virtual(user.result):
                    return None
                loads.append(user)
        return loads

    def _evaluates_once(self, reader: Op, loads: Sequence[Op], value: _Value) -> bool:
        """Whether the reader would compute each element of the value once, with at most one anchor."""
        places = {(n.own, n.axes, n.anchor) for n in self._trees[reader] if n.op in loads}
        if len(places) != 1:
            return False
        ((own, axes, anchor),) = places
        if own:
            return not value.anchors or (len(value.anchors) == 1 and not self._value(reader).anchors)
        folded = anchor is not None and (anchor.name, axes) in (("reduce", (0, INNER)), ("cumsum", (INNER, 1)))
        return folded and not value.anchors

    def _unchanged(self, store: Op, reader: Op, value: _Value) -> bool:
        """Whether what the value reads is the same where the reader stands, the reader's own store included."""
        first, last = self._index.end[store] + 1, self._index.position[reader]
        if any(not value.tokens.isdisjoint(op.operands) for op in self._changing(value.tokens, first, last)):
            return False
        target = self._regions.of_view(reader.operands[0])
        return all(own and region == target for own, region in value.reads.get(target.buffer, ()))

    def _changing(self, tokens: set[Value], first: int, last: int) -> Iterator[Op]:
        """The ops at the positions from `first` to before `last` that may end the state of one of `tokens`."""
        ops: Iterable[Op] = self._index.ops[first:last]
        if len(tokens) < last - first:
            users = (op for token in tokens for op in self._index.used_by(token))
            ops = (op for op in users if first <= self._index.position[op] < last)
        return (op for op in ops if OPS[op.name].effect in ("write", "fence", "control"))


def _turned(index: Index, store: Op) -> Value | None:
    """The tile of which `store` writes nothing but all of it, transposed."""
    turned = index.defining(store.operands[1], "transpose")
    load = turned and index.defining(turned.operands[0], "load")
    buffer = load and buffer_of(index, load.operands[0])
    if not isinstance(buffer, Value) or buffer not in index.definition:
        return None
    assert load is not None
    mem, tile = buffer.type, load.result.type
    assert isinstance(mem, MemType)
    assert isinstance(tile, TileType)
    return buffer if mem.shape == tile.shape else None


def _virtual(tile: Value) -> bool:
    return isinstance(tile.type, TileType) and tile.type.layout is None
