"""How a renderer marks parts of its text, without knowing what it is shown on.

The command line passes a `Style` with escape codes for a terminal; `PLAIN` marks nothing.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Style:
    """The text put before a marked part, by its role, and the text put after it."""

    error: str = ""
    warning: str = ""
    note: str = ""
    strong: str = ""
    faint: str = ""
    end: str = ""

    def __call__(self, role: str, text: str) -> str:
        before: str = getattr(self, role)
        return f"{before}{text}{self.end}" if before and text else text


PLAIN = Style()
