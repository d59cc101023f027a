"""From a span to a source line, and the error that points there."""

from __future__ import annotations

from bisect import bisect_right

from phobos_core.syntax.ast import Span


class LineTable:
    """Lines of one file, for spans relative to an item that starts at byte `offset`."""

    __slots__ = ("_offset", "_starts")

    def __init__(self, source: bytes, offset: int = 0) -> None:
        self._starts = [0]
        position = source.find(b"\n")
        while position >= 0:
            self._starts.append(position + 1)
            position = source.find(b"\n", position + 1)
        self._offset = offset

    def line(self, span: Span) -> int:
        """The 1-based line on which the span starts."""
        return bisect_right(self._starts, span.start + self._offset)


class LowerError(Exception):
    """What only a configuration shows to be wrong. `code` is a key of `language.codes`, `line` 1-based."""

    def __init__(self, code: str, line: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.line = line
        self.message = message
