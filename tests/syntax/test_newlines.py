"""Where a newline ends a statement, and where a line goes on (spec, Lexical)."""

import pytest

from phobos_core.syntax import parse
from tests.syntax.shapes import show
from tests.syntax.support import shown

CASES = {
    "a newline ends a statement": ("let a = b\n-c", ["let a _ b", "(- c)"]),
    "and a call does not go on over it": ("a\n(b)", ["a", "b"]),
    "a semicolon ends one too": ("let a = b; c; return;", ["let a _ b", "c", "return"]),
    "a line that ends in an operator goes on": ("let a = b -\n  c", ["let a _ (- b c)"]),
    "over blank lines and comments": ("let a = b - // why\n\n  // here\n  c", ["let a _ (- b c)"]),
    "a line that ends in = goes on": ("let a =\n  b", ["let a _ b"]),
    "a line that ends in a comma goes on": ("f(a,\n  b)", ["(call f [a, b])"]),
    "none ends a statement in parentheses": ("let a = (b\n - c\n)", ["let a _ (- b c)"]),
    "none in brackets": ("let a = b[c\n - d\n]", ["let a _ (index b [(- c d)])"]),
    "none in nested brackets": ("f((a)\n, b[0\n])", ["(call f [a, (index b [0])])"]),
    "after a bracket closes it ends again": ("f(\n)\n-a", ["(call f [])", "(- a)"]),
    "a comment does not hide it": ("a // - b\n-c", ["a", "(- c)"]),
    "a block may start on the next line": ("if a\n{ b }", ["if a {b} _"]),
    "else on the line of the brace": ("if a {\n} else {\n}", ["if a {} {}"]),
    "a newline after else": ("if a {} else\n{}", ["if a {} {}"]),
    "a statement may follow a block on its line": (
        "if a {} b\nwhile c {} d",
        ["if a {} _", "b", "while c {}", "d"],
    ),
    "a type goes on to its =": ("let a: f32\n = b", ["let a f32 b"]),
    "a var without a value ends": ("var a: tile<f32>[M]\n-b", ["var a (tile f32 [M]) _", "(- b)"]),
    "jumps end": ("break\ncontinue\nreturn\n-a", ["break", "continue", "return", "(- a)"]),
    "empty lines mean nothing": ("\n\na\n\n\nb\n\n", ["a", "b"]),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_newlines(case: str, newline: str) -> None:
    source, expected = CASES[case]
    assert shown(source.replace("\n", newline)) == expected


def test_the_end_may_be_left_out() -> None:
    source = "kernel k() { let a = b }\nfn f() { return }\nfn g(a) = a"
    file = parse(source)
    assert file.diagnostics == ()
    assert [show(placed.item) for placed in file.items] == [
        "kernel k[] {let a _ b}",
        "fn f[] {return}",
        "fn g[a] a",
    ]
