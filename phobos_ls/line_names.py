"""Lines that keep their identity while a text is edited, so that what was found out of a line stays with it.

In: the edits, as they come. Out: a number for each line of a text, which the line has as long as it is there, whatever
is typed in it and however it moves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from phobos_core.syntax import LineIndex

# Longer stretches that are replaced at once are not compared line by line.
MOST_COMPARED = 2000


@dataclass(frozen=True)
class LineNames:
    """`following` is the number of the next line that is new."""

    numbers: tuple[int, ...]
    following: int

    @cached_property
    def places(self) -> Mapping[int, int]:
        """Where the line of each number is."""
        return {number: line for line, number in enumerate(self.numbers)}

    @staticmethod
    def of(count: int) -> LineNames:
        return LineNames(tuple(range(count)), count)

    def edited(self, before: LineIndex, after: LineIndex, start: int, end: int) -> LineNames:
        """After the bytes from `start` to `end` of one text were replaced, which made the other."""
        first, last = before.position(start).line, before.position(end).line
        count = len(after.starts) - len(before.starts) + last - first + 1
        if count == 1 and first == last:
            return self
        if count < 1:
            # What stood between a `\r` and a `\n` is gone, and the two are one line end now.
            first, count = first - 1, 1
        old = self.numbers[first : last + 1]
        new: list[int | None] = [None] * count
        if min(len(old), count) > 1:
            _match(new, old, _contents(before, first, len(old)), _contents(after, first, count))
        else:
            head = before.text[before.starts[first] : start].strip()
            tail = before.text[end : _line_end(before, last)].strip()
            # Of a line that is cut in two its beginning keeps the name, unless that is blank: then the line was pushed
            # down. Of lines that are joined the first does, unless nothing of it is left.
            if head or (len(old) == 1 and not tail):
                new[0] = old[0]
            else:
                new[-1] = old[-1]
        following = self.following
        names: list[int] = []
        for number in new:
            names.append(following if number is None else number)
            following += number is None
        return LineNames((*self.numbers[:first], *names, *self.numbers[last + 1 :]), following)


def _match(new: list[int | None], old: Sequence[int], before: Sequence[bytes], after: Sequence[bytes]) -> None:
    """Names go to the lines that say the same, and to those between them where there are as many as before."""
    if max(len(before), len(after)) > MOST_COMPARED:
        new[0], new[-1] = old[0], old[-1]
        return
    for _, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if i2 - i1 == j2 - j1:
            new[j1:j2] = old[i1:i2]


def _contents(lines: LineIndex, first: int, count: int) -> list[bytes]:
    return [lines.line(number).strip() for number in range(first, first + count)]


def _line_end(lines: LineIndex, number: int) -> int:
    return lines.starts[number] + len(lines.line(number))
