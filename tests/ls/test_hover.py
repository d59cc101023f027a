"""Hover: what it says, for each kind of thing under the cursor."""

import re
from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

import pytest

from phobos_core.language.attributes import ATTRIBUTES
from phobos_core.language.builtins import BUILTINS, COLLECTIVES
from phobos_core.language.context import CTX_FIELDS
from phobos_core.language.operators import BINARY
from phobos_core.syntax.lines import Encoding
from phobos_ls.features.hover import hover
from phobos_ls.settings import read_settings
from tests.ls.cursor import cursor

HEAD = "@autotune(T in [16, 32])\nkernel k(A: tensor<f32>[N, 64], n: i32) {\n"


def said(source: str, config: object = None) -> str:
    settings, problems = read_settings({"config": config})
    assert not problems
    c = cursor(source, settings)
    found = hover(c.snapshot, c.offset)
    return "" if found is None else found.contents.value  # type: ignore[union-attr]


NAMES = [
    ("let $0a = 1", ["let a: index", "scalar of `k`", "Uniform"]),
    ("var $0a: f32 = 1.0", ["var a: f32"]),
    ("let a = ctx.lane\nlet $0b = a + 1", ["Varying", "`ctx.lane`", "line 3"]),
    ("let $0w = ctx.warp", ["Warp-uniform"]),
    ("var $0t: tile<f32>[T, 64] = 0.0", ["var t: tile<f32>[T, 64]", "`[16, 64]`", "4,096 bytes"]),
    ("let $0v = A[0 :+ T, :]", ["let v: tile<f32>[T, 64]", "view"]),
    ("for $0i in range(0, 4) {}", ["for i: index", "loop variable"]),
    ("let a = $0T", ["T", "Choices: 16, 32", "shown: 16"]),
    ("let a = $0N", ["N: index", "dimension"]),
    ("let a = $0A[0, 0]", ["A: tensor<f32>[N, 64]", "tensor parameter"]),
    ("let a = $0n", ["n: i32", "scalar parameter"]),
]


@pytest.mark.parametrize(("body", "expected"), NAMES)
def test_names(body: str, expected: list[str]) -> None:
    text = said(f"{HEAD}{body}\n}}")
    for part in expected:
        assert part in text


def test_the_configuration_of_the_settings_is_shown() -> None:
    assert "`[32, 64]`" in said(HEAD + "var $0t: tile<f32>[T, 64] = 0.0\n}", {"T": 32})


def test_a_comment_above_a_declaration_is_its_documentation() -> None:
    assert "The row of this block." in said(HEAD + "// The row of this block.\nlet $0row = ctx.block.x\n}")
    assert "Doubles." in said("// Doubles.\nfn f(x) = x * 2\nkernel k() {\nlet a = $0f(1)\n}")


@pytest.mark.parametrize(
    ("source", "documented"),
    [
        ("// About the kernel.\n@autotune($0T in [1, 2])\nkernel k() {}", False),
        ("// About the kernel.\nkernel k($0A: tensor<f32>[N]) {}", False),
        ("// About the kernel.\nkernel k(A: tensor<f32>[$0N]) {}", False),
        ("// About the kernel.\nfn f($0x) = x\nkernel k() {}", False),
        ("// About the kernel.\n@launch(32)\nkernel $0k() {}", True),
        ("kernel k() {\n  // About a.\n  let a = 1; let $0b = 2\n}", False),
        ("kernel k(\n  // About the rows.\n  $0A: tensor<f32>[N]\n) {}", True),
        ("kernel k() {\n  // About the loop.\n  for<unroll 2> $0i in range(0, 4) {\n  }\n}", True),
    ],
)
def test_a_comment_is_about_what_begins_the_next_line(source: str, documented: bool) -> None:
    assert ("About" in said(source)) == documented


def test_a_note_of_an_operator_is_said_once() -> None:
    for operator in ("+=", "-=", "+ ", "- "):
        text = said(
            f"kernel k(n: i32) {{\n  var a = n\n  a $0{operator} 1\n}}"
            if "=" in operator
            else f"kernel k(n: i32) {{\n  let a = n $0{operator} 1\n}}"
        )
        assert text.count("fused") == 1


def test_functions_and_kernels() -> None:
    assert "fn f(x) = x * 2" in said("fn f(x) = x * 2\nkernel k() {\nlet a = $0f(1)\n}")
    assert "kernel k(A: tensor<f32>[4])" in said("kernel $0k(A: tensor<f32>[4]) {}")


