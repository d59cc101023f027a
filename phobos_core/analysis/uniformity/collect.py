"""What grows while the rules read a kernel, and its scalar expressions.

In: an expression. Out: the nodes that it reads, in `uses`, and the operations inside it, in the order of evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from phobos_core.analysis import program as pg
from phobos_core.analysis.symbolic import Sym
from phobos_core.analysis.uniformity.events import Event, Operand, Operation, Read, Store
from phobos_core.analysis.uniformity.graph import START, Graph, Source, Use
from phobos_core.language.builtins import Scope
from phobos_core.language.context import CTX_FIELDS, Variation
from phobos_core.language.targets import LANES
from phobos_core.language.types import ScalarType
from phobos_core.syntax.ast import Span

ScalarRule: TypeAlias = "Callable[[Collector, Any], None]"


@dataclass(slots=True)
class Collector:
    """`region` is the control of what is being read, `load` the outermost load that it places."""

    graph: Graph = field(default_factory=Graph)
    nodes: dict[pg.Symbol, int] = field(default_factory=dict)
    views: dict[pg.Symbol, pg.BindView] = field(default_factory=dict)
    # The least and greatest value of an integer that is never assigned, where they are known.
    ranges: dict[pg.Symbol, tuple[int, int]] = field(default_factory=dict)
    region: int = START
    load: Span | None = None
    uses: list[Use] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    # The region of the blocks of each `if`, `for` and `while`, by identity.
    controls: dict[int, int] = field(default_factory=dict)

    def root(self, symbol: pg.Symbol) -> pg.Symbol:
        """The buffer that a view leads to; a tile or a tensor is one itself."""
        while symbol in self.views:
            symbol = self.views[symbol].place.root
        return symbol


def scalar(c: Collector, expr: pg.Expr) -> None:
    rule = SCALARS.get(type(expr))
    if rule is not None:  # a constant has none
        rule(c, expr)


def uses_of(c: Collector, *exprs: pg.Expr) -> list[Use]:
    """What some expressions read, apart from what is being read around them."""
    outer, c.uses = c.uses, []
    for expr in exprs:
        scalar(c, expr)
    found, c.uses = c.uses, outer
    return found


def operand(c: Collector, expr: pg.Expr, op: Operation, *, offset: bool = False) -> None:
    """`expr` is an operand of an operation of the CTA."""
    outer, c.load = c.load, None
    uses = uses_of(c, expr)
    c.load = outer
    if uses:
        op.operands.append(Operand(expr.span, uses, offset))


def address(c: Collector, place: pg.Place) -> None:
    """Reads the subscripts of one element, or of a thread's run."""
    for axis in place.axes or ():
        scalar(c, axis.start)


def _read(c: Collector, expr: pg.ScalarRead) -> None:
    node = c.nodes.get(expr.symbol)
    if node is not None:
        c.uses.append(Use(node, expr.span, c.load))


def _ctx(c: Collector, expr: pg.CtxRead) -> None:
    variation = CTX_FIELDS[expr.field].variation
    if variation:
        _source(c, expr.span, f"ctx.{expr.field}", "", variation)


def _source(c: Collector, span: Span, text: str, gives: str, variation: Variation) -> None:
    c.uses.append(Use(c.graph.source(Source(text, gives), variation), span, c.load))


def _loaded(c: Collector, expr: pg.Load | pg.RunElement | pg.Elem | pg.Word) -> None:
    outer = c.load
    if outer is None:
        c.load = expr.place.span
    address(c, expr.place)
    c.load = outer


def _one(c: Collector, expr: pg.Convert | pg.Unary | pg.RunSum) -> None:
    scalar(c, expr.operand)


def _two(c: Collector, expr: pg.Binary | pg.Compare) -> None:
    scalar(c, expr.lhs)
    scalar(c, expr.rhs)


def _select(c: Collector, expr: pg.Select) -> None:
    scalar(c, expr.condition)
    scalar(c, expr.then)
    scalar(c, expr.orelse)


def _several(c: Collector, expr: pg.Math | pg.Bits) -> None:
    for arg in expr.args:
        scalar(c, arg)


def _collective(c: Collector, expr: pg.Collective) -> None:
    """Every thread of the group gets the fold, whatever went into it; but another function in each lane is none."""
    uses_of(c, expr.value)
    of_lanes = expr.group == "lane"
    scope = Scope.WARP if of_lanes else Scope.CTA
    c.operations.append(Operation(expr.op, expr.span, c.region, scope))
    if of_lanes:
        whole = _whole_warp(expr.width)
        gives = f"gives each {'warp' if whole else 'piece of a warp'} a value of its own"
        _source(c, expr.span, expr.op, gives, Variation.WARP_UNIFORM if whole else Variation.VARYING)
    if expr.combine is not None:
        scalar(c, expr.combine.value)


