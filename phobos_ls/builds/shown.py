"""The builds that a document shows, and where in its text as it is now their lines are.

In: the versions of the text, each with the builds that are known of it. Out: for each kernel the newest build there is.
While the text is ahead of it, or has a mistake, the build stays, is *stale*, and its lines go with those of the text
(see `line_names`). It goes when the line that names its kernel does.

Used on the document's strand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field

from phobos_core.analysis import PlacedKernel
from phobos_ls.builds.content import Content, Item, Key, content_of, shown_key
from phobos_ls.builds.work import Build
from phobos_ls.snapshot import Snapshot

_LINES = re.compile(r"\b(lines? )(\d+(?:(?:, | and | to )\d+)*)\b")


@dataclass(frozen=True, slots=True)
class Known:
    """A build, and where the items were in the text that it was made of: its lines and offsets count in that.
    `version` is that of the text."""

    build: Build
    items: tuple[Item, ...]
    version: int | None


@dataclass(frozen=True, slots=True)
class Entry:
    """`lines` has the name of each line of the text that the build is of, by the line's number there, from 0."""

    known: Known
    lines: Mapping[int, int]


@dataclass(frozen=True)
class Shown:
    """`header` is the line that names the kernel, `kernel` the kernel there if the text has one that can be read.
    Lines count from 0, but in a build's report from 1."""

    known: Known
    stale: bool
    header: int
    kernel: PlacedKernel | None
    places: Mapping[int, int] = field(repr=False)
    names: Mapping[int, int] = field(repr=False)

    @property
    def build(self) -> Build:
        return self.known.build

    def line(self, reported: int | None) -> int | None:
        """Where a line of the report, counted from 1, is in the text now."""
        name = None if reported is None else self.names.get(reported - 1)
        return None if name is None else self.places.get(name)

    def told(self, text: str) -> str:
        """A text of the report with the numbers that its lines have now."""
        return _LINES.sub(lambda found: found[1] + re.sub(r"\d+", self._number, found[2]), text)

    def _number(self, found: re.Match[str]) -> str:
        line = self.line(int(found[0]))
        return found[0] if line is None else str(line + 1)


def placed(kernel: PlacedKernel, content: Content, known: Known) -> Shown:
    """A build of this very content, in the text that the content is in."""
    lines = dict(_lines(known, content))
    header = lines.get(known.items[0].first, content.items[0].first)
    return Shown(known, False, header, kernel, {line: line for line in lines.values()}, lines)


def _lines(known: Known, content: Content) -> Iterator[tuple[int, int]]:
    """Each line of the text that a build is of, with where the content has it."""
    for then, now in zip(known.items, content.items, strict=True):
        for number in range(now.last - now.first + 1):
            yield then.first + number, now.first + number


class ShownBuilds:
    """Of one document."""

    def __init__(self) -> None:
        # By the name of the line that a kernel's name is on, and which kernel of that line it is.
        self._entries: dict[tuple[int, int], Entry] = {}

    def update(self, snapshot: Snapshot, known: Callable[[Key], Known | None], built: Collection[str]) -> list[Shown]:
        """`built` are the names of kernels that a build may be known of."""
        names = snapshot.line_names.numbers
        places = snapshot.line_names.places
        entries: dict[tuple[int, int], Entry] = {}
        found: dict[tuple[int, int], tuple[PlacedKernel, bool]] = {}
        last, number = -1, 0
        for kernel in snapshot.kernels():
            line = snapshot.lines.line_of(kernel.offset + kernel.ast.name.span.start)
            last, number = line, number + 1 if line == last else 0
            place = (names[line], number)
            entry, fresh = self._entries.get(place), False
            if kernel.kernel is not None and kernel.ast.name.text in built:
                content = content_of(snapshot, kernel)
                newest = known(shown_key(snapshot, kernel, content))
                if newest is not None:
                    entry, fresh = _entry(entry, newest, content, names), True
            if entry is not None:
                entries[place] = entry
            found[place] = kernel, fresh
        for place, entry in self._entries.items():
            # A kernel that the text's mistakes hide.
            if place not in found and place[0] in places:
                entries[place] = entry
        self._entries = entries
        return sorted(self._shown(places, found), key=lambda each: each.header)

    def _shown(
        self, places: Mapping[int, int], found: Mapping[tuple[int, int], tuple[PlacedKernel, bool]]
    ) -> Iterator[Shown]:
        for place, entry in self._entries.items():
            kernel, fresh = found.get(place, (None, False))
            yield Shown(entry.known, not fresh, places[place[0]], kernel, places, entry.lines)


def _entry(before: Entry | None, known: Known, content: Content, names: tuple[int, ...]) -> Entry:
    """Of a build of this very content; the one before, where that is of it and its lines are the same."""
    if before is not None and before.known is known:
        ends = [(t.first, n.first) for t, n in zip(known.items, content.items, strict=True)]
        ends += [(t.last, n.last) for t, n in zip(known.items, content.items, strict=True)]
        # Lines of the same content that begin and end with the same lines are the same, but for one that was taken out
        # and put back in between, which is none that was typed in.
        if all(before.lines.get(then) == names[now] for then, now in ends):
            return before
    return Entry(known, {then: names[now] for then, now in _lines(known, content)})
