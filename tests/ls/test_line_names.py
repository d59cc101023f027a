"""Lines keep their names while the text around them is edited."""

from __future__ import annotations

import random

import pytest
from lsprotocol import types as lsp

from phobos_ls.documents import Documents
from phobos_ls.scheduling import Pool

TEXT = "one\n  two\n\nthree\nfour\n"


def edited(
    text: str, *changes: tuple[tuple[int, int], tuple[int, int], str] | str
) -> tuple[list[str], list[int | None]]:
    """The lines after some changes, and for each the number of the line that it was."""
    documents = Documents(Pool(), "utf-8")
    document = documents.open(lsp.TextDocumentItem("file:///k.ph", "phobos", 1, text))
    before = {name: number for number, name in enumerate(document.revision.names.numbers)}
    for change in changes:
        if isinstance(change, str):
            event: lsp.TextDocumentContentChangeEvent = lsp.TextDocumentContentChangeWholeDocument(change)
        else:
            start, end, replacement = change
            event = lsp.TextDocumentContentChangePartial(
                lsp.Range(lsp.Position(*start), lsp.Position(*end)), replacement
            )
        document.change(2, [event], "utf-8")
    lines = document.revision.lines
    names = document.revision.names.numbers
    assert len(names) == len(set(names)) == len(lines.starts)
    return [lines.line(n).decode() for n in range(len(names))], [before.get(name) for name in names]


CASES = {
    "typing in a line": (((1, 5), (1, 5), "!!"), [0, 1, 2, 3, 4, 5]),
    "a line above": (((0, 0), (0, 0), "new\n"), [None, 0, 1, 2, 3, 4, 5]),
    "return at the end of a line": (((1, 5), (1, 5), "\n"), [0, 1, None, 2, 3, 4, 5]),
    "return before the first word": (((1, 2), (1, 2), "\n"), [0, None, 1, 2, 3, 4, 5]),
    "a line cut in two": (((3, 2), (3, 2), "\n"), [0, 1, 2, 3, None, 4, 5]),
    "a line deleted": (((1, 0), (2, 0), ""), [0, 2, 3, 4, 5]),
    "lines joined": (((3, 5), (4, 0), ""), [0, 1, 2, 3, 5]),
    "a blank line deleted": (((1, 5), (2, 0), ""), [0, 1, 3, 4, 5]),
    "lines replaced by as many": (((0, 0), (2, 0), "ONE\nTWO\n"), [0, 1, 2, 3, 4, 5]),
    "lines replaced by more, some the same": (((0, 0), (4, 0), "x\none\ny\nthree\n"), [None, 0, None, 3, 4, 5]),
    "the whole text, indented": ("  one\n two\n\nthree\n  four\n", [0, 1, 2, 3, 4, 5]),
    "the whole text, with a line more": ("one\n  two\n\nmore\nthree\nfour\n", [0, 1, 2, None, 3, 4, 5]),
    "nothing left": ("", [0]),
}


@pytest.mark.parametrize("case", CASES)
def test_edits(case: str) -> None:
    change, expected = CASES[case]
    _, names = edited(TEXT, change)
    if case != "nothing left":
        assert names == expected
    else:
        assert len(names) == 1


def test_several_edits() -> None:
    lines, names = edited(TEXT, ((3, 0), (3, 0), "x\n"), ((0, 0), (1, 0), ""), ((2, 1), (2, 1), "y"))
    assert (lines, names) == (["  two", "", "xy", "three", "four", ""], [1, 2, None, 3, 4, 5])


def test_a_long_text_that_is_replaced() -> None:
    """Lines far apart keep their names where one is put in and another taken out."""
    before = [f"line {number}" for number in range(3000)]
    after = [*before[:5], "new", *before[5:2000], *before[2001:]]
    _, names = edited("\n".join(before), ((0, 0), (2999, 9), "\n".join(after)))
    assert names == [*range(5), None, *range(5, 2000), *range(2001, 3000)]


@pytest.mark.parametrize("seed", range(20))
def test_any_edits(seed: int) -> None:
    """Every line has a name of its own, and those that no edit touched have the ones that they had."""
    chance = random.Random(seed)
    ends = ["\n", "\r\n", "\r"]
    text = "".join(f"line {n}{chance.choice(ends)}" for n in range(20)) + "the last"
    document = Documents(Pool(), "utf-8").open(lsp.TextDocumentItem("file:///k.ph", "phobos", 1, text))
    kept = document.revision.names.numbers[10:]
    for _ in range(60):
        last = document.revision.names.numbers.index(kept[0]) - 1
        start = chance.randrange(last) if last > 0 else 0
        end = min(start + chance.randrange(3), max(last - 1, 0))
        # Whatever comes before the end of a line above those that are kept.
        new = chance.choice(["", "a", "\n", "\r", "b\r\nc", "\n\nd\n", "\r\n"])
        place = lsp.Range(lsp.Position(start, chance.randrange(4)), lsp.Position(end, chance.randrange(4)))
        document.change(2, [lsp.TextDocumentContentChangePartial(place, new)], "utf-8")
        names, lines = document.revision.names.numbers, document.revision.lines
        assert len(names) == len(set(names)) == len(lines.starts)
        assert names[-len(kept) :] == kept
        assert lines.line(len(names) - len(kept)) == b"line 10"
