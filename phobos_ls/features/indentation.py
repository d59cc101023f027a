"""How far in a line belongs that was just opened, as `phobos fmt` would have it.

In a block it is a step further in than the block, and two more where the line above goes on after an operator. In other
brackets it begins below what follows the bracket. A line that begins with a bracket closes it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from phobos_core.syntax.formatter import INDENT
from phobos_core.syntax.formatter.expressions import CONTINUED

_BRACKET = re.compile(r"[()\[\]{}]")
_CLOSERS = {")": "(", "]": "[", "}": "{"}
# Nothing is open at the head of a kernel or function.
_HEAD = re.compile(r"(?:kernel|fn)\b")
_GOES_ON = re.compile(r"[-+*/%&|^=<>!]$")


class _Open(NamedTuple):
    """`column` is where what follows the bracket begins, None where nothing does."""

    bracket: str
    column: int | None


def indentation(before: str, content: str) -> int:
    """Of a line with this content, below the lines `before` it, which begin with an item."""
    opened: list[_Open] = []
    goes_on = False
    for line in before.splitlines():
        code = line.partition("//")[0].rstrip()
        if _HEAD.match(code):
            opened.clear()
        for found in _BRACKET.finditer(code):
            if found[0] not in _CLOSERS:
                rest = code[found.end() :]
                column = found.end() + len(rest) - len(rest.lstrip()) if rest.strip() else None
                opened.append(_Open(found[0], column))
            elif opened and opened[-1].bracket == _CLOSERS[found[0]]:
                opened.pop()
        if code:
            goes_on = _GOES_ON.search(code) is not None
    depth = INDENT * sum(each.bracket == "{" for each in opened)
    if content.startswith("}"):
        return max(0, depth - INDENT)
    if not opened or opened[-1].bracket == "{":
        return depth + (CONTINUED if goes_on else 0)
    if content.startswith((")", "]")):
        return depth
    column = opened[-1].column
    return depth + CONTINUED if column is None else column
