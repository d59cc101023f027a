"""Reductions, shape operations, `gather` and contractions: whole tiles in, a tile out.

Their arguments are computed before the assignment that the call stands in, so nothing of that assignment (its `where`,
its `iota`) reaches into them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, cast

from phobos_core.analysis import program as pg
from phobos_core.analysis.arguments import match, match_checked, result_shape
from phobos_core.analysis.context import Context, Site, element_of, infer, kind_text, see
from phobos_core.analysis.convert import convert, operand_type
from phobos_core.analysis.names import lookup
from phobos_core.analysis.subscripts import whole
from phobos_core.language.builtins import Builtin
from phobos_core.language.types import F32, F64, I8, I32, INDEX, U32, Kind
from phobos_core.syntax import ast


def _argument_site(builtin: Builtin) -> Site:
    return Site(inside=builtin.name)


def reduction(cx: Context, node: ast.Call, builtin: Builtin, at: Site) -> pg.Expr | None:
    matched = match(cx, node, builtin, Site(inside=builtin.name, one_element=True))
    if matched is None:
        return None
    result = matched.form.result.element
    element = result if not isinstance(result, str) else element_of(matched.args[0].type)
    op = cast("Literal['rowmax', 'rowsum', 'rowargmax']", builtin.name)
    return pg.Reduce(node.span, pg.TileType(element, result_shape(matched)), op, matched.args[0])


def rearrangement(cx: Context, node: ast.Call, builtin: Builtin, at: Site) -> pg.Expr | None:
    matched = match(cx, node, builtin, _argument_site(builtin))
    if matched is None:
        return None
    type_ = pg.TileType(element_of(matched.args[0].type), result_shape(matched))
    op = cast("Literal['cumsum', 'tril', 'transpose']", builtin.name)
    return pg.Shape(node.span, type_, op, matched.args[0])


def flat(cx: Context, node: ast.Call, builtin: Builtin, at: Site) -> pg.Expr | None:
    argument = node.args[0]
    symbol = lookup(cx, argument) if isinstance(argument, ast.Name) else None
    if isinstance(argument, ast.Name) and symbol is None:
        return None
    if symbol is None or symbol.kind is not pg.SymbolKind.TILE:
        what = f"`{symbol.name}` is {kind_text(symbol.kind)}" if symbol else "this is an expression"
        cx.error(
            "not-a-named-tile",
            argument.span,
            f"`flat` views a declared tile by its name, and {what}",
            related=(see(symbol.span, "declared here"),) if symbol else (),
            help="copy it into a tile first: `var t = ..`",
        )
        return None
    type_ = cast(pg.TileType, symbol.type)
    place = whole(symbol, argument.span)
    matched = match_checked(cx, node, builtin, (pg.TileRead(argument.span, type_, place),))
    if matched is None:
        return None
    shape = result_shape(matched)
    return pg.TileRead(
        node.span,
        pg.TileType(type_.element, shape),
        pg.Place(node.span, symbol, type_.element, shape, flat=True),
    )


def gather(cx: Context, node: ast.Call, builtin: Builtin, at: Site) -> pg.Expr | None:
    table = infer(cx, node.args[0], _argument_site(builtin))
    indices = infer(cx, node.args[1], at.part)
    if table is None or indices is None:
        return None
    matched = match_checked(cx, node, builtin, (table, indices))
    if matched is None:
        return None
    if not isinstance(table, pg.TileRead):
        cx.error(
            "not-a-named-tile",
            table.span,
            "the table of `gather` is memory, a tile or a slice, and this is a computed value",
            help="compute it into a tile first: `var t = ..`",
        )
        return None
    element = element_of(indices.type)
    if element.kind is Kind.UINT:
        indices = convert(cx, indices, INDEX if element == U32 else I32)
    shape = cast(pg.TileType, indices.type).shape
    place = replace(table.place, span=table.span)  # the name by which a function has it
    return pg.Gather(node.span, pg.TileType(place.element, shape), place, indices)


def contraction(cx: Context, node: ast.Call, builtin: Builtin, at: Site) -> pg.Expr | None:
    matched = match(cx, node, builtin, _argument_site(builtin))
    if matched is None:
        return None
    lhs, rhs = matched.args
    element = operand_type(cx, lhs, rhs)
    assert element is not None
    if element.is_float:
        accumulator = F64 if element == F64 else F32
    else:
        assert element == I8
        accumulator = I32
    type_ = pg.TileType(accumulator, result_shape(matched))
    op = cast("Literal['dot', 'dot_t']", builtin.name)
    return pg.Contract(node.span, type_, op, convert(cx, lhs, element), convert(cx, rhs, element))
