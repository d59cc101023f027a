"""Diagnostics of the build, which knows lines and not spans, placed in the source."""

from __future__ import annotations

from phobos_core.language.codes import CODES
from phobos_core.language.diagnostic import Diagnostic
from phobos_core.report.source import Source
from phobos_core.runtime.frontend import Placed


def at_line(
    source: Source, placed: Placed, line: int | None, code: str, message: str, *, help: str | None = None
) -> Diagnostic:
    """On the text of a line, counted from 1; what belongs to the whole kernel is on its name."""
    start, end, *_ = placed.kernel.name_span.shifted(placed.offset)
    if line and line - 1 != source.line(start):
        start, end = line_span(source, line)
    return Diagnostic(code, CODES[code].severity, start, end, message, help=help)


def line_span(source: Source, line: int) -> tuple[int, int]:
    """The text of a line, counted from 1, without its indentation and comment; the first line for 0."""
    number = min(max(line, 1), len(source.lines.starts)) - 1
    content = source.lines.line(number)
    indent = len(content) - len(content.lstrip())
    statement = content.split(b"//", 1)[0].rstrip() or content.rstrip()
    start = source.lines.starts[number]
    return start + indent, start + max(len(statement), indent)
