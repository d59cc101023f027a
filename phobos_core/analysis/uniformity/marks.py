"""The program with what was inferred written on it, for those who run or lower it.

In: the statements of a kernel. Out: the same, with `per_thread` on each store and `control` on each `if` and loop.
"""

from __future__ import annotations

from dataclasses import replace

from phobos_core.analysis import program as pg
from phobos_core.analysis.uniformity.buffers import per_thread
from phobos_core.analysis.uniformity.collect import Collector
from phobos_core.language.context import Variation


def marked(c: Collector, body: tuple[pg.Stmt, ...]) -> tuple[pg.Stmt, ...]:
    stores = {id(store.stmt) for store in c.stores if per_thread(c, store)}
    return _block(c, stores, body)


def _block(c: Collector, stores: set[int], body: tuple[pg.Stmt, ...]) -> tuple[pg.Stmt, ...]:
    return tuple([_statement(c, stores, stmt) for stmt in body])


def _statement(c: Collector, stores: set[int], stmt: pg.Stmt) -> pg.Stmt:
    match stmt:
        case pg.StorePoint() if id(stmt) in stores:
            return replace(stmt, per_thread=True)
        case pg.If():
            then, orelse = _block(c, stores, stmt.then), _block(c, stores, stmt.orelse)
            return pg.If(stmt.span, stmt.condition, then, orelse, _control(c, stmt))
        case pg.For(span, symbol, lo, hi, step, unroll, body):
            return pg.For(span, symbol, lo, hi, step, unroll, _block(c, stores, body), _control(c, stmt))
        case pg.While(span, condition, body):
            return pg.While(span, condition, _block(c, stores, body), _control(c, stmt))
    return stmt


def _control(c: Collector, stmt: pg.If | pg.For | pg.While) -> Variation:
    return c.graph.levels[c.controls[id(stmt)]]
