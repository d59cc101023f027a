"""Feature: go to definition and declaration, find references, highlight.

A name in a function's body that the function does not bind leads to every scope that a call gives it. A call leads to
the function, or to the page of the built-in; attributes and fields of `ctx` have pages, too. Highlights tell writing
from reading.
"""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types as lsp

from phobos_ls import reference
from phobos_ls.names import declaration, meanings_at, mentions
from phobos_ls.snapshot import Snapshot
from phobos_ls.syntax_at import leaf_at

_KINDS = {
    "declaration": lsp.DocumentHighlightKind.Write,
    "write": lsp.DocumentHighlightKind.Write,
    "read": lsp.DocumentHighlightKind.Read,
}


def definition(snapshot: Snapshot, offset: int) -> list[lsp.Location]:
    places = {declaration(meaning, snapshot) for meaning in meanings_at(snapshot, offset)}
    found = [snapshot.location(*place) for place in sorted(places)]
    return found or list(_pages(snapshot, offset))


def _pages(snapshot: Snapshot, offset: int) -> Iterator[lsp.Location]:
    """What the language has to say of its own word."""
    leaf = leaf_at(snapshot, offset)
    parent = None if leaf is None else leaf.parent
    if leaf is None or parent is None:
        return
    word = snapshot.spelled(leaf.start_byte, leaf.end_byte)
    match parent.type:
        case "ctx_field":
            word = snapshot.spelled(parent.start_byte, parent.end_byte)
        case "attribute":
            word = f"@{word}"
        case "call_expression" | "collective_expression" if leaf.is_named:
            pass
        case _:
            return
    address = reference.link(word)
    if address is not None:
        top = lsp.Position(0, 0)
        yield lsp.Location(address, lsp.Range(top, top))


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
