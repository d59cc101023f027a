"""The lines of a source that a diagnostic is about, with its spans underlined and labelled.

In: a `Source` and labels (a span, a text, primary or not). Out: text lines as in

     12 |   acc += dot(a, t)
        |                 ^ `t` is read here

Columns are those of a fixed-width display: wide characters take two cells, combining ones none, tabs reach to the
next stop. A character that a terminal would obey or reorder by is shown as U+FFFD.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from phobos_core.report.source import Source
from phobos_core.report.style import Style

TAB_STOP = 4
# A longer line is cut to a window of this many cells around its labels.
WINDOW = 140


@dataclass(frozen=True, slots=True)
class Label:
    """Byte offsets. `role` is the style of the underline."""

    start: int
    end: int
    text: str
    primary: bool
    role: str


@dataclass(frozen=True, slots=True)
class _Cells:
    """A line as displayed. `at[i]` is the cell where character i starts; one entry more for the end."""

    text: str
    at: tuple[int, ...]


def display(line: str) -> _Cells:
    shown: list[str] = []
    at = [0]
    for character in line:
        cell = at[-1]
        if character == "\t":
            width = TAB_STOP - cell % TAB_STOP
            shown.append(" " * width)
        else:
            category = unicodedata.category(character)
            hidden = category in ("Cc", "Cf", "Zl", "Zp", "Cs")
            shown.append("\ufffd" if hidden else character)
            width = 1 if hidden else _width(character, category)
        at.append(cell + width)
    return _Cells("".join(shown), tuple(at))


def _width(character: str, category: str) -> int:
    if category in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def gutter_width(source: Source, labels: list[Label]) -> int:
    """The digits of the greatest line number shown."""
    return max(len(str(source.line(label.start) + 1)) for label in labels)


def excerpt(source: Source, labels: list[Label], gutter: int, style: Style) -> list[str]:
    """The labelled lines in order; a gap between two of them is shown as `...`."""
    by_line: dict[int, list[Label]] = {}
    for label in labels:
        by_line.setdefault(source.line(label.start), []).append(label)
    numbers = sorted(by_line)
    bar = style("faint", f"{' ' * gutter} |")
    lines = [bar]
    for previous, number in zip([None, *numbers], numbers, strict=False):
        if previous is not None and number > previous + 1:
            lines.append(style("faint", "..."))
        lines += _line(source, number, by_line[number], gutter, bar, style)
    return lines


def _line(source: Source, number: int, labels: list[Label], gutter: int, bar: str, style: Style) -> Iterator[str]:
    text = source.line_text(number)
    cells = display(text)
    marks = sorted((_mark(source, number, text, cells, label) for label in labels), key=lambda m: m[0])
    left, right = _window(cells.at[-1], marks[0][0], marks[-1][1])
    yield f"{style('faint', f'{number + 1:>{gutter}} |')} {_cut(cells, left, right)}".rstrip()
    shift = left - (3 if left else 0)
    for start, end, label in marks:
        underline = ("^" if label.primary else "-") * max(min(end, right) - start, 1)
        words = f"{underline} {label.text}".rstrip()
        yield f"{bar} {' ' * (start - shift)}{style(label.role, words)}"


def _mark(source: Source, number: int, text: str, cells: _Cells, label: Label) -> tuple[int, int, Label]:
    """The cells of a label on its first line: a span over several lines is underlined to the end of the first."""
    first = source.column(label.start)
    last = source.column(label.end) if source.line(label.end) == number else len(text.rstrip())
    return cells.at[first], cells.at[max(first, last)], label


def _window(width: int, first: int, last: int) -> tuple[int, int]:
    """The cells to show of a line: all of it, or those around the labels."""
    if width <= WINDOW:
        return 0, width
    left = max(0, min(first - WINDOW // 4, width - WINDOW))
    return left, min(width, max(left + WINDOW, min(last + 1, first + WINDOW)))


def _cut(cells: _Cells, left: int, right: int) -> str:
    """The text between two cells, with dots where it was cut."""
    if left == 0 and right >= cells.at[-1]:
        return cells.text
    kept = []
    position = 0
    for character in cells.text:
        category = unicodedata.category(character)
        if left <= position < right:
            kept.append(character)
        position += _width(character, category)
    return ("..." if left else "") + "".join(kept) + ("..." if right < cells.at[-1] else "")
