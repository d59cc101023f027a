"""Element-wise built-ins and conversions: one value per element of a tile, or of a scalar.

Also `where` and `iota`, which depend on the tile being assigned.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from phobos_core.analysis import program as pg
from phobos_core.analysis.arguments import Matched, declared, match, match_checked
from phobos_core.analysis.context import Context, Site, element_of, infer, type_text
from phobos_core.analysis.convert import convert, operand_type
from phobos_core.analysis.expressions import arithmetic
from phobos_core.analysis.shapes import broadcast, broadcast_all
from phobos_core.language.builtins import Builtin
from phobos_core.language.types import BOOL, CONVERSIONS, F64, I32
from phobos_core.syntax import ast


def math(cx: Context, node: ast.Call, builtin: Builtin, at: Site) -> pg.Expr | None:
    matched = match(cx, node, builtin, at.part)
    if matched is None:
        return None
    type_ = _math_type(cx, node, matched)
    if type_ is None:
        return None
    in_tile = isinstance(type_, pg.TileType)
    args = tuple([convert(cx, arg, element_of(type_), in_tile=in_tile) for arg in matched.args])
    exact = builtin.name == "abs" and in_tile  # a scalar is an f32 even there
    if not exact and F64 in [element_of(type_), *[element_of(a.type) for a in matched.args]]:
        cx.error(
            "f64-math",
            node.span,
            f"`{builtin.name}` computes in f32, and so gives no more than its precision",
            severity="note",
        )
    return pg.Math(node.span, type_, cast(pg.MathOp, builtin.name), args)


def _math_type(cx: Context, node: ast.Call, matched: Matched) -> pg.ValueType | None:
    """On tiles the type of the argument (of both, for `pow`); on a scalar f32, or its own for an integer `abs`."""
    args, result = matched.args, matched.form.result
    if not result.tile:
        return args[0].type if isinstance(result.element, str) else result.element
    if len(args) == 1:
        return args[0].type
    element, shape = operand_type(cx, args[0], args[1]), broadcast(cx, node.span, args[0], args[1])
    return None if element is None or shape is None else pg.TileType(element, shape)


def extremum(cx: Context, node: ast.Call, builtin: Builtin, at: Site) -> pg.Expr | None:
    matched = match(cx, node, builtin, at.part)
    if matched is None:
        return None
    return arithmetic(cx, node.span, builtin.name, matched.args[0], matched.args[1], at)


def tmax(cx: Context, node: ast.Call, builtin: Builtin, at: Site) -> pg.Expr | None:
    matched = match(cx, node, builtin, at.part)
    if matched is None or not _same_element(cx, builtin, matched.args):
        return None
    shape = broadcast(cx, node.span, *matched.args)
    if shape is None:
        return None
    type_ = pg.TileType(element_of(matched.args[0].type), shape)
    return pg.Binary(node.span, type_, "max", *matched.args)


def _same_element(cx: Context, builtin: Builtin, args: tuple[pg.Expr, ...]) -> bool:
    a, b = (element_of(arg.type) for arg in args)
    if a == b:
        return True
    cx.error(
        "element-type",
        args[1].span,
        f"`{builtin.name}` takes two tiles of one element type, and these are `{a}` and `{b}`",
        related=declared(args[0]),
        help=f"convert one side, as in `{a}(..)`" if a.name in CONVERSIONS else None,
    )
    return False


def argsel(cx: Context, node: ast.Call, builtin: Builtin, at: Site) -> pg.Expr | None:
    matched = match(cx, node, builtin, at.part)
    if matched is None:
        return None
    va, vb, ia, ib = matched.args
    if not _same_element(cx, builtin, (va, vb)) or not _same_element(cx, builtin, (ia, ib)):
        return None
    compared = broadcast(cx, node.span, va, vb)
    shape = broadcast_all(cx, node.span, matched.args)
    if compared is None or shape is None:
        return None
    condition = pg.Compare(node.span, pg.TileType(BOOL, compared), ">=", va, vb)
    return pg.Select(node.span, pg.TileType(element_of(ia.type), shape), condition, ia, ib)


def where(cx: Context, node: ast.Call, builtin: Builtin, at: Site) -> pg.Expr | None:
    branch = at if at.whole else at.part
    condition = infer(cx, node.args[0], replace(at, whole=False, condition=True))
    then = infer(cx, node.args[1], branch)
    orelse = infer(cx, node.args[2], branch)
    if condition is None or then is None or orelse is None:
        return None
    if element_of(condition.type) != BOOL:
        found = type_text(condition.type)
        cx.error(
            "condition-type",
            condition.span,
            f"`where` chooses by a condition, a `bool`, and this is `{found}`",
            help="compare it, as in `x != 0`",
        )
        return None
    matched = match_checked(cx, node, builtin, (condition, then, orelse))
    if matched is None:
        return None
    element = BOOL if matched.form.result.element == BOOL else operand_type(cx, then, orelse)
    if element is None:
        return None
    type_: pg.ValueType = element
    if matched.form.result.tile:
        if not at.whole:
            _misplaced(cx, node, at)
            return None
        shape = broadcast_all(cx, node.span, (then, orelse, condition))
        if shape is None:
            return None
        type_ = pg.TileType(element, shape)
    in_tile = matched.form.result.tile
    then, orelse = convert(cx, then, element, in_tile=in_tile), convert(cx, orelse, element, in_tile=in_tile)
    return pg.Select(node.span, type_, condition, then, orelse)


def _misplaced(cx: Context, node: ast.Call, at: Site) -> None:
    inside = f", not inside `{at.inside}`" if at.inside else ", not a part of it"
    cx.error(
        "where-placement",
        node.span,
        f"on tiles `where` is the whole value of a tile assignment, a typed declaration or a `var`{inside}",
        help="assign it to a tile of its own first: `var t = where(..)`",
    )


def iota(cx: Context, node: ast.Call, builtin: Builtin, at: Site) -> pg.Expr | None:
    axis = node.args[0]
    if not isinstance(axis, ast.IntLit):
        if infer(cx, axis) is not None:
            cx.error("iota-axis", axis.span, "the axis of `iota` is an integer literal")
        return None
    if at.lost:
        return None
    if at.inferred:
        # The shape is not known yet; the value is checked again once it is.
        cx.iota_met = True
        return pg.ScalarRead(node.span, I32, _PLACEHOLDER)
    if at.shape is None:
        inside = f", and `{at.inside}` is computed before that" if at.inside else ""
        cx.error(
            "iota-placement",
            node.span,
            f"`iota` is the element's index in the tile being assigned, so it stands only inside such a value{inside}",
        )
        return None
    if axis.value >= len(at.shape):
        cx.error(
            "iota-axis",
            axis.span,
            f"the tile being assigned has rank {len(at.shape)}, so the axis of `iota` is below {len(at.shape)}",
        )
        return None
    return pg.Iota(node.span, pg.TileType(I32, at.shape), axis.value)


_PLACEHOLDER = pg.Symbol("iota", "iota", pg.SymbolKind.SCALAR, I32, ast.Span(0, 0))


def conversion(cx: Context, node: ast.Call, builtin: Builtin, at: Site) -> pg.Expr | None:
    value = infer(cx, node.args[0], at.part)
    if value is None:
        return None
    if element_of(value.type) == BOOL:
        cx.error(
            "no-conversion",
            node.span,
            "`bool` has no conversion",
            help="choose the values with `where(c, a, b)`",
        )
        return None
    matched = match_checked(cx, node, builtin, (value,))
    if matched is None:
        return None
    converted = convert(cx, value, CONVERSIONS[builtin.name])
    if converted is value:
        return value
    if isinstance(converted, pg.Const):
        # No longer a literal that takes the type of what it meets.
        return pg.Convert(node.span, converted.type, converted)
    return pg.Convert(node.span, converted.type, value)
