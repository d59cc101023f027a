"""The arguments of a built-in against its entry in the table: number, kind, element types, ranks and extents.

In: a call and the entry's forms. Out: the checked arguments with the form that they chose and what its symbols
(`M`, `K`) stand for. What a built-in means is not known here.
"""

from __future__ import annotations

from phobos_core.analysis import program as pg
from phobos_core.analysis.constants import is_static
from phobos_core.analysis.context import Context, Shape, Site, declared_as, element_of, infer, shape_text
from phobos_core.analysis.shapes import agree, constrain, shape_of, static_shape
from phobos_core.analysis.symbolic import Sym, divide, remainder, sym
from phobos_core.language.builtins import Builtin, Form, OperandKind, Param, Section
from phobos_core.language.builtins.schema import bracketed
from phobos_core.language.diagnostic import Related
from phobos_core.language.records import dataclass
from phobos_core.language.types import INDEX, Kind, ScalarType
from phobos_core.syntax import ast

# What takes a tile, and what a scalar. A tensor as a whole is an operand of the few built-ins that look it up
# themselves.
_TILES = (OperandKind.TILE, OperandKind.NAMED_TILE, OperandKind.TENSOR, OperandKind.CONDITION)
_SCALARS = (OperandKind.SCALAR, OperandKind.CONDITION)


@dataclass(frozen=True, slots=True)
class Matched:
    form: Form
    args: tuple[pg.Expr, ...]
    extents: dict[str, Sym]


def count_fits(cx: Context, node: ast.Call | ast.Collective, builtin: Builtin) -> bool:
    """Whether the number of arguments is one that some form takes; reports where not."""
    count = len(node.args)
    for form in builtin.forms:
        if len(form.params) == count:
            return True
        most = form.most_arguments
        if form.least_arguments <= count and (most is None or count <= most):
            return True
    signature = builtin.signature(builtin.forms[0])
    arguments = "1 argument" if count == 1 else f"{count} arguments"
    cx.error("argument-count", node.span, f"`{signature}` has {arguments} here, and takes {_counts(builtin)}")
    return False


def _counts(builtin: Builtin) -> str:
    """`2`, `4 or 5`, `at least 1`."""
    least = {form.least_arguments for form in builtin.forms}
    most = [form.most_arguments for form in builtin.forms]
    known = [count for count in most if count is not None]
    if len(known) < len(most):
        return f"at least {min(least)}"
    return " or ".join(map(str, sorted(least | set(known))))


def match(cx: Context, node: ast.Call, builtin: Builtin, at: Site) -> Matched | None:
    """Checks every argument and picks the form that they fit."""
    args = [infer(cx, arg, at) for arg in node.args]
    known = tuple([arg for arg in args if arg is not None])
    return match_checked(cx, node, builtin, known) if len(known) == len(args) else None


def match_checked(
    cx: Context, node: ast.Call | ast.Collective, builtin: Builtin, args: tuple[pg.Expr, ...]
) -> Matched | None:
    form = _form(builtin, args)
    if form is None:
        _no_form(cx, builtin, args)
        return None
    for param, arg in zip(form.params, args, strict=True):
        if not element_fits(cx, builtin, form, param, arg):
            return None
    extents = _bind_extents(cx, builtin, form, args)
    return None if extents is None else Matched(form, args, extents)


def _form(builtin: Builtin, args: tuple[pg.Expr, ...]) -> Form | None:
    """The first form whose parameters take these kinds and ranks, with these element types if one does."""
    possible: Form | None = None
    for form in builtin.forms:
        if len(form.params) == len(args) and _kinds_fit(form, args):
            if all(map(_has_element, form.params, args)):
                return form
            possible = possible or form
    return possible


def _kinds_fit(form: Form, args: tuple[pg.Expr, ...]) -> bool:
    tiles = False
    for param, arg in zip(form.params, args, strict=True):
        type_ = arg.type
        tile = isinstance(type_, pg.TileType)
        if not _takes(param, tile=tile):
            return False
        if isinstance(type_, pg.TileType):
            tiles = True
            if param.shape is not None and len(param.shape) != len(type_.shape):
                return False
    return tiles or not form.result.tile


def _takes(param: Param, *, tile: bool) -> bool:
    """Whether a parameter takes a tile, or a scalar. That the tile is declared, where it has to be, is checked by the
    built-in itself."""
    taken = _TILES if tile else _SCALARS
    return any(kind in taken for kind in param.accepts)


def _no_form(cx: Context, builtin: Builtin, args: tuple[pg.Expr, ...]) -> None:
    """Says which argument is of the wrong kind or rank."""
    form = builtin.forms[0]
    for param, arg in zip(form.params, args, strict=True):
        tile = isinstance(arg.type, pg.TileType)
        if not tile and OperandKind.SCALAR not in param.accepts:
            cx.error(
                "not-a-tile",
                arg.span,
                f"`{builtin.name}` takes a tile, and this is a scalar `{arg.type}`",
                help="`max` takes scalars too" if builtin.name == "tmax" else None,
            )
            return
        if tile and param.rank is not None and param.rank != len(shape_of(arg)):
            ranks = " or ".join(dict.fromkeys(str(p.rank) for p in _alternatives(builtin, param.name)))
            cx.error(
                _operand_code(builtin),
                arg.span,
                f"`{builtin.name}` takes a tile of rank {ranks}, and this is {shape_text(shape_of(arg))}",
                related=declared(arg),
            )
            return
        if tile and not _takes(param, tile=True):
            cx.error("not-a-scalar", arg.span, f"`{builtin.name}` takes a scalar, and this is a tile")
            return
    cx.error("element-type", args[0].span, f"`{builtin.name}` does not take these arguments")


