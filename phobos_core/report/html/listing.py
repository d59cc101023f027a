"""The source of a kernel with what the build has to say beside each of its lines.

Shown are the kernel and the functions that something is said of: a function is copied into the kernels that call it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from phobos_core.report.accesses.text import described
from phobos_core.report.html.elements import Content, Markup, element
from phobos_core.report.model import KernelReport
from phobos_core.report.sass.model import Code, LineCode
from phobos_core.report.source import Source
from phobos_core.report.text import mix_text
from phobos_core.syntax import parse


def listing(report: KernelReport, source: Source) -> Markup:
    said = _said(report)
    parts = [part for part in _items(source) if report.line in part or any(line in part for line in said)]
    shown = set(chain.from_iterable(parts))
    elsewhere = [note for line, notes in said.items() if line not in shown for note in notes]
    rows: list[Content] = []
    for number, part in enumerate(parts):
        if number:
            rows.append(element("tr", element("td", "...", colspan=2), class_="gap"))
        rows += [_row(report, source, line, said.get(line, [])) for line in part]
    names = ("line", "source", *(("registers", "instructions") if report.code else ()))
    header = element("tr", [element("th", name) for name in names])
    table = element("table", element("thead", header), element("tbody", rows), class_="source")
    return element(
        "div", table, element("ul", [element("li", note) for note in elsewhere]) if elsewhere else None, class_="wide"
    )


def _said(report: KernelReport) -> Mapping[int, list[Content]]:
    """What is said at each line: where tiles are, what was decided, what accesses cost."""
    said: dict[int, list[Content]] = {}
    for tile in report.tiles:
        shape = " x ".join(map(str, tile.shape))
        said.setdefault(tile.line, []).append(
            [element("b", tile.name), f": {shape} {tile.dtype} in {_storage(tile.storage)}, {tile.bytes:,} B"]
        )
    for decision in sorted(report.decisions, key=lambda each: each.line):
        why = f": {decision.reason}" if decision.reason else ""
        said.setdefault(decision.line, []).append([element("b", decision.op), f": {decision.choice}{why}"])
    for access in report.accesses:
        said.setdefault(access.line or report.line, []).append(described(access))
    return said


def _storage(storage: str) -> str:
    return {"shared": "shared memory", "view": "global memory"}.get(storage, storage)


def _items(source: Source) -> Iterator[range]:
    """The lines of each kernel and function, from 1."""
    for placed in parse(source.text).items:
        end = placed.offset + placed.item.span.end
        yield range(source.line(placed.offset + placed.item.span.start) + 1, source.line(end) + 2)


def _row(report: KernelReport, source: Source, line: int, notes: list[Content]) -> Markup:
    return element(
        "tr",
        element("td", str(line), class_="number"),
        element(
            "td",
            element("code", source.line_text(line - 1)),
            element("ul", [element("li", note) for note in notes]) if notes else None,
        ),
        _machine_code(report.code, line) if report.code else None,
    )


def _machine_code(code: Code, line: int) -> list[Content]:
    """The registers live at a line and the instructions it became, of what kinds on hovering."""
    made = next((each for each in code.lines if each.line == line), LineCode(line, 0, None, {}))
    return [
        element("td", made.live_registers, class_="number"),
        element("td", made.instructions or None, class_="number", title=mix_text(made.mix) or None),
    ]
