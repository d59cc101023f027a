"""Feature: the types of names that are written without one, behind the name.

They are what the checker knows of the text as it is: nothing is built for them, and they are never stale. In a function
a name has the type of each call, and no hint.
"""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types as lsp

from phobos_core.syntax import ast
from phobos_ls.features.hover import described_symbol
from phobos_ls.scopes import written_type
from phobos_ls.snapshot import Snapshot

CATEGORY = "types"


def type_hints(snapshot: Snapshot, first: int, last: int) -> Iterator[lsp.InlayHint]:
    """Of the lines from the first to the last."""
    if CATEGORY not in snapshot.settings.hints:
        return
    starts = snapshot.lines.starts
    low = starts[min(first, len(starts) - 1)]
    high = starts[last + 1] if last + 1 < len(starts) else len(snapshot.text)
    for kernel in snapshot.kernels():
        if kernel.offset >= high or kernel.offset + kernel.ast.span.end <= low:
            continue
        symbols = {symbol.span.start: symbol for symbol in kernel.symbols if symbol.span.frame is None}
        for name in _untyped(kernel.ast.body):
            symbol, end = symbols.get(name.span.start), kernel.offset + name.span.end
            if symbol is not None and symbol.name == name.text and low <= end <= high:
                tooltip = lsp.MarkupContent(lsp.MarkupKind.Markdown, described_symbol(snapshot, kernel, symbol))
                label = f": {written_type(symbol.type)}"
                yield lsp.InlayHint(snapshot.position(end), label, lsp.InlayHintKind.Type, tooltip=tooltip)


def _untyped(block: ast.Block | ast.If | None) -> Iterator[ast.Name]:
    match block:
        case ast.Block(body=body):
            for statement in body:
                match statement:
                    case ast.Let(name=name, type=None) | ast.Var(name=name, type=None):
                        yield name
                    case ast.For(body=inner) | ast.While(body=inner):
                        yield from _untyped(inner)
                    case ast.If():
                        yield from _untyped(statement)
        case ast.If(then=then, orelse=orelse):
            yield from _untyped(then)
            yield from _untyped(orelse)
