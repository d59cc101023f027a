"""Offsets to positions and back, against a walk over the characters with Python's own encoders."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phobos_core.syntax.lines import Encoding, LineIndex

UNITS: dict[Encoding, tuple[str, int]] = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


def walked(text: str, encoding: Encoding) -> list[tuple[int, tuple[int, int]]]:
    """The byte offset and position of each character, and of the end."""
    codec, size = UNITS[encoding]
    found = []
    offset = line = column = 0
    for i, character in enumerate(text):
        found.append((offset, (line, column)))
        offset += len(character.encode())
        column += len(character.encode(codec)) // size
        if character == "\n" or (character == "\r" and text[i + 1 : i + 2] != "\n"):
            line, column = line + 1, 0
    return [*found, (offset, (line, column))]


TEXT = st.text(st.sampled_from("ab \n\r\t\v\fé漢😀\u2028\x85"), max_size=40)


@pytest.mark.parametrize("encoding", UNITS)
@given(TEXT)
def test_every_character(encoding: Encoding, text: str) -> None:
    index = LineIndex(text.encode())
    for offset, position in walked(text, encoding):
        assert index.position(offset, encoding) == position
        if not (offset and text.encode()[offset - 1 : offset + 1] == b"\r\n"):
            assert index.offset(position, encoding) == offset


def test_lines_end_as_in_lsp() -> None:
    index = LineIndex("a\nb\r\nc\rd\u2028e\x0bf".encode())
    assert [index.line(number).decode() for number in range(4)] == ["a", "b", "c", "d\u2028e\x0bf"]
    assert len(index.starts) == 4


def test_past_the_end() -> None:
    index = LineIndex("é\nb".encode())
    assert index.offset((0, 99), "utf-16") == 2
    assert index.offset((9, 0)) == 4
    assert index.offset((-1, 5)) == 0
    assert index.position(99) == (1, 1)
    assert index.position(-1) == (0, 0)


def test_a_column_inside_a_surrogate_pair_means_its_start() -> None:
    assert LineIndex("a😀b".encode()).offset((0, 2), "utf-16") == 1


def test_bytes_that_are_no_text_have_positions() -> None:
    index = LineIndex(b"\xff\xfe\nx\xc3")
    assert index.position(2, "utf-16") == (0, 2)
    assert index.position(5, "utf-32") == (1, 2)
    assert index.offset((0, 1), "utf-16") == 1
