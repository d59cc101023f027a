"""What differs between threads because of what: a graph from the sources of variation to all that they reach.

A node is a scalar symbol, a region of control, a jump, or a source (`ctx.lane`, a shuffle). An edge says that its
target is at least as varying as its origin. `spread` follows the edges from the varying sources, then from the
warp-uniform ones, so each node gets the largest kind that reaches it, along a shortest path: its chain of reasons.
That is the fixpoint over loops too, in time linear in the edges.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, TypeAlias

from phobos_core.analysis.program import Symbol
from phobos_core.language.context import Variation
from phobos_core.syntax.ast import Span


class Source(NamedTuple):
    """What makes values differ by itself: `text` names it, and `gives` is what a reason says of it."""

    text: str
    gives: str


class Use(NamedTuple):
    """An expression reads a node at `span`; `load` is the outermost load whose address the read is a part of."""

    node: int
    span: Span
    load: Span | None


class Link(Enum):
    """How a node takes over the variation of the one before it."""

    VALUE = "its value"
    BOUND = "a bound of its loop"
    CONDITION = "its condition"
    ASSIGNED = "the control that it is assigned under"
    JUMP = "where the jump stands"
    INSIDE = "what it is inside of"


class Cause(NamedTuple):
    """An edge, seen from its target. `use` is there for a value, a bound and a condition."""

    origin: int
    link: Link
    span: Span
    use: Use | None


Label: TypeAlias = Symbol | Source | None

# The control that a kernel starts under: every thread is there.
START = 0
NOWHERE = Span(0, 0)


@dataclass(slots=True)
class Graph:
    labels: list[Label] = field(default_factory=lambda: [None])
    levels: list[Variation] = field(default_factory=lambda: [Variation.UNIFORM])
    causes: list[Cause | None] = field(default_factory=lambda: [None])
    # The first node on the way from the source, and the last one that is not just inside another.
    firsts: list[int] = field(default_factory=lambda: [START])
    decisive: list[int] = field(default_factory=lambda: [START])
    edges: list[list[tuple[int, Link, Span, Use | None]]] = field(default_factory=lambda: [[]])
    sources: dict[tuple[Source, Variation], int] = field(default_factory=dict)

    def node(self, label: Label = None) -> int:
        self.labels.append(label)
        self.levels.append(Variation.UNIFORM)
        self.causes.append(None)
        self.firsts.append(START)
        self.decisive.append(START)
        self.edges.append([])
        return len(self.labels) - 1

    def source(self, source: Source, variation: Variation) -> int:
        known = self.sources.get((source, variation))
        if known is None:
            known = self.sources[source, variation] = self.node(source)
        return known

    def inside(self, origin: int, target: int) -> None:
        if origin != START:
            self.edges[origin].append((target, Link.INSIDE, NOWHERE, None))

    def linked(self, origin: int, target: int, link: Link, span: Span) -> None:
        if origin != START:
            self.edges[origin].append((target, link, span, None))

    def used(self, uses: list[Use], target: int, link: Link, span: Span) -> None:
        edges = self.edges
        for use in uses:
            edges[use.node].append((target, link, span, use))

    def spread(self) -> None:
        for level in (Variation.VARYING, Variation.WARP_UNIFORM):
            self._spread(level, deque(node for (_, variation), node in self.sources.items() if variation is level))

    def _spread(self, level: Variation, reached: deque[int]) -> None:
        levels, causes, firsts, decisive = self.levels, self.causes, self.firsts, self.decisive
        for node in reached:
            levels[node] = level
        while reached:
            origin = reached.popleft()
            for target, link, span, use in self.edges[origin]:
                if not levels[target]:
                    levels[target] = level
                    causes[target] = Cause(origin, link, span, use)
                    firsts[target] = firsts[origin] or target
                    decisive[target] = decisive[origin] if link is Link.INSIDE else target
                    reached.append(target)

    def decision(self, region: int) -> tuple[int, Cause]:
        """What decides that the control of a region differs: a condition, a bound or a jump, of the node in which it
        does."""
        node = self.decisive[region]
        cause = self.causes[node]
        assert cause is not None
        return node, cause

    def worst(self, uses: list[Use]) -> Use | None:
        """The first of the uses that differ the most; None where all are uniform."""
        found: Use | None = None
        most = Variation.UNIFORM
        for use in uses:
            if self.levels[use.node] > most:
                found, most = use, self.levels[use.node]
        return found
