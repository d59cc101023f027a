"""A function at a call: its body, copied for the call.

An expression function is its expression with the arguments in place of the parameters, checked where the call stands;
it binds nothing, so every name in it and in its arguments means what it means at the call. A statement function gets a
scope of its own inside the caller's: a parameter passed a name is that name's symbol, any other argument is bound as
`let` binds it, and what the body binds is hidden from the arguments, which are resolved before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from phobos_core.analysis import program as pg
from phobos_core.analysis.context import PLAIN, Context, Rule, Site, infer, kind_text, type_text
from phobos_core.analysis.convert import assigned
from phobos_core.analysis.copying import at_span, standing
from phobos_core.analysis.declarations import bind_value
from phobos_core.analysis.functions import KnownFunction
from phobos_core.analysis.names import lookup
from phobos_core.analysis.places import declared_function
from phobos_core.analysis.scopes import Binding, Scope
from phobos_core.analysis.walk import has_effects, walk
from phobos_core.language.builtins import BUILTIN_NAMES
from phobos_core.language.diagnostic import Related
from phobos_core.language.types import ScalarType
from phobos_core.syntax import ast
from phobos_core.syntax.build import MAX_DEPTH

T = TypeVar("T")

# What a kernel may grow to: functions that call others twice double it at each level.
MOST_INLINED = 50_000

# What several threads do together.
_TOGETHER = (pg.Collective, pg.Shuffle)


def meant(cx: Context, name: ast.Name) -> str:
    """What a name in call position names: itself, or what a parameter stands for."""
    binding = cx.scope.find(name.text)
    return name.text if binding is None or binding.function is None else binding.function


# Expression functions.


def expression_call(cx: Context, node: ast.Call, known: KnownFunction, at: Site) -> pg.Expr | None:
    """`f(x, y)` of `fn f(a, b) = e`: e with x and y in place of a and b."""
    value = in_place(cx, node, known, at, lambda body: infer(cx, body, at))
    return None if value is None else standing(value, node.span)


def in_place(cx: Context, node: ast.Call, known: KnownFunction, at: Site, check: Callable[[ast.Expr], T]) -> T | None:
    """What `check` makes of the expression that stands in place of a call."""
    function = known.ast
    assert not isinstance(function.body, ast.Block)
    frame = _enter(cx, node, known)
    if frame is None:
        check_alone(cx, node.args, at.part)
        return None
    given = {param.text: arg for param, arg in zip(function.params, node.args, strict=True)}
    if known.facts.unused:
        out, cx.out = cx.out, []
        check_alone(cx, [given[name] for name in known.facts.unused], at)
        cx.out = out
    body = known.facts.copy(frame, given)
    return _in_body(cx, known, lambda: check(body))


def _in_body(cx: Context, known: KnownFunction, check: Callable[[], T]) -> T:
    """Checks a body that is an expression, whose parameters stand for arguments."""
    rules = cx.rules
    cx.rules = cx.inlined_rules
    cx.inlined_height += known.facts.height
    value = check()
    cx.inlined_height -= known.facts.height
    cx.rules = rules
    return value


def check_alone(cx: Context, args: Iterable[ast.Expr], at: Site) -> None:
    """Reports mistakes in arguments of which nothing is made."""
    for arg in args:
        if not isinstance(arg, ast.Name):
            infer(cx, arg, at)
        elif not _names_function(cx, arg):
            lookup(cx, arg)


def argument_rule(rule: Rule) -> Rule:
    """The rule inside a body. An argument has its mistakes where it is written; what is made of its value in the body
    is said of the parameter."""

    def check(cx: Context, node: Any, at: Site) -> pg.Expr | None:
        cx.inlined_size += 1
        if cx.inlined_size > MOST_INLINED:
            _too_much(cx, node.span)
            return None
        span = node.span
        if span.stands is None or type(node) is ast.Name:  # a name alone is as the body has it
            return rule(cx, node, at)
        value = rule(cx, at_span(node, span.own), at)
        return None if value is None else standing(value, span.stands)

    return check


def combine_of(cx: Context, node: ast.Name, element: ScalarType) -> pg.Combine | None:
    """The function that folds two scalars of a type, in `reduce<over ..>(x, f)`."""
    binding = cx.scope.find(node.text)
    name = node.text if binding is None else binding.function
    known = cx.function(name) if name is not None else None
    if known is None:
        _no_function(cx, node, name)
        return None
    function = known.ast
    name = function.name.text
    note_call(cx, node, known)
    if known.broken:
        return None
    if isinstance(function.body, ast.Block) or len(function.params) != 2:
        message = f"`reduce` folds by an expression of two values, `fn {name}(a, b) = e`, and `{name}` is not one"
        cx.error("function-form", node.span, message, related=(declared_function(function),))
        return None
    frame = _entered(cx, node.span, known)
    if frame is None:
        return None
    outer, out = cx.scope, cx.out
    cx.scope, cx.out = Scope(outer), []
    first, second = (_folded(cx, _in_frame(param, frame), element) for param in function.params)
    body = known.facts.copy(frame, {param.text: _in_frame(param, frame) for param in function.params})
    value = _in_body(cx, known, lambda: infer(cx, body, PLAIN))
    before = cx.out
    cx.scope, cx.out = outer, out
    if value is None:
        return None
    if isinstance(value.type, pg.TileType):
        message = f"`reduce` folds scalars of `{element}`, and `{name}` gives `{type_text(value.type)}`"
        cx.error("not-a-scalar", value.span, message)
        return None
    if before or has_effects(value) or any(isinstance(part, _TOGETHER) for part in walk([value])):
        message = "`reduce` folds two values of one thread at a time, so its function takes no part in anything shared"
        cx.error("function-form", value.span, message, help="arithmetic, `where` and point accesses may stand in it")
        return None
    value = assigned(cx, value, element, value.span, f"the fold by `{name}`", None)
    return None if value is None else pg.Combine(first, second, value)


def _no_function(cx: Context, node: ast.Name, name: str | None) -> None:
    """`name` is None where the node is bound to something else than a function."""
    if name in BUILTIN_NAMES:
        what, help_ = "a built-in", f"write one of your own: `fn f(a, b) = {name}(a, b)`"
    else:
        symbol = None if cx.lost_function(node.text) else lookup(cx, node)
        if symbol is None:
            return
        what, help_ = kind_text(symbol.kind), None
    message = f"`reduce` folds by a function of this file, `fn f(a, b) = e`, and `{node.text}` is {what}"
    cx.error("function-form", node.span, message, help=help_)


def _folded(cx: Context, name: ast.Name, element: ScalarType) -> pg.Symbol:
    symbol = cx.symbol(name, pg.SymbolKind.SCALAR, element)
    cx.scope.declare(name, symbol)
    return symbol


# Statement functions.


def statement_call(cx: Context, node: ast.Call, known: KnownFunction) -> tuple[ast.Block, Scope] | None:
    """The body of a call, with the scope in which its parameters are bound; both for the caller to go on with."""
    function = known.ast
    assert isinstance(function.body, ast.Block)
    frame = _enter(cx, node, known)
    if frame is None:
        check_alone(cx, node.args, PLAIN)
        return None
    outer, scope = cx.scope, Scope(cx.scope)
    for param, arg in zip(function.params, node.args, strict=True):
        name = _in_frame(param, frame)
        if name.text in scope.names:
            continue  # reported where the function is declared
        if isinstance(arg, ast.Name):
            scope.bind(name.text, _alias(cx, name, arg))
        elif name.text in known.facts.named:
            _needs_name(cx, known, name.text, arg)
            scope.bind(name.text, Binding(None, name.span))
        else:
            value = infer(cx, arg, PLAIN)
            cx.scope = scope
            bind_value(cx, ast.Let(arg.span, name, None, arg), value)
            cx.scope = outer
    return known.facts.copy(frame, {}), scope


def _alias(cx: Context, name: ast.Name, arg: ast.Name) -> Binding:
    """A parameter that is passed a name."""
    if _names_function(cx, arg):
        return Binding(None, name.span, meant(cx, arg))
    return Binding(lookup(cx, arg), name.span)


def _names_function(cx: Context, name: ast.Name) -> bool:
    binding = cx.scope.find(name.text)
    if binding is not None:
        return binding.function is not None
    return name.text in BUILTIN_NAMES or cx.function(name.text) is not None


def _needs_name(cx: Context, known: KnownFunction, param: str, arg: ast.Expr) -> None:
    name = known.ast.name.text
    if isinstance(arg, ast.ErrorExpr):
        return
    where = known.facts.named[param]
    infer(cx, arg, PLAIN)
    cx.error(
        "function-argument",
        arg.span,
        f"`{name}` indexes or assigns its parameter `{param}`, so it takes a name here, and this is an expression",
        related=(Related(where.start, where.end, f"`{param}` is indexed or assigned here", name),),
        help="bind it to a name first, with `let` or `var`",
    )


# Both.


def note_call(cx: Context, callee: ast.Expr, known: KnownFunction) -> None:
    cx.calls.append((callee.span.own, known.ast.name.text))


def _enter(cx: Context, node: ast.Call, known: KnownFunction) -> ast.Frame | None:
    """The frame of a call; None, after a message, where the function is not called so."""
    function = known.ast
    note_call(cx, node.callee, known)
    count, taken = len(node.args), len(function.params)
    if count != taken:
        arguments = "1 argument" if count == 1 else f"{count} arguments"
        signature = f"{function.name.text}({', '.join(param.text for param in function.params)})"
        cx.error(
            "argument-count",
            node.span,
            f"`{signature}` has {arguments} here, and takes {taken}",
            related=(declared_function(function),),
        )
        return None
    return _entered(cx, node.span, known)


def _entered(cx: Context, call: ast.Span, known: KnownFunction) -> ast.Frame | None:
    name = known.ast.name.text
    if call.frame is not None and name in (around := _around(call)):
        _recursive(cx, call, (*around[around.index(name) :], name))
        return None
    if known.statement:
        cx.inlined_size += known.facts.size
    if cx.inlined_size > MOST_INLINED:
        _too_much(cx, call)
        return None
    if cx.inlined_height + known.facts.height > MAX_DEPTH:
        _too_deep(cx, call, name)
        return None
    return ast.Frame(name, call.own)


def _around(call: ast.Span) -> tuple[str, ...]:
    """The functions whose bodies a call stands in, the outermost first."""
    names = []
    frame = call.frame
    while frame is not None:
        names.append(frame.function)
        frame = frame.call.frame
    return tuple(reversed(names))


def _recursive(cx: Context, call: ast.Span, cycle: tuple[str, ...]) -> None:
    """A cycle that the text of the functions shows is reported with them; one through a parameter shows here only."""
    calls = [{name.text for name in cx.library.known[caller].facts.calls} for caller in cycle[:-1]]
    if not all(callee in called for callee, called in zip(cycle[1:], calls, strict=True)):
        shown = " -> ".join(f"`{name}`" for name in cycle)
        cx.error("recursive-function", call, f"`{cycle[0]}` calls itself: {shown}; a function is inlined at every call")


def _too_much(cx: Context, span: ast.Span) -> None:
    """Reported once."""
    if not any(found.code == "too-much-inlined" for found in cx.diagnostics):
        cx.error(
            "too-much-inlined",
            span,
            f"the functions inlined into this kernel come to more than {MOST_INLINED:,} parts",
            help="an argument that a body uses twice is built twice: bind it to a name with `let`",
        )


def _too_deep(cx: Context, call: ast.Span, name: str) -> None:
    cx.error(
        "nesting-too-deep",
        call,
        f"with the body of `{name}`, the functions called here are nested more than {MAX_DEPTH} levels deep",
        help="bind a part of it to a name with `let`",
    )


def _in_frame(name: ast.Name, frame: ast.Frame) -> ast.Name:
    return ast.Name(ast.Span(name.span.start, name.span.end, frame), name.text)
