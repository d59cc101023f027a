"""Completion and signature help: what is offered where."""

import pytest
from lsprotocol import types as lsp

from phobos_core.language.attributes import ATTRIBUTES
from phobos_ls.features.completion import completion, resolve
from phobos_ls.features.signature import signature_help
from tests.ls.cursor import cursor


def labels(source: str) -> set[str]:
    c = cursor(source)
    return {item.label for item in completion(c.snapshot, c.offset).items}


def body(text: str) -> str:
    return f"@autotune(T in [16, 32])\nkernel k(A: tensor<f32>[N, 64], n: i32) {{\n{text}\n}}\nfn twice(x) = x * 2\n"


OFFERED = [
    ("let a = $0", {"A", "n", "N", "T", "exp", "dot", "rowmax", "f32", "ctx", "twice", "sum<>", "true"}),
    ("let first = 1\nlet b = fi$0", {"first"}),
    ("$0", {"let", "var", "for", "if", "while", "return", "A"}),
    ("for i in range(0, 4) {\nlet a = $0\n}", {"i"}),
    ("if n > 0 {\nlet inner = 1\nlet a = $0\n}", {"inner"}),
    ("let a = ctx.$0", {"block.x", "blocks.z", "thread", "lane", "threads", "warps"}),
    ("let a = ctx.block.$0", {"x", "y", "z"}),
    ("let a = sum<$0", {"over"}),
    ("let a = sum<over $0", {"ctx.lane", "ctx.thread"}),
    ("let a = sum<over ctx.lane, $0", {"width"}),
    ("let a = shfl<$0", {"from", "xor", "down", "up"}),
    ("for<$0", {"unroll"}),
    ("var t: $0", {"f32", "i32", "tile"}),
    ("var t: tile<$0", {"f32", "f16", "i8"}),
    ("let a = A[$0", {"n", "T"}),
    ("let a = exp($0", {"n", "A"}),
    ("let a = (n + $0", {"n"}),
]


@pytest.mark.parametrize(("text", "expected"), OFFERED)
def test_offered(text: str, expected: set[str]) -> None:
    assert expected <= labels(body(text))


NOT_OFFERED = [
    ("let a = $0\nlet later = 1", {"later"}),
    ("if n > 0 {\nlet inner = 1\n}\nlet a = $0", {"inner"}),
    ("for i in range(0, 4) {\n}\nlet a = $0", {"i"}),
    ("let own = $0", {"own"}),
    ("// let a = $0", {"n", "exp"}),
    ("let a = $0", {"let", "return"}),
    ("let a = ctx.$0", {"n", "exp"}),
    ("let a = sum<$0", {"n", "exp"}),
]


@pytest.mark.parametrize(("text", "absent"), NOT_OFFERED)
def test_not_offered(text: str, absent: set[str]) -> None:
    assert not absent & labels(body(text))


def test_between_items() -> None:
    assert {"kernel", "fn", "@launch"} <= labels("$0")
    assert set(ATTRIBUTES) == labels("@$0\nkernel k() {}")
    assert {"f32", "tensor"} <= labels("kernel k(A: $0) {}")


def test_in_a_function() -> None:
    found = labels("fn f(left, right) {\nlet mine = left\nleft = $0\n}\nkernel k() {}")
    assert {"left", "right", "mine", "exp"} <= found


def test_names_come_first() -> None:
    c = cursor(body("let first = 1\nlet b = $0"))
    items = sorted(completion(c.snapshot, c.offset).items, key=lambda item: item.sort_text or item.label)
    order = [item.label for item in items]
    assert order.index("first") < order.index("twice") < order.index("exp")


@pytest.mark.parametrize(
    ("text", "label", "expected"),
    [
        ("let a = $0", "exp", "ex2.approx"),
        ("let a = sum$0", "sum<>", "over ctx.lane"),
        ("let a = ctx.$0", "lane", "warp"),
        ("$0", "let", "Binds a name"),
    ],
)
def test_resolved(text: str, label: str, expected: str) -> None:
    c = cursor(body(text))
    item = next(item for item in completion(c.snapshot, c.offset).items if item.label == label)
    assert item.documentation is None
    documented = resolve(item).documentation
    assert isinstance(documented, lsp.MarkupContent)
    assert expected in documented.value


def active(source: str) -> str | None:
    c = cursor(source)
    found = signature_help(c.snapshot, c.offset)
    if found is None:
        return None
    signature = found.signatures[found.active_signature or 0]
    at = signature.parameters[found.active_parameter or 0].label if signature.parameters else (0, 0)
    assert isinstance(at, tuple)
    return f"{signature.label[: at[0]]}*{signature.label[at[0] : at[1]]}*{signature.label[at[1] :]}"


SIGNATURES = [
    ("let a = dot($0", "dot(*a*, b)"),
    ("let a = dot(A, $0", "dot(a, *b*)"),
    ("let a = dot(A[0, 1], $0)", "dot(a, *b*)"),
    ("let a = exp(dot(A,$0", "dot(a, *b*)"),
    ("let a = exp(dot(A, A), $0", "exp(*t*)"),
    ("let a = twice($0", "twice(*x*)"),
    ("let a = sum<over ctx.lane>($0", "sum<over ctx.lane>(*x*)"),
    ("let a = where(n > 0, $0", "where(c, *a*, b)"),
    ("let a = dot(A, // one, two\n$0", "dot(a, *b*)"),
]


@pytest.mark.parametrize(("text", "expected"), SIGNATURES)
def test_signature(text: str, expected: str) -> None:
    assert active(body(text)) == expected


@pytest.mark.parametrize(
    "text",
    ["let a = $0", "let a = (n + $0", "let a = A[$0", "let a = exp(1.0)$0", "let a = exp(1.0)\n$0", "unknown($0"],
)
def test_no_signature(text: str) -> None:
    assert active(body(text)) is None


def test_a_parameter_says_what_it_takes() -> None:
    c = cursor(body("let a = dot($0"))
    found = signature_help(c.snapshot, c.offset)
    assert found is not None
    (first, _) = found.signatures[0].parameters or ()
    assert isinstance(first.documentation, lsp.MarkupContent)
    assert "a tile" in first.documentation.value
