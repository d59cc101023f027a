"""Feature: format a file, a part of it, or what was just typed.

The edits are as small as lines allow, so that cursors and marks stay where they are. A text with a syntax error gives
no edits; a line that was just opened is indented by what is open around it all the same.
"""

from __future__ import annotations

from lsprotocol import types as lsp

from phobos_core.syntax.formatter import CannotFormat, format_file
from phobos_ls.edits import line_edits
from phobos_ls.features.indentation import indentation
from phobos_ls.snapshot import Snapshot

# What is typed to ask for it.
TRIGGERS = ("}", "\n")


def format_document(snapshot: Snapshot) -> list[lsp.TextEdit]:
    return _edits(snapshot, 0, len(snapshot.lines.starts))


def format_range(snapshot: Snapshot, start: int, end: int) -> list[lsp.TextEdit]:
    """The edits of the whole file that touch the lines of the range."""
    lines = snapshot.lines
    return _edits(snapshot, lines.position(start).line, lines.position(end).line + 1)


def format_on_type(snapshot: Snapshot, offset: int, typed: str) -> list[lsp.TextEdit]:
    line = snapshot.lines.position(offset).line
    if typed == "\n":
        return _indented(snapshot, line)
    return _edits(snapshot, line, line + 1)


def _edits(snapshot: Snapshot, first: int, last: int) -> list[lsp.TextEdit]:
    """Whole lines replaced, where they touch the lines from `first` to before `last`."""
    try:
        after = format_file(snapshot.source)
    except CannotFormat:
        return []
    return line_edits(snapshot, after, first, last)


def _indented(snapshot: Snapshot, line: int) -> list[lsp.TextEdit]:
    """The line that was just opened, indented as deep as what is open before it."""
    start = snapshot.lines.starts[line]
    content = snapshot.lines.line(line)
    begin = max((placed.offset for placed in snapshot.source.items if placed.offset <= start), default=0)
    code = content.lstrip()
    blank = len(content) - len(code)
    wanted = b" " * indentation(snapshot.spelled(begin, start), code.decode("utf-8", "replace"))
    if content[:blank] == wanted:
        return []
    return [lsp.TextEdit(snapshot.range(start, start + blank), wanted.decode())]
