"""Feature: what a kernel costs, at the line where it does.

At the kernel its registers, shared memory and occupancy; at each tile its storage, bytes and lifetime; at each
contraction its path; at each loop whether it is pipelined, or why not; at each access its width; at each line its live
registers and instructions. Each kind can be switched (`phobos.hints`).

Hints are of the newest build. While the text is ahead of it they stay, begin with `~`, and move with the text. They
stand at the ends of lines, where they do not move what is typed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from lsprotocol import types as lsp

from phobos_ls.builds.hints import Hint, hints_of
from phobos_ls.builds.shown import Shown
from phobos_ls.snapshot import Snapshot

STALE = "~"
_STALE_NOTE = "Stale: of the text before it was changed."


def inlay_hints(snapshot: Snapshot, builds: Iterable[Shown], first: int, last: int) -> list[lsp.InlayHint]:
    """Of the builds' lines from the first to the last."""
    placed: dict[tuple[int, str], list[tuple[Shown, Hint]]] = {}
    for shown in builds:
        for hint in snapshot.memo.get("hints", (shown.build,), partial(hints_of, shown.build)):
            line = shown.header if hint.line is None else shown.line(hint.line)
            if line is not None and first <= line <= last and hint.category in snapshot.settings.hints:
                # Kernels that call one function have the same to say of its lines, as a rule.
                placed.setdefault((line, shown.told(hint.label)), []).append((shown, hint))
    return [_hint(snapshot, line, label, found) for (line, label), found in sorted(placed.items(), key=_line_of)]


def _line_of(entry: tuple[tuple[int, str], list[tuple[Shown, Hint]]]) -> int:
    return entry[0][0]


def _hint(snapshot: Snapshot, line: int, label: str, found: list[tuple[Shown, Hint]]) -> lsp.InlayHint:
    stale = all(shown.stale for shown, _ in found)
    end = snapshot.lines.starts[line] + len(snapshot.lines.line(line).rstrip())
    tooltip = "\n\n".join(dict.fromkeys(_tooltip(shown, hint, stale) for shown, hint in found))
    return lsp.InlayHint(
        snapshot.position(end),
        f"{STALE}{label}" if stale else label,
        tooltip=lsp.MarkupContent(lsp.MarkupKind.Markdown, tooltip),
        padding_left=True,
    )


def _tooltip(shown: Shown, hint: Hint, stale: bool) -> str:
    return "\n\n".join(_parts(shown, hint, stale))


def _parts(shown: Shown, hint: Hint, stale: bool) -> Iterator[str]:
    if stale:
        yield _STALE_NOTE
    yield shown.told(hint.tooltip)