def test_names_of_a_function() -> None:
    assert "parameter of `f`" in said("fn f($0x) = x * 2\nkernel k() {}")


@pytest.mark.parametrize("name", [b for b in BUILTINS if b.isidentifier()])
def test_every_built_in(name: str) -> None:
    text = said(f"kernel k() {{\nlet a = {name[0]}$0{name[1:]}(1)\n}}")
    signatures = text.partition("\n```")[0].splitlines()
    assert len(signatures) == len(set(signatures))
    assert BUILTINS[name].summary in text
    assert BUILTINS[name].example.strip() in text


@pytest.mark.parametrize("name", COLLECTIVES)
def test_every_collective(name: str) -> None:
    bracket = "from 0" if name == "shfl" else "over ctx.lane"
    assert COLLECTIVES[name].summary in said(f"kernel k() {{\nlet a = {name[0]}$0{name[1:]}<{bracket}>(1)\n}}")


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_every_attribute(name: str) -> None:
    assert ATTRIBUTES[name].summary in said(f"@{name[0]}$0{name[1:]}(1)\nkernel k() {{}}")


@pytest.mark.parametrize("name", CTX_FIELDS)
def test_every_field_of_ctx(name: str) -> None:
    assert CTX_FIELDS[name].doc in said(f"kernel k() {{\nlet a = ctx.{name[:-1]}$0{name[-1]}\n}}")


@pytest.mark.parametrize("symbol", BINARY)
def test_every_operator(symbol: str) -> None:
    assert BINARY[symbol].doc in said(f"kernel k() {{\nlet c = a $0{symbol} b\n}}")


@pytest.mark.parametrize(
    "word", ["kernel", "let", "var", "for", "in", "while", "if", "else", "return", "f32", "tensor", "range"]
)
def test_words(word: str) -> None:
    source = (
        "kernel k(A: tensor<f32>[4]) {\nlet a = 1\nvar b = 2\nfor i in range(0, 4) {}\n"
        "while a > 0 {}\nif a > 0 {} else {}\nreturn\n}"
    )
    at = source.index(word)
    assert said(source[:at] + "$0" + source[at:]).startswith(f"`{word}`")


INSIDE = [
    ("let s = sum<$0over ctx.lane>(1.0)", "the group whose values are folded"),
    ("let s = sum<over ctx.lane, $0width 8>(1.0)", "lanes in a piece"),
    ("let s = shfl<$0from 1>(1.0)", "whose value is read"),
    ("let s = shfl<$0xor 1>(1.0)", "the bits in which"),
    ("let s = shfl<$0down 1>(1.0)", "up the warp"),
    ("let s = shfl<$0up 1>(1.0)", "down the warp"),
    ("for<$0unroll 4> i in range(0, 4) {}", "n times a turn"),
    ("for i in $0range(0, 4) {}", "up to but not including"),
    ("let s = sum<over $0ctx.lane>(1.0)", "ctx.lane: index"),
    ("let v = A[0 $0:+ 4, :]", "A span"),
    ("let v = A[0 :+ 4, $0:]", "A range"),
    ("var x = 1\nx $0+= 2", "`x = x + e`"),
    ("var x = 1\nx $0<<= 2", "`x = x << e`"),
    ("let b = $0!(n > 0)", "`!`"),
    ("let b = $0-n", "`-`"),
    ("let b = $0true", "The bool that holds"),
    ("let from = 1\nlet b = $0from", "let from: index"),
    ("let width = 1\nlet b = width$0", "let width: index"),
]


@pytest.mark.parametrize(("body", "expected"), INSIDE)
def test_inside_statements(body: str, expected: str) -> None:
    assert expected in said(f"{HEAD}{body}\n}}")


