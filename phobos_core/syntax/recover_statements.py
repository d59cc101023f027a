"""The blocks and statements of the grammar, parsed from a token stream that may be broken.

A statement that is broken gives what could be read of it, the names that it binds above all, and leaves the
stream where the next statement starts.
"""

from __future__ import annotations

from dataclasses import replace

from phobos_core.language.diagnostic import Related
from phobos_core.language.operators import BINARY
from phobos_core.syntax import build
from phobos_core.syntax.ast import (
    Assign,
    Block,
    ErrorExpr,
    ErrorStmt,
    ErrorTypeExpr,
    Expr,
    ExprStmt,
    For,
    If,
    Jump,
    Let,
    Name,
    Span,
    Stmt,
    TypeExpr,
    Var,
    While,
)
from phobos_core.syntax.recover_expressions import OPERAND, expression, type_expression
from phobos_core.syntax.stream import ASSIGNMENTS, STATEMENT_WORDS, Abandoned, Stream
from phobos_core.syntax.tokens import Kind, Token


def block_of_item(s: Stream) -> Block:
    """The block of a kernel or function. A `}` that is missing in it is noticed at the end of the text."""
    s.unclosed = s.suspect = None
    header = s.tokens[s.at - 1]
    parsed = s.attempt(lambda: block(s, header))
    opening = s.unclosed and (s.suspect or s.unclosed)
    # A text that breaks off in the middle of a statement has been reported for that.
    if opening and not any(diagnostic.end >= s.last_end for diagnostic in s.diagnostics):
        span = Span(opening.start, opening.end)
        s.report(build.error("syntax-error", span, "this `{` is never closed", "add the `}` that ends its block"))
    return parsed or Block(s.since(s.last_end), ())


def block(s: Stream, header: Token) -> Block:
    """A block; without its `{`, the lines that are indented more than `header`'s are taken for it."""
    s.newline_ends = False
    if not s.here("{"):
        if not s.failed:
            s.report(s.unexpected("`{`"))
        s.skip()
    opening = s.token
    start = opening.start
    braced = s.accept("{")
    goes_on = header.first and opening.text != "}" and s.indent(opening) > s.indent(header)
    if not braced and not goes_on:
        return Block(s.since(s.last_end), ())
    s.deeper()
    s.failed = False
    body = statements(s)
    s.depth -= 1
    closing = s.token
    if s.accept("}"):
        if braced and s.suspect is None and closing.first and s.indent(closing) < s.indent(opening):
            s.suspect = opening
    elif braced:
        s.unclosed = opening
    return Block(s.since(start), body)


def statements(s: Stream) -> tuple[Stmt, ...]:
    body: list[Stmt] = []
    while s.token.kind is not Kind.END and not s.here("}"):
        at, start = s.at, s.token.start
        s.statement = s.at
        s.failed = s.failed and not s.token.first  # what follows a mistake on its line may come of it
        s.newline_ends = True
        parsed = s.attempt(lambda: statement(s, body))
        if s.failed and s.at == at:
            s.take()
            s.skip()
        if s.failed and s.here("{"):
            s.skip_block()
        if parsed is not None:
            body.append(parsed)
        elif s.failed:
            body.append(ErrorStmt(s.since(start)))
    return tuple(body)