def _whole_warp(width: Sym | None) -> bool:
    return width is None or width.constant == LANES


def _shuffle(c: Collector, expr: pg.Shuffle) -> None:
    source = uses_of(c, expr.source)
    uses_of(c, expr.value)
    c.operations.append(Operation("shfl", expr.span, c.region, Scope.WARP))
    if expr.mode == "from" and _whole_warp(expr.width) and _in_range(c, expr.source):
        # All lanes read one lane, where they agree on which.
        c.uses += source
        _source(c, expr.span, "shfl", "gives each warp a value of its own", Variation.WARP_UNIFORM)
    else:
        _source(c, expr.span, "shfl", "gives each lane a value of its own", Variation.VARYING)


def _in_range(c: Collector, source: pg.Expr) -> bool:
    """Whether a source lane surely is one of the warp: outside it, each lane reads its own value."""
    low, high = bounds(c, source)
    return low >= 0 and high < LANES


FAR = 1 << 64


def bounds(c: Collector, expr: pg.Expr) -> tuple[int, int]:
    """The least and the greatest value of an integer, as far as the expression itself says."""
    rule = BOUNDS.get(type(expr))
    return (-FAR, FAR) if rule is None else rule(c, expr)


def _constant(c: Collector, expr: pg.Const) -> tuple[int, int]:
    value = expr.value
    return (value, value) if isinstance(value, int) else (-FAR, FAR)


def _symbolic(c: Collector, expr: pg.SymConst) -> tuple[int, int]:
    value = expr.value.constant
    return (-FAR, FAR) if value is None else (value, value)


def _range(c: Collector, expr: pg.ScalarRead) -> tuple[int, int]:
    return c.ranges.get(expr.symbol, (-FAR, FAR))


def _field(c: Collector, expr: pg.CtxRead) -> tuple[int, int]:
    return 0, LANES - 1 if expr.field == "lane" else FAR


def _lane(c: Collector, expr: pg.Collective) -> tuple[int, int]:
    return (0, LANES - 1) if expr.op == "argmax" and expr.group == "lane" else (-FAR, FAR)


def _widened(c: Collector, expr: pg.Convert) -> tuple[int, int]:
    type_ = expr.type
    wide = isinstance(type_, ScalarType) and type_.is_integer and type_.bits >= 32
    return bounds(c, expr.operand) if wide else (-FAR, FAR)


def _masked(c: Collector, expr: pg.Binary) -> tuple[int, int]:
    if expr.op == "&":
        masks = [high for low, high in (bounds(c, expr.lhs), bounds(c, expr.rhs)) if low >= 0]
        return (0, min(masks)) if masks else (-FAR, FAR)
    if expr.op == "%":
        (low, _), (least, most) = bounds(c, expr.lhs), bounds(c, expr.rhs)
        return (0 if low >= 0 else 1 - most, most - 1) if least > 0 else (-FAR, FAR)
    return -FAR, FAR


BOUNDS: Mapping[type, Callable[[Collector, Any], tuple[int, int]]] = {
    pg.Const: _constant,
    pg.SymConst: _symbolic,
    pg.ScalarRead: _range,
    pg.CtxRead: _field,
    pg.Collective: _lane,
    pg.Convert: _widened,
    pg.Binary: _masked,
}


def _atomic(c: Collector, expr: pg.Atomic) -> None:
    op = Operation(expr.op, expr.span, c.region, Scope.CTA)
    for axis in expr.place.axes or ():
        operand(c, axis.start, op)
    for arg in expr.args:
        operand(c, arg, op)
    c.operations.append(op)


def _sync(c: Collector, expr: pg.Sync) -> None:
    c.operations.append(Operation(expr.op, expr.span, c.region, Scope.CTA, barrier=True))


def _warp_partial(c: Collector, expr: pg.WarpPartial) -> None:
    op = Operation("warp_partial", expr.span, c.region, Scope.CTA)
    op.reads += [Read(place.root, place.span) for place in (expr.q, expr.keys, expr.values)]
    for arg in (expr.lo, expr.hi, expr.col, expr.scale):
        operand(c, arg, op)
    c.operations.append(op)


SCALARS: Mapping[type, ScalarRule] = {
    pg.ScalarRead: _read,
    pg.CtxRead: _ctx,
    pg.Load: _loaded,
    pg.RunElement: _loaded,
    pg.Elem: _loaded,
    pg.Word: _loaded,
    pg.Convert: _one,
    pg.Unary: _one,
    pg.RunSum: _one,
    pg.Binary: _two,
    pg.Compare: _two,
    pg.Select: _select,
    pg.Math: _several,
    pg.Bits: _several,
    pg.Collective: _collective,
    pg.Shuffle: _shuffle,
    pg.Atomic: _atomic,
    pg.Sync: _sync,
    pg.WarpPartial: _warp_partial,
}