MEANT = [
    ("the inner one of a name", "let a = 1\nif n > 0 {\nvar a: f32 = 2.0\nlet b = $0a\n}", "var a: f32"),
    ("the outer one behind the block", "let a = 1\nif n > 0 {\nvar a: f32 = 2.0\n}\nlet b = $0a", "let a: index"),
    ("a loop's own variable", "for i in range(0, 4) {\nfor i in range(ctx.lane, 8) {\nlet b = $0i\n}\n}", "Varying"),
    ("the loop around it", "for i in range(0, 4) {\nfor j in range(0, 8) {\nlet b = $0i\n}\n}", "Uniform"),
    (
        "a sum per thread",
        "var acc: f32 = 0.0\nfor i in range(ctx.lane, 8, 32) {\nacc += 1.0\n}\nlet b = $0acc",
        "Varying",
    ),
    ("what a condition decides", "var a = 0\nif ctx.lane == 0 {\na = 1\n}\nlet b = $0a", "ctx.lane"),
    ("a load at a varying address", "let i = ctx.thread\nlet b = A[i, 0]\nlet c = $0b", "Varying"),
    ("a load at a uniform address", "let b = A[0, 0]\nlet c = $0b", "Uniform"),
    ("a fold over the warp", "let b = sum<over ctx.lane>(1.0)\nlet c = $0b", "Warp-uniform"),
    ("a fold over the CTA", "let b = sum<over ctx.thread>(f32(ctx.lane))\nlet c = $0b", "Uniform"),
    ("a bool", "let b = n > 0\nlet c = $0b", "let b: bool"),
    ("a view of a view", "let v = A[0 :+ 4, :]\nlet w = v[0 :+ 2, 0 :+ 8]\nlet c = $0w[0, 0]", "tile<f32>[2, 8]"),
    (
        "a tile of a contraction",
        "var t = dot_t(A[0 :+ 4, :], A[0 :+ 8, :])\nlet c = $0t[0, 0]",
        "var t: tile<f32>[4, 8]",
    ),
    ("a column of a reduction", "var t = rowmax(A[0 :+ 4, :])\nlet c = $0t[0, 0]", "var t: tile<f32>[4, 1]"),
    ("a name at the end of a line", "let abc = n$0\n", "n: i32"),
    ("an assigned tile", "var t: tile<f16>[8, 8] = 0.0\n$0t = t * 2.0", "128 bytes"),
    ("an element that is stored", "var t: tile<i8>[8, 8] = 0\n$0t[0, 0] = 1", "64 bytes"),
]


@pytest.mark.parametrize(("body", "expected"), [case[1:] for case in MEANT], ids=[case[0] for case in MEANT])
def test_what_a_name_means(body: str, expected: str) -> None:
    assert expected in said(f"{HEAD}{body}\n}}")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("@aligned($0N = 4)\nkernel k(A: tensor<f32>[N]) {\n}", "N: index"),
        ("@autotune($0T in [16, 32])\nkernel k(A: tensor<f32>[T]) {\n}", "Choices: 16, 32"),
        ("@autotune(T in [16, 32])\nkernel k(A: tensor<f32>[$0T]) {\n}", "shown: 16"),
        ("kernel k(A: $0tensor<f32>[N]) {\n}", "array in global memory"),
        ("kernel k(A: tensor<$0bf16>[N]) {\n}", "`bf16`"),
        ("fn f(x) {\n  let y = x\n  x[0] = $0y\n}\nkernel k() {\n}", "let of `f`"),
        ("fn f(x) {\n  for i in range(0, 4) {\n    x[$0i] = 1.0\n  }\n}\nkernel k() {\n}", "loop variable of `f`"),
        ("fn f(x) = x + $0z\nkernel k(z: i32) {\n  let a = f(1)\n}", "z: i32"),
        ("kernel k(A: tensor<f32>[N]) {\r\n  let $0a = 1\r\n}\r\n", "let a: index"),
        ("kernel k(n: i32) {\n  let a = $0n\n  let b = (\n}", "n: i32"),
        ("kernel k(n: i32) {\n  let a = $0n", "n: i32"),
    ],
)
def test_in_other_places(source: str, expected: str) -> None:
    assert expected in said(source)


def test_a_built_in_links_to_its_page() -> None:
    (address,) = re.findall(r"\[Page of `exp`\]\((file:[^)]*)\)", said("kernel k() {\nlet a = $0exp(1.0)\n}"))
    assert BUILTINS["exp"].summary in Path(url2pathname(urlparse(address).path)).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "source",
    [
        "$0",
        "kernel k() {$0}",
        "// com$0ment\nkernel k() {}",
        "kernel k() {\nlet a = 1$02\n}",
        "kernel k() {\nlet a = zz$0z\n}",
    ],
)
def test_nothing(source: str) -> None:
    assert said(source) == ""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_the_range_is_the_name(encoding: Encoding) -> None:
    c = cursor("// 😀é漢\nkernel k() { let b = 2; let c = $0b } // 😀é漢", encoding=encoding)
    found = hover(c.snapshot, c.offset)
    assert found is not None
    assert found.range is not None
    assert c.text(found.range) == "b"
