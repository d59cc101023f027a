"""What features remember of the parts of a document, so that a keystroke costs the part it is in.

A result is found again by the very objects that it was made of, as a kernel's tree and references, which the next
version of the text shares where nothing changed in them. What two versions in a row did not ask for is forgotten.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(slots=True)
class _Kind:
    """Results of one feature, by the identities of what they depend on, which is kept beside them."""

    version: int
    now: dict[tuple[int, ...], tuple[tuple[object, ...], Any]] = field(default_factory=dict)
    before: dict[tuple[int, ...], tuple[tuple[object, ...], Any]] = field(default_factory=dict)


class Memo:
    """Used by one job at a time, like the document's parser."""

    def __init__(self) -> None:
        self._version = 0
        self._kinds: dict[str, _Kind] = {}

    def turn(self) -> None:
        """The text has a new version."""
        self._version += 1

    def get(self, kind: str, of: tuple[object, ...], compute: Callable[[], T]) -> T:
        results = self._kinds.get(kind)
        if results is None:
            results = self._kinds[kind] = _Kind(self._version)
        if results.version != self._version:
            results.version, results.before, results.now = self._version, results.now, {}
        key = tuple(map(id, of))
        entry = results.now.get(key) or results.before.get(key) or (of, compute())
        results.now[key] = entry
        value: T = entry[1]
        return value
