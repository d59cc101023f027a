"""Cursor tests: a source in which `$0` marks where the cursor is, and `$1` .. the places of an answer."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lsprotocol import types as lsp

from phobos_core.syntax import parse
from phobos_core.syntax.lines import Encoding
from phobos_ls.settings import Settings
from phobos_ls.snapshot import Snapshot

_MARK = re.compile(r"\$(\d)")
URI = "file:///kernel.ph"


@dataclass(frozen=True)
class Cursor:
    """`offsets` has the byte offset of each mark, by its number."""

    snapshot: Snapshot
    offsets: dict[int, int]

    @property
    def offset(self) -> int:
        return self.offsets[0]

    @property
    def position(self) -> lsp.Position:
        return self.snapshot.position(self.offset)

    def text(self, range_: lsp.Range) -> str:
        """What a range of an answer spells."""
        return self.snapshot.spelled(self.snapshot.offset(range_.start), self.snapshot.offset(range_.end))


def cursor(source: str, settings: Settings | None = None, encoding: Encoding = "utf-16") -> Cursor:
    offsets: dict[int, int] = {}
    text = ""
    rest = 0
    for mark in _MARK.finditer(source):
        text += source[rest : mark.start()]
        offsets[int(mark[1])] = len(text.encode())
        rest = mark.end()
    text += source[rest:]
    return Cursor(Snapshot(URI, 1, parse(text), settings or Settings(), encoding), offsets)
