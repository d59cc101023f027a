"""`phobos check`: the diagnostics of sources, for every target asked for. Loads neither NumPy nor LLVM."""

from __future__ import annotations

from argparse import Namespace

from phobos_core.cli import findings as found
from phobos_core.cli.compilation import Compilation, check_sources
from phobos_core.cli.files import find_sources, status_with
from phobos_core.cli.status import Status
from phobos_core.cli.terminal import Output
from phobos_core.report.diagnostics import check_json, summary


def run(arguments: Namespace, output: Output, messages: Output) -> Status:
    found.check_denied(arguments.deny)
    asked = Compilation.of(arguments)
    sources = find_sources(arguments.paths)
    checked = check_sources(sources, asked, messages)
    findings = found.denied(checked.findings, arguments.deny)
    if arguments.format == "json":
        found.show_json(check_json(findings), output)
    elif not found.show_for_machines(
        "check", arguments.format, [f.source.name for f in sources.files], findings, output
    ):
        found.show(findings, arguments.format, output)
        if arguments.format == "text":
            count = f"{len(sources.files)} file{'' if len(sources.files) == 1 else 's'}"
            outcome = f"{len(sources.unreadable)} not read" if sources.unreadable else "nothing wrong"
            output.line(summary(findings) or f"{count} checked, {outcome}")
    return status_with(sources, found.status_of(findings, arguments.exit_zero))
