"""Statements: assignment, control flow and blocks. Each appends what it means to the block being checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from phobos_core.analysis import program as pg
from phobos_core.analysis.calls import function_of
from phobos_core.analysis.constants import ONE, is_static, value_of
from phobos_core.analysis.context import LOST, PLAIN, Context, Site, element_of, infer, kind_text, see, type_text
from phobos_core.analysis.convert import convert, operand_type
from phobos_core.analysis.declarations import fitted, fitted_scalar, let, product_fits, var
from phobos_core.analysis.expressions import arithmetic
from phobos_core.analysis.functions import KnownFunction
from phobos_core.analysis.inlining import in_place, statement_call
from phobos_core.analysis.names import lookup, spoken
from phobos_core.analysis.places import declared_function
from phobos_core.analysis.runs import is_statement, store
from phobos_core.analysis.scopes import Scope
from phobos_core.analysis.shapes import constrain, static_shape
from phobos_core.analysis.subscripts import evaluated_once, index_value, is_point, loaded, place_of, whole, writable
from phobos_core.analysis.symbolic import Sym
from phobos_core.analysis.walk import has_effects
from phobos_core.language.operators import COMPOUND
from phobos_core.language.types import BOOL, INDEX, ScalarType
from phobos_core.syntax import ast

StatementRule: TypeAlias = Callable[[Context, Any], None]


def block(cx: Context, node: ast.Block) -> tuple[pg.Stmt, ...]:
    """The statements of a block, in a scope of its own."""
    outer_scope, outer_out = cx.scope, cx.out
    cx.scope, cx.out = Scope(outer_scope), []
    _run(cx, node)
    statements = tuple(cx.out)
    cx.scope, cx.out = outer_scope, outer_out
    return statements


def _run(cx: Context, node: ast.Block) -> None:
    for stmt in node.body:
        if cx.damage.lines and stmt.span.frame is None and cx.damage.touches(_head(stmt)):
            _lost(cx, stmt)
        else:
            STATEMENTS[type(stmt)](cx, stmt)


def _head(stmt: ast.Stmt) -> ast.Span:
    """The statement without the blocks inside it."""
    match stmt:
        case ast.For(span, body=body) | ast.While(span, body=body) | ast.If(span, then=body):
            return ast.Span(span.start, body.span.start)
    return stmt.span


def _lost(cx: Context, stmt: ast.Stmt) -> None:
    """A statement on a line with a syntax error: it is not checked, but the blocks inside it are."""
    match stmt:
        case ast.Let(name=name) | ast.Var(name=name):
            cx.bind(name, None)
        case ast.For(var=name, body=body):
            outer = cx.scope
            cx.scope = Scope(outer)
            cx.bind(name, None)
            cx.lost_loops += 1
            _loop_body(cx, body)
            cx.lost_loops -= 1
            cx.scope = outer
        case ast.While(body=body):
            _loop_body(cx, body)
        case ast.If(then=then, orelse=orelse):
            block(cx, then)
            if isinstance(orelse, ast.If):
                block(cx, ast.Block(orelse.span, (orelse,)))
            elif orelse is not None:
                block(cx, orelse)


# Assignment.


def assign(cx: Context, stmt: ast.Assign) -> None:
    if isinstance(stmt.target, ast.Name):
        _assign_name(cx, stmt, stmt.target)
        return
    place = place_of(cx, stmt.target)
    if place is None:
        infer(cx, stmt.value, LOST)
        return
    if not writable(cx, stmt.target.span, place.root):
        return
    if stmt.op == "+=":
        place = evaluated_once(cx, place)
    if is_point(place):
        _store_point(cx, stmt, place)
    else:
        _store_tile(cx, stmt, place)


def _assign_name(cx: Context, stmt: ast.Assign, target: ast.Name) -> None:
    if cx.scope.find(target.text) is None and cx.function(target.text) is not None:
        cx.error("not-assignable", target.span, f"`{target.text}` is a function, and has no value to change")
        return
    symbol = lookup(cx, target)
    if symbol is None:
        infer(cx, stmt.value, LOST)
        return
    if not symbol.mutable:
        _immutable(cx, target, symbol)
        return
    if symbol.kind is pg.SymbolKind.TILE:
        _store_tile(cx, stmt, whole(symbol, target.span))
        return
    type_ = cast(ScalarType, symbol.type)
    value = infer(cx, stmt.value, PLAIN)
    if value is None:
        return
    if stmt.op != "=":
        value = _combined(cx, stmt, pg.ScalarRead(target.span, type_, symbol), value)
        if value is None:
            return
    value = fitted_scalar(cx, stmt.value, value, type_, f"`{target.text}`", symbol)
    if value is not None:
        cx.out.append(pg.AssignScalar(stmt.span, symbol, value))


def _combined(cx: Context, stmt: ast.Assign, current: pg.Expr, value: pg.Expr) -> pg.Expr | None:
    """`x op e` of `x op= e`."""
    return arithmetic(cx, stmt.span, COMPOUND[stmt.op], current, value, PLAIN)


def _immutable(cx: Context, target: ast.Name, symbol: pg.Symbol) -> None:
    declared = (see(symbol.span, "declared here"),)
    colons = ", ".join(":" for _ in getattr(symbol.type, "shape", getattr(symbol.type, "dims", ())))
    name = spoken(target, symbol)
    match symbol.kind:
        case pg.SymbolKind.VIEW:
            message = f"{name} is a view, and a `let` is not bound again"
            help_ = f"`{target.text}[{colons}] = ..` writes what it views"
        case pg.SymbolKind.TENSOR:
            message = f"{name} is a tensor parameter, which is not assigned as a whole"
            help_ = f"`{target.text}[{colons}] = ..` writes its elements"
        case pg.SymbolKind.SCALAR | pg.SymbolKind.TILE:
            message = f"{name} is bound by `let`, and does not change"
            help_ = f"declare it with `var {symbol.name}`"
        case _:
            message = f"{name} is {kind_text(symbol.kind)}, and does not change"
            help_ = "copy it into a `var` first"
    cx.error("immutable-assignment", target.span, message, related=declared, help=help_)


def _store_point(cx: Context, stmt: ast.Assign, place: pg.Place) -> None:
    value = infer(cx, stmt.value, PLAIN)
    if value is None:
        return
    accumulate = stmt.op == "+="
    name = f"`{place.root.name}`"
    if isinstance(value.type, pg.TileType):
        cx.error(
            "not-a-scalar",
            stmt.value.span,
            f"one element of {name} takes a scalar, and the value is `{type_text(value.type)}`",
            help="a slice takes a tile, as in `A[i :+ 1, j :+ 1] = t`",
        )
        return
    if stmt.op != "=":
        current = pg.Load(stmt.target.span, loaded(place.element), place)
        combined = _combined(cx, stmt, current, value)
        if combined is None:
            return
        # A float sum is rounded from the join of both; only where that is the element's type is it added in place.
        # Integers wrap, which comes to the same in any width.
        accumulate = accumulate and (combined.type == place.element or combined.type == current.type == INDEX)
        value = convert(cx, value, place.element) if accumulate else combined
    value = fitted_scalar(cx, stmt.value, value, place.element, name, place.root)
    if value is not None:
        _updated(cx, place.root, stmt.span)
        cx.out.append(pg.StorePoint(stmt.span, place, value, accumulate))


def _store_tile(cx: Context, stmt: ast.Assign, place: pg.Place) -> None:
    if not static_shape(cx, place.shape, stmt.target.span):
        return
    value = infer(cx, stmt.value, Site(shape=place.shape, whole=stmt.op in ("=", "+=")))
    if value is None:
        return
    name = f"`{place.root.name}`"
    target = pg.TileType(place.element, place.shape)
    accumulate = stmt.op == "+="
    if stmt.op != "=":
        current = pg.TileRead(stmt.target.span, target, place)
        if not product_fits(cx, stmt.value, value, place.element, name):
            return
        element = operand_type(cx, current, value)
        accumulate = accumulate and element == place.element
        if accumulate:
            value = convert(cx, value, place.element, in_tile=True)
        else:
            value = _combined(cx, stmt, current, value)
            if value is None:
                return
    value = fitted(cx, stmt.value, value, target, name, place.root)
    if value is not None:
        _updated(cx, place.root, stmt.span)
        cx.out.append(pg.StoreTile(stmt.span, place, value, accumulate))


def _updated(cx: Context, symbol: pg.Symbol, span: ast.Span) -> None:
    """Notes a store to a tile under an `if` or `while` that its declaration is not under."""
    root = cx.roots.get(symbol, symbol)
    if cx.branches > cx.declared_at.get(root, cx.branches):
        cx.conditional_updates.setdefault(root, span)


# Control flow.


def _condition(cx: Context, node: ast.Expr, keyword: str) -> pg.Expr | None:
    value = infer(cx, node, PLAIN)
    if value is None or value.type == BOOL:
        return value
    found = type_text(value.type)
    cx.error(
        "condition-type",
        node.span,
        f"the condition of `{keyword}` is a scalar `bool`, and this is `{found}`",
        help="compare it, as in `x != 0`" if element_of(value.type) != BOOL else None,
    )
    return None


def if_(cx: Context, stmt: ast.If) -> None:
    condition = _condition(cx, stmt.condition, "if")
    cx.branches += 1
    then = block(cx, stmt.then)
    orelse: tuple[pg.Stmt, ...] = ()
    if isinstance(stmt.orelse, ast.If):
        orelse = block(cx, ast.Block(stmt.orelse.span, (stmt.orelse,)))
    elif stmt.orelse is not None:
        orelse = block(cx, stmt.orelse)
    cx.branches -= 1
    if condition is not None:
        cx.out.append(pg.If(stmt.span, condition, then, orelse))


def while_(cx: Context, stmt: ast.While) -> None:
    condition = _condition(cx, stmt.condition, "while")
    cx.branches += 1
    body = _loop_body(cx, stmt.body)
    cx.branches -= 1
    if condition is not None:
        cx.out.append(pg.While(stmt.span, condition, body))


def for_(cx: Context, stmt: ast.For) -> None:
    unroll = ONE if stmt.unroll is None else _unroll(cx, stmt.unroll)
    lo = index_value(cx, stmt.lo, "a bound of `range`")
    hi = index_value(cx, stmt.hi, "a bound of `range`")
    step = _step(cx, stmt)
    outer = cx.scope
    cx.scope = Scope(outer)
    symbol = cx.symbol(stmt.var, pg.SymbolKind.LOOP, INDEX)
    cx.bind(stmt.var, symbol)
    body = _loop_body(cx, stmt.body)
    cx.scope = outer
    if lo is not None and hi is not None and step is not None and unroll is not None:
        cx.out.append(pg.For(stmt.span, symbol, lo, hi, step, unroll, body))


def _loop_body(cx: Context, node: ast.Block) -> tuple[pg.Stmt, ...]:
    cx.loops += 1
    body = block(cx, node)
    cx.loops -= 1
    return body


def _step(cx: Context, stmt: ast.For) -> pg.Expr | None:
    if stmt.step is None:
        return pg.Const(stmt.span, INDEX, 1)
    step = index_value(cx, stmt.step, "the step of `range`")
    if step is None:
        return None
    value = value_of(cx, step)
    static = value is not None and is_static(cx, value)
    if stmt.unroll is not None and not static:
        cx.error("bad-unroll", stmt.step.span, "`for<unroll n>` needs a constant step, and this is known at run time")
        return None
    if value is not None and static:
        return step if _at_least_one(cx, stmt.step.span, value, "bad-step", "a constant step is positive") else None
    return step


def _unroll(cx: Context, node: ast.Expr) -> Sym | None:
    count = index_value(cx, node, "the count of `unroll`")
    if count is None:
        return None
    value = value_of(cx, count)
    if value is None or not is_static(cx, value):
        cx.error("not-constant", node.span, "the count of `unroll` is a constant: a literal or an `@autotune` name")
        return None
    return value if _at_least_one(cx, node.span, value, "bad-unroll", "the count of `unroll` is at least 1") else None


def _at_least_one(cx: Context, span: ast.Span, value: Sym, code: str, rule: str) -> bool:
    constant = value.constant
    if constant is None:
        constrain(cx, code, span, f"{rule}, and `{value}` is not", (value,), lambda env: value.evaluate(env) > 0)
    elif constant < 1:
        cx.error(code, span, f"{rule}, and this is {constant}")
        return False
    return True


def jump(cx: Context, stmt: ast.Jump) -> None:
    if stmt.span.frame is not None and (stmt.kind == "return" or not cx.loops):
        return  # reported where the function is declared
    if stmt.kind != "return" and not cx.loops:
        cx.error("jump-outside-loop", stmt.span, f"`{stmt.kind}` acts on the innermost loop, and there is none here")
        return
    cx.out.append(pg.Jump(stmt.span, stmt.kind))


def expression(cx: Context, stmt: ast.ExprStmt) -> None:
    """A call for its effect; a value without one goes nowhere."""
    _expression(cx, stmt, None)


def _expression(cx: Context, stmt: ast.ExprStmt, called: tuple[ast.Span, KnownFunction] | None) -> None:
    """`called` is there where the statement is the expression of a function that was called as a statement."""
    known = function_of(cx, stmt.value)
    if known is not None and not known.broken:
        assert isinstance(stmt.value, ast.Call)
        if known.statement:
            _splice(cx, stmt.value, known)
            return
        call = stmt.value.span
        in_place(
            cx, stmt.value, known, PLAIN, lambda body: _expression(cx, ast.ExprStmt(body.span, body), (call, known))
        )
        return
    if isinstance(stmt.value, ast.Call) and is_statement(stmt.value):
        stored = store(cx, stmt.span, stmt.value)
        if stored is not None and writable(cx, stmt.value.args[0].span, stored.place.root):
            _updated(cx, stored.place.root, stmt.span)
            cx.out.append(stored)
        return
    value = infer(cx, stmt.value, PLAIN)
    if value is not None and has_effects(value):
        cx.out.append(pg.Eval(stmt.span, value))
    elif value is not None and called is not None:
        _value_of_function(cx, *called)
    elif value is not None:
        cx.error(
            "no-effect",
            stmt.span,
            "the value of this statement goes nowhere: an expression has no side effects",
            help="bind it with `let`, or assign it with `=`",
            severity="warning",
        )


def _value_of_function(cx: Context, call: ast.Span, known: KnownFunction) -> None:
    name = known.ast.name.text
    cx.error(
        "function-form",
        call,
        f"`{name}` is an expression without effects, and the value of this statement goes nowhere",
        related=(declared_function(known.ast),),
        help=f"use its value, or write it as statements: `fn {name}(..) {{ .. }}`",
    )


def _splice(cx: Context, node: ast.Call, known: KnownFunction) -> None:
    """The body of a statement function, among the statements around its call."""
    found = statement_call(cx, node, known)
    if found is None:
        return
    body, parameters = found
    outer, loops = cx.scope, cx.loops
    cx.scope, cx.loops = Scope(parameters), 0
    cx.inlined_height += known.facts.height
    _run(cx, body)
    cx.inlined_height -= known.facts.height
    cx.scope, cx.loops = outer, loops


def broken(cx: Context, stmt: ast.ErrorStmt) -> None:
    """The parser has reported it."""


STATEMENTS: Mapping[type, StatementRule] = {
    ast.Let: let,
    ast.Var: var,
    ast.Assign: assign,
    ast.For: for_,
    ast.While: while_,
    ast.If: if_,
    ast.Jump: jump,
    ast.ExprStmt: expression,
    ast.ErrorStmt: broken,
}
