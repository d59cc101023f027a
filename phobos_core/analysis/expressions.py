"""Names, literals and operators: one rule for each, scalars and tiles alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from phobos_core.analysis import program as pg
from phobos_core.analysis.constants import (
    fold_integers,
    fold_symbolic,
    is_static,
    round_float,
    surely_positive,
    value_of,
    wrap,
)
from phobos_core.analysis.context import Context, Rule, Site, element_of, infer, see, type_text
from phobos_core.analysis.convert import cannot_join, comparison_type, convert, operand_type
from phobos_core.analysis.names import lookup, spoken, suggestion
from phobos_core.analysis.shapes import broadcast, constrain, static
from phobos_core.analysis.symbolic import sym
from phobos_core.language.context import AXES, CTX_FIELDS
from phobos_core.language.operators import BINARY, OperatorClass
from phobos_core.language.targets import LANES
from phobos_core.language.types import BOOL, F32, INDEX, Kind, ScalarType
from phobos_core.syntax import ast

BITWISE = frozenset(op for op, entry in BINARY.items() if entry.kind in (OperatorClass.BITWISE, OperatorClass.SHIFT))
COMPARING = frozenset(op for op, entry in BINARY.items() if entry.kind in (OperatorClass.EQUALITY, OperatorClass.ORDER))
LOGICAL = frozenset(op for op, entry in BINARY.items() if entry.kind is OperatorClass.LOGICAL)

DIVIDING = ("/", "%")

# Names of these are symbolic constants.
SYMBOLIC = (pg.SymbolKind.DIM, pg.SymbolKind.CONSTANT)


def name(cx: Context, node: ast.Name, at: Site) -> pg.Expr | None:
    symbol = lookup(cx, node)
    if symbol is None:
        return None
    type_ = symbol.type
    if isinstance(type_, ScalarType):
        if symbol.kind in SYMBOLIC:
            return pg.SymConst(node.span, INDEX, cx.values[symbol])
        return pg.ScalarRead(node.span, type_, symbol)
    if isinstance(type_, pg.TileType):
        return pg.TileRead(node.span, type_, pg.Place(node.span, symbol, type_.element, type_.shape))
    colons = ", ".join(":" for _ in type_.dims)
    cx.error(
        "not-a-value",
        node.span,
        f"{spoken(node, symbol)} is a tensor in global memory: a value is a slice of it",
        related=(see(symbol.span, "declared here"),),
        help=f"`{node.text}[{colons}]` is all of it",
    )
    return None


def integer(cx: Context, node: ast.IntLit, at: Site) -> pg.Expr | None:
    bits = cx.options.index_bits
    if node.value >> (bits - 1):
        cx.error("literal-too-large", node.span, f"{node.value} does not fit an index of {bits} bits")
        return None
    return pg.Const(node.span, INDEX, node.value)


def floating(cx: Context, node: ast.FloatLit, at: Site) -> pg.Expr | None:
    value = round_float(node.value, F32)
    return pg.Const(node.span, F32, value, None if value == node.value else node.value)


def boolean(cx: Context, node: ast.BoolLit, at: Site) -> pg.Expr | None:
    return pg.Const(node.span, BOOL, node.value)


def broken(cx: Context, node: ast.ErrorExpr, at: Site) -> None:
    """The parser has reported it."""


def ctx_field(cx: Context, node: ast.CtxField, at: Site) -> pg.Expr | None:
    field = CTX_FIELDS.get(node.field)
    if field is None:
        _unknown_field(cx, node)
        return None
    if field.variation:
        cx.per_thread = True
    match field.name:
        case "threads":
            return pg.SymConst(node.span, INDEX, sym(cx.threads))
        case "lanes":
            return pg.SymConst(node.span, INDEX, sym(LANES))
        case "warps":
            if cx.threads % LANES:
                cx.error(
                    "not-whole-warps",
                    node.span,
                    f"`ctx.warps` needs a whole number of warps, and {cx.threads} threads are no multiple of {LANES}",
                    help=f"`@launch({-(-cx.threads // LANES) * LANES})`",
                )
                return None
            return pg.SymConst(node.span, INDEX, sym(cx.threads // LANES))
    return pg.CtxRead(node.span, INDEX, field.name)


def _unknown_field(cx: Context, node: ast.CtxField) -> None:
    axes = [f"`ctx.{node.field}.{axis}`" for axis in AXES if f"{node.field}.{axis}" in CTX_FIELDS]
    if axes:
        cx.error("unknown-ctx-field", node.span, f"`ctx.{node.field}` has an axis: {', '.join(axes)}")
    else:
        cx.error(
            "unknown-ctx-field",
            node.span,
            f"`ctx.{node.field}` is not a field of `ctx`",
            help=suggestion(node.field, CTX_FIELDS, "ctx.") or f"its fields are {', '.join(CTX_FIELDS)}",
        )


def unary(cx: Context, node: ast.Unary, at: Site) -> pg.Expr | None:
    operand = infer(cx, node.operand, at if node.op == "!" else at.part)
    if operand is None:
        return None
    element = element_of(operand.type)
    tile = isinstance(operand.type, pg.TileType)
    if node.op == "!":
        if tile or element != BOOL:
            found = type_text(operand.type)
            cx.error("logical-operand", node.span, f"`!` takes a scalar `bool`, and this is `{found}`")
            return None
        return pg.Unary(node.span, BOOL, "!", operand)
    if not _arithmetic_element(cx, node.span, node.op, element, bitwise=node.op == "~"):
        return None
    if isinstance(operand, pg.Const):
        return _fold_unary(cx, node, operand)
    if tile and not static(cx, operand, operand.span):
        return None
    if node.op == "~":
        return pg.Unary(node.span, operand.type, "~", operand)
    if isinstance(operand, pg.SymConst):
        return pg.SymConst(node.span, INDEX, operand.value * -1)
    if tile:
        # By the spec, which tells -0.0 from 0 - 0.0.
        zero = pg.Const(node.span, element, 0.0 if element.is_float else 0)
        return pg.Binary(node.span, operand.type, "-", zero, operand)
    return pg.Unary(node.span, operand.type, "-", operand)


def _fold_unary(cx: Context, node: ast.Unary, operand: pg.Const) -> pg.Const:
    value = operand.value
    if isinstance(value, float):
        return pg.Const(node.span, operand.type, -value, None if operand.exact is None else -operand.exact)
    folded = -value if node.op == "-" else ~value
    return pg.Const(node.span, operand.type, wrap(folded, operand.type, cx.options.index_bits))


def _arithmetic_element(cx: Context, span: ast.Span, op: str, element: ScalarType, *, bitwise: bool) -> bool:
    """Whether an operator computes on this element type; reports where not."""
    if element.kind is Kind.UINT:
        cx.error(
            "unsigned-arithmetic",
            span,
            f"`{op}` on `{element}`: unsigned types are storage, with no arithmetic directly on them",
            help="convert first, as in `i32(b)`",
        )
        return False
    if element == BOOL:
        cx.error(
            "no-join",
            span,
            f"`{op}` on `bool`, which has no arithmetic and no conversion",
            help="bools are joined by `&&` and `||`" if bitwise else None,
        )
        return False
    if bitwise and not element.is_integer:
        cx.error(
            "float-bit-operation",
            span,
            f"`{op}` is on integers, and this is `{element}`",
            help="convert to an integer first, as in `i32(x)`",
        )
        return False
    return True


def binary(cx: Context, node: ast.Binary, at: Site) -> pg.Expr | None:
    if node.op in LOGICAL:
        return _logical(cx, node, at)
    part = at.part
    lhs = infer(cx, node.lhs, part)
    rhs = infer(cx, node.rhs, part)
    if lhs is None or rhs is None:
        return None
    if node.op in COMPARING:
        return _comparison(cx, node, lhs, rhs, at)
    return arithmetic(cx, node.span, node.op, lhs, rhs, at)


def arithmetic(cx: Context, span: ast.Span, op: str, lhs: pg.Expr, rhs: pg.Expr, at: Site) -> pg.Expr | None:
    """`lhs op rhs` in the join of both; also `min` and `max`, the operators spelled as calls."""
    a, b = lhs.type, rhs.type
    if a is INDEX and b is INDEX:
        folded = _fold(cx, span, op, lhs, rhs)
        if folded is not None:
            return folded
    element = operand_type(cx, lhs, rhs)
    if element is None or element is BOOL:
        cannot_join(cx, span, f"`{op}`", lhs, rhs)
        return None
    if op in BITWISE:
        for side in (lhs, rhs):
            if not _arithmetic_element(cx, side.span, op, element_of(side.type), bitwise=True):
                return None
    if op in DIVIDING and not _nonzero_divisor(cx, op, rhs, element):
        return None
    result: pg.ValueType = element
    if isinstance(a, pg.TileType) or isinstance(b, pg.TileType):
        if at.one_element and not _one_element_type(cx, span, lhs, rhs, at):
            return None
        shape = broadcast(cx, span, lhs, rhs)
        if shape is None:
            return None
        result = pg.TileType(element, shape)
    in_tile = result is not element
    if a is not element:
        lhs = convert(cx, lhs, element, in_tile=in_tile)
    if b is not element:
        rhs = convert(cx, rhs, element, in_tile=in_tile)
    return pg.Binary(span, result, cast(pg.BinaryOp, op), lhs, rhs)


def _one_element_type(cx: Context, span: ast.Span, lhs: pg.Expr, rhs: pg.Expr, at: Site) -> bool:
    """The argument of a reduction is over tiles of one element type."""
    a, b = lhs.type, rhs.type
    if isinstance(a, pg.TileType) and isinstance(b, pg.TileType) and a.element != b.element:
        cx.error(
            "element-type",
            span,
            f"the argument of `{at.inside}` is over tiles of one element type, and these are `{a.element}` and"
            f" `{b.element}`",
            help=f"convert one side, as in `{a.element if a.element.is_float else b.element}(..)`",
        )
        return False
    return True


def _fold(cx: Context, span: ast.Span, op: str, lhs: pg.Expr, rhs: pg.Expr) -> pg.Expr | None:
    """Literals fold to a literal, names of dimensions and `@autotune` to a symbolic constant."""
    if isinstance(lhs, pg.Const) and isinstance(rhs, pg.Const):
        bits = cx.options.index_bits
        value = fold_integers(op, int(lhs.value), int(rhs.value), bits)
        return None if value is None else pg.Const(span, INDEX, wrap(value, INDEX, bits))
    if isinstance(lhs, (pg.Const, pg.SymConst)) and isinstance(rhs, (pg.Const, pg.SymConst)):
        a, b = value_of(cx, lhs), value_of(cx, rhs)
        symbolic = None if a is None or b is None else fold_symbolic(op, a, b)
        return None if symbolic is None else pg.SymConst(span, INDEX, symbolic)
    return None


def _nonzero_divisor(cx: Context, op: str, rhs: pg.Expr, element: ScalarType) -> bool:
    if element.is_float or isinstance(rhs.type, pg.TileType):
        return True
    value = value_of(cx, rhs)
    if value is None:
        return True
    if value.constant == 0:
        cx.error("division-by-zero", rhs.span, f"the divisor of `{op}` is the constant 0")
        return False
    if not surely_positive(value) and is_static(cx, value):
        nonzero = f"the divisor of `{op}`, `{value}`, is 0"
        constrain(cx, "division-by-zero", rhs.span, nonzero, (value,), lambda env: value.evaluate(env) != 0)
    return True


def _comparison(cx: Context, node: ast.Binary, lhs: pg.Expr, rhs: pg.Expr, at: Site) -> pg.Expr | None:
    element = comparison_type(cx, lhs, rhs)
    equality = node.op in ("==", "!=")
    if element is None:
        cannot_join(cx, node.span, f"`{node.op}`", lhs, rhs)
        return None
    if element == BOOL and not equality:
        cx.error("no-join", node.span, f"`{node.op}` on `bool`: bools compare by `==` and `!=` only")
        return None
    result: pg.ValueType = BOOL
    if isinstance(lhs.type, pg.TileType) or isinstance(rhs.type, pg.TileType):
        if element == BOOL or not at.condition:
            cx.error(
                "tile-comparison",
                node.span,
                f"`{node.op}` compares tiles, which is only inside the condition of `where`; there is no bool tile",
                help="choose per element with `where(a < b, x, y)`",
            )
            return None
        shape = broadcast(cx, node.span, lhs, rhs)
        if shape is None:
            return None
        result = pg.TileType(BOOL, shape)
    in_tile = result is not BOOL
    lhs, rhs = convert(cx, lhs, element, in_tile=in_tile), convert(cx, rhs, element, in_tile=in_tile)
    return pg.Compare(node.span, result, cast(pg.CompareOp, node.op), lhs, rhs)


def _logical(cx: Context, node: ast.Binary, at: Site) -> pg.Expr | None:
    lhs = infer(cx, node.lhs, at)
    rhs = infer(cx, node.rhs, at)
    if lhs is None or rhs is None:
        return None
    for side in (lhs, rhs):
        if element_of(side.type) != BOOL:
            cx.error(
                "logical-operand",
                side.span,
                f"`{node.op}` joins bools, and this is `{type_text(side.type)}`",
                help="compare it, as in `x != 0`",
            )
            return None
    result: pg.ValueType = BOOL
    if isinstance(lhs.type, pg.TileType) or isinstance(rhs.type, pg.TileType):
        shape = broadcast(cx, node.span, lhs, rhs)
        if shape is None:
            return None
        result = pg.TileType(BOOL, shape)
    return pg.Binary(node.span, result, cast(pg.BinaryOp, node.op), lhs, rhs)


RULES: Mapping[type, Rule] = {
    ast.Name: name,
    ast.IntLit: integer,
    ast.FloatLit: floating,
    ast.BoolLit: boolean,
    ast.CtxField: ctx_field,
    ast.Unary: unary,
    ast.Binary: binary,
    ast.ErrorExpr: broken,
}
