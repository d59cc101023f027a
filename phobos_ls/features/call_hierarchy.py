"""Feature: who calls a function, and what a kernel or function calls."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types as lsp

from phobos_core.analysis import PlacedFunction, PlacedKernel
from phobos_core.syntax.ast import Span
from phobos_ls.names import Global, meanings_at
from phobos_ls.snapshot import Snapshot

_Item = PlacedKernel | PlacedFunction


def prepare(snapshot: Snapshot, offset: int) -> list[lsp.CallHierarchyItem]:
    return [_shown(snapshot, meaning.item) for meaning in meanings_at(snapshot, offset) if isinstance(meaning, Global)]


def incoming(snapshot: Snapshot, name: str) -> list[lsp.CallHierarchyIncomingCall]:
    found = []
    for item in _items(snapshot):
        places = [place for place, called in _calls(snapshot, item) if called == name]
        if places:
            found.append(lsp.CallHierarchyIncomingCall(_shown(snapshot, item), places))
    return found


def outgoing(snapshot: Snapshot, name: str) -> list[lsp.CallHierarchyOutgoingCall]:
    functions = {f.ast.name.text: f for f in reversed(snapshot.checked.library.placed)}
    found: dict[str, list[lsp.Range]] = {}
    for item in _items(snapshot):
        if item.ast.name.text == name:
            for place, called in _calls(snapshot, item):
                found.setdefault(called, []).append(place)
    return [
        lsp.CallHierarchyOutgoingCall(_shown(snapshot, functions[called]), places)
        for called, places in found.items()
        if called in functions
    ]


def _items(snapshot: Snapshot) -> Iterator[_Item]:
    yield from snapshot.kernels()
    yield from snapshot.checked.library.placed


def _calls(snapshot: Snapshot, item: _Item) -> Iterator[tuple[lsp.Range, str]]:
    """The calls in the item's own text."""
    if isinstance(item, PlacedKernel):
        own = [(span, name) for span, name in item.calls if span.frame is None]
    else:
        own = [(name.span, name.text) for name in item.facts.calls]
    for span, name in dict.fromkeys(own):
        yield _range(snapshot, item, span), name


def _shown(snapshot: Snapshot, item: _Item) -> lsp.CallHierarchyItem:
    kernel = isinstance(item, PlacedKernel)
    return lsp.CallHierarchyItem(
        item.ast.name.text,
        lsp.SymbolKind.Function,
        snapshot.uri,
        _range(snapshot, item, item.ast.span),
        _range(snapshot, item, item.ast.name.span),
        detail="kernel" if kernel else "fn",
    )


def _range(snapshot: Snapshot, item: _Item, span: Span) -> lsp.Range:
    return snapshot.range(item.offset + span.start, item.offset + span.end)
