"""Diagnostics of the build, which knows lines and not spans, placed in the source."""

from __future__ import annotations

from phobos_core.language.codes import CODES
from phobos_core.language.diagnostic import Diagnostic
from phobos_core.report.source import Source


def at_line(source: Source, line: int, code: str, message: str, *, help: str | None = None) -> Diagnostic:
    """On the text of a line, counted from 1, without its indentation and comment; line 0 is the file's first."""
    start = source.lines.offset((max(line, 1) - 1, 0))
    content = source.lines.line(min(max(line, 1), len(source.lines.starts)) - 1)
    code_part = content.split(b"//", 1)[0].rstrip() or content.rstrip()
    indent = len(content) - len(content.lstrip())
    return Diagnostic(code, CODES[code].severity, start + indent, start + max(len(code_part), indent), message, help=help)
