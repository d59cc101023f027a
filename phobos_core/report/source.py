"""A file and the diagnostics in it, with places as people and editors count them.

In: a file's name and its bytes. Out: line numbers, columns and line texts of byte offsets.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass, field
from functools import cached_property

from phobos_core.language.diagnostic import Diagnostic
from phobos_core.syntax.lines import LineIndex


@dataclass(frozen=True)
class Source:
    """`text` is UTF-8; offsets into it are those of `Diagnostic`. Lines and columns count from 0."""

    name: str
    text: bytes = field(repr=False)

    @cached_property
    def lines(self) -> LineIndex:
        return LineIndex(self.text)

    def line(self, offset: int) -> int:
        return self.lines.position(offset).line

    def column(self, offset: int) -> int:
        """Characters before `offset` on its line."""
        return self.lines.position(offset, "utf-32").column

    def utf16(self, offset: int) -> int:
        """UTF-16 units before `offset` on its line, as editors count."""
        return self.lines.position(offset, "utf-16").column

    def line_text(self, line: int) -> str:
        """A line without its end."""
        return self.lines.line(line).decode("utf-8", "replace")


def without_mark(text: bytes) -> bytes:
    """A file's text without the byte order mark before it, which editors do not count."""
    return text.removeprefix(codecs.BOM_UTF8)


@dataclass(frozen=True, slots=True)
class Finding:
    """A diagnostic in its file."""

    source: Source
    diagnostic: Diagnostic


def in_order(findings: list[Finding]) -> list[Finding]:
    """By file, then by place: the order in which one reads."""
    return sorted(findings, key=lambda f: (f.source.name, f.diagnostic.start, f.diagnostic.end, f.diagnostic.code))