def _alternatives(builtin: Builtin, name: str) -> list[Param]:
    return [param for form in builtin.forms for param in form.params if param.name == name]


def _operand_code(builtin: Builtin) -> str:
    return "contraction-operand" if builtin.section is Section.CONTRACTION else "reduction-operand"


def declared(arg: pg.Expr) -> tuple[Related, ...]:
    """Where a named operand was declared."""
    if isinstance(arg, pg.TileRead):
        return declared_as(arg.place.root)
    return ()


def _has_element(param: Param, arg: pg.Expr) -> bool:
    if OperandKind.CONDITION in param.accepts:
        return True
    element = element_of(arg.type)
    if element in param.elements:
        return True
    # A literal is an index that takes the type it meets.
    return isinstance(arg, pg.Const) and element is INDEX and any(e.is_integer for e in param.elements)


def element_fits(cx: Context, builtin: Builtin, form: Form, param: Param, arg: pg.Expr) -> bool:
    if _has_element(param, arg):
        return True
    element = element_of(arg.type)
    if builtin.section is Section.CONTRACTION:
        code = "contraction-operand"
    elif element.kind is Kind.UINT:
        code = "unsigned-arithmetic"
    else:
        code = "element-type"
    taken = tuple(dict.fromkeys(e for p in _alternatives(builtin, param.name) for e in p.elements))
    together = " with the other arguments here" if element in taken else ""
    listed = _listed(param.elements if together else taken)
    cx.error(
        code,
        arg.span,
        f"`{builtin.name}` takes {listed}{together}, and this is `{element}`",
        related=declared(arg),
        help=_conversion_help(arg, param.elements),
    )
    return False


def _listed(elements: tuple[ScalarType, ...]) -> str:
    names = [f"`{element}`" for element in elements]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _conversion_help(arg: pg.Expr, elements: tuple[ScalarType, ...]) -> str | None:
    element = element_of(arg.type)
    if isinstance(arg, pg.Const) and element is INDEX:
        return f"write `{arg.value}.0`"
    if element.kind is Kind.BOOL:
        return "choose the values with `where(c, a, b)`"
    target = "i32" if element.kind is Kind.UINT and any(e.name == "i32" for e in elements) else "f32"
    return f"convert it: `{target}(..)`" if any(e.name == target for e in elements) else None


def _bind_extents(cx: Context, builtin: Builtin, form: Form, args: tuple[pg.Expr, ...]) -> dict[str, Sym] | None:
    """What the symbols of the parameters' shapes stand for; requires every extent of one symbol to agree."""
    extents: dict[str, Sym] = {}
    for param, arg in zip(form.params, args, strict=True):
        shape = shape_of(arg)
        if param.shape is None:
            if shape and not static_shape(cx, shape, arg.span):
                return None
            continue
        for symbol, extent in zip(param.shape, shape, strict=True):
            if symbol not in form.dynamic and not is_static(cx, extent):
                static_shape(cx, shape, arg.span)
                return None
            if symbol.isidentifier():
                bound = extents.setdefault(symbol, extent)
            else:
                bound = extent_value(symbol, extents)
            if bound != extent:
                agree(
                    cx, arg.span, bound, extent, _disagreement(builtin, form, args, symbol), related=_all_declared(args)
                )
    for symbol, multiple in form.multiples:
        _whole_number(cx, builtin, form, args, symbol, extents[symbol], multiple)
    return extents


def _whole_number(
    cx: Context, builtin: Builtin, form: Form, args: tuple[pg.Expr, ...], symbol: str, extent: Sym, multiple: int
) -> None:
    at = next(arg for param, arg in zip(form.params, args, strict=True) if symbol in (param.shape or ()))
    message = f"`{builtin.name}` takes {_shapes(form)} with `{symbol}` a multiple of {multiple}, and it is `{extent}`"
    holds = remainder(extent, sym(multiple))
    constrain(
        cx, "shape-mismatch", at.span, message, (extent,), lambda env: holds.evaluate(env) == 0, related=declared(at)
    )


def _shapes(form: Form) -> str:
    return " x ".join(bracketed(param.shape) for param in form.params if param.shape is not None)


def _disagreement(builtin: Builtin, form: Form, args: tuple[pg.Expr, ...], symbol: str) -> str:
    given = " x ".join(shape_text(shape_of(arg)) for arg in args if shape_of(arg))
    which = f": `{symbol}` has two extents" if symbol.isidentifier() else ""
    return f"`{builtin.name}` takes {_shapes(form)}, and here it has {given}{which}"


def _all_declared(args: tuple[pg.Expr, ...]) -> tuple[Related, ...]:
    return tuple(place for arg in args for place in declared(arg))


def result_shape(matched: Matched) -> Shape:
    """The shape of the result, by the form's symbols."""
    shape = matched.form.result.shape
    assert shape is not None
    return tuple(extent_value(text, matched.extents) for text in shape)


def extent_value(text: str, extents: dict[str, Sym]) -> Sym:
    """`R*C`, `K/32` or `1`, read from left to right."""
    if text in extents:
        return extents[text]
    value = sym(1)
    operator = "*"
    for piece in text.replace("*", " * ").replace("/", " / ").split():
        if piece in "*/":
            operator = piece
            continue
        operand = sym(int(piece)) if piece.isdigit() else extents[piece]
        value = value * operand if operator == "*" else divide(value, operand)
    return value