def statement(s: Stream, before: list[Stmt]) -> Stmt | None:
    """One statement with its end. `before` are those before it in the block, for an `else` that came too late."""
    token = s.token
    match token.text:
        case "let":
            return _let(s)
        case "var":
            return _var(s)
        case "for":
            return _for(s)
        case "while":
            word = s.take()
            condition = _condition(s)
            body = block(s, word)
            return While(s.since(word.start), condition, body)
        case "if":
            return _if(s)
        case "else":
            return _late_else(s, before)
        case "break" | "continue" | "return":
            s.take()
            jump = Jump(s.since(token.start), token.text)
            terminator(s)
            return jump
        case "kernel" | "fn" | "@":
            what = {"kernel": "a kernel", "fn": "a function", "@": "an attribute"}[token.text]
            span = Span(token.start, token.end)
            message = f"{what} stands at the top level, not inside a block"
            help = None if token.text == "@" else "a `}` may be missing before it"
            return s.fail(build.error("syntax-error", span, message, help))
        case "{":
            span = Span(token.start, token.end)
            message = "a block follows `kernel`, `fn`, `for`, `while`, `if` or `else`"
            return s.fail(build.error("syntax-error", span, message))
        case ";":
            span = Span(token.start, token.end)
            if not s.failed:
                help = "take it out"
                s.report(build.error("syntax-error", span, "there is no statement before this `;`", help))
            s.failed = False
            s.take()
            return None
        case _:
            return _assignment_or_expression(s)


def _assignment_or_expression(s: Stream) -> Stmt:
    first = s.token
    if first.text in (")", "]"):
        span = Span(first.start, first.end)
        s.fail(build.error("syntax-error", span, f"this `{first.text}` closes nothing", "take it out"))
    if first.text in BINARY and first.text != "-":
        message = f"a statement cannot start with `{first.text}`: the one before ended at the line end"
        help = f"write `{first.text}` at the end of the line before, which then goes on"
        s.fail(build.error("syntax-error", Span(first.start, first.end), message, help))
    written = expression(s)
    if s.token.text not in ASSIGNMENTS or s.ends_statement():
        result: Stmt = ExprStmt(s.since(first.start), written)
        terminator(s)
        return result
    target_span = s.since(first.start)
    op = s.take().text
    target = build.target(written, target_span, s.report)
    assigned = value(s)
    span = s.since(first.start)
    terminator(s)
    return ErrorStmt(span) if target is None else Assign(span, target, op, assigned)


def _let(s: Stream) -> Let:
    start = s.take().start
    s.newline_ends = False
    name = s.name("a name")
    declared = _declared(s) if s.accept(":") else None
    initial: Expr
    if s.accept("="):
        initial = value(s)
    else:
        _no_value(s, name, f"`let {name.text}` needs a value", f"write `let {name.text} = e`")
        initial = ErrorExpr(s.since(s.last_end))
    span = s.since(start)
    terminator(s)
    return Let(span, name, declared, initial)


def _var(s: Stream) -> Var:
    start = s.take().start
    s.newline_ends = False
    name = s.name("a name")
    s.newline_ends = s.here(":")
    declared = _declared(s) if s.accept(":") else None
    initial = None
    if not s.ends_statement() and s.accept("="):
        initial = value(s)
    elif declared is None:
        help = f"write `var {name.text} = e`, or give it a tile type: `var {name.text}: tile<f32>[M, N]`"
        _no_value(s, name, f"`var {name.text}` needs a type or a value", help)
        declared = ErrorTypeExpr(s.since(s.last_end))
    span = s.since(start)
    terminator(s)
    return Var(span, name, declared, initial)


def _no_value(s: Stream, name: Name, message: str, help: str) -> None:
    if s.failed:
        return
    if s.token.first or s.token.text in ("}", ";"):
        s.report(build.error("syntax-error", name.span, message, help))
    else:
        s.report(s.unexpected("`=`", help))
        s.skip()


def _declared(s: Stream) -> TypeExpr:
    """A declared type. A broken one leaves the stream before the `=` on its line, if there is one."""
    start, opened = s.token.start, len(s.open)
    try:
        return type_expression(s)
    except Abandoned:
        s.forget(opened)
        while not s.token.first and s.token.text not in ("=", "{", "}", ";"):
            s.take()
        return ErrorTypeExpr(s.since(start))


def value(s: Stream) -> Expr:
    """The expression that ends a statement, up to the line end."""
    s.newline_ends = True
    start = s.token.start
    return s.attempt(lambda: expression(s)) or ErrorExpr(s.since(min(start, s.last_end)))


