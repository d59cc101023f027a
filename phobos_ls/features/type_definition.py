"""Feature: go to type definition.

The language declares no types, so what defines the type of a value are the names in it: of a tensor or a tile its
dimensions and tile constants, where each is declared. A view has the type of what it views, and leads there.
"""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types as lsp

from phobos_core.analysis import PlacedKernel
from phobos_core.analysis.program import Symbol, SymbolKind, TensorType, TileType
from phobos_core.syntax import ast
from phobos_ls.names import Local, declaration, meanings_at
from phobos_ls.snapshot import Snapshot
from phobos_ls.syntax_tree import inferior


def type_definition(snapshot: Snapshot, offset: int) -> list[lsp.Location]:
    places = {
        declaration(Local(kernel, symbol), snapshot)
        for meaning in meanings_at(snapshot, offset)
        if isinstance(meaning, Local) and isinstance(kernel := meaning.item, PlacedKernel)
        for symbol in _defining(kernel, meaning.symbol)
    }
    return [snapshot.location(*place) for place in sorted(places)]


def _defining(kernel: PlacedKernel, symbol: object) -> Iterator[Symbol]:
    if not isinstance(symbol, Symbol):
        return
    viewed = _viewed(kernel, symbol)
    if viewed is not None:
        yield viewed
        return
    match symbol.type:
        case TensorType(dims=extents) | TileType(shape=extents):
            names = {name for extent in extents for name in extent.names}
            yield from (each for each in kernel.symbols if each.key in names or (each.name in names and _whole(each)))


def _whole(symbol: Symbol) -> bool:
    """Extents name those of the kernel as a whole by their names."""
    return symbol.kind in (SymbolKind.DIM, SymbolKind.CONSTANT)


def _viewed(kernel: PlacedKernel, view: Symbol) -> Symbol | None:
    """The tensor or tile that a view is a slice of."""
    if view.kind is not SymbolKind.VIEW or view.span.frame is not None:
        return None
    for node in inferior(kernel.ast.body, ast.Let):
        if node.name.span.start == view.span.start:
            base = node.value.base if isinstance(node.value, ast.Index) else node.value
            named = (s for span, s in kernel.references if span.frame is None and span.start == base.span.start)
            return next(named, None)
    return None
