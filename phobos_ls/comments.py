"""The comment above a declaration, which is its documentation."""

from __future__ import annotations

import re

from phobos_ls.snapshot import Snapshot

# What may stand on the line of a declaration before the name, or before an item.
_BEFORE_NAME = re.compile(rb"\s*((let|var|for)\b\s*(<[^>]*>\s*)?)?")


def comment_above(snapshot: Snapshot, offset: int) -> str:
    """Of a declaration that begins its line: above a line that begins with something else, a comment is about that."""
    line = snapshot.lines.position(offset).line
    if _BEFORE_NAME.fullmatch(snapshot.text[snapshot.lines.starts[line] : offset]) is None:
        return ""
    found: list[str] = []
    while line > 0:
        line -= 1
        content = snapshot.lines.line(line).strip()
        if not content.startswith(b"//"):
            break
        found.insert(0, content.removeprefix(b"//").strip().decode("utf-8", "replace"))
    return " ".join(found)
