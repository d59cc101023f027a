"""A file and the diagnostics in it, with places as people and editors count them.

In: a file's name and its bytes. Out: line numbers, columns and line texts of byte offsets. Line ends are as the
language server protocol has them: `\\n`, `\\r\\n`, `\\r`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property

from phobos_core.language.diagnostic import Diagnostic


@dataclass(frozen=True)
class Source:
    """`text` is UTF-8; offsets into it are those of `Diagnostic`."""

    name: str
    text: bytes = field(repr=False)

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(end.end() for end in re.finditer(rb"\r\n|\n|\r", self.text))]

    def line(self, offset: int) -> int:
        """The line of `offset`, from 0."""
        return bisect_right(self._starts, offset) - 1

    def line_text(self, line: int) -> str:
        """A line without its end."""
        return self._line_bytes(line).decode("utf-8", "replace")

    def column(self, offset: int) -> int:
        """Characters before `offset` on its line."""
        return len(self._before(offset))

    def utf16(self, offset: int) -> int:
        """UTF-16 units before `offset` on its line, as editors count."""
        return len(self._before(offset).encode("utf-16-le")) // 2

    def _line_bytes(self, line: int) -> bytes:
        start = self._starts[line]
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self.text)
        return self.text[start:end].rstrip(b"\r\n")

    def _before(self, offset: int) -> str:
        line = self.line(offset)
        within = offset - self._starts[line]
        return self._line_bytes(line)[:within].decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Finding:
    """A diagnostic in its file."""

    source: Source
    diagnostic: Diagnostic


def in_order(findings: list[Finding]) -> list[Finding]:
    """By file, then by place: the order in which one reads."""
    return sorted(findings, key=lambda f: (f.source.name, f.diagnostic.start, f.diagnostic.end, f.diagnostic.code))
