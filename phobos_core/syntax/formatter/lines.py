"""Lines of code with the comments that follow them -> text: comments on neighbouring lines begin in one column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from phobos_core.syntax.formatter.document import Line

# What stands between code and the comment that follows it, at least.
GAP = 2


def text_of(lines: Sequence[Line], newline: str) -> str:
    return "".join(f"{line}{newline}" for line in _aligned(lines))


def _aligned(lines: Sequence[Line]) -> Iterator[str]:
    start = 0
    while start < len(lines):
        end = start + 1
        while _has_both(lines[start]) and end < len(lines) and _has_both(lines[end]):
            end += 1
        column = max(_width(line) for line in lines[start:end]) + GAP
        for line in lines[start:end]:
            code = " " * line.indent + line.code
            yield (f"{code.ljust(column)}{line.comment}" if line.code else code + line.comment).rstrip(" ")
        start = end


def _has_both(line: Line) -> bool:
    return bool(line.code and line.comment)


def _width(line: Line) -> int:
    return line.indent + len(line.code)
