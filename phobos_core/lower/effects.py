"""Which buffers an expression or statement may change or let others' changes be seen in, besides what it stores itself.

A barrier takes the tokens of what single threads store to, since another thread's store may be seen only after it; a
barrier of the grid also those of every tensor that the kernel stores to, which other blocks change; an acquired flag
those of all tensors, which the host may have written. So no pass moves an access across one that matters to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import get_args

from phobos_core.analysis import program as p
from phobos_core.analysis.walk import Node, walk

_BODIES = {"then", "orelse", "body"}
_PARTS = (*get_args(p.Expr), p.Place)
_EFFECTS = (p.Atomic, p.Sync, p.WarpPartial)


@dataclass(frozen=True, slots=True)
class Effects:
    """Of one kernel. `roots` has the tensor or tile below each view; `pointwise` what threads store to on their own,
    `stored` the tensors that are stored to in any way, `tensors` all of them. `any`: whether there are any effects."""

    roots: Mapping[p.Symbol, p.Symbol]
    pointwise: tuple[p.Symbol, ...]
    stored: tuple[p.Symbol, ...]
    tensors: tuple[p.Symbol, ...]
    any: bool
    _known: dict[int, tuple[p.Symbol, ...]] = field(default_factory=dict)

    def root(self, symbol: p.Symbol) -> p.Symbol:
        return self.roots.get(symbol, symbol)

    def fenced(self, node: p.Atomic | p.Sync | p.WarpPartial) -> tuple[p.Symbol, ...]:
        """The buffers whose tokens the node supersedes."""
        match node:
            case p.Sync(op="barrier"):
                return self.pointwise
            case p.Atomic(op="load_acquire"):
                return tuple(dict.fromkeys((*self.pointwise, *self.tensors)))
            case p.WarpPartial():
                places = (node.maxima, node.sums, node.accumulators)
                return tuple(dict.fromkeys((*self.pointwise, *(self.root(place.root) for place in places))))
            case _:
                return tuple(dict.fromkeys((*self.pointwise, *self.stored)))

    def of_expressions(self, stmt: p.Stmt) -> tuple[p.Symbol, ...]:
        """What the statement's own expressions supersede, those of its blocks not included."""
        if not self.any:
            return ()
        if id(stmt) not in self._known:
            self._known[id(stmt)] = self.of(list(_own(stmt)))
        return self._known[id(stmt)]

    def of(self, exprs: Sequence[Node]) -> tuple[p.Symbol, ...]:
        if not self.any:
            return ()
        nodes = (node for node in walk(exprs) if isinstance(node, _EFFECTS))
        return tuple(dict.fromkeys(symbol for node in nodes for symbol in self.fenced(node)))


NO_EFFECTS = Effects({}, (), (), (), any=False)


def effects_of(kernel: p.CheckedKernel, roots: Mapping[p.Symbol, p.Symbol]) -> Effects:
    pointwise: dict[p.Symbol, None] = {}
    stored: dict[p.Symbol, None] = {}
    found = False
    for node in walk(kernel.body):
        place: p.Place | None = None
        match node:
            case p.StoreTile():
                stored[roots.get(node.place.root, node.place.root)] = None
            case p.StorePoint(per_thread=False):
                stored[roots.get(node.place.root, node.place.root)] = None
            case p.StorePoint() | p.StoreRun():
                place = node.place
            case p.Atomic(op=op):
                place, found = node.place if op != "load_acquire" else None, True
            case p.Sync():
                place, found = node.bar, True
            case p.WarpPartial():
                found = True
            case _:
                pass
        if place is not None:
            pointwise[roots.get(place.root, place.root)] = None
    tensors = tuple(s for s in kernel.params if isinstance(s.type, p.TensorType))
    stored |= pointwise
    return Effects(roots, tuple(pointwise), tuple(s for s in tensors if s in stored), tensors, found)


def _own(stmt: p.Stmt) -> Iterator[Node]:
    for each in fields(stmt):
        value = getattr(stmt, each.name)
        if each.name not in _BODIES:
            yield from (v for v in (value if isinstance(value, tuple) else (value,)) if isinstance(v, _PARTS))
