"""The rules that a production alone does not express, as constructors of syntax nodes.

In: the parts of a node and a function that takes a diagnostic. Out: the node, or an error node after a report.
The converter of tree-sitter trees and the recovering parser both build these nodes, so each rule and its
message stands here once.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Literal, TypeAlias

from phobos_core.language.diagnostic import Diagnostic
from phobos_core.language.types import SPELLED
from phobos_core.syntax.ast import (
    BoolLit,
    ErrorExpr,
    ErrorTypeExpr,
    Expr,
    FloatLit,
    Index,
    IntLit,
    Name,
    ScalarTypeExpr,
    ShapedTypeExpr,
    Span,
    TypeExpr,
)

Report: TypeAlias = Callable[[Diagnostic], None]

# Every later stage recurses over the tree, by a few calls a level, so its depth is bounded here, well below Python's
# limit. A sum of n terms and a chain of n `else if` are n levels deep: people generate long ones, so the bound is wide,
# and Python's limit is made to fit it.
MAX_DEPTH = 400
sys.setrecursionlimit(max(sys.getrecursionlimit(), 25 * MAX_DEPTH))

MAX_INT = 2**63 - 1


def error(code: str, span: Span, message: str, help: str | None = None) -> Diagnostic:
    return Diagnostic(code, "error", span.start, span.end, message, help=help)


def too_deep(span: Span) -> Diagnostic:
    return error(
        "nesting-too-deep",
        span,
        f"this is nested more than {MAX_DEPTH} levels deep",
        "name a part of it with `let`, or move a part of it into a function",
    )


def int_literal(span: Span, text: str, report: Report) -> IntLit | ErrorExpr:
    # The length first: Python refuses to convert thousands of digits.
    if len(text) <= 19 or len(text.lstrip("0")) <= 19:
        value = int(text)
        if value <= MAX_INT:
            return IntLit(span, value)
    report(error("literal-too-large", span, f"an integer literal is at most {MAX_INT}, a signed 64-bit one"))
    return ErrorExpr(span)


def float_literal(span: Span, text: str, report: Report) -> FloatLit | ErrorExpr:
    value = float(text)
    if math.isinf(value):
        report(error("literal-too-large", span, "this float literal is past the range of f64"))
        return ErrorExpr(span)
    return FloatLit(span, value)


def scalar_type(span: Span, name: str, report: Report) -> ScalarTypeExpr | ErrorTypeExpr:
    if name in SPELLED:
        return ScalarTypeExpr(span, name)
    if name in ("tensor", "tile"):
        message = f"`{name}` needs an element type and dimensions"
        help = f"write `{name}<f32>[M, N]`"
    else:
        message = f"unknown type `{name}`"
        help = f"the scalar types are {', '.join(SPELLED)}"
    report(error("unknown-type", span, message, help))
    return ErrorTypeExpr(span)


def shaped_type(span: Span, constructor: Name, element: Name, dims: tuple[Expr, ...], report: Report) -> TypeExpr:
    scalar = scalar_type(element.span, element.text, report)
    names_and_ints = tuple([dim for dim in dims if isinstance(dim, (Name, IntLit))])
    if len(names_and_ints) != len(dims):
        for dim in dims:
            if not isinstance(dim, Name | IntLit | ErrorExpr):
                report(
                    error(
                        "syntax-error",
                        dim.span,
                        "a dimension is a name or an integer literal",
                        "bind the value with `let` before, and use its name here",
                    )
                )
    kind: Literal["tensor", "tile"]
    match constructor.text:
        case "tensor":
            kind = "tensor"
        case "tile":
            kind = "tile"
        case other:
            report(
                error(
                    "unknown-type",
                    constructor.span,
                    f"unknown type `{other}`",
                    "a type with dimensions is `tensor<T>[dims]` or `tile<T>[dims]`",
                )
            )
            return ErrorTypeExpr(span)
    if isinstance(scalar, ErrorTypeExpr) or len(names_and_ints) != len(dims):
        return ErrorTypeExpr(span)
    return ShapedTypeExpr(span, kind, scalar, names_and_ints)


def target(expr: Expr, written: Span, report: Report) -> Name | Index | None:
    """What stands left of `=`; `None` after a report. `written` is its span, parentheses and all."""
    named = expr if isinstance(expr, Name) or (isinstance(expr, Index) and isinstance(expr.base, Name)) else None
    if named and written == expr.span:
        return named
    if not isinstance(expr, ErrorExpr):
        if named:
            help = "take the parentheses out"
        else:
            help = "index the name itself" if isinstance(expr, Index) else "write `==` to compare"
        report(error("syntax-error", written, "only a name or an indexed name can be assigned to", help))
    return None


def attribute_value(expr: Expr, report: Report) -> Name | IntLit | FloatLit | BoolLit | None:
    """The literal or name that an attribute's argument holds; `None` after a report."""
    if isinstance(expr, Name | IntLit | FloatLit | BoolLit):
        return expr
    if not isinstance(expr, ErrorExpr):
        report(error("syntax-error", expr.span, "an attribute takes literals and names, not expressions"))
    return None


def choice(expr: Expr, report: Report) -> IntLit | None:
    """One value of a search space; `None` after a report."""
    if isinstance(expr, IntLit):
        return expr
    if not isinstance(expr, ErrorExpr):
        report(error("syntax-error", expr.span, "the values of a search space are integer literals"))
    return None
