"""A text with syntax errors -> its items, as far as they can be read, and one diagnostic for each mistake.

tree-sitter recovers from errors too, by the cheapest edit it finds, which serves colours and folds; it does not
say what was expected, nor keep what stands around the mistake. This parser does: it knows what each place of
the grammar wants, takes up again at the next statement, keeps the names that a broken statement binds, and puts
`ErrorExpr`, `ErrorStmt` and `ErrorTypeExpr` where something is missing.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, get_args

from phobos_core.language.diagnostic import Diagnostic
from phobos_core.syntax import build
from phobos_core.syntax.ast import (
    AttrArg,
    Attribute,
    Block,
    ErrorTypeExpr,
    Expr,
    Function,
    If,
    Item,
    Kernel,
    KeywordArg,
    Name,
    Param,
    PlacedItem,
    PositionalArg,
    SearchArg,
    Span,
    TypeExpr,
)
from phobos_core.syntax.recover_expressions import expression, type_expression
from phobos_core.syntax.recover_statements import block_of_item, terminator, value
from phobos_core.syntax.stream import Abandoned, Stream, shown, strange
from phobos_core.syntax.tokens import Kind

NESTING = (Block, If, *get_args(Expr))

ITEM_WORDS = ("@", "kernel", "fn")


def recover(text: bytes) -> tuple[tuple[PlacedItem, ...], tuple[Diagnostic, ...]]:
    """The items of a text, each with its offset, and the diagnostics, which are relative to the text."""
    s = Stream(text.decode("latin-1"))
    items = []
    while s.token.kind is not Kind.END:
        start = s.token.start
        s.failed = False
        if s.token.text not in ITEM_WORDS:
            _outside(s)
            continue
        item = _item(s)
        if item is None:
            continue
        if height(item) > build.MAX_DEPTH:
            s.too_deep(item.name.span)
            continue
        item = moved(item, -start)
        items.append(PlacedItem(start, item, text[start : start + item.span.end]))
    return tuple(items), tuple(sorted(s.diagnostics, key=lambda diagnostic: diagnostic.start))


def height(root: Item) -> int:
    """How deep the tree nests, found without recursion: a chain of operators is as deep as it is long."""
    highest = 0
    stack: list[tuple[Any, int]] = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if isinstance(node, tuple):
            stack.extend((child, depth) for child in node)
        elif is_dataclass(node):
            depth += isinstance(node, NESTING)
            highest = max(highest, depth)
            stack.extend((getattr(node, field.name), depth) for field in fields(node))
    return highest


def moved(node: Any, by: int) -> Any:
    """The tree with every span moved."""
    if by == 0:
        return node
    match node:
        case Span():
            return node.shifted(by)
        case tuple():
            return tuple(moved(child, by) for child in node)
        case _ if is_dataclass(node) and not isinstance(node, type):
            return type(node)(*(moved(getattr(node, field.name), by) for field in fields(node)))
        case _:
            return node


# Items


def _item(s: Stream) -> Item | None:
    start = s.token.start
    attributes = []
    while s.here("@"):
        s.failed = False
        attribute = s.attempt(lambda: _attribute(s))
        if attribute:
            attributes.append(attribute)
        while s.token.kind is not Kind.END and s.token.text not in ITEM_WORDS:
            if not s.failed:
                s.statement = s.at
                s.report(s.unexpected("`kernel` or another attribute"))
            s.take()
    s.failed = False
    s.newline_ends = False
    if s.accept("kernel"):
        return _kernel(s, start, tuple(attributes))
    if s.here("fn"):
        if attributes:
            span = attributes[0].span
            s.report(build.error("syntax-error", span, "a function takes no attributes, only a kernel does"))
            s.failed = False
        word = s.take()
        return _function(s, word.start)
    if not s.diagnostics:  # an attribute without its kernel may come of what is wrong before
        s.report(s.unexpected("`kernel`"))
    return None


def _attribute(s: Stream) -> Attribute:
    start = s.take().start
    name = s.name("the name of an attribute")
    args: tuple[AttrArg | None, ...] = ()
    if s.here("("):
        args = s.items(_attribute_argument, "an argument", empty=True)
    return Attribute(s.since(start), name, tuple(arg for arg in args if arg))


def _attribute_argument(s: Stream) -> AttrArg | None:
    start = s.token.start
    after = s.peek(1).text
    if after == "in":
        name = s.name("a name")
        s.take()
        if not s.here("["):
            s.fail(s.unexpected("the values in `[` `]`"))
        values = [build.choice(value, s.report) for value in s.items(expression, "an integer literal")]
        return SearchArg(s.since(start), name, tuple(value for value in values if value))
    if after == "=":
        name = s.name("a name")
        s.take()
        value = build.attribute_value(expression(s), s.report)
        return KeywordArg(s.since(start), name, value) if value else None
    value = build.attribute_value(expression(s), s.report)
    return PositionalArg(s.since(start), value) if value else None


def _kernel(s: Stream, start: int, attributes: tuple[Attribute, ...]) -> Kernel | None:
    name = s.attempt(lambda: s.name("a name for the kernel"))
    params: tuple[Param | None, ...] = ()
    if s.here("("):
        params = s.attempt(lambda: s.items(_param, "a parameter", empty=True)) or ()
    elif not s.failed:
        s.report(s.unexpected("parameters in `(` `)`"))
        s.skip()
    body = block_of_item(s)
    if name is None:
        return None
    return Kernel(s.since(start), attributes, name, tuple(param for param in params if param), body)


def _param(s: Stream) -> Param | None:
    """One parameter. A broken one keeps its name, so that its readers are not reported as well."""
    start, failed = s.token.start, s.failed
    name: Name | None = None
    opened = len(s.open)
    declared: TypeExpr
    try:
        name = s.name("a parameter's name")
        s.expect(":", "a parameter is `name: type`")
        declared = type_expression(s)
    except Abandoned:
        s.skip_item(s.forget(opened))
        if failed or name is None:  # more of what was broken before, rather than a parameter
            return None
        declared = ErrorTypeExpr(s.since(name.span.end))
    return Param(s.since(start), name, declared)


def _function(s: Stream, start: int) -> Function | None:
    name = s.attempt(lambda: s.name("a name for the function"))
    params: tuple[Name, ...] = ()
    if s.here("("):
        params = s.attempt(lambda: s.items(lambda s: s.name("a parameter's name"), "", empty=True)) or ()
    elif not s.failed:
        s.report(s.unexpected("parameters in `(` `)`"))
        s.skip()
    body: Expr | Block
    if s.accept("="):
        body = value(s)
        span = s.since(start)
        terminator(s)
    else:
        body = block_of_item(s)
        span = s.since(start)
    return Function(span, name, params, body) if name else None


def _outside(s: Stream) -> None:
    """Steps over what stands between items, which is reported once."""
    token = s.token
    span = Span(token.start, token.end)
    closes = False
    consequence = bool(s.diagnostics)  # of what is wrong with the item before
    while s.token.kind is not Kind.END and s.token.text not in ITEM_WORDS:
        closes = closes or s.here("}")
        s.take()
    wrong = strange(token)
    if consequence:
        return
    if wrong:
        s.report(build.error("syntax-error", span, wrong))
    elif closes:
        help = "take out this `}`" if token.text == "}" else "a `}` before it may be one too many"
        s.report(build.error("syntax-error", span, f"{shown(token)} stands outside any kernel or function", help))
    else:
        message = f"only kernels and functions stand at the top level, found {shown(token)}"
        s.report(build.error("syntax-error", span, message))
