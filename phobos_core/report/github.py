"""Findings as the workflow commands by which a GitHub Actions step annotates the files of a change.

In: findings. Out: lines as `::error file=a.ph,line=3,endLine=3,col=7,endColumn=8,title=unknown-name::message`. GitHub
shows the first ten errors and the first ten warnings of a step and drops the rest in silence, so the worst come first
and the last place of each kind says how many more there are.
Source: GitHub's documentation of workflow commands; the limits are in that of `check` annotations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from phobos_core.report.source import Finding
from phobos_core.report.uris import relative

# How many of each kind of annotation a step may show.
SHOWN = 10
_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def workflow_commands(findings: Sequence[Finding]) -> Iterator[str]:
    for severity, command in _COMMANDS.items():
        alike = [finding for finding in findings if finding.diagnostic.severity == severity]
        shown = alike if len(alike) <= SHOWN else alike[: SHOWN - 1]
        for finding in shown:
            yield _annotation(command, finding)
        if len(alike) > len(shown):
            count = len(alike) - len(shown)
            yield f"::{command} title=phobos::and {count} more {severity}s, which the log of this step lists"


def _annotation(command: str, finding: Finding) -> str:
    source, found = finding.source, finding.diagnostic
    line, end_line = source.line(found.start) + 1, source.line(found.end) + 1
    places = {"file": relative(source.name), "line": line, "endLine": end_line}
    if line == end_line:
        # GitHub takes columns of one line only.
        places |= {"col": source.column(found.start) + 1, "endColumn": source.column(found.end) + 1}
    places["title"] = found.code
    properties = ",".join(f"{name}={_property(str(value))}" for name, value in places.items())
    message = found.message
    for related in found.related:
        message += f"\n{relative(source.name)}:{source.line(related.start) + 1}: {related.message}"
    if found.help:
        message += f"\nhelp: {found.help}"
    return f"::{command} {properties}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
