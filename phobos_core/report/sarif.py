"""Findings as a SARIF 2.1.0 log, which code scanning services and editors read.

In: findings. Out: one run with a rule for each code that occurs. A result keeps its identity while text above it moves:
its fingerprint is made of the code, the file and the text that it marks. Source: OASIS SARIF 2.1.0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from phobos_core import __version__
from phobos_core.language.codes import CODES
from phobos_core.report.source import Finding, Source
from phobos_core.report.uris import uri

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "SRCROOT"
_LEVELS = {"error": "error", "warning": "warning", "note": "note"}
# Bytes of a digest that tell results apart.
_DIGITS = 32


def sarif_log(findings: Sequence[Finding]) -> dict[str, Any]:
    codes = sorted({finding.diagnostic.code for finding in findings})
    seen: Counter[str] = Counter()
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {"name": "phobos", "version": __version__, "rules": [_rule(code) for code in codes]}
                },
                "columnKind": "utf16CodeUnits",
                "originalUriBaseIds": {_ROOT: {"description": {"text": "The folder in which phobos ran."}}},
                "results": [_result(finding, codes, seen) for finding in findings],
            }
        ],
    }


def _rule(name: str) -> dict[str, Any]:
    code = CODES[name]
    return {
        "id": name,
        "shortDescription": {"text": code.title},
        "fullDescription": {"text": code.rule},
        "help": {"text": f"`phobos explain {name}` shows a source that breaks the rule and one that keeps it."},
        "defaultConfiguration": {"level": _LEVELS[code.severity]},
    }


def _result(finding: Finding, codes: Sequence[str], seen: Counter[str]) -> dict[str, Any]:
    source, found = finding.source, finding.diagnostic
    text = found.message if not found.help else f"{found.message}\nhelp: {found.help}"
    result: dict[str, Any] = {
        "ruleId": found.code,
        "ruleIndex": codes.index(found.code),
        "level": _LEVELS[found.severity],
        "message": {"text": text},
        "locations": [{"physicalLocation": _location(source, found.start, found.end)}],
        "partialFingerprints": {"phobos/1": _fingerprint(finding, seen)},
    }
    if found.related:
        result["relatedLocations"] = [
            {
                "id": number,
                "physicalLocation": _location(source, related.start, related.end),
                "message": {"text": related.message},
            }
            for number, related in enumerate(found.related)
        ]
    return result


def _location(source: Source, start: int, end: int) -> dict[str, Any]:
    name, is_relative = uri(source.name)
    artifact = {"uri": name, "uriBaseId": _ROOT} if is_relative else {"uri": name}
    region = {
        "startLine": source.line(start) + 1,
        "startColumn": source.utf16(start) + 1,
        "endLine": source.line(end) + 1,
        "endColumn": source.utf16(end) + 1,
    }
    return {"artifactLocation": artifact, "region": region}


def _fingerprint(finding: Finding, seen: Counter[str]) -> str:
    """Equal findings of one file are told apart by their order."""
    source, found = finding.source, finding.diagnostic
    line = source.line_text(source.line(found.start)).strip()
    marked = source.text[found.start : found.end].decode("utf-8", "replace")
    key = "\0".join((found.code, uri(source.name)[0], line, marked))
    seen[key] += 1
    return f"{sha256(key.encode('utf-8', 'replace')).hexdigest()[:_DIGITS]}:{seen[key]}"
