"""The formatter: one style, twice is once, and nothing but white space changes."""

import re

import pytest
from hypothesis import given

from phobos_core.syntax import parse
from phobos_core.syntax.formatter import CannotFormat, formatted
from tests.syntax.programs import programs
from tests.syntax.shapes import show


def fmt(text: str) -> str:
    return formatted(text.encode()).decode()


def statement(text: str) -> str:
    """The formatted text of the statements of a kernel."""
    lines = fmt(f"kernel k() {{\n{text}\n}}\n").splitlines()
    assert lines[0] == "kernel k() {"
    assert lines[-1] == "}"
    return "\n".join(line.removeprefix("  ") for line in lines[1:-1])


@given(programs())
def test_the_tree_is_kept_and_twice_is_once(program: tuple[str, list[str]]) -> None:
    text, _ = program
    once = fmt(text)
    before, after = parse(text.encode()), parse(once.encode())
    assert [show(placed.item) for placed in after.items] == [show(placed.item) for placed in before.items]
    assert [d.code for d in after.diagnostics] == [d.code for d in before.diagnostics]
    assert fmt(once) == once


@given(programs())
def test_white_space_of_the_source_decides_nothing_but_blank_lines(program: tuple[str, list[str]]) -> None:
    text = program[0].replace("\r", "")
    # A comment stays beside what it follows.
    spread = "\n".join(line for line in re.sub(r" \+ (?=[^ /])", " +\n", fmt(text)).splitlines() if line)
    assert fmt(spread).replace("\n\n", "\n") == fmt(text).replace("\n\n", "\n")


@pytest.mark.parametrize(
    ("given_text", "expected"),
    [
        ("let a=b", "let a = b"),
        ("var t:tile<f32>[ 4,N ]=0.0", "var t: tile<f32>[4, N] = 0.0"),
        ("x+=-a*( b+ c )", "x += -a * (b + c)"),
        ("x=a&&!b||c==d", "x = a && !b || c == d"),
        ("t[ i,: ,a:b,a :,: b,i:+4 ]=0", "t[i, :, a : b, a:, :b, i :+ 4] = 0"),
        ("for<unroll U>i in range( 0 ,n,2 ){x=i}", "for<unroll U> i in range(0, n, 2) {\n  x = i\n}"),
        ("for i in range(0,n){}", "for i in range(0, n) {}"),
        ("if a{b=1}else if c{}else{d=2}", "if a {\n  b = 1\n} else if c {\n} else {\n  d = 2\n}"),
        ("while f(a)==0{ }", "while f(a) == 0 {}"),
        ("let s=sum< over ctx . lane ,width 8 >( x )", "let s = sum<over ctx.lane, width 8>(x)"),
        ("let s=shfl<xor m>(v)", "let s = shfl<xor m>(v)"),
        ("a=1;b=2;", "a = 1\nb = 2"),
        ("break;continue;return", "break\ncontinue\nreturn"),
    ],
)
def test_spacing(given_text: str, expected: str) -> None:
    assert statement(given_text) == expected


def test_items_and_attributes_stand_apart() -> None:
    text = "fn f(a,b)=a+b\nfn g(a)=a;fn h(x){x=1}\n@launch( 64 )@pipeline kernel k( A:tensor<f32>[4],n:i32 ){}"
    assert fmt(text) == (
        "fn f(a, b) = a + b\nfn g(a) = a\n\nfn h(x) {\n  x = 1\n}\n\n"
        "@launch(64)\n@pipeline\nkernel k(A: tensor<f32>[4], n: i32) {}\n"
    )


def test_blank_lines() -> None:
    assert statement("\n\na = 1\n\n\n\nb = 2\nc = 3\n\n") == "a = 1\n\nb = 2\nc = 3"


def test_comments_stay_where_they_are() -> None:
    text = "a = 1 // one\nlong = 22 //two\n\n\n// own\n  //last\nif a { // why\n// in\n}\n// end"
    expected = "a = 1      // one\nlong = 22  //two\n\n// own\n//last\nif a {  // why\n  // in\n}\n// end"
    assert statement(text) == expected


def test_a_comment_inside_a_statement_ends_its_line() -> None:
    text = "let x = f(a, // first\n// own\nb) + // sum\nc"
    assert statement(text) == "let x = f(a,  // first\n          // own\n          b) +  // sum\n    c"


def test_comments_above_an_item_stay_with_it() -> None:
    text = "kernel a() {} // a\n// of b\nkernel b() {}\n// of c\n\nkernel c() {}"
    assert fmt(text) == "kernel a() {}  // a\n\n// of b\nkernel b() {}\n// of c\n\nkernel c() {}\n"


def test_long_parameters_stand_one_to_a_line() -> None:
    params = [f"Tensor{i}: tensor<f32>[Rows, Columns]" for i in range(4)]
    text = f"kernel k({', '.join(params)}) {{}}"
    assert fmt(text) == "kernel k(" + (",\n" + " " * 9).join(params) + ") {}\n"


def test_long_expressions_break_after_operators_and_in_brackets() -> None:
    long = "a" * 30
    assert statement(f"x = {long} + {long} * {long} + {long}") == f"x = {long} +\n    {long} * {long} +\n    {long}"
    assert statement(f"x = f({long}, {long}, {long})") == f"x = f({long}, {long},\n      {long})"


def test_a_line_is_at_most_100_columns_where_it_can_break() -> None:
    text = "x = " + " + ".join(f"name{i}" for i in range(60))
    assert max(map(len, statement(text).splitlines())) <= 98


@pytest.mark.parametrize("text", ["kernel k( {", "kernel k() { let = 1 }", "let x = 1", "kernel k() { x = 1 }}"])
def test_a_syntax_error_is_refused(text: str) -> None:
    with pytest.raises(CannotFormat):
        fmt(text)


def test_line_ends_are_kept() -> None:
    assert fmt("kernel k() {\r\nx=1 // c\r\n}") == "kernel k() {\r\n  x = 1  // c\r\n}\r\n"


@pytest.mark.parametrize(
    ("text", "expected"), [("", ""), ("\n\n", ""), ("// only", "// only\n"), ("\n// a\n\n\n// b", "// a\n\n// b\n")]
)
def test_a_file_without_items(text: str, expected: str) -> None:
    assert fmt(text) == expected


def test_comments_keep_what_is_no_character() -> None:
    """Half a surrogate pair, as an editor may hold it for a moment, and a byte of another encoding."""
    for odd in (b"\xed\xa0\xbd", b"\xff"):
        text = b"// " + odd + b"\nkernel k() {\n  // " + odd + b"\n}\n"
        assert formatted(text) == text


@pytest.mark.parametrize("space", ["\u2028", "\x85", "\xa0", "\u3000", "\x1c", "\ufeff"])
def test_comments_keep_what_only_unicode_calls_white_space(space: str) -> None:
    text = f"// a{space}\nkernel k() {{  //{space}\n  // b;{space}\n}}\n"
    assert fmt(text.replace("{  //", "{//")) == text
