"""The statements of a kernel: edges of the graph for what they assign, events for what the rules are about.

A rule returns where control may leave a statement other than at its end: a node for each kind of jump inside it. What
follows runs under control as varying as those jumps'.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from phobos_core.analysis import program as pg
from phobos_core.analysis.uniformity.collect import Collector, address, bounds, operand, scalar, uses_of
from phobos_core.analysis.uniformity.events import Branch, Declared, Event, Leave, Loop, Operation, Step, Store
from phobos_core.analysis.uniformity.graph import Link, Use
from phobos_core.analysis.uniformity.tiles import (
    COPY,
    EXPRESSION,
    STORE,
    as_written,
    begin,
    elements,
    is_tile,
    memory,
    offsets,
    value,
)
from phobos_core.language.builtins import Scope

Jumps: TypeAlias = dict[str, int]
StatementRule: TypeAlias = "Callable[[Collector, Any], Jumps | None]"


def block(c: Collector, body: tuple[pg.Stmt, ...]) -> Jumps:
    """The statements of a block, which leave the region as they found it."""
    region = c.region
    jumps: Jumps = {}
    for stmt in body:
        left = STATEMENTS[type(stmt)](c, stmt)
        if not left:
            continue
        rest = c.graph.node()
        c.graph.inside(c.region, rest)
        for kind, node in left.items():
            c.graph.inside(node, rest)
            jumps[kind] = node if kind not in jumps else _either(c, jumps[kind], node)
        c.region = rest
    c.region = region
    return jumps


def _either(c: Collector, first: int, second: int) -> int:
    node = c.graph.node()
    c.graph.inside(first, node)
    c.graph.inside(second, node)
    return node


def _inner(c: Collector, body: tuple[pg.Stmt, ...]) -> tuple[list[Event], Jumps]:
    outer, c.events = c.events, []
    jumps = block(c, body)
    events, c.events = c.events, outer
    return events, jumps


def _step(c: Collector, store: Store | None = None) -> Step | None:
    """What a statement, or its head, leaves for the rules."""
    if store is None and not c.operations:
        return None
    step = Step(c.operations, store)
    c.operations = []
    return step


def _end(c: Collector, store: Store | None = None) -> None:
    step = _step(c, store)
    if step is not None:
        c.events.append(step)


# Scalars.


def _bind(c: Collector, stmt: pg.BindScalar) -> None:
    uses = uses_of(c, stmt.value)
    if stmt.symbol.mutable:
        _assigned(c, stmt, uses)
    elif uses:
        node = c.nodes[stmt.symbol] = c.graph.node(stmt.symbol)
        c.graph.used(uses, node, Link.VALUE, stmt.span)
    if not stmt.symbol.mutable and stmt.symbol.type.is_integer:  # type: ignore[union-attr]
        c.ranges[stmt.symbol] = bounds(c, stmt.value)
    _end(c)


def _assign(c: Collector, stmt: pg.AssignScalar) -> None:
    _assigned(c, stmt, uses_of(c, stmt.value))
    _end(c)


def _assigned(c: Collector, stmt: pg.BindScalar | pg.AssignScalar, uses: list[Use]) -> None:
    """A `var` is as varying as what is assigned to it, and as the control that this happens under."""
    node = c.nodes.get(stmt.symbol)
    if node is None:
        node = c.nodes[stmt.symbol] = c.graph.node(stmt.symbol)
    c.graph.used(uses, node, Link.VALUE, stmt.span)
    c.graph.linked(c.region, node, Link.ASSIGNED, stmt.span)


def _eval(c: Collector, stmt: pg.Eval) -> None:
    uses_of(c, stmt.value)
    _end(c)


# Memory.


def _store_point(c: Collector, stmt: pg.StorePoint) -> None:
    outer, c.uses = c.uses, []
    address(c, stmt.place)
    scalar(c, stmt.value)
    uses, c.uses = c.uses, outer
    _end(c, _stored(c, stmt, uses))


def _store_run(c: Collector, stmt: pg.StoreRun) -> None:
    outer, c.uses = c.uses, []
    address(c, stmt.place)
    for item in stmt.values:
        scalar(c, item)
    uses, c.uses = c.uses, outer
    _end(c, _stored(c, stmt, uses))


def _stored(c: Collector, stmt: pg.StorePoint | pg.StoreRun, uses: list[Use]) -> Store:
    store = Store(stmt, uses, c.region)
    c.stores.append(store)
    return store


def _bind_view(c: Collector, stmt: pg.BindView) -> None:
    """Nothing is read yet, so any control will do; but a slice at a per-thread offset is not a tile."""
    c.views[stmt.symbol] = stmt
    op = Operation(COPY, stmt.place.span, c.region, Scope.THREAD)
    offsets(c, stmt.place, op)
    if op.operands:
        c.operations.append(op)
    _end(c)


def _declare(c: Collector, stmt: pg.DeclareTile) -> None:
    if stmt.value is not None:
        _filled(c, stmt.value)
    _end(c)
    c.events.append(Declared(stmt.symbol))


def _filled(c: Collector, expr: pg.Expr) -> None:
    """The value of a whole tile."""
    if is_tile(expr):
        value(c, expr)
    else:
        op = begin(c, EXPRESSION, expr.span)
        operand(c, expr, op)
        c.operations.append(op)


def _store_tile(c: Collector, stmt: pg.StoreTile) -> None:
    core, place = as_written(stmt.value), stmt.place
    if stmt.accumulate:
        op = begin(c, EXPRESSION, stmt.span)
        memory(c, place, place.span, op)
        elements(c, core, op)
        c.operations.append(op)
    elif place.axes is None:
        _filled(c, core)
    else:
        op = begin(c, STORE, stmt.span)
        offsets(c, place, op)
        if isinstance(core, pg.TileRead) and core.place.axes is None:
            memory(c, core.place, core.span, op)
        elif is_tile(core):
            value(c, core)
        else:
            operand(c, core, op)
        c.operations.append(op)
    _end(c)


# Control.


def _if(c: Collector, stmt: pg.If) -> Jumps:
    uses = uses_of(c, stmt.condition)
    _end(c)
    outer = c.region
    c.region = c.controls[id(stmt)] = _region(c, outer)
    c.graph.used(uses, c.region, Link.CONDITION, stmt.condition.span)
    then, jumps = _inner(c, stmt.then)
    orelse, others = _inner(c, stmt.orelse)
    c.region = outer
    for kind, node in others.items():
        jumps[kind] = node if kind not in jumps else _either(c, jumps[kind], node)
    if then or orelse:
        c.events.append(Branch(then, orelse))
    return jumps


def _for(c: Collector, stmt: pg.For) -> Jumps:
    outer = c.region
    region = c.controls[id(stmt)] = _region(c, outer)
    node = None
    for bound in (stmt.lo, stmt.hi, stmt.step):
        uses = uses_of(c, bound)
        if uses:
            if node is None:
                node = c.nodes[stmt.symbol] = c.graph.node(stmt.symbol)
            c.graph.used(uses, node, Link.BOUND, bound.span)
            c.graph.used(uses, region, Link.BOUND, bound.span)
    _end(c)
    (low, most), (least, high) = bounds(c, stmt.lo), bounds(c, stmt.hi)
    if bounds(c, stmt.step)[0] > 0:
        c.ranges[stmt.symbol] = (low, high - 1)
    c.region = region
    body, jumps = _inner(c, stmt.body)
    c.region = outer
    return _looped(c, Loop(None, body, most < least, False), region, jumps)


def _while(c: Collector, stmt: pg.While) -> Jumps:
    outer = c.region
    region = c.region = c.controls[id(stmt)] = _region(c, outer)
    # The second test is reached by those that passed the first, so the test itself runs under the loop's control.
    c.graph.used(uses_of(c, stmt.condition), region, Link.CONDITION, stmt.condition.span)
    test = _step(c)
    body, jumps = _inner(c, stmt.body)
    c.region = outer
    endless = isinstance(stmt.condition, pg.Const) and stmt.condition.value is True
    return _looped(c, Loop(test, body, endless, endless), region, jumps)


def _looped(c: Collector, loop: Loop, region: int, jumps: Jumps) -> Jumps:
    """Who has left a loop is missing in every iteration that follows; who continues is back in the next one."""
    for kind in ("break", "return"):
        if kind in jumps:
            c.graph.inside(jumps[kind], region)
    if loop.body or loop.test:
        c.events.append(loop)
    return {"return": jumps["return"]} if "return" in jumps else {}


def _region(c: Collector, outer: int) -> int:
    region = c.graph.node()
    c.graph.inside(outer, region)
    return region


def _jump(c: Collector, stmt: pg.Jump) -> Jumps:
    node = c.graph.node()
    c.graph.linked(c.region, node, Link.JUMP, stmt.span)
    c.events.append(Leave(stmt.kind))
    return {stmt.kind: node}


STATEMENTS: Mapping[type, StatementRule] = {
    pg.BindScalar: _bind,
    pg.AssignScalar: _assign,
    pg.Eval: _eval,
    pg.StorePoint: _store_point,
    pg.StoreRun: _store_run,
    pg.BindView: _bind_view,
    pg.DeclareTile: _declare,
    pg.StoreTile: _store_tile,
    pg.If: _if,
    pg.For: _for,
    pg.While: _while,
    pg.Jump: _jump,
}


def collect(body: tuple[pg.Stmt, ...]) -> Collector:
    c = Collector()
    block(c, body)
    return c
