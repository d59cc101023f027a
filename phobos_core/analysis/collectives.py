"""Collectives and shuffles: `sum<over ctx.lane, width 8>(x)`, `reduce<over ctx.thread>(x, f)`, `shfl<xor 1>(v)`.

What the brackets may hold is in the table; here it is checked, with the widths, masks and distances that are constants.
Who reaches the call is the uniformity's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from phobos_core.analysis import program as pg
from phobos_core.analysis.arguments import count_fits, element_fits
from phobos_core.analysis.constants import is_static, value_of
from phobos_core.analysis.context import PLAIN, Context, Rule, Site, element_of, infer, type_text
from phobos_core.analysis.inlining import combine_of
from phobos_core.analysis.runs import outside_sum
from phobos_core.analysis.shapes import constrain
from phobos_core.analysis.subscripts import index_value
from phobos_core.analysis.symbolic import Sym, sym
from phobos_core.language.builtins import COLLECTIVES, Bracket, Builtin, OperandKind
from phobos_core.language.targets import LANES
from phobos_core.language.types import BOOL, INDEX
from phobos_core.syntax import ast

# What the operand of a shuffle is, in messages.
SOURCES = {"from": "the source lane", "xor": "the mask", "down": "the distance", "up": "the distance"}


def collective(cx: Context, node: ast.Collective, at: Site) -> pg.Expr | None:
    builtin = COLLECTIVES[node.op.text]
    bracket = _bracket(cx, node, builtin)
    if bracket is None or not outside_sum(cx, node, builtin.name, at) or not count_fits(cx, node, builtin):
        return None
    _whole_warps(cx, node)
    width = _width(cx, node, bracket)
    value = _value(cx, node, builtin)
    source = None if node.mode == "over" else _source(cx, node, width)
    if value is None or width is None:
        return None
    combine = None
    if builtin.name == "reduce":
        combine = _combine(cx, node.args[1], value)
        if combine is None:
            return None
    cx.per_thread = True
    element = element_of(value.type)
    given = None if node.width is None else width
    if node.mode != "over":
        return None if source is None else pg.Shuffle(node.span, element, node.mode, value, source, given)
    group = cast(pg.Group, bracket.operand.removeprefix("ctx."))
    op = cast(pg.CollectiveOp, builtin.name)
    type_ = INDEX if op == "argmax" else element
    return pg.Collective(node.span, type_, op, group, value, given, combine)


def _bracket(cx: Context, node: ast.Collective, builtin: Builtin) -> Bracket | None:
    """The entry of the table that the words in the brackets choose."""
    if node.mode not in {bracket.word for bracket in builtin.brackets}:
        words = list(dict.fromkeys(f"`{bracket.word}`" for bracket in builtin.brackets))
        taken = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
        cx.error(
            "collective-form",
            node.span,
            f"`{builtin.name}` takes {taken} in its brackets, and this is `{node.mode}`",
            help=f"`{builtin.signature(builtin.forms[0])}`",
        )
        return None
    if node.mode != "over":
        return next(bracket for bracket in builtin.brackets if bracket.word == node.mode)
    if not isinstance(node.operand, ast.CtxField):
        return None
    for bracket in builtin.brackets:
        if bracket.operand == f"ctx.{node.operand.field}":
            return bracket
    groups = " or ".join(f"`{bracket.operand}`" for bracket in builtin.brackets)
    cx.error("collective-form", node.operand.span, f"`over` names {groups}, and this is `ctx.{node.operand.field}`")
    return None


def _whole_warps(cx: Context, node: ast.Collective) -> None:
    if cx.threads % LANES:
        cx.error(
            "not-whole-warps",
            node.span,
            f"`{node.op.text}` needs every lane of its warp, and {cx.threads} threads are no whole number of warps of"
            f" {LANES}",
            help=f"`@launch({-(-cx.threads // LANES) * LANES})`",
        )


def _width(cx: Context, node: ast.Collective, bracket: Bracket) -> Sym | None:
    """The lanes of a piece: those of the warp where no width is given."""
    if node.width is None:
        return sym(LANES)
    if not bracket.width:
        message = f"a fold over `{bracket.operand}` takes no `width`: only a warp is split into pieces"
        cx.error("group-width", node.width.span, message)
        return None
    value = index_value(cx, node.width, "a width")
    if value is None:
        return None
    width = value_of(cx, value)
    if width is None or not is_static(cx, width):
        cx.error("not-constant", node.width.span, "a width folds to a constant: a literal or an `@autotune` name")
        return None
    rule = f"a width is a power of two that divides `ctx.lanes`, which is {LANES}"
    if width.constant is None:
        message = f"{rule}, and `{width}` is not"
        constrain(cx, "group-width", node.width.span, message, (width,), lambda env: _divides(width.evaluate(env)))
    elif not _divides(width.constant):
        cx.error("group-width", node.width.span, f"{rule}, and this is {width}")
        return None
    return width


def _divides(width: int) -> bool:
    """A divisor of the number of lanes, which is a power of two, is one too."""
    return width > 0 and LANES % width == 0


def _value(cx: Context, node: ast.Collective, builtin: Builtin) -> pg.Expr | None:
    """One scalar per thread, of a type that the operation takes."""
    value = infer(cx, node.args[0], PLAIN)
    if value is None:
        return None
    [form] = builtin.forms
    if OperandKind.CONDITION in form.params[0].accepts and value.type != BOOL:
        cx.error(
            "condition-type",
            value.span,
            f"`{builtin.name}` folds a condition, a scalar `bool`, and this is `{type_text(value.type)}`",
            help=None if isinstance(value.type, pg.TileType) else "compare it, as in `x != 0`",
        )
        return None
    if isinstance(value.type, pg.TileType):
        message = f"`{builtin.name}` takes a scalar of each thread, and this is `{type_text(value.type)}`"
        cx.error("not-a-scalar", value.span, message, help="read one element of it, as in `t[0, ctx.thread]`")
        return None
    return value if element_fits(cx, builtin, form, form.params[0], value) else None


def _combine(cx: Context, node: ast.Expr, value: pg.Expr) -> pg.Combine | None:
    """The function that a `reduce` folds by, which is given by its name."""
    if isinstance(node, ast.Name):
        return combine_of(cx, node, element_of(value.type))
    if infer(cx, node, PLAIN) is not None:
        message = "`reduce` folds by a function, `fn f(a, b) = e`, that its name gives, and this is an expression"
        cx.error("function-form", node.span, message)
    return None


def _source(cx: Context, node: ast.Collective, width: Sym | None) -> pg.Expr | None:
    """The lane, mask or distance; a constant mask or distance lies within the piece."""
    what = SOURCES[node.mode]
    source = index_value(cx, node.operand, what)
    if source is None or width is None or node.mode == "from":
        return source
    value = value_of(cx, source)
    if value is None or not is_static(cx, value):
        return source
    rule = f"{what} of `shfl<{node.mode} ..>` is from 0 and below the width, {width}"
    if value.constant is None or width.constant is None:
        message = f"{rule}, and `{value}` is not"
        within = value
        constrain(
            cx,
            "group-width",
            node.operand.span,
            message,
            (value, width),
            lambda env: 0 <= within.evaluate(env) < width.evaluate(env),
        )
    elif not 0 <= value.constant < width.constant:
        cx.error("group-width", node.operand.span, f"{rule}, and this is {value}")
        return None
    return source


RULES: Mapping[type, Rule] = {ast.Collective: collective}
