"""The page: what is wrong, every kernel in a table, and each kernel with its configurations and its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from phobos_core.report.diagnostics import full, summary
from phobos_core.report.html.elements import Content, Markup, element, facts
from phobos_core.report.html.kernels import configurations, one
from phobos_core.report.html.looks import STYLE
from phobos_core.report.model import KernelReport, Toolchain
from phobos_core.report.source import Finding, Source
from phobos_core.report.style import PLAIN

TITLE = "Phobos build"
# The page may load nothing, and run nothing: whatever a name or a message holds, this is the second lock on it.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def build_html(
    toolchain: Toolchain, reports: Sequence[KernelReport], findings: Sequence[Finding], sources: Mapping[str, Source]
) -> str:
    """`sources` are those that the reports name, by their names."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", TITLE),
        element("style", Markup(STYLE)),
    )
    places = {id(report): f"report-{number}" for number, report in enumerate(reports, 1)}
    body = element(
        "body",
        element("header", element("h1", TITLE), _made_by(toolchain)),
        element("main", _findings(findings), _kernels(reports, sources, places)),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en').text}"


def _made_by(toolchain: Toolchain) -> Markup:
    assemblers = [element("div", f"{tool.version} ({tool.path})") for tool in toolchain.ptxas]
    return facts(
        [
            ("phobos", toolchain.phobos),
            ("LLVM", toolchain.llvm),
            ("ptxas", assemblers or "none was found: registers, spills and occupancy are not known"),
        ]
    )


def _findings(findings: Sequence[Finding]) -> Content:
    if not findings:
        return None
    return element(
        "section",
        element("h2", summary(findings) or "Notes"),
        [element("pre", full(finding, PLAIN), class_=finding.diagnostic.severity) for finding in findings],
    )


def _kernels(
    reports: Sequence[KernelReport], sources: Mapping[str, Source], places: Mapping[int, str]
) -> list[Content]:
    """The reports of a kernel stand together, whatever target they are for; the first of them is open."""
    ordered = sorted(reports, key=lambda report: (report.file, report.line, report.kernel))
    found: list[Content] = []
    for (file, line, kernel), group in groupby(ordered, key=lambda report: (report.file, report.line, report.kernel)):
        mine = list(group)
        found.append(
            element(
                "section",
                element("h2", kernel, " ", element("small", f"{file}:{line}")),
                configurations(mine, places),
                [
                    one(report, sources.get(file), places[id(report)], shown=number == 0)
                    for number, report in enumerate(mine)
                ],
            )
        )
    return found or [element("p", "No kernel was built.")]
