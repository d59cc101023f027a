"""What a build found of a kernel as a whole, in words for hints, hovers and answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from phobos_core.language.targets import TARGETS
from phobos_core.report import text
from phobos_core.report.occupancy import BlockUse, Occupancy, occupancy
from phobos_ls.builds.work import Build

if TYPE_CHECKING:
    from phobos_core.report.model import KernelReport


def summary(build: Build) -> str:
    """`regs 96 · shared 34.0 KB · occupancy 50 % (registers)`; without ptxas, what is known without it."""
    report = build.report
    if build.failed or report is None:
        codes = dict.fromkeys(found.code for found in build.diagnostics if found.severity == "error")
        return f"not built for {build.target}: {', '.join(codes)}"
    used, fits = report.resources, report.occupancy
    if used.registers is None or fits.fraction is None:
        bound = most_occupancy(report)
        return (
            f"shared {size(report.placed_bytes)} · occupancy at most {_percent(bound.fraction)} ({bound.limiters[0]})"
        )
    parts = [f"regs {used.registers}", f"shared {size(used.shared_bytes or 0)}"]
    if spilled := (used.spill_store_bytes or 0) + (used.spill_load_bytes or 0):
        parts.append(f"spills {size(spilled)}")
    return " · ".join([*parts, f"occupancy {_percent(fits.fraction)} ({fits.limiter})"])


def most_occupancy(report: KernelReport) -> Occupancy:
    """What threads and shared memory alone allow, whatever ptxas would make of the registers."""
    return occupancy(TARGETS[report.target], BlockUse(report.launch.threads, 0, report.placed_bytes, 0))


def described(build: Build) -> Iterator[str]:
    """What the summary says in full, with the nearest cliff; each a line of Markdown."""
    report = build.report
    if build.failed or report is None:
        yield from (found.message for found in build.diagnostics if found.severity == "error")
        return
    if report.resources.registers is None:
        bound = most_occupancy(report)
        yield (
            f"{report.placed_bytes:,} B shared; at most {bound.blocks} blocks on an SM, whatever the registers, "
            f"limited by {bound.limiters[0]}"
        )
        if build.why_no_code:
            yield build.why_no_code
    else:
        yield text.resources_text(report)
        yield text.occupancy_text(report)
    yield text.launch_text(report)
    if report.suggested_grid:
        yield f"grid: {' x '.join(report.suggested_grid)}"
    if report.requires:
        yield f"requires {', '.join(f'`{each}`' for each in report.requires)}"


def table(builds: Iterable[tuple[str, Build | None, bool]]) -> str:
    """Rows of what was built: what it is called, the build where it is known, and whether that is the one shown."""
    rows = ["| | registers | shared | spills | occupancy |", "|---|---|---|---|---|"]
    for name, build, shown in builds:
        called = f"**{name}**" if shown else name
        rows.append(f"| {called} | {' | '.join(_cells(build))} |")
    return "\n".join(rows)


def _cells(build: Build | None) -> tuple[str, str, str, str]:
    if build is None:
        return "…", "", "", ""
    report = build.report
    if build.failed or report is None:
        return summary(build), "", "", ""
    used, fits = report.resources, report.occupancy
    if used.registers is None or fits.fraction is None:
        bound = most_occupancy(report)
        return "?", size(report.placed_bytes), "?", f"at most {_percent(bound.fraction)} ({bound.limiters[0]})"
    spilled = (used.spill_store_bytes or 0) + (used.spill_load_bytes or 0)
    return (
        str(used.registers),
        size(used.shared_bytes or 0),
        size(spilled) if spilled else "none",
        f"{_percent(fits.fraction)} ({fits.limiter})",
    )


def size(count: int) -> str:
    """`34.0 KB`, and bytes below one."""
    return f"{count} B" if count < 1024 else f"{count / 1024:.1f} KB"


def _percent(fraction: float) -> str:
    return f"{fraction * 100:.0f} %"
