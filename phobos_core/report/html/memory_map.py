"""The drawing of a block's shared memory: which bytes each tile takes, and the source lines that need them.

Lines go to the right, bytes down. A tile that is needed at two places may lend its bytes to others between them: what
is drawn lets through what lies below it.
"""

from __future__ import annotations

from collections.abc import Sequence

from phobos_core.report.html.elements import Content, Markup, element
from phobos_core.report.model import Tile

WIDTH, HEIGHT = 720, 280
LEFT, BOTTOM = 64, 24
# A tile lower than this has no room for its name, and one of few bytes is still to be seen.
NAMED, LEAST = 14, 2
# What a character of the drawing's font takes, about.
CHARACTER = 7


def memory_map(tiles: Sequence[Tile]) -> Markup | None:
    """None where no tile is in shared memory."""
    placed = [(tile, tile.offset) for tile in tiles if tile.storage == "shared" and tile.offset is not None]
    if not placed:
        return None
    size = max(1, *(offset + tile.bytes for tile, offset in placed))
    first, last = min(tile.live[0] for tile, _ in placed), max(tile.live[1] for tile, _ in placed)
    across, down = (WIDTH - LEFT) / (last - first + 1), (HEIGHT - BOTTOM) / size
    shapes: list[Content] = []
    for tile, offset in placed:
        x, width = LEFT + (tile.live[0] - first) * across, (tile.live[1] - tile.live[0] + 1) * across
        y, height = offset * down, max(tile.bytes * down, LEAST)
        fits = height >= NAMED and len(tile.name) * CHARACTER <= width
        said = f"{tile.name}: {tile.bytes:,} B at {offset:,}, lines {tile.live[0]} to {tile.live[1]}"
        shapes.append(
            element(
                "g",
                element("title", said),
                element("rect", x=f"{x:.1f}", y=f"{y:.1f}", width=f"{width:.1f}", height=f"{height:.1f}"),
                element("text", tile.name, x=f"{x + 4:.1f}", y=f"{y + height / 2 + 4:.1f}") if fits else None,
            )
        )
    ends = sorted({0, *(offset + tile.bytes for tile, offset in placed)})
    drawing = element(
        "svg",
        [_byte_mark(end, end * down) for end in _apart(ends, down)],
        shapes,
        element("text", f"line {first}", x=LEFT, y=HEIGHT - 6, class_="mark"),
        element("text", f"line {last}", x=WIDTH, y=HEIGHT - 6, class_="mark", text_anchor="end"),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=f"{size:,} bytes of shared memory over lines {first} to {last}",
    )
    return element("figure", drawing, element("figcaption", "Shared memory: source lines to the right, bytes down."))


def _apart(ends: Sequence[int], down: float) -> list[int]:
    """Those whose marks do not run into the one above; the last one always."""
    kept = [ends[0]]
    for end in ends[1:]:
        if (end - kept[-1]) * down >= NAMED:
            kept.append(end)
    return kept if kept[-1] == ends[-1] else [*kept[:-1], ends[-1]] if len(kept) > 1 else [*kept, ends[-1]]


def _byte_mark(end: int, y: float) -> list[Content]:
    return [
        element("line", x1=LEFT - 4, x2=WIDTH, y1=f"{y:.1f}", y2=f"{y:.1f}"),
        element("text", f"{end:,}", x=LEFT - 8, y=f"{max(y + 4, 10):.1f}", class_="mark", text_anchor="end"),
    ]
