"""Findings of any command: what `--deny` makes of them, how each `--format` prints them, and the status they give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from phobos_core.cli.status import CommandError, Status
from phobos_core.cli.terminal import Output
from phobos_core.language.codes import CODES
from phobos_core.report import diagnostics as rendering
from phobos_core.report.source import Finding
from phobos_core.report.style import PLAIN

WARNINGS = "warnings"


def check_denied(words: Sequence[str]) -> None:
    """`--deny` takes diagnostic codes, and `warnings`."""
    known = [*CODES, WARNINGS]
    for word in words:
        if word not in known:
            import difflib  # only to say what else was meant

            near = difflib.get_close_matches(word, known, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise CommandError(f"--deny {word}: no diagnostic has this code{hint}")


def denied(findings: Sequence[Finding], words: Sequence[str]) -> list[Finding]:
    """The findings, with those that `--deny` names as errors."""

    def judged(finding: Finding) -> Finding:
        found = finding.diagnostic
        if found.code in words or (found.severity == "warning" and WARNINGS in words):
            return replace(finding, diagnostic=replace(found, severity="error"))
        return finding

    return [judged(finding) for finding in findings]


def status_of(findings: Sequence[Finding], exit_zero: bool) -> Status:
    failed = any(finding.diagnostic.severity == "error" for finding in findings)
    return Status.FOUND if failed and not exit_zero else Status.OK


def show(findings: Sequence[Finding], format: str, output: Output) -> None:
    """The text formats; JSON is one object of a whole command."""
    for finding in findings:
        if format == "concise":
            output.line(rendering.concise(finding, output.style))
        else:
            output.line(rendering.full(finding, output.style))
            output.line()


def show_for_machines(
    command: str, format: str, files: Sequence[str], findings: Sequence[Finding], output: Output
) -> bool:
    """The formats that other programs read, which are of a whole command; False where `format` is none of them."""
    # Each is loaded where it is asked for: together they take as long to load as a small check.
    match format:
        case "sarif":
            from phobos_core.report.sarif import sarif_log

            show_json(sarif_log(findings), output)
        case "github":
            from phobos_core.report.github import workflow_commands

            for line in workflow_commands(findings):
                output.line(line)
            # The log of the step has everything, and words for the people who read it.
            for finding in findings:
                output.line(rendering.concise(finding, PLAIN))
        case "junit":
            from phobos_core.report.junit import junit_xml

            output.line(junit_xml(command, files, findings))
        case _:
            return False
    return True


def show_json(value: dict[str, Any], output: Output) -> None:
    import json  # as the formats are, loaded where it is asked for

    output.line(json.dumps(value, ensure_ascii=False, indent=2))
