"""Edits as clients take them: of one file, in its version where the client counts versions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lsprotocol import types as lsp

from phobos_ls.alignment import Piece, reflowed
from phobos_ls.snapshot import Snapshot
from phobos_ls.text import decoded


def workspace_edit(snapshot: Snapshot, edits: Iterable[lsp.TextEdit], *, versioned: bool) -> lsp.WorkspaceEdit:
    """`versioned`: the client takes edits of a version, and refuses those that it has left behind."""
    if not versioned:
        return lsp.WorkspaceEdit(changes={snapshot.uri: list(edits)})
    document = lsp.OptionalVersionedTextDocumentIdentifier(snapshot.uri, snapshot.version)
    return lsp.WorkspaceEdit(document_changes=[lsp.TextDocumentEdit(document, list(edits))])


def line_edits(snapshot: Snapshot, after: bytes, first: int = 0, last: int | None = None) -> list[lsp.TextEdit]:
    """What makes `after` of the text: whole lines, those that touch the lines from `first` to before `last`."""
    end = len(snapshot.lines.starts) if last is None else last
    old, new = snapshot.text.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = [*snapshot.lines.starts, len(snapshot.text)]
    changed = [
        piece
        for piece in reflowed(old, new)
        if piece.start < end
        and (piece.end > first or piece.start == piece.end >= first)
        and old[piece.start : piece.end] != new[piece.new_start : piece.new_end]
    ]
    edits = []
    for piece in _joined(changed):
        text = decoded(b"".join(new[piece.new_start : piece.new_end]))
        edits.append(lsp.TextEdit(snapshot.range(starts[piece.start], starts[piece.end]), text))
    return edits


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Those that touch made one."""
    joined: Piece | None = None
    for piece in pieces:
        if joined is not None and (joined.end, joined.new_end) == (piece.start, piece.new_start):
            joined = Piece(joined.start, piece.end, joined.new_start, piece.new_end)
            continue
        if joined is not None:
            yield joined
        joined = piece
    if joined is not None:
        yield joined
