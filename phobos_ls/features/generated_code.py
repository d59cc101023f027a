"""Feature: what a kernel was compiled to, for clients that ask: PTX, machine code, memory, configurations.

The kernel is the one that a request names, else the one around its position, else the file's first. It is built where
no build of it is known; while it has errors, the answer is of its newest build, and stale.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from phobos_core.analysis import PlacedKernel
from phobos_core.language.targets import TARGETS
from phobos_core.report.sass.beside import by_address
from phobos_core.report.text import bindings
from phobos_ls.builds import words
from phobos_ls.builds.builder import WorkFailed
from phobos_ls.builds.content import content_of
from phobos_ls.builds.shown import Known, Shown, placed
from phobos_ls.configurations import listed_configurations, shown_configuration
from phobos_ls.lifecycle import Refused
from phobos_ls.session import Session
from phobos_ls.snapshot import Snapshot
from phobos_ls.table import Later

if TYPE_CHECKING:
    from phobos_core.report.model import KernelReport
    from phobos_core.report.sass.listing import Listing

Json: TypeAlias = dict[str, Any]
_FILE = re.compile(r"^\s*\.file\s+(\d+)\b")
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+\d+(?:.*\binlined_at\s+(\d+)\s+(\d+))?")
# How many columns a drawing of memory has for the lines of the source.
_COLUMNS = 60


def ptx(snapshot: Snapshot, params: Any, session: Session) -> Json | Later | None:
    return _about_build(snapshot, params, session, _ptx)


def sass(snapshot: Snapshot, params: Any, session: Session) -> Json | Later | None:
    return _about_build(snapshot, params, session, _sass, machine_code=True)


def memory_map(snapshot: Snapshot, params: Any, session: Session) -> Json | Later | None:
    return _about_build(snapshot, params, session, _memory_map)


def configurations(snapshot: Snapshot, params: Any, session: Session) -> Json | None:
    """With what is known of each at once; what is not is built behind this."""
    kernel = _kernel(snapshot, params)
    if kernel is None:
        return None
    session.builds.want_configurations(snapshot, kernel)
    return {
        "kernel": kernel.ast.name.text,
        "shown": shown_configuration(snapshot, kernel),
        "configurations": [
            {"config": config, "report": None if known is None else words.summary(known.build)}
            for config in listed_configurations(kernel)
            for known in [session.builds.known(snapshot, kernel, config)]
        ],
    }


# Which kernel, and its build.


def _kernel(snapshot: Snapshot, params: Any) -> PlacedKernel | None:
    kernels = list(snapshot.kernels())
    given = params if isinstance(params, dict) else {}
    name, position = given.get("kernel"), given.get("position")
    if name is not None:
        return next((kernel for kernel in kernels if kernel.ast.name.text == name), None)
    if isinstance(position, dict):
        offset = snapshot.lines.offset(_place(position), snapshot.encoding)
        around = snapshot.kernel_at(offset)
        if around is not None:
            return around
    return kernels[0] if kernels else None


def _place(position: Json) -> tuple[int, int]:
    line, character = position.get("line"), position.get("character")
    return (line if isinstance(line, int) else 0), (character if isinstance(character, int) else 0)


def _about_build(
    snapshot: Snapshot,
    params: Any,
    session: Session,
    answer: Callable[[Snapshot, Shown], Json],
    *,
    machine_code: bool = False,
) -> Json | Later | None:
    builds = session.builds
    kernel = _kernel(snapshot, params)
    if kernel is None:
        return None
    if kernel.kernel is None:
        stale = builds.shown_of(snapshot, kernel)
        if stale is None:
            raise Refused(f"`{kernel.ast.name.text}` has errors, and was not built before: mend them first")
        return answer(snapshot, stale)
    begun = builds.begin(snapshot, kernel, machine_code=machine_code)
    if isinstance(begun, Known):
        return answer(snapshot, placed(kernel, content_of(snapshot, kernel), begun))

    def then() -> Json:
        try:
            known = begun.result()
        except WorkFailed as error:
            raise Refused(f"{error}") from error
        return answer(snapshot, placed(kernel, content_of(snapshot, kernel), known))

    return Later(begun.future, then, begun.leave)


def _head(snapshot: Snapshot, shown: Shown) -> Json:
    """The version is that of the newest text that the build is of."""
    return {
        "kernel": shown.build.kernel,
        "target": shown.build.target,
        "config": dict(shown.build.config),
        "version": shown.known.version if shown.stale else snapshot.version,
        "stale": shown.stale,
    }


# PTX and machine code.


def _ptx(snapshot: Snapshot, shown: Shown) -> Json:
    text = shown.build.ptx
    if text is None:
        raise Refused(_why_not_built(shown))
    return {**_head(snapshot, shown), "text": text, "lines": [shown.line(line) for line in ptx_lines(text)]}


def _sass(snapshot: Snapshot, shown: Shown) -> Json:
    code = shown.build.machine_code
    if code is None:
        raise Refused(_why_not_built(shown))
    return {**_head(snapshot, shown), **_listed(shown, code)}


def _listed(shown: Shown, code: Listing) -> Json:
    rows = list(by_address(code))
    return {
        "text": "".join(f"{text}\n" for text, _ in rows),
        "lines": [None if each is None else shown.line(each.line) for _, each in rows],
        "registers": [None if each is None else each.live for _, each in rows],
    }


def _why_not_built(shown: Shown) -> str:
    build = shown.build
    errors = [shown.told(found.message) for found in build.diagnostics if found.severity == "error"]
    if errors:
        return f"`{build.kernel}` cannot be built for {build.target}: {'; '.join(errors)}"
    return build.why_no_code or f"no machine code of `{build.kernel}` is known any more: mend its errors first"


def ptx_lines(text: str) -> list[int | None]:
    """The source line, from 1, of each line of a PTX module: that of the `.loc` above it in its function. Where code of
    another file was inlined, it is the line that it was inlined at. A `.loc` of line 0 is of no line."""
    rows = text.splitlines()
    files = [match[1] for match in map(_FILE.match, rows) if match]
    own = files[0] if files else "1"
    found: list[int | None] = []
    line: int | None = None
    for row in rows:
        match = _LOC.match(row)
        if match is not None:
            line = next((int(n) for file, n in (match.group(1, 2), match.group(3, 4)) if file == own), None) or None
        elif row.startswith("}"):
            line = None
        found.append(line)
    return found


# Memory.


def _memory_map(snapshot: Snapshot, shown: Shown) -> Json:
    report = shown.build.report
    if report is None:
        raise Refused(_why_not_built(shown))
    return {
        **_head(snapshot, shown),
        "bytes": report.placed_bytes,
        "bytesWithoutReuse": report.shared_bytes_without_reuse,
        "limit": TARGETS[report.target].shared_per_block,
        "tiles": [
            {
                "name": tile.name,
                "line": _now(shown, tile.line),
                "shape": list(tile.shape),
                "dtype": tile.dtype,
                "storage": tile.storage,
                "bytes": tile.bytes,
                "offset": tile.offset,
                "live": [_now(shown, line) for line in tile.live],
            }
            for tile in report.tiles
        ],
        "text": "\n".join(drawing(report, lambda line: _now(shown, line) + 1)) + "\n",
    }


def _now(shown: Shown, line: int) -> int:
    """Where a line of the report is; one that is gone where it was."""
    now = shown.line(line)
    return line - 1 if now is None else now


def drawing(report: KernelReport, line_now: Callable[[int], int]) -> Iterator[str]:
    """The shared memory of a block: a row for each tile, by its bytes, and across it the lines on which it lives."""
    limit = TARGETS[report.target].shared_per_block
    config = bindings(report.config)
    yield (
        f"{report.kernel} for {report.target}{f', {config}' if config else ''}: {report.placed_bytes:,} of {limit:,} "
        f"bytes of shared memory, {report.shared_bytes_without_reuse:,} without reuse"
    )
    tiles = sorted(
        (tile for tile in report.tiles if tile.offset is not None), key=lambda tile: (tile.offset, tile.live)
    )
    if not tiles:
        return
    lives = [tuple(sorted(map(line_now, tile.live))) for tile in tiles]
    first, last = min(low for low, _ in lives), max(high for _, high in lives)
    width = max(len(tile.name) for tile in tiles)
    yield f"{'from':>10} {'to':>10}  {'tile'.ljust(width)}  lines {first} to {last}"
    for tile, (low, high) in zip(tiles, lives, strict=True):
        bar = "".join("#" if low <= line <= high else "." for line in _columns(first, last))
        yield f"{tile.offset:>10,} {(tile.offset or 0) + tile.bytes:>10,}  {tile.name.ljust(width)}  {bar}"


def _columns(first: int, last: int) -> Iterable[int]:
    """The lines, or as many of them, evenly spread, as there are columns."""
    count = last - first + 1
    if count <= _COLUMNS:
        return range(first, last + 1)
    return (first + column * (count - 1) // (_COLUMNS - 1) for column in range(_COLUMNS))
