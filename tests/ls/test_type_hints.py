"""The types of names that are written without one."""

import pytest
from lsprotocol import types as lsp

from phobos_core.syntax.lines import Encoding
from phobos_ls.features.type_hints import type_hints
from phobos_ls.settings import read_settings
from tests.ls.cursor import cursor
from tests.ls.wire import URI, wire

SETTINGS, _ = read_settings({"hints": {"types": True}})
HEAD = "@autotune(T in [16, 32])\nkernel k(A: tensor<f32>[N, 64], n: i32) {\n"


def shown(source: str, first: int = 0, last: int = 1000, encoding: Encoding = "utf-16") -> list[str]:
    """The text with the hints in it, those of its lines that have one."""
    c = cursor(source, SETTINGS, encoding)
    lines: dict[int, str] = {}
    for hint in sorted(type_hints(c.snapshot, first, last), key=lambda hint: hint.position, reverse=True):
        assert isinstance(hint.label, str)
        start = c.snapshot.lines.starts[hint.position.line]
        at = c.snapshot.offset(hint.position) - start
        text = lines.get(hint.position.line, c.snapshot.lines.line(hint.position.line).decode()).encode()
        lines[hint.position.line] = (text[:at] + f"«{hint.label}»".encode() + text[at:]).decode()
    return [lines[line].strip() for line in sorted(lines)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("let a = 1.5", ["let a«: f32» = 1.5"]),
        ("let a = n > 0", ["let a«: bool» = n > 0"]),
        ("let row = ctx.block.x * T", ["let row«: index» = ctx.block.x * T"]),
        ("var t = A[0 :+ T, :]", ["var t«: tile<f32>[T, 64]» = A[0 :+ T, :]"]),
        ("let v = A[0 :+ T, 0 :+ 8]", ["let v«: tile<f32>[T, 8]» = A[0 :+ T, 0 :+ 8]"]),
        ("let a: f32 = 1.5", []),
        ("var t: tile<f32>[T, 64] = 0.0", []),
        ("for i in range(0, 4) {\n    let a = i\n  }", ["let a«: index» = i"]),
        ("if n > 0 {\n    let a = 1.5\n  } else if n < 0 {\n    let b = n\n  } else {\n    let c = 1.5\n  }",
         ["let a«: f32» = 1.5", "let b«: i32» = n", "let c«: f32» = 1.5"]),
        ("while n > 0 {\n    let a = n\n  }", ["let a«: i32» = n"]),
        ("let a = unknown", []),
        ("let a = 1.5; let b = n", ["let a«: f32» = 1.5; let b«: i32» = n"]),
    ],
)  # fmt: skip
def test_in_a_kernel(body: str, expected: list[str]) -> None:
    assert shown(f"{HEAD}  {body}\n}}\n") == expected


def test_a_function_has_the_types_of_each_call() -> None:
    assert shown("fn f(x) {\n  let y = x\n}\nkernel k() {\n  let a = 1.5\n}\n") == ["let a«: f32» = 1.5"]


def test_only_the_lines_that_are_asked_for() -> None:
    source = "kernel k() {\n  let a = 1.5\n  let b = 2.5\n  let c = 3.5\n}\nkernel l() {\n  let d = 4.5\n}\n"
    assert shown(source, 2, 3) == ["let b«: f32» = 2.5", "let c«: f32» = 3.5"]
    assert shown(source, 6, 6) == ["let d«: f32» = 4.5"]
    assert shown(source, 7, 50) == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_behind_wide_characters(encoding: Encoding) -> None:
    source = "kernel k() {\r\n  // 😀é漢\r\n  let a = 1.5; let b = 2.5 // 😀\r\n}\r\n"
    assert shown(source, encoding=encoding) == ["let a«: f32» = 1.5; let b«: f32» = 2.5 // 😀"]


def test_the_tooltip_says_what_a_hover_does() -> None:
    c = cursor(f"{HEAD}  var t = A[0 :+ T, :]\n}}\n", SETTINGS)
    (hint,) = type_hints(c.snapshot, 0, 10)
    assert isinstance(hint.tooltip, lsp.MarkupContent)
    assert "var t: tile<f32>[T, 64]" in hint.tooltip.value
    assert "Shown configuration: `[16, 64]`" in hint.tooltip.value
    assert hint.kind is lsp.InlayHintKind.Type


def test_they_need_no_build_and_are_off_unless_asked_for() -> None:
    asked = {
        "textDocument": {"uri": URI},
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}},
    }
    for switched, labels in ((True, [": f32"]), (False, [])):
        with wire(initializationOptions={"build": "off", "hints": {"types": switched}}) as wired:
            wired.open("kernel k() {\n  let a = 1.5\n}\n")
            found = wired.client.request("textDocument/inlayHint", asked)
            assert [hint["label"] for hint in found] == labels
    with wire(initializationOptions={"build": "off"}) as wired:
        wired.open("kernel k() {\n  let a = 1.5\n}\n")
        assert wired.client.request("textDocument/inlayHint", asked) == []
