"""Which lines of a text are lines of the text that it was before, found in one pass over both.

A comparison of all lines with all others is better where it can be had, but takes minutes where the same lines come
again and again, as in a file of many kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

# How far the texts may be apart before they go on the same again, and for how many lines they then have to.
MOST_APART = 64
SAME = 3


class Piece(NamedTuple):
    """Lines, and the lines that come in their place."""

    start: int
    end: int
    new_start: int
    new_end: int


def aligned(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[Piece]:
    """All lines of both in order: pieces that are the same, and between them pieces that are not."""
    last = _common_end(old, new)
    old_end, new_end = len(old) - last, len(new) - last
    middle, new_middle = old[:old_end], new[:new_end]
    a = b = 0
    while a < old_end or b < new_end:
        start, new_start = a, b
        while a < old_end and b < new_end and old[a] == new[b]:
            a, b = a + 1, b + 1
        if a > start:
            yield Piece(start, a, new_start, b)
        if a < old_end or b < new_end:
            start, new_start = a, b
            a, b = _next_same(middle, new_middle, a, b)
            yield Piece(start, a, new_start, b)
    if last:
        yield Piece(old_end, len(old), new_end, len(new))


def _common_end(old: Sequence[bytes], new: Sequence[bytes]) -> int:
    count = 0
    while count < min(len(old), len(new)) and old[-1 - count] == new[-1 - count]:
        count += 1
    return count


def _next_same(old: Sequence[bytes], new: Sequence[bytes], a: int, b: int) -> tuple[int, int]:
    """The nearest places from which both go on the same; the ends where there are none near."""
    for apart in range(1, MOST_APART + 1):
        for skipped in range(apart + 1):
            place, new_place = a + skipped, b + apart - skipped
            if place >= len(old) or new_place >= len(new):
                continue
            if old[place : place + SAME] == new[new_place : new_place + SAME]:
                return place, new_place
    return len(old), len(new)


def reflowed(old: Sequence[bytes], new: Sequence[bytes]) -> Iterator[Piece]:
    """As `aligned`, of a text that has the same words in other lines: as small as there are line ends with the same
    words before them, whatever else the lines look like."""
    before, after = _counts(old), _counts(new)
    if before[-1] != after[-1]:
        yield from aligned(old, new)
        return
    places = [(0, 0)]
    a = b = 0
    while a < len(before) and b < len(after):
        if before[a] < after[b]:
            a += 1
        elif before[a] > after[b]:
            b += 1
        else:
            # Empty lines add nothing: a run of them is a piece of its own.
            places.append((a, b))
            a, b = _run(before, a), _run(after, b)
            places.append((a, b))
            a, b = a + 1, b + 1
    for (start, new_start), (end, new_end) in pairwise(places):
        if (start, new_start) != (end, new_end):
            yield Piece(start, end, new_start, new_end)


def _counts(lines: Sequence[bytes]) -> list[int]:
    """How many letters come before each line, and in all: without white space, and without `;`, which a line end can
    stand for."""
    return [0, *accumulate(len(b"".join(line.split())) - line.count(b";") for line in lines)]


def _run(counts: Sequence[int], at: int) -> int:
    while at + 1 < len(counts) and counts[at + 1] == counts[at]:
        at += 1
    return at
