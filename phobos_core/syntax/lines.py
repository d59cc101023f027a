"""Byte offsets of a text <-> lines and columns, in each encoding that a language server may agree on.

Lines end at `\\n`, `\\r\\n` and `\\r` and at nothing else, as in LSP and in the grammar. Lines and columns count
from 0. A column past the end of its line means the end of the line; half a surrogate pair, which an editor may send,
counts as one unit, and so does each byte that is not UTF-8, so that every offset has a position.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate, takewhile
from typing import Literal, NamedTuple, TypeAlias

Encoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]

_LINE_END = re.compile(rb"\r\n|\n|\r")


class Position(NamedTuple):
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class LineIndex:
    text: bytes
    starts: tuple[int, ...] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.starts:
            lines = self.text.splitlines(keepends=True)
            if lines and not lines[-1].endswith((b"\n", b"\r")):
                lines.pop()
            object.__setattr__(self, "starts", (0, *accumulate(map(len, lines))))

    def edited(self, start: int, end: int, replacement: bytes) -> LineIndex:
        """The index of the text with the bytes from `start` to `end` replaced. Only lines near them are looked for."""
        text = self.text[:start] + replacement + self.text[end:]
        moved = len(text) - len(self.text)
        # A `\r` before the edit and a `\n` after it may have become one line end, or have been one.
        first = bisect_right(self.starts, max(start - 1, 0))
        last = bisect_right(self.starts, end + 1)
        low, high = self.starts[first - 1], min(end + 1 + moved, len(text))
        ends = (match.end() for match in _LINE_END.finditer(text, low))
        found = takewhile(lambda place: place <= high, ends)
        return LineIndex(text, (*self.starts[:first], *found, *map(moved.__add__, self.starts[last:])))

    def line_of(self, offset: int) -> int:
        """The number of the line that an offset is in."""
        return max(bisect_right(self.starts, offset) - 1, 0)

    def position(self, offset: int, encoding: Encoding = "utf-8") -> Position:
        offset = min(max(offset, 0), len(self.text))
        line = self.line_of(offset)
        before = self.text[self.starts[line] : offset]
        return Position(line, len(before) if encoding == "utf-8" else _units(before, encoding))

    def offset(self, position: tuple[int, int], encoding: Encoding = "utf-8") -> int:
        line, column = position
        if line < 0:
            return 0
        if line >= len(self.starts):
            return len(self.text)
        start = self.starts[line]
        content = self.line(line)
        if encoding == "utf-8" or content.isascii():
            return start + min(max(column, 0), len(content))
        units = 0
        length = 0
        characters, errors = _characters(content)
        for character in characters:
            units += 2 if encoding == "utf-16" and ord(character) > 0xFFFF else 1
            if units > column:
                break
            length += len(character.encode("utf-8", errors))
        return start + length

    def line(self, number: int) -> bytes:
        """The line's text without its end."""
        end = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.text)
        content = self.text[self.starts[number] : end]
        if content.endswith(b"\r\n"):
            return content[:-2]
        return content[:-1] if content.endswith((b"\n", b"\r")) else content


def _units(text: bytes, encoding: Encoding) -> int:
    if text.isascii():
        return len(text)
    characters, _ = _characters(text)
    if encoding == "utf-32":
        return len(characters)
    return sum(2 if ord(character) > 0xFFFF else 1 for character in characters)


def _characters(text: bytes) -> tuple[str, str]:
    """The characters of a text, and how what is none is encoded again."""
    for errors in ("strict", "surrogatepass"):
        try:
            return text.decode("utf-8", errors), errors
        except UnicodeDecodeError:
            continue
    return text.decode("utf-8", "surrogateescape"), "surrogateescape"
