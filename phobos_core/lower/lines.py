"""From a span to a source line, and the error that points there."""

from __future__ import annotations

from collections.abc import Mapping

from phobos_core.syntax.ast import Span
from phobos_core.syntax.lines import LineIndex


class LineTable:
    """Lines of one file, for spans relative to a kernel that starts at byte `offset`, or to one of `functions`, by
    where each starts."""

    __slots__ = ("_index", "_offsets")

    def __init__(self, source: bytes, offset: int = 0, functions: Mapping[str, int] | None = None) -> None:
        self._index = LineIndex(source)
        self._offsets = {**(functions or {}), "": offset}

    def line(self, span: Span) -> int:
        """The 1-based line on which the span starts."""
        return self._index.position(span.start + self._offsets[span.item]).line + 1


class LowerError(Exception):
    """What only a configuration shows to be wrong. `code` is a key of `language.codes`, `line` 1-based."""

    def __init__(self, code: str, line: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.line = line
        self.message = message
