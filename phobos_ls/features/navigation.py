"""Feature: go to definition and declaration, find references, highlight.

A name in a function's body that the function does not bind leads to every scope that a call gives it. A call leads to
the function. Highlights tell writing from reading.
"""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types as lsp

from phobos_ls.names import declaration, meanings_at, mentions
from phobos_ls.snapshot import Snapshot

_KINDS = {
    "declaration": lsp.DocumentHighlightKind.Write,
    "write": lsp.DocumentHighlightKind.Write,
    "read": lsp.DocumentHighlightKind.Read,
}


def definition(snapshot: Snapshot, offset: int) -> list[lsp.Location]:
    places = {declaration(meaning, snapshot) for meaning in meanings_at(snapshot, offset)}
    return [snapshot.location(*place) for place in sorted(places)]


def references(snapshot: Snapshot, offset: int, *, declared: bool = True) -> list[lsp.Location]:
    """`declared`: the declaration too."""
    found = {
        (mention.start, mention.end)
        for meaning in meanings_at(snapshot, offset)
        for mention in mentions(snapshot, meaning)
        if declared or mention.kind != "declaration"
    }
    return [snapshot.location(*place) for place in sorted(found)]


def highlight(snapshot: Snapshot, offset: int) -> list[lsp.DocumentHighlight]:
    return list(_highlights(snapshot, offset))


def _highlights(snapshot: Snapshot, offset: int) -> Iterator[lsp.DocumentHighlight]:
    seen = set()
    for meaning in meanings_at(snapshot, offset):
        for mention in mentions(snapshot, meaning):
            if (mention.start, mention.end) not in seen:
                seen.add((mention.start, mention.end))
                yield lsp.DocumentHighlight(snapshot.range(mention.start, mention.end), _KINDS[mention.kind])
