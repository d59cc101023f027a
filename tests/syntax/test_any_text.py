"""Any bytes give diagnostics, never an exception, in time that grows with the text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phobos_core.syntax import SourceFile, parse


def checked(text: bytes) -> SourceFile:
    file = parse(text)
    assert file.diagnostics or not file.tree.root_node.has_error
    for diagnostic in file.diagnostics:
        assert 0 <= diagnostic.start <= diagnostic.end <= len(text)
    ends = [placed.offset + placed.item.span.end for placed in file.items]
    assert all(end <= len(text) for end in ends)
    return file


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=80))
def test_any_bytes(text: bytes) -> None:
    checked(text)


WORDS = ["kernel", "fn", "let", "var", "if", "else", "for", "in", "while", "break", "return", "true", "ctx", "range"]
WORDS += ["sum", "over", "width", "from", "unroll", "a", "B", "1", "1.5", "1.", "99999999999999999999", "1e999"]
WORDS += ["tensor", "f32", "@", "(", ")", "[", "]", "{", "}", "<", ">", "=", "==", "+", "-", "*", "/", "!", ":", ":+"]
WORDS += [",", ";", ".", "&&", "|", "<<=", "//", "/*", "*/", "#", "é", "\ufeff", "\0", "\n", "\r", "\r\n", "\t", "  "]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=60), st.sampled_from(["", " "]))
def test_any_words(words: list[str], between: str) -> None:
    checked(between.join(words).encode())


MANY = 5000
DEEP = {
    "parentheses": "fn f() = " + "(" * MANY + "1" + ")" * MANY,
    "unclosed parentheses": "fn f() = " + "(" * MANY,
    "subscripts": "fn f() = " + "a[" * MANY + "1" + "]" * MANY,
    "calls": "fn f() = " + "f(" * MANY + ")" * MANY,
    "a chain of calls": "fn f() = f" + "()" * MANY,
    "a sum": "fn f() = " + "a + " * MANY + "a",
    "a sum in a broken kernel": "kernel k() {\n x = " + "a + " * MANY + "a\n let y\n}",
    "every level": "fn f() = " + "a || a && a == a < a | a ^ a & a << a + a * (" * MANY + "a" + ")" * MANY,
    "every level, broken": "fn f() = " + "a || a && a == a < a | a ^ a & a << a + a * (" * MANY,
    "blocks": "fn f() {" + "while a {" * MANY + "}" * MANY + "}",
    "unclosed blocks": "fn f() {" + "if a {" * MANY,
    "a chain of else": "fn f() { if a {}" + " else if a {}" * MANY + "}",
    "a broken chain of else": "fn f() { if a {}" + " else if a {}" * MANY + "let }",
    "shuffles": "fn f() = " + "shfl<up (" * MANY + "1" + ")>(a)" * MANY,
    "half shuffles": "fn f() = " + "sum < from (" * MANY,
    "signs": "fn f() = " + "-(" * MANY + "1" + ")" * MANY,
    "calls over lines": "fn f() {\n" + "g(\n" * MANY,
    "attributes": "@" * MANY,
    "kernels": "kernel " * MANY,
}


@pytest.mark.parametrize("case", DEEP)
def test_deep_nesting(case: str) -> None:
    file = checked(DEEP[case].encode())
    assert file.diagnostics
    if case not in ("attributes", "kernels"):
        assert any(d.code == "nesting-too-deep" for d in file.diagnostics)
        assert sum(d.code == "nesting-too-deep" for d in file.diagnostics) == 1


def test_nesting_up_to_the_bound_is_allowed() -> None:
    assert parse("fn f() = " + "(" * 50 + "1" + ")" * 50).diagnostics == ()
    assert parse("fn f() = " + "a + " * 390 + "a").diagnostics == ()
    assert parse("fn f(a) {\n  if a {}" + " else if a {}" * 390 + "\n}").diagnostics == ()


def test_text_and_bytes_are_the_same() -> None:
    assert parse("fn f() = 1 // é") == parse("fn f() = 1 // é".encode())
    checked("\ud800".encode("utf-8", "surrogatepass"))
