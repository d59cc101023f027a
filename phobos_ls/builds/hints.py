"""The lines of a build's report as hints: each a few words for a line of the source, and the whole of it for who asks.

In: a build. Out: hints of every kind, with the lines of its report, counted from 1. Nothing is found out here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from phobos_core.report.accesses.text import described as access_described
from phobos_core.report.text import bindings
from phobos_ls.builds import words
from phobos_ls.builds.work import Build
from phobos_ls.settings import HintCategory

if TYPE_CHECKING:
    from phobos_core.report.accesses.model import MemoryAccess
    from phobos_core.report.model import Decision, KernelReport, Tile

# The operations that contract, as decisions name them.
_CONTRACTIONS = frozenset({"dot", "dot_t", "dp4a", "warp_partial", "@tensorcore"})
# Decisions about the kernel as a whole.
_OF_KERNEL = frozenset({"barriers", "blocks"})
# A label has no room for more of a reason than this; the tooltip has all of it.
_REASON = 60


@dataclass(frozen=True, slots=True)
class Hint:
    """`line` None is the line of the kernel's name."""

    line: int | None
    category: HintCategory
    label: str
    tooltip: str


def hints_of(build: Build) -> list[Hint]:
    """In the order in which those of one line are shown."""
    found = [Hint(None, "resources", words.summary(build), "\n".join(f"- {row}" for row in _about_kernel(build)))]
    if build.report is not None:
        for kind in (_loops, _contractions, _tiles, _accesses, _lines):
            found += kind(build.report)
    return found


def _about_kernel(build: Build) -> Iterator[str]:
    called = bindings({**build.config, **(build.report.dims if build.report else {})})
    yield f"`{build.kernel}` for {build.target}{f' with {called}' if called else ''}"
    yield from words.described(build)
    for decision in build.report.decisions if build.report else ():
        if decision.op in _OF_KERNEL:
            yield _told(decision)


def _loops(report: KernelReport) -> Iterator[Hint]:
    return _decided(report, "loops", lambda each: each.op.startswith("for ") or each.op == "loop over K")


def _contractions(report: KernelReport) -> Iterator[Hint]:
    return _decided(report, "contractions", lambda each: each.op in _CONTRACTIONS)


def _decided(report: KernelReport, category: HintCategory, wanted: Callable[[Decision], bool]) -> Iterator[Hint]:
    """Those of one operation are one hint, the last first: it is the one that says what came of it."""
    chosen = sorted(filter(wanted, report.decisions), key=lambda each: (each.line, each.op))
    for (line, op), group in groupby(chosen, key=lambda each: (each.line, each.op)):
        last, *others = reversed(list(group))
        label = "; ".join([_short(last), *(each.choice for each in others)])
        # A loop's line says which loop it is.
        named = label if op.startswith("for ") else f"{op}: {label}"
        yield Hint(line, category, named, "\n".join(f"- {_told(each)}" for each in (last, *others)))


def _short(decision: Decision) -> str:
    """With the reason as far as there is room, where the choice is not to do something."""
    reason = decision.reason.partition(";")[0]
    fits = decision.choice.startswith("not ") and 0 < len(reason) <= _REASON
    return f"{decision.choice}: {reason}" if fits else decision.choice


def _told(decision: Decision) -> str:
    return f"{decision.op}: {decision.choice}{f': {decision.reason}' if decision.reason else ''}"


def _tiles(report: KernelReport) -> Iterator[Hint]:
    decisions: dict[tuple[int, str], list[str]] = {}
    for decision in report.decisions:
        decisions.setdefault((decision.line, decision.op), []).append(_told(decision))
    on_line: dict[int, int] = {}
    for tile in report.tiles:
        on_line[tile.line] = on_line.get(tile.line, 0) + 1
    for tile in sorted(report.tiles, key=lambda tile: tile.line):
        named = on_line[tile.line] > 1 or not tile.name.isidentifier()
        rows = [*tile_rows(tile), *decisions.get((tile.line, tile.name), ())]
        yield Hint(
            tile.line,
            "tiles",
            f"{tile.name}: {_storage(tile)}" if named else _storage(tile),
            "\n".join(f"- {row}" for row in rows),
        )


def _storage(tile: Tile) -> str:
    return tile.storage if tile.storage == "view" else f"{tile.storage} {words.size(tile.bytes)}, {_life(tile)}"


def _life(tile: Tile) -> str:
    first, last = tile.live
    return f"line {first}" if first == last else f"lines {first} to {last}"


def tile_rows(tile: Tile) -> Iterator[str]:
    """Where a tile is, how large and how long."""
    shape = " x ".join(map(str, tile.shape))
    if tile.storage == "view":
        yield f"`{tile.name}`, {shape} of {tile.dtype}, is a view: it takes no bytes"
        return
    at = "" if tile.offset is None else f" at offset {tile.offset:,}"
    where = f"in {tile.storage}{'' if tile.storage == 'registers' else ' memory'}{at}"
    yield f"`{tile.name}`, {shape} of {tile.dtype}: {tile.bytes:,} bytes {where}, live on {_life(tile)}"


def _accesses(report: KernelReport) -> Iterator[Hint]:
    for access in report.accesses:
        yield Hint(access.line, "accesses", _access(access), f"- {access_described(access)}")
    masked = [each for each in report.decisions if each.choice.startswith("masked") or each.op.startswith("run of")]
    for each in masked:
        yield Hint(each.line, "accesses", f"{each.op}: {each.choice}", f"- {_told(each)}")


def _access(access: MemoryAccess) -> str:
    """`load A 2 x 16 B`, with why it is no wider."""
    name = f" {access.name}" if access.name else ""
    count = f"{access.instructions} x " if access.instructions > 1 else ""
    why = f" ({access.why_not_wider})" if access.why_not_wider and len(access.why_not_wider) <= _REASON else ""
    return f"{access.kind}{name} {count}{access.bytes} B{why}"


def _lines(report: KernelReport) -> Iterator[Hint]:
    for line in report.code.lines if report.code is not None else ():
        live = "" if line.live_registers is None else f"{line.live_registers} live · "
        count = f"{line.instructions} instruction{'' if line.instructions == 1 else 's'}"
        yield Hint(line.line, "lines", f"{live}{count}", _mix(line.mix, line.live_registers))


def _mix(mix: Mapping[str, int], live: int | None) -> str:
    rows = [f"- {', '.join(f'{name} {count}' for name, count in mix.items())}"]
    if live is not None:
        rows.insert(0, f"- at most {live} registers are live at an instruction of this line")
    return "\n".join(rows)
