"""Diagnostics as text, as one line each, and as the objects of `check --format json`.

In: findings. Out: text lines or JSON values. The long form shows the source line, what is underlined and why,
related places, and what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from phobos_core.report.excerpt import Label, excerpt, gutter_width
from phobos_core.report.source import Finding, Source
from phobos_core.report.style import Style

CHECK_SCHEMA = "phobos.check/1"


def full(finding: Finding, style: Style) -> str:
    """The form for people: message, place, excerpt with related places, help."""
    source, found = finding.source, finding.diagnostic
    head = style(found.severity, f"{found.severity}[{found.code}]") + style("strong", f": {found.message}")
    labels = [Label(found.start, found.end, "", True, found.severity)]
    labels += [Label(r.start, r.end, r.message, False, "note") for r in found.related]
    gutter = gutter_width(source, labels)
    lines = [head, f"{style('faint', ' ' * gutter + '-->')} {place(source, found.start)}"]
    if source.text:
        lines += excerpt(source, labels, gutter, style)
    if found.help:
        lines.append(f"{style('faint', ' ' * gutter + ' =')} {style('strong', 'help')}: {found.help}")
    return "\n".join(lines)


def concise(finding: Finding, style: Style) -> str:
    """`file:line:column: severity[code]: message`, which editors and grep understand; a message's first line."""
    source, found = finding.source, finding.diagnostic
    severity = style(found.severity, f"{found.severity}[{found.code}]")
    return f"{place(source, found.start)}: {severity}: {found.message.partition(chr(10))[0]}"


def place(source: Source, offset: int) -> str:
    """`file:line:column` from 1, the column in characters."""
    return f"{source.name}:{source.line(offset) + 1}:{source.column(offset) + 1}"


def summary(findings: Sequence[Finding]) -> str:
    """`2 errors, 1 warning`; empty when there is neither."""
    counts = [(sum(f.diagnostic.severity == s for f in findings), s) for s in ("error", "warning")]
    return ", ".join(f"{count} {severity}{'s' if count > 1 else ''}" for count, severity in counts if count)


def as_json(finding: Finding) -> dict[str, Any]:
    """One diagnostic as the language server protocol places it: from 0, in UTF-16 units."""
    source, found = finding.source, finding.diagnostic
    value: dict[str, Any] = {
        "file": source.name,
        "range": _range(source, found.start, found.end),
        "severity": found.severity,
        "code": found.code,
        "message": found.message,
        "related": [
            {"file": source.name, "range": _range(source, r.start, r.end), "message": r.message} for r in found.related
        ],
    }
    if found.help:
        value["help"] = found.help
    return value


def check_json(findings: Sequence[Finding]) -> dict[str, Any]:
    return {"schema": CHECK_SCHEMA, "diagnostics": [as_json(f) for f in findings]}


def _range(source: Source, start: int, end: int) -> dict[str, dict[str, int]]:
    return {"start": _position(source, start), "end": _position(source, end)}


def _position(source: Source, offset: int) -> dict[str, int]:
    return {"line": source.line(offset), "character": source.utf16(offset)}
