"""A diagnostic: what every stage reports, and how it is placed in a file.

Stages make `Diagnostic`s with spans relative to an item (see `syntax.ast`) or to the file; `shifted` places
one. Rendering (lines, UTF-16 columns, colours) belongs to `report` and `cli`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Related:
    """A second place that explains the first. Byte offsets."""

    start: int
    end: int
    message: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """`code` is a key of `language.codes.CODES`. `start` and `end` are UTF-8 byte offsets.

    `message` says what is wrong, where and why, in the words of the spec; `help` says what to do, if a
    concrete step is known.
    """

    code: str
    severity: Severity
    start: int
    end: int
    message: str
    related: tuple[Related, ...] = ()
    help: str | None = None

    def shifted(self, offset: int) -> Diagnostic:
        return replace(
            self,
            start=self.start + offset,
            end=self.end + offset,
            related=tuple(replace(r, start=r.start + offset, end=r.end + offset) for r in self.related),
        )
