"""A kernel as its rules see it: the operations that threads do together, and the control between them.

Scalar statements leave nothing here but edges in the graph. A block is a sequence of events in the order of the source.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from phobos_core.analysis import program as pg
from phobos_core.analysis.uniformity.graph import Use
from phobos_core.language.builtins import Scope
from phobos_core.syntax.ast import Span


class Read(NamedTuple):
    """Memory that an operation reads for the whole CTA, and where that is written."""

    root: pg.Symbol
    span: Span


class Operand(NamedTuple):
    """A scalar that an operation takes, which must be uniform. `offset` says that it places a slice."""

    span: Span
    uses: list[Use]
    offset: bool


@dataclass(slots=True, eq=False)
class Operation:
    """`name` is how messages call it, `region` the control that it runs under, `scope` who must reach it.

    `barrier` says that per-thread stores before it have landed after it."""

    name: str
    span: Span
    region: int
    scope: Scope
    operands: list[Operand] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    barrier: bool = False


@dataclass(slots=True, eq=False)
class Store:
    """A store to a point or a run: per thread where `run`, or where one of `uses` or the control is not uniform."""

    stmt: pg.StorePoint | pg.StoreRun
    uses: list[Use]
    region: int


@dataclass(slots=True, eq=False)
class Step:
    """One statement without its blocks: its operations in the order of evaluation, then its store."""

    operations: list[Operation]
    store: Store | None = None


@dataclass(slots=True, eq=False)
class Declared:
    """A tile begins to live: what was stored to it in an earlier iteration is gone."""

    symbol: pg.Symbol


@dataclass(slots=True, eq=False)
class Branch:
    then: list[Event]
    orelse: list[Event]


@dataclass(slots=True, eq=False)
class Loop:
    """`test` runs before every iteration, and `sure` says that there is at least one; an endless loop is only left by
    a jump."""

    test: Step | None
    body: list[Event]
    sure: bool
    endless: bool


@dataclass(slots=True, eq=False)
class Leave:
    kind: Literal["break", "continue", "return"]


Event: TypeAlias = Step | Declared | Branch | Loop | Leave
