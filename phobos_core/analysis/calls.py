"""Calls: the built-in or function that a name in call position means, and the node of each supported built-in.

Arguments are checked against the table (`arguments`); the functions here say what each family of built-ins builds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias, cast, get_args

from phobos_core.analysis import program as pg
from phobos_core.analysis.arguments import Matched, count_fits, declared, match, match_checked, result_shape
from phobos_core.analysis.context import Context, Rule, Shape, Site, element_of, infer, see, type_text
from phobos_core.analysis.convert import convert, operand_type
from phobos_core.analysis.expressions import arithmetic
from phobos_core.analysis.shapes import broadcast
from phobos_core.analysis.subscripts import lookup, suggestion, whole
from phobos_core.language.builtins import BUILTINS, COLLECTIVES, Builtin
from phobos_core.language.types import BOOL, CONVERSIONS, F32, F64, I8, I32, INDEX, SPELLED, U32, Kind
from phobos_core.syntax import ast

Builder: TypeAlias = Callable[[Context, ast.Call, Builtin, Site], pg.Expr | None]


def call(cx: Context, node: ast.Call, at: Site) -> pg.Expr | None:
    callee = node.callee
    if not isinstance(callee, ast.Name):
        if not isinstance(callee, ast.ErrorExpr):
            cx.error("not-callable", callee.span, "only built-ins and functions are called, by name")
        return None
    builtin = BUILTINS.get(callee.text)
    if builtin is None:
        _other_call(cx, node, callee)
        return None
    if not _available(cx, node, builtin) or not count_fits(cx, node, builtin):
        return None
    return BUILDERS[builtin.name](cx, node, builtin, at)


def _other_call(cx: Context, node: ast.Call, callee: ast.Name) -> None:
    """A call of something that is not a built-in."""
    cx.called.add(callee.text)
    found, symbol = cx.scope.find(callee.text)
    if symbol is not None:
        cx.error(
            "not-callable",
            callee.span,
            f"`{callee.text}` is a {symbol.kind.value}, and only built-ins and functions are called",
            related=(see(symbol.span, "declared here"),),
        )
    elif found:
        pass
    elif callee.text in cx.functions:
        cx.error(
            "not-supported-yet", node.span, f"calls of functions, such as `{callee.text}` here, are not supported yet"
        )
    elif callee.text in COLLECTIVES:
        bracket = COLLECTIVES[callee.text].brackets[0]
        cx.error(
            "collective-form",
            node.span,
            f"`{callee.text}` works across threads, and says how in brackets:"
            f" `{callee.text}<{bracket.word} {bracket.operand}>(..)`",
        )
    elif callee.text in SPELLED:
        cx.error("no-conversion", node.span, f"nothing converts to `{callee.text}`", help=_storage_help(callee.text))
    elif callee.text not in cx.unknown:
        cx.unknown.add(callee.text)
        cx.error(
            "unknown-name",
            callee.span,
            f"`{callee.text}` is not a built-in, and no function of this file has the name",
            help=suggestion(callee.text, [*BUILTINS, *cx.functions]),
        )


def _storage_help(name: str) -> str | None:
    if name == "bool":
        return "compare to get a `bool`, as in `x != 0`"
    return f"an integer stored to a tile or tensor of `{name}` wraps to it by itself"


def _available(cx: Context, node: ast.Call, builtin: Builtin) -> bool:
    """Whether this compilation has the built-in at all; reports where not."""
    target = int("".join(filter(str.isdigit, cx.options.target)) or 0)
    if not builtin.supported:
        cx.error("not-supported-yet", node.span, f"`{builtin.name}` is not supported yet")
    elif target < builtin.min_target:
        cx.error(
            "needs-target",
            node.span,
            f"`{builtin.name}` needs sm_{builtin.min_target} or later, and the target is {cx.options.target}",
            help=f"`--target sm_{builtin.min_target}`",
        )
    else:
        return True
    return False


# Elementwise.


def math(cx: Context, node: ast.Call, builtin: Builtin, at: Site) -> pg.Expr | None:
    matched = match(cx, node, builtin, at.part)
    if matched is None:
        return None
    args, type_ = matched.args, matched.args[0].type
    if builtin.name == "pow":
        base, exponent = args
        if isinstance(base.type, pg.TileType) or isinstance(exponent.type, pg.TileType):
            element, shape = operand_type(cx, base, exponent), broadcast(cx, node.span, base, exponent)
            if element is None or shape is None:
                return None
            type_ = pg.TileType(element, shape)
        if not element_of(type_).is_float:
            cx.error("element-type", node.span, "`pow` takes floats, and both of these are integers")
            return None
        args = tuple(convert(cx, arg, element_of(type_)) for arg in args)
    if not isinstance(type_, pg.TileType) and matched.form.result.element == F32:
        type_ = F32
        args = tuple(convert(cx, arg, F32) for arg in args)
    if builtin.name != "abs" and F64 in (element_of(type_), *(element_of(a.type) for a in matched.args)):
        cx.error(
            "f64-math",
            node.span,
            f"`{builtin.name}` computes in f32, and so gives no more than its precision",
            severity="note",
        )
    return pg.Math(node.span, type_, cast(pg.MathOp, builtin.name), args)


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
    chosen = broadcast(cx, node.span, ia, ib)
    if compared is None or chosen is None:
        return None
    condition = pg.Compare(node.span, pg.TileType(BOOL, compared), ">=", va, vb)
    value = pg.Select(node.span, pg.TileType(element_of(ia.type), chosen), condition, ia, ib)
    shape = broadcast(cx, node.span, condition, value)
    if shape is None:
        return None
    return pg.Select(node.span, pg.TileType(value.type.element, shape), condition, ia, ib)  # type: ignore[union-attr]


def where(cx: Context, node: ast.Call, builtin: Builtin, at: Site) -> pg.Expr | None:
    branch = at if at.whole else at.part
    condition = infer(cx, node.args[0], _condition_site(at))
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
    element = operand_type(cx, then, orelse)
    if element is None:
        return None
    type_: pg.ValueType = element
    if matched.form.result.tile:
        if not at.whole:
            _misplaced(cx, node, at)
            return None
        shape = _selected_shape(cx, node, condition, then, orelse)
        if shape is None:
            return None
        type_ = pg.TileType(element, shape)
    in_tile = matched.form.result.tile
    then, orelse = convert(cx, then, element, in_tile=in_tile), convert(cx, orelse, element, in_tile=in_tile)
    return pg.Select(node.span, type_, condition, then, orelse)


def _condition_site(at: Site) -> Site:
    return Site(at.shape, False, True, at.inside, at.one_element, at.inferred)


def _selected_shape(cx: Context, node: ast.Call, condition: pg.Expr, then: pg.Expr, orelse: pg.Expr) -> Shape | None:
    """The broadcast of all three; scalars among them take no part."""
    tiles = [e for e in (then, orelse, condition) if isinstance(e.type, pg.TileType)]
    shape = cast(pg.TileType, tiles[0].type).shape
    for tile in tiles[1:]:
        left = pg.Iota(tiles[0].span, pg.TileType(I32, shape), 0)
        wider = broadcast(cx, node.span, left, tile)
        if wider is None:
            return None
        shape = wider
    return shape


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


# Reductions and shape. Their arguments are computed before the assignment that the call stands in.


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
        what = f"`{symbol.name}` is a {symbol.kind.value}" if symbol else "this is an expression"
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
    matched = match_flat(cx, node, builtin, pg.TileRead(argument.span, type_, place))
    if matched is None:
        return None
    shape = result_shape(matched)
    return pg.TileRead(
        node.span,
        pg.TileType(type_.element, shape),
        pg.Place(node.span, symbol, type_.element, shape, flat=True),
    )


def match_flat(cx: Context, node: ast.Call, builtin: Builtin, tile: pg.Expr) -> Matched | None:
    rank = len(cast(pg.TileType, tile.type).shape)
    if rank != 2:
        cx.error(
            "reduction-operand",
            tile.span,
            f"`flat` takes a tile of rank 2, and this has rank {rank}",
            related=declared(tile),
        )
        return None
    form = builtin.forms[0]
    shape = form.params[0].shape or ()
    return Matched(form, (tile,), dict(zip(shape, cast(pg.TileType, tile.type).shape, strict=True)))


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
    return pg.Gather(node.span, pg.TileType(table.place.element, shape), table.place, indices)


# Dense contraction.


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


BUILDERS: Mapping[str, Builder] = {
    **dict.fromkeys(get_args(pg.MathOp), math),
    **dict.fromkeys(CONVERSIONS, conversion),
    "min": extremum,
    "max": extremum,
    "tmax": tmax,
    "argsel": argsel,
    "where": where,
    "iota": iota,
    "rowmax": reduction,
    "rowsum": reduction,
    "rowargmax": reduction,
    "cumsum": rearrangement,
    "tril": rearrangement,
    "transpose": rearrangement,
    "flat": flat,
    "gather": gather,
    "dot": contraction,
    "dot_t": contraction,
}

RULES: Mapping[type, Rule] = {ast.Call: call}
