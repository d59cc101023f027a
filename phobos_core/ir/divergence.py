"""Which scalars differ between the threads of a CTA, and where threads go different ways.

In: a kernel's body. Out: a `Divergence`. The ops themselves say nothing of it: each thread runs them on its own. But
whatever assumes that all threads see one value, or come to one place, asks here: who stores a point, where a barrier
may stand, when two addresses are known to be apart.

A value differs where it comes from the thread's number, from an exchange of lanes, from memory at an index that
differs, or from control that does; but not where it is said to be the same (`uniform`). The sets grow until nothing
changes, through loops as often as that takes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from phobos_core.ir.module import Block, Op, Value
from phobos_core.ir.rewrite import Index, walk
from phobos_core.ir.types import RunType
from phobos_core.language.types import ScalarType

_THREAD = {"thread", "warp", "lane"}
_EXCHANGES = {"shuffle", "vote", "ballot", "redux"}


@dataclass(frozen=True, slots=True)
class Divergence:
    """`values` differ between threads. `splits` are the loops and branches that not all threads take alike."""

    values: frozenset[Value] = frozenset()
    splits: frozenset[Op] = frozenset()

    def around(self, index: Index, op: Op) -> Op | None:
        """The outermost split around `op`, itself included: where threads were last all together. None: they are."""
        found = op if op in self.splits else None
        for outer in index.ancestors(op):
            if outer in self.splits:
                found = outer
        return found


@lru_cache(maxsize=2)
def divergence(body: Block) -> Divergence:
    if not any(_begins(op) for op in walk(body)):
        return Divergence()
    analysis = _Analysis()
    analysis.block(body)
    return Divergence(frozenset(analysis.values), frozenset(analysis.splits))


def _begins(op: Op) -> bool:
    return op.name in _EXCHANGES or (op.name == "ctx" and op.attrs["field"] in _THREAD)


class _Analysis:
    """`values` and `splits` so far."""

    def __init__(self) -> None:
        self.values: set[Value] = set()
        self.splits: set[Op] = set()

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.op(op)

    def op(self, op: Op) -> None:
        if op.regions:
            self.control(op)
        elif _begins(op):
            self.values.update(op.results)
        elif op.name != "uniform" and not self.values.isdisjoint(op.operands):
            self.values.update(v for v in op.results if isinstance(v.type, ScalarType | RunType))

    def control(self, op: Op) -> None:
        while not self.once(op):
            pass

    def once(self, op: Op) -> bool:
        """The op and what is in it, once around; whether another time would find no more."""
        differed = [0] * len(op.regions)
        head = {"for": 3, "while": 0, "if": 1}[op.name]
        carried = op.operands[head:]
        if op.name == "for":
            if not self.values.isdisjoint(op.operands[:3]):
                self.splits.add(op)
                self.values.add(op.regions[0].args[0])
            if any(op.regions[0].args[1 + n] in self.values for n in op.attrs.get("until", ())):
                self.splits.add(op)
        if op.name == "if" and op.operands[0] in self.values:
            self.splits.add(op)
        for number, region in enumerate(op.regions):
            args = region.args[1:] if op.name == "for" else region.args
            self.join(args, carried)
            differed[number] = self.differing(region)
            self.block(region)
            *_, end = region.ops
            given = end.operands
            if op.name == "while" and region is op.regions[0]:
                if given[0] in self.values:
                    self.splits.add(op)
                given = given[1:]
            if op.name != "if":
                for other in op.regions:
                    self.join(other.args[1:] if op.name == "for" else other.args, given)
            self.join(op.results, given)
        if op in self.splits:
            self.values.update(self.changed(op))
        # What is inside depends on what its arguments are.
        return differed == [self.differing(region) for region in op.regions]

    def differing(self, region: Block) -> int:
        return sum(arg in self.values for arg in region.args)

    def join(self, targets: Iterable[Value], sources: Iterable[Value]) -> None:
        self.values.update(
            t for t, s in zip(targets, sources, strict=True) if s in self.values and isinstance(t.type, ScalarType)
        )

    def changed(self, op: Op) -> Iterable[Value]:
        """The results of a split that depend on which way a thread took."""
        ends = [region.ops[-1].operands for region in op.regions]
        if op.name == "while":
            ends[0] = ends[0][1:]
        for number, result in enumerate(op.results):
            if not isinstance(result.type, ScalarType):
                continue
            given = {end[number] for end in ends}
            if op.name != "if":
                given -= {region.args[-len(op.results) :][number] for region in op.regions}
            if len(given) > (1 if op.name == "if" else 0):
                yield result
