"""Cuts a text with syntax errors into one piece for each item, so that an error stays in its own piece.

`kernel`, `fn` and `@` start an item and mean nothing else. They are taken as a start where nothing is open, and
at the first column of a line even inside an open `{` or `(`: there a bracket that closes it is missing before.
"""

from __future__ import annotations

import re
from itertools import pairwise

_MARK = re.compile(rb"//[^\r\n]*|[{}();]|@|\b(?:kernel|fn)\b")


def cut(text: bytes) -> list[tuple[int, int]]:
    """The pieces, as byte ranges that cover the text in order."""
    starts = [0]
    depth = 0
    parentheses = 0  # of a header
    after_attribute = False  # an attribute waits for its `kernel`
    after_item = True  # an item may start on the same line
    for match in _MARK.finditer(text):
        mark = match[0]
        if mark.startswith(b"//"):
            continue
        if mark in b"()":
            if depth == 0:
                parentheses = max(parentheses + (1 if mark == b"(" else -1), 0)
        elif mark == b"{":
            depth += 1
            parentheses = 0
            after_item = False
        elif mark == b"}":
            depth = max(depth - 1, 0)
            after_item = depth == 0
        elif mark == b";":
            after_item = depth == 0
        else:
            if after_attribute and mark != b"@":
                after_attribute = False
            elif after_item or _starts_line(text, match.start(), indented=depth == parentheses == 0):
                if not after_attribute:
                    starts.append(match.start())
                    depth = parentheses = 0
                after_attribute = mark == b"@"
            after_item = False
    bounds = [*dict.fromkeys(starts), len(text)]
    return list(pairwise(bounds))


def _starts_line(text: bytes, at: int, indented: bool) -> bool:
    while indented and at > 0 and text[at - 1] in b" \t\v\f":
        at -= 1
    return at == 0 or text[at - 1] in b"\r\n"
