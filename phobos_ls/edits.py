"""Edits as clients take them: of one file, in its version where the client counts versions."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

from lsprotocol import types as lsp

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
    edits = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal" and a < end and (b > first or (a == b and a >= first)):
            edits.append(lsp.TextEdit(snapshot.range(starts[a], starts[b]), decoded(b"".join(new[c:d]))))
    return edits
