"""What the page says of a kernel: its configurations beside each other, then each by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from phobos_core.language.targets import TARGETS
from phobos_core.report import text
from phobos_core.report.accesses.text import summary
from phobos_core.report.html.elements import Content, Markup, element, facts, table
from phobos_core.report.html.listing import listing
from phobos_core.report.html.memory_map import memory_map
from phobos_core.report.model import KernelReport
from phobos_core.report.source import Source

UNKNOWN = "\N{EM DASH}"
COLUMNS = (
    "target",
    "configuration",
    "status",
    "registers",
    "shared",
    "spilled",
    "warps",
    "occupancy",
    "limited by",
    "next step",
)
NUMERIC = (3, 4, 5, 6, 7)


def configurations(reports: Sequence[KernelReport], places: Mapping[int, str]) -> Markup:
    """A row for each report; `places` has the anchor of each by its identity."""
    return table(COLUMNS, [_row(report, places[id(report)]) for report in reports], NUMERIC)


def _row(report: KernelReport, place: str) -> Iterator[Content]:
    used, fits = report.resources, report.occupancy
    yield report.target
    yield element("a", bindings(report) or "the only one", href=f"#{place}")
    yield report.status
    yield _known(used.registers)
    yield _known(used.shared_bytes, " B")
    spilled = None if used.spill_store_bytes is None else used.spill_store_bytes + (used.spill_load_bytes or 0)
    yield _known(spilled, " B")
    yield UNKNOWN if fits.warps_per_sm is None else f"{fits.warps_per_sm} of {TARGETS[report.target].warps_per_sm}"
    yield UNKNOWN if fits.fraction is None else _meter(fits.fraction)
    yield ", ".join(fits.limiters) or UNKNOWN
    yield report.cliff or UNKNOWN


def _known(value: int | None, unit: str = "") -> str:
    return UNKNOWN if value is None else f"{value:,}{unit}"


def _meter(fraction: float) -> list[Content]:
    percent = f"{fraction * 100:.0f} %"
    return [element("meter", percent, min=0, max=1, value=f"{fraction:.4f}"), " ", percent]


def bindings(report: KernelReport) -> str:
    return " ".join(f"{name}={value}" for name, value in {**report.config, **report.dims}.items())


def one(report: KernelReport, source: Source | None, place: str, *, shown: bool) -> Markup:
    """A report, folded unless it is `shown`."""
    head = " ".join(part for part in (report.target, bindings(report)) if part)
    return element(
        "details",
        element("summary", head),
        facts(_facts(report)),
        memory_map(report.tiles),
        _tiles(report),
        _loops(report),
        [element("h4", "Source"), listing(report, source)] if source else None,
        id=place,
        open=shown,
    )


def _facts(report: KernelReport) -> Iterator[tuple[str, Content]]:
    """What the report for people says, in its words."""
    if report.status != "ok":
        yield "status", report.status
    yield "launch", text.launch_text(report)
    yield "parameters", _lines(_params(report))
    yield "resources", text.resources_text(report)
    if report.occupancy.limiter is not None:
        yield "occupancy", text.occupancy_text(report)
    if report.launch.cooperative and report.coresident_grid:
        yield "co-resident", f"at most {report.coresident_grid} blocks"
    yield "grid", " x ".join(report.suggested_grid)
    yield "cluster", _lines(f"{name} in {', '.join(map(str, values))}" for name, values in report.cluster.items())
    yield "requires", _lines(report.requires)
    if report.tiles:
        yield "shared", text.shared_text(report)
    yield "memory", _lines(summary(report.accesses))
    yield "notes", _lines(report.notes)
    yield "wrote", _lines(report.artifacts.values())


def _params(report: KernelReport) -> Iterator[str]:
    for param in report.params:
        dims = f"[{', '.join(map(str, param.dims))}]" if param.kind == "tensor" else ""
        yield f"{param.name}: {param.kind} {param.dtype}{dims}"


def _lines(lines: Iterable[str]) -> Content:
    return [element("div", line) for text in lines for line in text.splitlines()]


def _tiles(report: KernelReport) -> Content:
    if not report.tiles:
        return None
    header, *rows = text.tile_rows(report.tiles)
    return [element("h4", "Tiles"), table(header, rows, (1, 5, 6))]


def _loops(report: KernelReport) -> Content:
    if report.code is None or not report.code.loops:
        return None
    header = ("loop", "line", "instructions", "math", "made of")
    return [
        element("h4", "Loops of the machine code"),
        table(header, text.loop_rows(report.code), (1, 2, 3)),
    ]
