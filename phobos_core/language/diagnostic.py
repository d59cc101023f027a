"""A diagnostic: what every stage reports, and how it is placed in a file.

Stages make `Diagnostic`s with spans relative to items (see `syntax.ast`) or to the file; `placed` and `shifted` place
one. Rendering (lines, UTF-16 columns, colours) belongs to `report` and `cli`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Related:
    """A second place that explains the first. Byte offsets, in the text of the function `item` where it has a name."""

    start: int
    end: int
    message: str
    item: str = ""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """`code` is a key of `language.codes.CODES`. `start` and `end` are UTF-8 byte offsets.

    `message` says what is wrong, where and why, in the words of the spec; `help` says what to do, if a
    concrete step is known. `item` is the function in whose text it is found; empty, it is the item that was looked at.
    """

    code: str
    severity: Severity
    start: int
    end: int
    message: str
    related: tuple[Related, ...] = ()
    help: str | None = None
    item: str = ""

    def shifted(self, offset: int) -> Diagnostic:
        return replace(
            self,
            start=self.start + offset,
            end=self.end + offset,
            related=tuple(replace(r, start=r.start + offset, end=r.end + offset) for r in self.related),
        )

    def placed(self, offset: Callable[[str], int]) -> Diagnostic:
        """In the file, by where each item starts."""
        at = offset(self.item)
        return replace(
            self,
            start=self.start + at,
            end=self.end + at,
            related=tuple(Related(r.start + offset(r.item), r.end + offset(r.item), r.message) for r in self.related),
            item="",
        )
