"""The report of one kernel for people: resources, occupancy, tiles, decisions, and what the launch has to keep.

In: a `KernelReport`. Out: text. `full` says all; `concise` is one line for logs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from phobos_core.language.targets import TARGETS
from phobos_core.report.accesses.text import summary
from phobos_core.report.style import Style

if TYPE_CHECKING:
    from phobos_core.report.model import KernelReport, Tile
    from phobos_core.report.sass.model import Code

_HEAD = 11


def full(report: KernelReport, style: Style) -> str:
    config = bindings(report.config)
    dims = bindings(report.dims)
    head = f"{report.kernel}  {report.file}:{report.line}  {report.target}"
    lines = [style("strong", head) + "".join(f"  {part}" for part in (config, dims) if part)]
    for name, rows in _sections(report):
        for number, row in enumerate(rows):
            lines.append(f"  {style('faint', (name if number == 0 else '').ljust(_HEAD))} {row}".rstrip())
    return "\n".join(lines)


def concise(report: KernelReport) -> str:
    config = bindings(report.config)
    where = f"{report.file}:{report.line}: {report.kernel} {report.target}{' ' + config if config else ''}"
    if report.status != "ok":
        return f"{where}: {report.status}"
    parts = [resources_text(report), *([f"{occupancy_text(report)}"] if report.occupancy.limiter else [])]
    return f"{where}: {'; '.join(parts)}"


def _sections(report: KernelReport) -> Iterator[tuple[str, list[str]]]:
    if report.status != "ok":
        yield "status", [report.status]
    yield "launch", [launch_text(report)]
    yield "resources", [resources_text(report)]
    if report.occupancy.limiter is not None:
        yield "occupancy", [occupancy_text(report)]
    if report.launch.cooperative and report.coresident_grid:
        yield "co-resident", [f"at most {report.coresident_grid} blocks"]
    if report.suggested_grid:
        yield "grid", [" x ".join(report.suggested_grid)]
    if report.cluster:
        yield "cluster", [f"{name} in {', '.join(map(str, choices))}" for name, choices in report.cluster.items()]
    if report.requires:
        yield "requires", list(report.requires)
    if report.tiles:
        yield "tiles", tile_table(report.tiles)
        yield "shared", [shared_text(report)]
    if report.accesses:
        yield "memory", list(summary(report.accesses))
    if report.code is not None:
        yield "loops", _loops(report.code)
    if report.decisions:
        yield "decisions", _decisions(report)
    if report.notes:
        yield "notes", [line for note in report.notes for line in note.splitlines()]
    if report.artifacts:
        yield "wrote", list(report.artifacts.values())


def launch_text(report: KernelReport) -> str:
    launch = report.launch
    parts = [_count(launch.threads, "thread")]
    if launch.min_blocks is not None:
        parts.append(f"at least {_count(launch.min_blocks, 'block')} wanted on an SM")
    if launch.max_registers is not None:
        parts.append(f"at most {launch.max_registers} registers")
    if launch.dynamic_shared_bytes:
        parts.append(f"{launch.dynamic_shared_bytes:,} B dynamic shared memory")
    if launch.cooperative:
        parts.append("cooperative")
    return ", ".join(parts)


def resources_text(report: KernelReport) -> str:
    used = report.resources
    if used.registers is None:
        return "unknown without ptxas"
    parts = [_count(used.registers, "register"), f"{used.shared_bytes or 0:,} B shared"]
    if used.spill_store_bytes or used.spill_load_bytes:
        cap = report.launch.max_registers
        capped = f" under the {cap} of @launch" if cap is not None else ""
        parts.append(f"spills {used.spill_store_bytes:,} B stored, {used.spill_load_bytes:,} B loaded{capped}")
    else:
        parts.append("no spills")
    if used.local_bytes:
        parts.append(f"{used.local_bytes:,} B local")
    if used.constant_bytes is not None:
        parts.append(f"{used.constant_bytes:,} B constant")
    parts.append(_count(used.barriers or 0, "barrier"))
    return ", ".join(parts)


def occupancy_text(report: KernelReport) -> str:
    fits = report.occupancy
    target = TARGETS[report.target]
    text = (
        f"{_count(fits.blocks_per_sm or 0, 'block')} on an SM, {fits.warps_per_sm} of {target.warps_per_sm} warps "
        f"({(fits.fraction or 0) * 100:.0f} %), limited by {_and(fits.limiters)}"
    )
    return f"{text}; {report.cliff}" if report.cliff else text


def _and(words: Sequence[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def shared_text(report: KernelReport) -> str:
    return f"{report.placed_bytes:,} B used, {report.shared_bytes_without_reuse:,} B without reuse"


def tile_table(tiles: Sequence[Tile]) -> list[str]:
    return _table(tile_rows(tiles), numeric={1, 5, 6})


def tile_rows(tiles: Sequence[Tile]) -> list[tuple[str, ...]]:
    """The tiles in the order of their bytes, so that what shares them stands together; above them a header."""
    rows: list[tuple[str, ...]] = [("name", "line", "shape", "type", "storage", "bytes", "offset", "live")]
    ordered = sorted(tiles, key=lambda t: (t.offset is None, t.offset or 0, t.live))
    for tile in ordered:
        first, last = tile.live
        rows.append(
            (
                tile.name,
                str(tile.line),
                " x ".join(map(str, tile.shape)),
                tile.dtype,
                tile.storage,
                f"{tile.bytes:,}",
                "-" if tile.offset is None else f"{tile.offset:,}",
                f"{first}-{last}",
            )
        )
    return rows


def _loops(code: Code) -> list[str]:
    """Each loop of the machine code with what it is made of."""
    rows = [
        (name, f"line {line}", f"{count} instructions", f"{math} math", mix)
        for name, line, count, math, mix in loop_rows(code)
    ]
    return _table(rows, numeric={2, 3}) if rows else ["none in the machine code"]


def loop_rows(code: Code) -> list[tuple[str, ...]]:
    return [
        (loop.name, str(loop.line or "?"), f"{loop.instructions:,}", f"{loop.math_share:.1%}", mix_text(loop.mix))
        for loop in code.loops
    ]


def mix_text(mix: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in mix.items())


def _decisions(report: KernelReport) -> list[str]:
    ordered = sorted(report.decisions, key=lambda d: d.line)
    rows = [(str(d.line), d.op, f"{d.choice}: {d.reason}" if d.reason else d.choice) for d in ordered]
    return _table(rows, numeric={0})


def _table(rows: Sequence[tuple[str, ...]], numeric: set[int]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if i in numeric else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def bindings(values: Mapping[str, int]) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items())


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
