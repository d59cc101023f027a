"""Feature: links in comments: addresses, and words of the language in backticks, which lead to their pages.

`exp`, `@launch`, `ctx.lane` and the code of a diagnostic have pages of their own; a page is written when its link is
followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lsprotocol import types as lsp

from phobos_core.language.codes import CODES
from phobos_ls import explanations, reference
from phobos_ls.snapshot import Snapshot
from phobos_ls.text import decoded

# There are no strings that could hold one.
_COMMENT = re.compile(rb"//[^\r\n]*")
# What ends a sentence, or closes what the address stands in, is no part of it.
_ADDRESS = re.compile(rb"https?://[^\s<>\"'`]*[^\s<>\"'`.,;:!?)\]}]")
_NAMED = re.compile(rb"`(@?[A-Za-z_][A-Za-z0-9_.-]*)(?:\([^`]*\)|<[^`]*)?`")


def document_links(snapshot: Snapshot, *, tooltips: bool = True) -> list[lsp.DocumentLink]:
    """`tooltips`: the client shows them."""
    comments = _COMMENT.finditer(snapshot.text)
    found = [link for comment in comments for link in _in_comment(snapshot, comment.start(), comment[0])]
    for link in () if tooltips else found:
        link.tooltip = None
    return found


def resolve(link: lsp.DocumentLink) -> lsp.DocumentLink:
    """With its target, whose page is there from now on."""
    data: Any = link.data
    match data:
        case {"code": str(code)}:
            link.target = explanations.link(code)
        case {"word": str(word)}:
            link.target = reference.link(word)
    return link


def _in_comment(snapshot: Snapshot, start: int, text: bytes) -> Iterator[lsp.DocumentLink]:
    for found in _ADDRESS.finditer(text):
        place = snapshot.range(start + found.start(), start + found.end())
        yield lsp.DocumentLink(place, target=decoded(found[0]))
    for found in _NAMED.finditer(text):
        word = found[1].decode()
        place = snapshot.range(start + found.start(1), start + found.end(1))
        if word in CODES:
            yield lsp.DocumentLink(place, tooltip=CODES[word].title, data={"code": word})
        elif (page := reference.page(word)) is not None:
            yield lsp.DocumentLink(place, tooltip=page.summary, data={"word": word})
