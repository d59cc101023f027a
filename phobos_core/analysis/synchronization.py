"""Barriers, atomics and the flags of the host: what the threads of a CTA do once, together.

Their operands are checked against the table. Who reaches the call, and that the operands are uniform, is the
uniformity's business.
"""

from __future__ import annotations

from typing import cast

from phobos_core.analysis import program as pg
from phobos_core.analysis.arguments import element_fits
from phobos_core.analysis.context import PLAIN, Context, Site, infer, kind_text, see, type_text
from phobos_core.analysis.convert import convert
from phobos_core.analysis.names import lookup
from phobos_core.analysis.runs import outside_sum
from phobos_core.analysis.shapes import constrain, require
from phobos_core.analysis.subscripts import place_of, whole
from phobos_core.analysis.symbolic import sym
from phobos_core.language.builtins import Builtin, Form, OperandKind, Param
from phobos_core.language.types import INDEX, ScalarType
from phobos_core.syntax import ast

# One counter of the blocks that have come, and one of the rounds.
GRID_COUNTERS = 2


def barrier(cx: Context, node: ast.Call, builtin: Builtin, at: Site) -> pg.Expr | None:
    if not outside_sum(cx, node, builtin.name, at):
        return None
    return pg.Sync(node.span, INDEX, "barrier")


def grid_barrier(cx: Context, node: ast.Call, builtin: Builtin, at: Site) -> pg.Expr | None:
    symbol = tensor(cx, builtin, builtin.forms[0].params[0], node.args[0])
    if symbol is None or not outside_sum(cx, node, builtin.name, at):
        return None
    if not cx.persistent:
        cx.error(
            "needs-persistent",
            node.span,
            "`grid_barrier` makes the blocks of the grid wait for each other, so all must be resident at once: the"
            " kernel is `@persistent`",
            help="put `@persistent` before `kernel`",
        )
        return None
    _has_counters(cx, node.args[0].span, symbol)
    return pg.Sync(node.span, INDEX, "grid_barrier", whole(symbol, node.args[0].span))


def _has_counters(cx: Context, span: ast.Span, symbol: pg.Symbol) -> None:
    assert isinstance(symbol.type, pg.TensorType)
    count = sym(1)
    for extent in symbol.type.dims:
        count = count * extent
    if any(name in cx.dims for name in count.names):
        require(cx, pg.Requirement(sym(GRID_COUNTERS), "<=", count, f"{GRID_COUNTERS} <= {count}"))
        return
    constrain(
        cx,
        "shape-mismatch",
        span,
        f"`grid_barrier` counts in {GRID_COUNTERS} elements, and `{symbol.name}` has {count}",
        (count,),
        lambda env: count.evaluate(env) >= GRID_COUNTERS,
        related=(see(symbol.span, f"`{symbol.name}` is `{type_text(symbol.type)}`"),),
    )


def tensor(cx: Context, builtin: Builtin, param: Param, node: ast.Expr) -> pg.Symbol | None:
    """The tensor parameter that an argument names, of an element type that some form takes."""
    symbol = lookup(cx, node) if isinstance(node, ast.Name) else None
    if symbol is None:
        if isinstance(node, ast.Name) or infer(cx, node, PLAIN) is None:
            return None
        _no_tensor(cx, node, builtin, "this is an expression")
        return None
    if symbol.kind is not pg.SymbolKind.TENSOR:
        _no_tensor(cx, node, builtin, f"`{symbol.name}` is {kind_text(symbol.kind)}", symbol)
        return None
    assert isinstance(symbol.type, pg.TensorType)
    taken = dict.fromkeys(e for form in builtin.forms for p in form.params if p.name == param.name for e in p.elements)
    if symbol.type.element not in taken:
        listed = " or ".join(f"`{element}`" for element in taken)
        cx.error(
            "element-type",
            node.span,
            f"`{builtin.name}` takes a tensor of {listed}, and `{symbol.name}` is `{type_text(symbol.type)}`",
            related=(see(symbol.span, "declared here"),),
        )
        return None
    return symbol


def _no_tensor(cx: Context, node: ast.Expr, builtin: Builtin, what: str, symbol: pg.Symbol | None = None) -> None:
    cx.error(
        "not-a-tensor",
        node.span,
        f"`{builtin.name}` takes a tensor parameter by its name, and {what}",
        related=(see(symbol.span, "declared here"),) if symbol else (),
    )


def atomic(cx: Context, node: ast.Call, builtin: Builtin, at: Site) -> pg.Expr | None:
    """`atomic_add`, `atomic_cas`, `load_acquire`, `store_release`: a tensor, a position, and what is given to it."""
    symbol = tensor(cx, builtin, builtin.forms[0].params[0], node.args[0])
    if symbol is None or not outside_sum(cx, node, builtin.name, at):
        for arg in node.args[1:]:
            infer(cx, arg, PLAIN)
        return None
    assert isinstance(symbol.type, pg.TensorType)
    element = symbol.type.element
    form = next(form for form in builtin.forms if element in form.params[0].elements)
    place = _element(cx, node, builtin, symbol)
    args = [
        number(cx, builtin, form, param, arg, element)
        for param, arg in zip(form.params[2:], node.args[2:], strict=True)
    ]
    known = tuple(arg for arg in args if arg is not None)
    if place is None or len(known) < len(args):
        return None
    result = form.result.element
    assert isinstance(result, ScalarType)
    return pg.Atomic(node.span, result, cast(pg.AtomicOp, builtin.name), place, known)


def _element(cx: Context, node: ast.Call, builtin: Builtin, symbol: pg.Symbol) -> pg.Place | None:
    """`t[i]`, written as two arguments."""
    assert isinstance(symbol.type, pg.TensorType)
    name, position = node.args[:2]
    rank = len(symbol.type.dims)
    if rank != 1:
        cx.error(
            "wrong-rank",
            name.span,
            f"`{builtin.name}` takes one index, so a tensor of rank 1, and `{symbol.name}` is"
            f" `{type_text(symbol.type)}`",
            related=(see(symbol.span, "declared here"),),
        )
        return None
    assert isinstance(name, ast.Name)
    return place_of(cx, ast.Index(name.span, name, (ast.PointSub(position.span, position),)))


def number(
    cx: Context, builtin: Builtin, form: Form, param: Param, node: ast.Expr, element: ScalarType
) -> pg.Expr | None:
    """A scalar argument, converted to the type that the operation has it in."""
    assert param.accepts == (OperandKind.SCALAR,)
    value = infer(cx, node, PLAIN)
    if value is None:
        return None
    if isinstance(value.type, pg.TileType):
        message = f"`{builtin.name}` takes a scalar, and this is `{type_text(value.type)}`"
        cx.error("not-a-scalar", node.span, message, help="read one element of it, as in `t[0, 0]`")
        return None
    return convert(cx, value, element) if element_fits(cx, builtin, form, param, value) else None
