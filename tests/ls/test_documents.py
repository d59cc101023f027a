"""The text of a document after edits is the one that the protocol says it is, and is read as if it had been opened so.

The model of an edit works on lines of code units, as the protocol's text describes it, and shares nothing with the byte
offsets of the implementation.
"""

from __future__ import annotations

import random
import re

import pytest
from lsprotocol import types as lsp

from phobos_core.analysis import check
from phobos_core.syntax import LineIndex, parse
from phobos_core.syntax.lines import Encoding
from phobos_core.syntax.source import difference
from phobos_ls.documents import Documents
from phobos_ls.scheduling import Pool
from phobos_ls.settings import Settings
from phobos_ls.text import encoded

ENCODINGS: tuple[Encoding, ...] = ("utf-8", "utf-16", "utf-32")
UNIT_BYTES = {"utf-8": 1, "utf-16": 2, "utf-32": 4}
CODECS = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}
PIECES = [
    "a",
    " ",
    "\n",
    "\r\n",
    "\r",
    "é",
    "語",
    "😀",
    "{",
    "}",
    "let x = 1\n",
    "kernel k() {",
    "\v",
    "\f",
    "\x85",
    "\u2028",
]
URI = "file:///a.ph"


def position(text: str, index: int, encoding: Encoding) -> lsp.Position:
    """Of a character of a text."""
    before = text[:index]
    # Between the two characters of a line end stands no position of its own.
    lines = (
        re.split(r"\r\n|\n|\r(?!\n)", before) if not (before.endswith("\r") and text[index:].startswith("\n")) else []
    )
    if not lines:
        return position(text, index - 1, encoding)
    units = len(lines[-1].encode(CODECS[encoding])) // UNIT_BYTES[encoding]
    return lsp.Position(len(lines) - 1, units)


def opened(text: str, encoding: Encoding) -> tuple[Documents, lsp.TextDocumentItem]:
    return Documents(Pool(), encoding), lsp.TextDocumentItem(URI, "phobos", 1, text)


def snap(index: int, text: str) -> int:
    """A place that a position can name: not inside a line end."""
    return index - 1 if text[:index].endswith("\r") and text[index:].startswith("\n") else index


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_random_edits(encoding: Encoding) -> None:
    chance = random.Random(7)
    documents, item = opened("", encoding)
    document = documents.open(item)
    text = ""
    for version in range(2, 1500):
        start, end = sorted(snap(chance.randint(0, len(text)), text) for _ in range(2))
        end = min(end, snap(start + chance.randint(0, 8), text)) if end > start else end
        end = max(start, end)
        new = "".join(chance.choices(PIECES, k=chance.randint(0, 3)))
        place = lsp.Range(position(text, start, encoding), position(text, end, encoding))
        document.change(version, [lsp.TextDocumentContentChangePartial(place, new)], encoding)
        text = text[:start] + new + text[end:]
        lines = document.revision.lines
        assert lines.text == text.encode()
        assert lines.starts == LineIndex(text.encode()).starts
        assert document.revision.version == version
        if len(text) > 400:
            document.change(version, [lsp.TextDocumentContentChangeWholeDocument("é\n")], encoding)
            text = "é\n"


@pytest.mark.parametrize(
    ("text", "place", "expected"),
    [
        ("ab", ((0, 99), (0, 99)), "abX"),  # past the end of a line without an end
        ("ab\ncd", ((0, 99), (0, 99)), "abX\ncd"),
        ("ab\r\ncd", ((0, 99), (1, 0)), "abXcd"),
        ("ab\n", ((1, 0), (1, 0)), "ab\nX"),
        ("ab\n", ((7, 3), (9, 0)), "ab\nX"),  # past the last line
        ("", ((0, 0), (0, 0)), "X"),
        (
            "a\vb\fc\x1cd\x1de\x1ef\x85g\u2028h\u2029i\nj",
            ((1, 0), (1, 1)),
            "a\vb\fc\x1cd\x1de\x1ef\x85g\u2028h\u2029i\nX",
        ),
        ("a😀b", ((0, 3), (0, 4)), "a😀X"),  # in UTF-16 units
        ("abc", ((0, 2), (0, 1)), "abXc"),  # an end before the start counts as the start
    ],
)
def test_places(text: str, place: tuple[tuple[int, int], tuple[int, int]], expected: str) -> None:
    documents, item = opened(text, "utf-16")
    document = documents.open(item)
    changed = lsp.Range(lsp.Position(*place[0]), lsp.Position(*place[1]))
    document.change(2, [lsp.TextDocumentContentChangePartial(changed, "X")], "utf-16")
    assert document.revision.lines.text == expected.encode()


def test_half_a_character_is_kept() -> None:
    documents, item = opened("a\ud83d", "utf-16")
    document = documents.open(item)
    place = lsp.Range(lsp.Position(0, 2), lsp.Position(0, 2))
    document.change(2, [lsp.TextDocumentContentChangePartial(place, "b")], "utf-16")
    assert document.revision.lines.text == encoded("a\ud83db")


def test_edits_of_one_message_follow_each_other() -> None:
    documents, item = opened("ab", "utf-16")
    document = documents.open(item)
    first = lsp.TextDocumentContentChangePartial(lsp.Range(lsp.Position(0, 0), lsp.Position(0, 1)), "xyz")
    second = lsp.TextDocumentContentChangePartial(lsp.Range(lsp.Position(0, 2), lsp.Position(0, 4)), "!")
    document.change(2, [first, second], "utf-16")
    assert document.revision.lines.text == b"xy!"


def test_the_difference_of_two_texts() -> None:
    chance = random.Random(3)
    for _ in range(3000):
        before = bytes(chance.choices(b"ab\n", k=chance.randint(0, 12)))
        start = chance.randint(0, len(before))
        end = chance.randint(start, len(before))
        after = before[:start] + bytes(chance.choices(b"ab", k=chance.randint(0, 3))) + before[end:]
        edit = difference(before, after)
        assert edit.apply(before) == after
        assert edit.start <= start or before == after or edit.start >= start  # any smallest stretch will do
        assert (edit.end - edit.start) + len(edit.replacement) <= (end - start) + len(after) - len(before) + (
            end - start
        )


def test_a_snapshot_is_read_as_a_new_text_is() -> None:
    source = "fn half(x) = x * 0.5\n\nkernel k(A: tensor<f32>[64]) {\n  let é = 1\n  A[ctx.lane] = half(A[0])\n}\n"
    chance = random.Random(5)
    documents, item = opened(source, "utf-16")
    document = documents.open(item)
    text = source
    for version in range(2, 400):
        start = chance.randint(0, len(text))
        end = min(len(text), start + chance.choice((0, 0, 1, 4)))
        new = chance.choice(["", "x", "\n", "}", "{", "é", "😀", "let y = 2\n", " "])
        place = lsp.Range(position(text, start, "utf-16"), position(text, end, "utf-16"))
        document.change(version, [lsp.TextDocumentContentChangePartial(place, new)], "utf-16")
        text = text[:start] + new + text[end:]
        if chance.random() < 0.5:
            continue  # several edits between two snapshots
        snapshot = document.reading.snapshot(document.revision, Settings(), "utf-16")
        fresh = parse(text)
        assert snapshot.source == fresh
        assert snapshot.checked.diagnostics == check(fresh).diagnostics
        assert snapshot is document.reading.snapshot(document.revision, Settings(), "utf-16")
        if len(text) > 600:
            document.change(version, [lsp.TextDocumentContentChangeWholeDocument(source)], "utf-16")
            text = source
