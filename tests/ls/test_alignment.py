"""Which lines are those of the text before: each line is in one piece, in order, and pieces are small."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest
from lsprotocol import types as lsp

from phobos_core.syntax import parse
from phobos_core.syntax.formatter import format_file
from phobos_ls.alignment import MOST_APART, Piece, aligned, reflowed
from phobos_ls.features.formatting import format_document, format_range
from tests.ls.cursor import Cursor, cursor

ROOT = Path(__file__).resolve().parents[2]
KERNEL = "kernel k{}(A: tensor<f32>[64]) {{\n  let  a = 1.0\n  A[ctx.lane] = a\n\n}}\n"

Alignment = Callable[[Sequence[bytes], Sequence[bytes]], Iterable[Piece]]


def lines(text: str) -> list[bytes]:
    return text.encode().splitlines(keepends=True)


def changes(alignment: Alignment, old: list[bytes], new: list[bytes]) -> list[tuple[list[bytes], list[bytes]]]:
    """The pieces that are not the same. All of them together are the two texts."""
    pieces = list(alignment(old, new))
    at, new_at = 0, 0
    for piece in pieces:
        assert (piece.start, piece.new_start) == (at, new_at)
        at, new_at = piece.end, piece.new_end
    assert (at, new_at) == (len(old), len(new))
    found = [(old[p.start : p.end], new[p.new_start : p.new_end]) for p in pieces]
    return [(before, after) for before, after in found if before != after]


@pytest.mark.parametrize("alignment", [aligned, reflowed])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("a\n", ""),
        ("", "a\n"),
        ("a\n", "a\n"),
        ("a\n", "b\n"),
        ("a\nb", "a\nb\n"),
        ("\n\n", "\n"),
        ("a\n\n", "\n"),
    ],
)
def test_short_texts(alignment: Alignment, old: str, new: str) -> None:
    found = changes(alignment, lines(old), lines(new))
    assert (not found) == (old == new)


@pytest.mark.parametrize("alignment", [aligned, reflowed])
def test_lines_put_in_and_taken_out(alignment: Alignment) -> None:
    old = [b"%d\n" % number for number in range(1000)]
    new = [*old[:10], b"x\n", *old[10:500], *old[502:900], b"y\n", b"z\n", *old[901:]]
    found = changes(alignment, old, new)
    assert found == [([], [b"x\n"]), (old[500:502], []), ([old[900]], [b"y\n", b"z\n"])]


@pytest.mark.parametrize("alignment", [aligned, reflowed])
@pytest.mark.parametrize("seed", range(30))
def test_any_texts(alignment: Alignment, seed: int) -> None:
    chance = random.Random(seed)
    words = [b"a\n", b"b b\n", b"\n", b"  c\n", b"a; b\n", b"a\r\n"]
    old = chance.choices(words, k=chance.randrange(200))
    new = list(old)
    for _ in range(chance.randrange(12)):
        start = chance.randrange(len(new) + 1)
        new[start : start + chance.randrange(2 * MOST_APART)] = chance.choices(words, k=chance.randrange(5))
    changes(alignment, old, new)


def test_lines_that_are_broken_and_joined() -> None:
    old = lines("f(a,\n  b)\ng( c )\n\n\nh(d); i(e)\nj\n")
    new = lines("f(a, b)\ng(c)\n\nh(d)\ni(e)\nj\n")
    found = changes(reflowed, old, new)
    assert [(b"".join(before), b"".join(after)) for before, after in found] == [
        (b"f(a,\n  b)\n", b"f(a, b)\n"),
        (b"g( c )\n", b"g(c)\n"),
        (b"\n\n", b"\n"),
        (b"h(d); i(e)\n", b"h(d)\ni(e)\n"),
    ]


def applied(c: Cursor, edits: Iterable[lsp.TextEdit]) -> str:
    text = c.snapshot.text
    for edit in sorted(edits, key=lambda edit: edit.range.start, reverse=True):
        start, end = c.snapshot.offset(edit.range.start), c.snapshot.offset(edit.range.end)
        text = text[:start] + edit.new_text.encode() + text[end:]
    return text.decode()


def test_a_long_file_of_the_same_lines() -> None:
    """With two mistakes of style in each kernel: as many edits, each of its line only."""
    count = 2000
    c = cursor("\n".join(KERNEL.format(number) for number in range(count)) + "$0")
    edits = format_document(c.snapshot)
    assert applied(c, edits) == format_file(parse(c.snapshot.text)).decode()
    assert len(edits) == 2 * count
    assert all(edit.range.end.line - edit.range.start.line == 1 for edit in edits)
    # Of the second kernel, which begins on line 6.
    assert [
        edit.range.start.line for edit in format_range(c.snapshot, *(c.snapshot.lines.starts[n] for n in (6, 9)))
    ] == [7, 9]


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.ph")), ids=lambda path: path.stem)
def test_the_edits_of_a_file_in_another_style(path: Path) -> None:
    text = path.read_text(encoding="utf-8").replace("  ", "\t").replace(", ", " ,") + "$0"
    c = cursor(text)
    assert applied(c, format_document(c.snapshot)) == format_file(parse(c.snapshot.text)).decode()
