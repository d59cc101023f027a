"""The expressions and types of the grammar, parsed from a token stream that may be broken.

Each function takes the stream at the first token of its production and leaves it after the last, or reports
and raises `Abandoned`.
"""

from __future__ import annotations

from typing import Literal, cast

from phobos_core.language.builtins import COLLECTIVES, MODES
from phobos_core.language.operators import BINARY
from phobos_core.syntax import build
from phobos_core.syntax.ast import (
    Binary,
    BoolLit,
    Call,
    Collective,
    CtxField,
    ErrorExpr,
    Expr,
    Index,
    Name,
    PointSub,
    RangeSub,
    Span,
    SpanSub,
    Subscript,
    TypeExpr,
    Unary,
)
from phobos_core.syntax.stream import LOOKAHEAD, NEVER_IN_BRACKETS, Stream, reserved
from phobos_core.syntax.tokens import Kind

# What stands between angle brackets binds tighter than a comparison.
OPERAND = BINARY["|"].level


def expression(s: Stream, level: int = 1) -> Expr:
    """One expression whose operators bind as `level` or tighter."""
    s.deeper()
    start = s.token.start
    left = _unary(s)
    while True:
        op = s.token
        binary = BINARY.get(op.text)
        if binary is None or binary.level < level or s.ends_statement():
            s.depth -= 1
            return left
        s.take()
        right = expression(s, binary.level + 1)
        left = Binary(s.since(start), op.text, Span(op.start, op.end), left, right)


def _unary(s: Stream) -> Expr:
    op = s.token
    if op.text not in ("-", "!", "~"):
        return _postfix(s)
    s.take()
    inner = s.token
    if inner.text in ("-", "!", "~"):
        message = f"`{op.text}{inner.text}`: only one unary operator may stand before an operand"
        help = f"put the inner one in parentheses: `{op.text}({inner.text}...)`"
        s.fail(build.error("syntax-error", Span(op.start, inner.end), message, help))
    operand = _postfix(s)
    return Unary(s.since(op.start), op.text, operand)


def _postfix(s: Stream) -> Expr:
    start = s.token.start
    expr = _primary(s)
    while not s.ends_statement():
        if s.here("["):
            subscripts = s.items(_subscript, "a subscript")
            expr = Index(s.since(start), expr, subscripts)
        elif s.here("("):
            args = s.items(expression, "an argument", empty=True)
            expr = Call(s.since(start), expr, args)
        elif s.here("."):
            message = "only `ctx` has fields"
            s.fail(build.error("syntax-error", Span(s.token.start, s.token.end), message))
        else:
            break
    return expr


def _primary(s: Stream) -> Expr:
    token = s.token
    span = Span(token.start, token.end)
    match token.kind:
        case Kind.INT:
            s.take()
            return build.int_literal(span, token.text, s.report)
        case Kind.FLOAT:
            s.take()
            return build.float_literal(span, token.text, s.report)
        case Kind.NAME if not (s.newline_ends and s.starts_statement()):
            return _collective(s) or _read(s)
        case Kind.KEYWORD if token.text in ("true", "false"):
            s.take()
            return BoolLit(span, token.text == "true")
        case Kind.KEYWORD if token.text == "ctx":
            return _ctx_field(s)
        case Kind.PUNCTUATION if token.text == "(":
            return _parenthesized(s)
        case Kind.KEYWORD if not token.first and s.peek(1).kind is Kind.PUNCTUATION:
            return s.fail(reserved(token))
        case _:
            return s.fail(s.unexpected("a statement" if s.at == s.statement else "an expression"))


def _parenthesized(s: Stream) -> Expr:
    newline_ends, s.newline_ends = s.newline_ends, False
    s.opened()
    inner = expression(s)
    s.close()
    s.newline_ends = newline_ends
    return inner


def _read(s: Stream) -> Name:
    token = s.take()
    return Name(Span(token.start, token.end), token.text)


