"""What a name means where it is read, and what to say where it means nothing."""

from __future__ import annotations

from collections.abc import Iterable

from phobos_core.analysis import program as pg
from phobos_core.analysis.context import Context
from phobos_core.language.builtins import BUILTIN_NAMES
from phobos_core.syntax import ast

# Searching for a similar name takes long beside everything else; past this many unknown names it helps nobody.
MOST_SUGGESTIONS = 20


def lookup(cx: Context, node: ast.Name) -> pg.Symbol | None:
    """The symbol that a name means here; None, reported once for each name, where it means none."""
    binding = cx.scope.found.get(node.text)
    if binding is None or binding.function is not None:
        if first_unknown(cx, node):
            _unknown(cx, node, node.text if binding is None else binding.function or "")
        return None
    symbol = binding.symbol
    if symbol is not None:
        cx.references.append((node.span, symbol))
    return symbol


def spoken(node: ast.Name, symbol: pg.Symbol) -> str:
    """How a message names a symbol: in a function's body as the parameter that stands for it, and what that is."""
    return f"`{node.text}`" if node.text == symbol.name else f"`{node.text}`, which is `{symbol.name}` here,"


def first_unknown(cx: Context, node: ast.Name) -> bool:
    """Whether a name that is not found is worth a message: the first time in the kernel or in an inlined body, and not
    where a syntax error may have swallowed its declaration."""
    key = (node.text, node.span.frame)
    if key in cx.unknown or cx.lost_loops or cx.damage.may_hide(node.text):
        return False
    cx.unknown.add(key)
    return True


def _unknown(cx: Context, node: ast.Name, meant: str) -> None:
    """`meant` is the name, or what a parameter of that name stands for."""
    span = node.span.own
    if cx.function(meant) is not None:
        cx.error("not-a-value", span, f"`{node.text}` is a function: call it, as in `{node.text}(..)`")
    elif meant in BUILTIN_NAMES:
        cx.error("not-a-value", span, f"`{node.text}` is a built-in: call it, as in `{node.text}(..)`")
    else:
        cx.error(
            "unknown-name",
            span,
            f"`{node.text}` is not declared here",
            help=suggestion_for(cx, node.text, cx.scope.visible()),
        )


def suggestion(text: str, known: Iterable[str], before: str = "") -> str | None:
    """Help that names what is known and close to a text, with what is written before either."""
    from difflib import get_close_matches  # only a mistake pays for loading it

    close = get_close_matches(text, list(known), 1)
    return f"did you mean `{before}{close[0]}`?" if close else None


def suggestion_for(cx: Context, text: str, known: Iterable[str]) -> str | None:
    """The same for an unknown name of a kernel, for the first ones."""
    return suggestion(text, known) if len(cx.unknown) <= MOST_SUGGESTIONS else None
