"""What a build of a kernel depends on, and nothing else: its text, the functions that it reaches, and the settings.

Out: a key under which a build is found again, wherever in whichever file the kernel stands; the job that makes it; and
the items that its lines are in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath

from phobos_core.analysis import PlacedKernel
from phobos_ls.builds.work import Job
from phobos_ls.configurations import shown_configuration
from phobos_ls.settings import Settings
from phobos_ls.snapshot import Snapshot
from phobos_ls.uris import path_of


@dataclass(frozen=True, slots=True)
class Item:
    """The kernel, or a function that it reaches, in a text: bytes, and lines from 0. `last` is its last line."""

    name: str
    start: int
    end: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Content:
    """`items` has the kernel first, then its functions by name."""

    kernel: str
    digest: bytes
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Key:
    digest: bytes
    target: str
    config: tuple[tuple[str, int], ...]
    bindings: tuple[tuple[str, int], ...]
    index_bits: int
    assembler: str | None


def content_of(snapshot: Snapshot, kernel: PlacedKernel) -> Content:
    items = tuple(_items(snapshot, kernel))
    digest = hashlib.blake2b(digest_size=16)
    for item in items:
        digest.update(f"{item.name}:{item.end - item.start}:".encode())
        digest.update(snapshot.text[item.start : item.end])
    return Content(kernel.ast.name.text, digest.digest(), items)


def _items(snapshot: Snapshot, kernel: PlacedKernel) -> Iterator[Item]:
    yield _item(snapshot, "", kernel.offset, kernel.offset + kernel.ast.span.end)
    # A kernel's calls are those of the functions that it calls too.
    called = {name for _, name in kernel.calls}
    placed = {each.ast.name.text: each for each in snapshot.checked.library.placed if each.callable} if called else {}
    for name in sorted(called & placed.keys()):
        yield _item(snapshot, name, placed[name].offset, placed[name].offset + len(placed[name].text))


def _item(snapshot: Snapshot, name: str, start: int, end: int) -> Item:
    return Item(name, start, end, snapshot.lines.line_of(start), snapshot.lines.line_of(end))


def key_of(content: Content, settings: Settings, target: str, config: Mapping[str, int]) -> Key:
    options = settings.options
    return Key(
        content.digest,
        target,
        tuple(config.items()),
        tuple(sorted(options.bindings.items())),
        options.index_bits,
        settings.ptxas,
    )


def shown_key(snapshot: Snapshot, kernel: PlacedKernel, content: Content) -> Key:
    """Of the build that hints are of."""
    settings = snapshot.settings
    return key_of(content, settings, settings.options.target, shown_configuration(snapshot, kernel))


def job_of(snapshot: Snapshot, content: Content, key: Key, *, machine_code: bool) -> tuple[Job, tuple[Item, ...]]:
    """The job, and where the items are in its text."""
    path = path_of(snapshot.uri)
    text, items = _alone(snapshot.text, content.items)
    job = Job(
        (path or PurePath(snapshot.uri)).name,
        text,
        content.kernel,
        items[0].start,
        key.target,
        dict(key.config),
        dict(key.bindings),
        snapshot.settings.options.index_bits,
        key.assembler,
        machine_code,
    )
    return job, items


def _alone(text: bytes, items: tuple[Item, ...]) -> tuple[bytes, tuple[Item, ...]]:
    """A text of these items and nothing else, each on the lines where it was."""
    parts: list[bytes] = []
    moved: dict[str, Item] = {}
    length = end = line = 0
    for item in sorted(items, key=lambda item: item.start):
        # What shares a line with an item stays.
        between = b"\n" * (item.first - line) or text[end : item.start]
        start = length + len(between)
        parts += [between, text[item.start : item.end]]
        length, end, line = start + item.end - item.start, item.end, item.last
        moved[item.name] = replace(item, start=start, end=length)
    return b"".join(parts), tuple(moved[item.name] for item in items)
