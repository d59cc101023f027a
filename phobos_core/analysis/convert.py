"""Which type an operation computes in, and which conversions happen by themselves.

Out: operands wrapped in `Convert` (or literals rewritten in their type), so that every node of the checked program
has operands of one element type. Where no rule gives a type, a diagnostic.
"""

from __future__ import annotations

from phobos_core.analysis import program as pg
from phobos_core.analysis.constants import const_as, wrap
from phobos_core.analysis.context import Context, declared_as, element_of
from phobos_core.language.types import BOOL, F64, I32, I64, INDEX, Kind, ScalarType, join
from phobos_core.syntax.ast import Span

# Kinds of types with arithmetic of their own.
_COMPUTED = (Kind.FLOAT, Kind.INT, Kind.INDEX)


def convert(cx: Context, expr: pg.Expr, element: ScalarType, *, in_tile: bool = False) -> pg.Expr:
    """`expr` with elements of another type, by whatever conversion there is.

    A float literal is an f32, but `in_tile`, in a tile expression, it has the tile's float type from the start.
    """
    type_ = expr.type
    current = element_of(type_)
    if current is element or current == element:
        return expr
    if isinstance(expr, pg.Const):
        exact = expr.exact if in_tile else None
        return const_as(cx, expr if exact is None else pg.Const(expr.span, F64, exact, exact), element)
    if isinstance(type_, pg.TileType):
        return pg.Convert(expr.span, pg.TileType(element, type_.shape), expr)
    return pg.Convert(expr.span, element, expr)


def operand_type(cx: Context, lhs: pg.Expr, rhs: pg.Expr) -> ScalarType | None:
    """The element type of an arithmetic operation, or None where the operands have no join."""
    a, b = element_of(lhs.type), element_of(rhs.type)
    if a is b and a.kind in _COMPUTED:
        return a
    tile_a, tile_b = isinstance(lhs.type, pg.TileType), isinstance(rhs.type, pg.TileType)
    if tile_a == tile_b:
        return _literal_type(lhs, rhs, a, b) or join_types(cx, a, b)
    # One scalar: it takes the tile's type, but a float turns an integer tile into floats.
    tile, scalar = (a, b) if tile_a else (b, a)
    if join(tile, scalar) is None:
        return None
    return scalar if scalar.is_float and not tile.is_float else tile


def comparison_type(cx: Context, lhs: pg.Expr, rhs: pg.Expr) -> ScalarType | None:
    """The wider type of both sides, so that nothing truncates; a literal that fits takes the other side's."""
    a, b = element_of(lhs.type), element_of(rhs.type)
    if a == b:
        return None if a.kind is Kind.UINT else a
    for literal, other in ((lhs, b), (rhs, a)):
        if isinstance(literal, pg.Const) and _fits(cx, literal, other):
            return other
    return join_types(cx, a, b)


def join_types(cx: Context, a: ScalarType, b: ScalarType) -> ScalarType | None:
    """The join, with `index` at the width of this compilation."""
    if cx.options.index_bits == 32 and {a, b} == {I64, INDEX}:
        return I64
    return join(a, b)


def _literal_type(lhs: pg.Expr, rhs: pg.Expr, a: ScalarType, b: ScalarType) -> ScalarType | None:
    """The other side's type, where one side is an integer literal and both are integers."""
    if a.is_integer and b.is_integer:
        if isinstance(lhs, pg.Const) and not isinstance(rhs, pg.Const):
            return b
        if isinstance(rhs, pg.Const) and not isinstance(lhs, pg.Const):
            return a
    return None


def _fits(cx: Context, literal: pg.Const, other: ScalarType) -> bool:
    if isinstance(literal.value, bool):
        return False
    if isinstance(literal.value, int):
        return other.is_integer and wrap(literal.value, other, cx.options.index_bits) == literal.value
    return False


def assigned(
    cx: Context,
    expr: pg.Expr,
    element: ScalarType,
    span: Span,
    target: str,
    symbol: pg.Symbol | None,
    *,
    in_tile: bool = False,
) -> pg.Expr | None:
    """`expr` converted to the element type it is assigned to, where that happens by itself.

    Float to float, index to float, and integers to where no conversion is spelled: index or a literal to any
    integer, i32 and i64 to unsigned storage, any integer to index.
    """
    source = element_of(expr.type)
    if source == element:
        return expr
    to_float = element.is_float and (source.is_float or source is INDEX)
    to_storage = source is INDEX and element.kind in (Kind.INT, Kind.UINT)
    to_unsigned = element.kind is Kind.UINT and source in (I32, I64)
    to_index = element is INDEX and source.is_integer
    if to_float or to_storage or to_unsigned or to_index:
        return convert(cx, expr, element, in_tile=in_tile)
    cx.error(
        "type-mismatch",
        span,
        f"{target} holds `{element}`, and the value is `{source}`, which does not convert to it by itself",
        related=declared_as(symbol),
        help=_spelled(source, element),
    )
    return None


def _spelled(source: ScalarType, element: ScalarType) -> str | None:
    """How to write the conversion that is missing."""
    if source == BOOL or element == BOOL:
        return "`bool` converts to nothing: choose the values with `where(c, a, b)`, or compare to get a `bool`"
    if element.kind is Kind.UINT or element is INDEX:
        return "convert it first: `i32(..)`"
    return f"convert it: `{element}(..)`"


def cannot_join(cx: Context, span: Span, what: str, lhs: pg.Expr, rhs: pg.Expr) -> None:
    """Reports two operands that have no common type."""
    a, b = element_of(lhs.type), element_of(rhs.type)
    unsigned = next((t for t in (a, b) if t.kind is Kind.UINT), None)
    if unsigned is not None:
        cx.error(
            "unsigned-arithmetic",
            span,
            f"{what} on `{unsigned}`: unsigned types are storage, with no arithmetic directly on them",
            help="convert first, as in `i32(b)`",
        )
    else:
        cx.error("no-join", span, f"{what} on `{a}` and `{b}`: `bool` has no arithmetic and no conversion")
