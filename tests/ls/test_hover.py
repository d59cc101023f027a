"""Hover: what it says, for each kind of thing under the cursor."""

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


def test_functions_and_kernels() -> None:
    assert "fn f(x) = x * 2" in said("fn f(x) = x * 2\nkernel k() {\nlet a = $0f(1)\n}")
    assert "kernel k(A: tensor<f32>[4])" in said("kernel $0k(A: tensor<f32>[4]) {}")


def test_names_of_a_function() -> None:
    assert "parameter of `f`" in said("fn f($0x) = x * 2\nkernel k() {}")


@pytest.mark.parametrize("name", [b for b in BUILTINS if b.isidentifier()])
def test_every_built_in(name: str) -> None:
    text = said(f"kernel k() {{\nlet a = {name[0]}$0{name[1:]}(1)\n}}")
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
