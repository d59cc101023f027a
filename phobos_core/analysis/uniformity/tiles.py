"""Tile values as operations: which one a part of an expression belongs to, what it takes and what it reads.

An element-wise tree is one operation, `tile expression`. A slice or tile that nothing is computed from belongs to what
takes it: the built-in, the store, or a `tile copy`. Reductions, contractions and the like inside a tree are operations
of their own, which come first.
"""

from __future__ import annotations

from phobos_core.analysis import program as pg
from phobos_core.analysis.uniformity.collect import Collector, operand
from phobos_core.analysis.uniformity.events import Operation, Read
from phobos_core.language.builtins import Scope
from phobos_core.syntax.ast import Span

COPY, EXPRESSION, STORE = "tile copy", "tile expression", "tile store"


def is_tile(expr: pg.Expr) -> bool:
    return type(expr.type) is pg.TileType


def as_written(expr: pg.Expr) -> pg.Expr:
    """Without the conversions that the source does not spell."""
    while isinstance(expr, pg.Convert) and expr.span.own == expr.operand.span.own:
        expr = expr.operand
    return expr


def begin(c: Collector, name: str, span: Span) -> Operation:
    return Operation(name, span, c.region, Scope.CTA)


def value(c: Collector, expr: pg.Expr) -> None:
    """A whole tile value, as a `var` takes it."""
    core = as_written(expr)
    if isinstance(core, pg.TileRead):
        op = begin(c, COPY, core.span)
        memory(c, core.place, core.span, op)
        c.operations.append(op)
    elif isinstance(core, (pg.Reduce, pg.Shape, pg.Gather, pg.Contract)):
        _anchor(c, core)
    else:
        op = begin(c, EXPRESSION, core.span)
        elements(c, core, op)
        c.operations.append(op)


def memory(c: Collector, place: pg.Place, span: Span, op: Operation) -> None:
    """An operation reads a tile or slice."""
    op.reads.append(Read(place.root, span))
    offsets(c, place, op)


def offsets(c: Collector, place: pg.Place, op: Operation) -> None:
    for axis in place.axes or ():
        operand(c, axis.start, op, offset=True)
        if axis.length is not None:
            operand(c, axis.length, op, offset=True)


def elements(c: Collector, expr: pg.Expr, op: Operation) -> None:
    """An element-wise tree, down to the memory, scalars and other operations that it is made of."""
    if not is_tile(expr):
        operand(c, expr, op)
        return
    match expr:
        case pg.TileRead():
            memory(c, expr.place, expr.span, op)
        case pg.Convert() | pg.Unary():
            elements(c, expr.operand, op)
        case pg.Binary() | pg.Compare():
            elements(c, expr.lhs, op)
            elements(c, expr.rhs, op)
        case pg.Select():
            elements(c, expr.condition, op)
            elements(c, expr.then, op)
            elements(c, expr.orelse, op)
        case pg.Math():
            for arg in expr.args:
                elements(c, arg, op)
        case pg.Reduce() | pg.Shape() | pg.Gather() | pg.Contract():
            _anchor(c, expr)


def _anchor(c: Collector, expr: pg.Reduce | pg.Shape | pg.Gather | pg.Contract) -> None:
    match expr:
        case pg.Reduce() | pg.Shape():
            op = begin(c, expr.op, expr.span)
            _argument(c, expr.operand, op)
        case pg.Gather():
            op = begin(c, "gather", expr.span)
            memory(c, expr.table, expr.table.span, op)
            _argument(c, expr.indices, op)
        case pg.Contract():
            op = begin(c, expr.op, expr.span)
            _argument(c, expr.lhs, op)
            _argument(c, expr.rhs, op)
    c.operations.append(op)


def _argument(c: Collector, expr: pg.Expr, op: Operation) -> None:
    core = as_written(expr)
    if isinstance(core, pg.TileRead):
        memory(c, core.place, core.span, op)
    elif is_tile(core):
        value(c, core)
    else:
        operand(c, core, op)
