"""Feature: rename a name of the file, everywhere it is meant and nowhere else.

Refused, with the reason: a new name that is none, is a word of the language, or would change what any name means or
what the checker says. That is found by doing it: the renamed text is checked, and every name must mean what it meant.
"""

from __future__ import annotations

import re
from dataclasses import replace

from lsprotocol import types as lsp

from phobos_core.analysis.check import AnalysisCache
from phobos_core.language.keywords import KEYWORDS, RESERVED_NAME
from phobos_core.syntax import parse
from phobos_ls.memo import Memo
from phobos_ls.names import Meaning, declaration, meanings_at, mentions
from phobos_ls.snapshot import Snapshot

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class RenameRefused(ValueError):
    """The text says why, for the user to read."""


def prepare(snapshot: Snapshot, offset: int) -> lsp.PrepareRenamePlaceholder | None:
    """The name that would be renamed; None where there is none."""
    for start, end in _places(snapshot, meanings_at(snapshot, offset)):
        if start <= offset <= end:
            return lsp.PrepareRenamePlaceholder(snapshot.range(start, end), snapshot.spelled(start, end))
    return None


def rename(snapshot: Snapshot, offset: int, name: str) -> lsp.WorkspaceEdit:
    """Raises RenameRefused."""
    meanings = meanings_at(snapshot, offset)
    if not meanings:
        raise RenameRefused("there is no name of this file here")
    if not name:
        raise RenameRefused("a name is needed")
    if not _NAME.fullmatch(name):
        raise RenameRefused(f"`{name}` is not a name: names are made of ASCII letters, digits and `_`")
    if name in KEYWORDS or name == RESERVED_NAME:
        raise RenameRefused(f"`{name}` is a word of the language")
    places = _places(snapshot, meanings)
    old = snapshot.spelled(*places[0])
    if name != old:
        _try(snapshot, meanings, places, name)
    edits = [lsp.TextEdit(snapshot.range(*place), name) for place in places]
    return lsp.WorkspaceEdit(changes={snapshot.uri: edits})


def _places(snapshot: Snapshot, meanings: list[Meaning]) -> list[tuple[int, int]]:
    """All that has to change together: what shares a place with one of the meanings shares its name."""
    pending, known, places = list(meanings), list(meanings), set()
    while pending:
        for mention in mentions(snapshot, pending.pop()):
            if (mention.start, mention.end) not in places:
                places.add((mention.start, mention.end))
                more = [m for m in meanings_at(snapshot, mention.start) if m not in known]
                known += more
                pending += more
    return sorted(places)


def _try(snapshot: Snapshot, meanings: list[Meaning], places: list[tuple[int, int]], name: str) -> None:
    text, rest = b"", 0
    for start, end in places:
        text += snapshot.text[rest:start] + name.encode()
        rest = end
    text += snapshot.text[rest:]
    after = replace(snapshot, source=parse(text), cache=AnalysisCache(), known_lines=None, memo=Memo())
    moved = {place: _moved(place, places, len(name)) for place in places}
    declared = declaration(meanings[0], snapshot)
    found = _places(after, meanings_at(after, moved[declared][0]))
    captured = found != sorted(moved.values())
    new = [d for d in after.checked.diagnostics if d.severity == "error"]
    if len(new) > sum(d.severity == "error" for d in snapshot.checked.diagnostics):
        old = {(d.code, d.message) for d in snapshot.checked.diagnostics}
        added = [d.message for d in new if (d.code, d.message) not in old] or [new[0].message]
        told = next((message for message in added if f"`{name}`" in message), None)
        # What follows from another meaning of the name says less than that it has one.
        if told is not None or not captured:
            raise RenameRefused(f"that would be an error: {told or added[0]}")
    if captured:
        raise RenameRefused(f"`{name}` already means something else where `{snapshot.spelled(*declared)}` is used")


def _moved(place: tuple[int, int], places: list[tuple[int, int]], length: int) -> tuple[int, int]:
    before = sum(length - (end - start) for start, end in places if start < place[0])
    return place[0] + before, place[0] + before + length