def terminator(s: Stream) -> None:
    """The end of a statement; what stands before it and belongs to nothing is reported once."""
    s.newline_ends = False
    if s.token.first or s.here("}") or s.accept(";"):
        return
    if not s.failed:
        s.report(s.unexpected("a line end or `;`"))
    if s.token.text not in STATEMENT_WORDS or s.token.text in ("else", "kernel", "fn"):
        s.skip()
        s.accept(";")


def _for(s: Stream) -> For:
    word = s.take()
    s.newline_ends = False
    unroll: Expr | None = None
    var = Name(Span(word.end, word.end), "")
    bounds: tuple[Expr, ...] = ()

    def header() -> None:
        nonlocal unroll, var, bounds
        if s.here("<"):
            s.opened()
            s.expect("unroll", "write `for<unroll n> i in range(lo, hi)`")
            unroll = expression(s, OPERAND)
            s.close()
        var = s.name("the name of the loop's variable")
        s.expect("in")
        s.expect("range", "a loop is `for i in range(lo, hi)`")
        if not s.here("("):
            s.fail(s.unexpected("the bounds in `(` `)`"))
        opening = s.token
        bounds = s.items(expression, "the lower bound")
        if len(bounds) not in (2, 3) and not s.failed:
            span = s.since(opening.start)
            help = "write `range(0, n)`" if len(bounds) == 1 else None
            message = f"`range` takes a lower bound, an upper bound and perhaps a step, not {len(bounds)}"
            s.report(build.error("syntax-error", span, message, help))

    s.attempt(header)
    body = block(s, word)
    missing = ErrorExpr(Span(word.start, word.end))
    low, high = bounds[:2] if len(bounds) in (2, 3) else (missing, missing)
    step = bounds[2] if len(bounds) == 3 else None
    return For(s.since(word.start), unroll, var, low, high, step, body)


def _condition(s: Stream) -> Expr:
    s.newline_ends = False
    start = s.token.start
    condition = s.attempt(lambda: expression(s)) or ErrorExpr(s.since(min(start, s.last_end)))
    if s.here("=") and not s.failed:
        span = Span(s.token.start, s.token.end)
        s.report(build.error("syntax-error", span, "`=` assigns, which no condition can", "compare with `==`"))
        s.skip()
    return condition


def _if(s: Stream) -> If:
    word = s.take()
    condition = _condition(s)
    then = block(s, word)
    orelse = None
    if s.here("else") and not s.token.first:
        s.failed = False
        orelse = _orelse(s)
    return If(s.since(word.start), condition, then, orelse)


def _orelse(s: Stream) -> Block | If:
    word = s.take()
    if not s.here("if"):
        return block(s, word)
    s.deeper()
    chained = _if(s)
    s.depth -= 1
    return chained


def _late_else(s: Stream, before: list[Stmt]) -> Stmt | None:
    token = s.token
    span = Span(token.start, token.end)
    if not before or not isinstance(before[-1], If):
        if not s.failed:
            s.report(build.error("syntax-error", span, "this `else` follows no `if`"))
        orelse = _orelse(s)
        return ErrorStmt(s.since(token.start))
    message = "`else` must follow the `}` of the then-block on the same line: a line end there ends the `if`"
    s.report(
        replace(
            build.error("syntax-error", span, message, "write `} else {`"),
            related=(Related(before[-1].span.start, before[-1].span.start + 2, "the `if` that ended"),),
        )
    )
    orelse = _orelse(s)
    before[-1] = _with_else(before[-1], orelse)
    return None


def _with_else(statement: If, orelse: Block | If) -> If:
    """The `if`, with `orelse` at the end of its chain."""
    end = orelse.span.end
    if isinstance(statement.orelse, If):
        orelse = _with_else(statement.orelse, orelse)
    elif statement.orelse is not None:
        return statement
    return replace(statement, span=Span(statement.span.start, end), orelse=orelse)