def _ctx_field(s: Stream) -> CtxField:
    start = s.take().start
    if not s.here("."):
        message = "`ctx` is read only through its fields, such as `ctx.block.x`"
        s.fail(build.error("reserved-name", s.since(start), message))
    fields: list[str] = []
    while len(fields) < 2 and s.here(".") and not (fields and s.ends_statement()):
        s.take()
        if s.token.kind is not Kind.NAME:
            s.fail(s.unexpected("a field of `ctx`"))
        fields.append(s.take().text)
    return CtxField(s.since(start), ".".join(fields))


def _collective(s: Stream) -> Collective | None:
    """A collective or shuffle, or None where the name is only a name, compared perhaps with one named `from`."""
    if s.peek(1).text != "<" or s.peek(2).text not in MODES:
        return None
    after = s.peek(3)
    plain = after.kind in (Kind.NAME, Kind.INT, Kind.FLOAT, Kind.KEYWORD) and not after.first
    if s.token.text in COLLECTIVES:
        return _group(s) if plain or _closes_group(s) else None
    if plain:
        name = s.token
        those = ", ".join(f"`{each}`" for each in COLLECTIVES)
        message = f"`{name.text}` is no collective and no shuffle: those are {those}"
        help = "`reduce<over ctx.lane>(x, f)` folds by a function of your own"
        s.fail(build.error("syntax-error", Span(name.start, name.end), message, help))
    return None


def _closes_group(s: Stream) -> bool:
    """Whether a `>` with a `(` behind it ends what the `<` after this name opens."""
    level = 0
    for ahead in range(3, LOOKAHEAD):
        text = s.peek(ahead).text
        level += (text in ("(", "[")) - (text in (")", "]"))
        if level == 0 and text == ">":
            return s.peek(ahead + 1).text == "("
        if level < 0 or text in NEVER_IN_BRACKETS or s.peek(ahead).kind is Kind.END:
            return False
    return False


def _group(s: Stream) -> Collective:
    op = _read(s)
    newline_ends, s.newline_ends = s.newline_ends, False
    s.opened()
    mode = cast(Literal["over", "from", "xor", "down", "up"], s.take().text)
    operand = _group_of_threads(s) if mode == "over" else expression(s, OPERAND)
    width = None
    if s.accept(","):
        s.expect("width")
        width = expression(s, OPERAND)
    s.close("`, width w`" if width is None else "")
    if not s.here("("):
        s.fail(s.unexpected("the value in `(` `)`"))
    args = s.items(expression, "an argument", empty=True)
    s.newline_ends = newline_ends
    return Collective(s.since(op.span.start), op, mode, operand, width, args)


def _group_of_threads(s: Stream) -> Expr:
    if s.here("ctx"):
        return _ctx_field(s)
    operand = expression(s, OPERAND)
    s.report(build.error("syntax-error", operand.span, "`over` names `ctx.lane` or `ctx.thread`"))
    return ErrorExpr(operand.span)


def _subscript(s: Stream) -> Subscript:
    start = s.token.start

    def bound() -> Expr | None:
        return None if s.here(",") or s.here("]") else expression(s)

    if s.accept(":"):
        end = bound()
        return RangeSub(s.since(start), None, end)
    first = expression(s)
    if s.accept(":+"):
        length = expression(s)
        return SpanSub(s.since(start), first, length)
    if s.accept(":"):
        end = bound()
        return RangeSub(s.since(start), first, end)
    return PointSub(s.since(start), first)


def type_expression(s: Stream) -> TypeExpr:
    start = s.token.start
    name = _type_name(s, "a type")
    if not s.here("<") or s.ends_statement():
        return build.scalar_type(name.span, name.text, s.report)
    s.opened()
    element = _type_name(s, "an element type")
    s.close()
    if not s.here("["):
        s.fail(s.unexpected("dimensions in `[` `]`", "a type with dimensions is `tile<f32>[M, N]`"))
    dims = s.items(expression, "a dimension")
    return build.shaped_type(s.since(start), name, element, dims, s.report)


def _type_name(s: Stream, what: str) -> Name:
    if s.token.kind is not Kind.NAME:
        s.fail(s.unexpected(what))
    return _read(s)
