"""Feature: the outline of a file, and the symbols of the workspace.

The outline has kernels and functions, and in a kernel its parameters and the names that it binds.
"""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types as lsp

from phobos_core.syntax import ast
from phobos_core.syntax.ast import PlacedItem
from phobos_ls.snapshot import Snapshot


def document_symbols(snapshot: Snapshot) -> list[lsp.DocumentSymbol]:
    return [_item(snapshot, placed) for placed in snapshot.source.items]


def workspace_symbols(snapshot: Snapshot) -> list[lsp.WorkspaceSymbol]:
    """The kernels and functions of a file."""
    found = []
    for placed in snapshot.source.items:
        name = placed.item.name
        location = snapshot.location(placed.offset + name.span.start, placed.offset + name.span.end)
        found.append(lsp.WorkspaceSymbol(location, name.text, lsp.SymbolKind.Function))
    return found


def matches(query: str, name: str) -> bool:
    """Whether a name has the letters of a query in this order."""
    letters = iter(name.lower())
    return all(letter in letters for letter in query.lower())


def _item(snapshot: Snapshot, placed: PlacedItem) -> lsp.DocumentSymbol:
    item, offset = placed.item, placed.offset

    def symbol(name: ast.Name, span: ast.Span, kind: lsp.SymbolKind, detail: str) -> lsp.DocumentSymbol:
        return lsp.DocumentSymbol(
            name.text or "?",
            kind,
            snapshot.range(offset + span.start, offset + span.end),
            snapshot.range(offset + name.span.start, offset + name.span.end),
            detail,
        )

    def spelled(node: ast.TypeExpr | None) -> str:
        return "" if node is None else snapshot.spelled(offset + node.span.start, offset + node.span.end)

    def bound(block: ast.Block) -> Iterator[lsp.DocumentSymbol]:
        for statement in block.body:
            match statement:
                case ast.Let(span, name, type_):
                    yield symbol(name, span, lsp.SymbolKind.Constant, spelled(type_))
                case ast.Var(span, name, type_):
                    yield symbol(name, span, lsp.SymbolKind.Variable, spelled(type_))
                case ast.For() | ast.While():
                    yield from bound(statement.body)
                case ast.If():
                    branch: ast.Block | ast.If | None = statement
                    while isinstance(branch, ast.If):
                        yield from bound(branch.then)
                        branch = branch.orelse
                    if branch is not None:
                        yield from bound(branch)

    children: list[lsp.DocumentSymbol] = []
    if isinstance(item, ast.Kernel):
        detail = "kernel"
        children += [symbol(p.name, p.span, lsp.SymbolKind.Field, spelled(p.type)) for p in item.params]
    else:
        detail = f"fn({', '.join(param.text for param in item.params)})"
    if isinstance(item.body, ast.Block):
        children += bound(item.body)
    top = symbol(item.name, item.span, lsp.SymbolKind.Function, detail)
    top.children = children
    return top
