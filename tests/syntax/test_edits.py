"""An edit keeps what it does not touch. (That it gives what a fresh parse gives: test_programs.py.)"""

import pytest
from tree_sitter import Point

from phobos_core.syntax import Edit, Parser, SourceFile, parse
from phobos_core.syntax.source import behind

START = Point(0, 0)

TEXT = "kernel k() {\n  let x = 1\n}\n\nkernel l() {\n  let y = 2\n}\n\nfn f(a) = a\n"
COMMENTED = TEXT.replace("}\n\n", "} // of k and l\n\n  // What comes next.\n")


def edited(file: SourceFile, old: str, new: str) -> SourceFile:
    start = file.text.index(old.encode())
    return Parser().edit(file, [Edit(start, start + len(old.encode()), new.encode())])


def test_the_other_items_are_kept() -> None:
    file = parse(TEXT)
    later = edited(file, "y = 2", "y = 22")
    assert [a.item is b.item for a, b in zip(file.items, later.items, strict=True)] == [True, False, True]
    assert later.items[2].offset == file.items[2].offset + 1


@pytest.mark.parametrize("text", [TEXT, COMMENTED])
def test_they_are_kept_while_one_is_broken_and_when_it_is_mended(text: str) -> None:
    file = parse(text)
    broken = edited(file, "let y = 2", "let y =")
    assert len(broken.diagnostics) == 1
    mended = edited(broken, "let y =", "let y = 3")
    assert mended.diagnostics == ()
    for later in (broken, mended):
        assert [a.item is b.item for a, b in zip(file.items, later.items, strict=True)] == [True, False, True]


@pytest.mark.parametrize("text", [TEXT, COMMENTED])
def test_they_are_kept_when_one_is_mended_that_was_broken_from_the_start(text: str) -> None:
    broken = parse(text.replace("let y = 2", "let y ="))
    assert len(broken.diagnostics) == 1
    mended = edited(broken, "let y =", "let y = 3")
    assert mended == parse(text.replace("2", "3"))
    assert [a.item is b.item for a, b in zip(broken.items, mended.items, strict=True)] == [True, False, True]


def test_a_new_text_keeps_them_too() -> None:
    file = parse(TEXT)
    later = Parser().parse("// moved\n" + TEXT.replace("2", "3"), file)
    assert [a.item is b.item for a, b in zip(file.items, later.items, strict=True)] == [True, False, True]


def test_an_edit_leaves_the_file_before_as_it_was() -> None:
    file = parse(TEXT)
    shape = str(file.tree.root_node)
    edited(file, "kernel l() {", "")
    assert str(file.tree.root_node) == shape
    assert file == parse(TEXT)


def test_points_count_bytes_and_rows_end_at_newlines_only() -> None:
    text = "é\r\nb\rc\n".encode()
    expected = {0: (0, 0), 2: (0, 2), 4: (1, 0), 7: (1, 3), 8: (2, 0)}
    assert {offset: behind(START, text[:offset]) for offset in expected} == expected
    for middle in expected:
        assert behind(behind(START, text[:middle]), text[middle:]) == (2, 0)
