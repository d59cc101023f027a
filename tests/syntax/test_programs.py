"""Generated programs parse to what they were built from, by tree-sitter and by the recovering parser alike."""

from hypothesis import given, settings
from hypothesis import strategies as st

from phobos_core.syntax import Edit, Parser, parse
from phobos_core.syntax.recover import recover
from tests.syntax.programs import programs
from tests.syntax.shapes import show


@settings(max_examples=100, deadline=None)
@given(programs())
def test_programs(program: tuple[str, list[str]]) -> None:
    text, shapes = program
    file = parse(text)
    assert file.diagnostics == ()
    assert [show(placed.item) for placed in file.items] == shapes


@settings(max_examples=100, deadline=None)
@given(programs())
def test_the_recovering_parser_agrees(program: tuple[str, list[str]]) -> None:
    text, shapes = program
    items, diagnostics = recover(text.encode())
    assert diagnostics == ()
    assert [show(placed.item) for placed in items] == shapes
    assert items == parse(text).items


TOKENS = ["let", "x", "=", "(", ")", "[", "]", "{", "}", "\n", ";", ",", "+", "-", "1", "1.", "sum", "<", "over"]
TOKENS += ["kernel", "fn", "@", "if", "else", "//", ":", ":+", "ctx", ".", "é", "\0", '"', " ", "for", ">", "from"]
CHANGES = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 12), st.sampled_from(TOKENS).map(str.encode)), min_size=1, max_size=6
)


@settings(max_examples=100, deadline=None)
@given(programs(), CHANGES)
def test_an_edited_file_equals_a_fresh_one(
    program: tuple[str, list[str]], changes: list[tuple[float, int, bytes]]
) -> None:
    parser = Parser()
    file = parser.parse(program[0])
    for place, length, replacement in changes:
        start = int(place * len(file.text))
        file = parser.edit(file, [Edit(start, min(start + length, len(file.text)), replacement)])
        fresh = parse(file.text)
        assert file == fresh
        assert str(file.tree.root_node) == str(fresh.tree.root_node)


@settings(max_examples=100, deadline=None)
@given(programs(), CHANGES)
def test_edits_taken_together(program: tuple[str, list[str]], changes: list[tuple[float, int, bytes]]) -> None:
    parser = Parser()
    file = parser.parse(program[0])
    text = file.text
    edits = []
    for place, length, replacement in changes:
        start = int(place * len(text))
        edits.append(Edit(start, min(start + length, len(text)), replacement))
        text = edits[-1].apply(text)
    edited = parser.edit(file, edits)
    assert edited == parse(text)
    assert file == parse(program[0])


@settings(max_examples=100, deadline=None)
@given(programs(), CHANGES)
def test_what_tree_sitter_refuses_has_a_diagnostic(
    program: tuple[str, list[str]], changes: list[tuple[float, int, bytes]]
) -> None:
    text = program[0].encode()
    for place, length, replacement in changes:
        start = int(place * len(text))
        text = text[:start] + replacement + text[start + length :]
    file = parse(text)
    if file.tree.root_node.has_error:
        assert file.diagnostics
        assert all(d.message != "this cannot be read as Phobos" for d in file.diagnostics)
    for diagnostic in file.diagnostics:
        assert 0 <= diagnostic.start <= diagnostic.end <= len(text)
