"""Outline, workspace symbols, folding, selection, call hierarchy, formatting."""

from itertools import pairwise

import pytest
from lsprotocol import types as lsp

from phobos_ls.features import call_hierarchy, formatting
from phobos_ls.features.structure import MOST_SELECTIONS, folding_ranges, selection_ranges
from phobos_ls.features.symbols import document_symbols, matches, workspace_symbols
from tests.ls.cursor import Cursor, cursor


def outline(symbols: list[lsp.DocumentSymbol], depth: int = 0) -> list[str]:
    found = []
    for symbol in symbols:
        found.append(f"{'  ' * depth}{symbol.name}: {symbol.detail}")
        found += outline(list(symbol.children or ()), depth + 1)
    return found


def test_the_outline() -> None:
    c = cursor(
        "fn f(a, b) = a + b\nkernel k(A: tensor<f32>[N], n: i32) {\n  let x = 1\n  for i in range(0, 4) {\n"
        "    var t: tile<f32>[4, 4] = 0.0\n  }\n  if n > 0 {\n    let y = 1\n  } else {\n    let z = 2\n  }\n}"
    )
    assert outline(document_symbols(c.snapshot)) == [
        "f: fn(a, b)",
        "k: kernel",
        "  A: tensor<f32>[N]",
        "  n: i32",
        "  x: ",
        "  t: tile<f32>[4, 4]",
        "  y: ",
        "  z: ",
    ]


def test_the_selection_range_of_a_symbol_lies_in_its_range() -> None:
    c = cursor("@launch(64)\nkernel k(A: tensor<f32>[N]) {\n  let x = 1\n}")
    pending = document_symbols(c.snapshot)
    while pending:
        symbol = pending.pop()
        assert symbol.range.start <= symbol.selection_range.start
        assert symbol.selection_range.end <= symbol.range.end
        pending += list(symbol.children or ())


def test_the_outline_of_broken_text() -> None:
    assert [s.name for s in document_symbols(cursor("kernel a() {\nlet x = \nkernel b() {}").snapshot)] == ["a", "b"]


@pytest.mark.parametrize(
    ("query", "names"),
    [("", ["sgemm", "softmax"]), ("sm", ["sgemm", "softmax"]), ("SGM", ["sgemm"]), ("x", ["softmax"]), ("zz", [])],
)
def test_workspace_symbols(query: str, names: list[str]) -> None:
    c = cursor("kernel sgemm() {}\nkernel softmax() {}")
    assert [s.name for s in workspace_symbols(c.snapshot) if matches(query, s.name)] == names


FOLDS = [
    ("kernel k() {\n  let a = 1\n}", [(0, 1)]),
    ("kernel k() {}", []),
    ("kernel k() {\n}", []),
    ("kernel k(A: tensor<f32>[4],\n         B: tensor<f32>[4],\n         n: i32) {\n  let a = 1\n}", [(0, 1), (2, 3)]),
    ("// a\n// b\n// c\nkernel k() {}", [(0, 2)]),
    ("// a\n\n// b\nkernel k() {}", []),
    ("@launch(64)\n@pipeline\nkernel k() {}", [(0, 1)]),
    ("kernel k() {\n  for i in range(0, 4) {\n    let a = 1\n  }\n}", [(0, 3), (1, 2)]),
    ("kernel k() {\n  let a = 1 // x\n  // y\n  // z\n}", [(0, 3), (2, 3)]),
]


@pytest.mark.parametrize(("source", "expected"), FOLDS)
def test_folding(source: str, expected: list[tuple[int, int]]) -> None:
    found = folding_ranges(cursor(source).snapshot)
    assert sorted((f.start_line, f.end_line) for f in found) == expected


def test_the_selection_grows_by_the_syntax() -> None:
    c = cursor("kernel k() {\n  let a = f(x + $0y, 2)\n}")
    (selected,) = selection_ranges(c.snapshot, [c.offset])
    texts = []
    at: lsp.SelectionRange | None = selected
    while at is not None:
        texts.append(c.text(at.range))
        at = at.parent
    assert texts[:5] == ["y", "x + y", "(x + y, 2)", "f(x + y, 2)", "let a = f(x + y, 2)"]
    assert texts[-1] == c.snapshot.text.decode()


SELECTIONS = [
    ("a name of a declaration", "kernel k() {\n  let $0a = 1\n}", ["a", "let a = 1"]),
    ("an operand", "kernel k() {\n  let a = 1 * $0b + 2\n}", ["b", "1 * b", "1 * b + 2", "let a = 1 * b + 2"]),
    ("a subscript", "kernel k() {\n  let a = A[$0i :+ 4, :]\n}", ["i", "i :+ 4", "[i :+ 4, :]", "A[i :+ 4, :]"]),
    ("a type", "kernel k(A: tensor<$0f32>[N]) {\n}", ["f32", "tensor<f32>[N]", "A: tensor<f32>[N]"]),
    ("a block", "kernel k() {\n  if c {\n    $0x = 1\n  }\n}",
     ["x", "x = 1", "{\n    x = 1\n  }", "if c {\n    x = 1\n  }"]),
    ("an attribute's argument", "@aligned(N = $0T)\nkernel k() {\n}", ["T", "N = T", "(N = T)", "@aligned(N = T)"]),
    ("a collective", "kernel k() {\n  let a = sum<over ctx.lane>($0x)\n}", ["x", "(x)", "sum<over ctx.lane>(x)"]),
    ("wide characters around", "// 😀é漢\nkernel k() {\n  let a = $0b // 漢\n}", ["b", "let a = b"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "expected"), [case[1:] for case in SELECTIONS], ids=[case[0] for case in SELECTIONS]
)
def test_how_a_selection_grows(source: str, expected: list[str]) -> None:
    c = cursor(source)
    (selected,) = selection_ranges(c.snapshot, [c.offset])
    texts = []
    at: lsp.SelectionRange | None = selected
    while at is not None:
        texts.append(c.text(at.range))
        at = at.parent
    assert texts[: len(expected)] == expected
    assert texts[-1] == c.snapshot.text.decode()
    assert all(inner in outer for inner, outer in pairwise(texts))


HIERARCHY = [
    ("a call in a call", "fn g(x) = x\nfn f(x) = x\nkernel k() {\n  let a = f($0g(1))\n}", ["g"]),
    ("a call in a function", "fn g(x) = x\nfn f(x) = $0g(x)\nkernel k() {\n}", ["g"]),
    ("a fold by a function", "fn f(a, b) = a + b\nkernel k() {\n  let s = reduce<over ctx.lane>(1.0, $0f)\n}", ["f"]),
    ("a call as a statement", "fn f(t) {\n  t[0] = 1.0\n}\nkernel k(A: tensor<f32>[4]) {\n  $0f(A)\n}", ["f"]),
    ("the end of a name", "fn f(x) = x\nkernel k() {\n  let a = f$0(1)\n}", ["f"]),
    ("a built-in has none", "kernel k() {\n  let a = $0exp(1.0)\n}", []),
    ("a local has none", "kernel k() {\n  let $0a = 1\n}", []),
    ("a name that nothing declares", "kernel k() {\n  let a = $0f(1)\n}", []),
    ("beside a syntax error", "fn f(x) = x\nkernel k() {\n  let a = $0f(1)\n  let =\n}", ["f"]),
]


@pytest.mark.parametrize(("source", "expected"), [case[1:] for case in HIERARCHY], ids=[case[0] for case in HIERARCHY])
def test_where_a_hierarchy_starts(source: str, expected: list[str]) -> None:
    c = cursor(source)
    assert [item.name for item in call_hierarchy.prepare(c.snapshot, c.offset)] == expected


CALLS = "fn g(x) = x\nfn f(x) = g(x) + g(1)\nkernel k() {\n  let a = f(1)\n}\nkernel l() {\n  let b = g(f(2))\n}"


def test_who_calls() -> None:
    c = cursor(CALLS)
    found = call_hierarchy.incoming(c.snapshot, "g")
    assert [(call.from_.name, [c.text(r) for r in call.from_ranges]) for call in found] == [
        ("l", ["g"]),
        ("f", ["g", "g"]),
    ]


def test_what_is_called() -> None:
    c = cursor(CALLS)
    found = call_hierarchy.outgoing(c.snapshot, "l")
    assert sorted(call.to.name for call in found) == ["f", "g"]


def test_the_hierarchy_starts_at_a_call_or_a_name() -> None:
    for source in ("fn $0f(x) = x\nkernel k() {}", "fn f(x) = x\nkernel k() {\n  let a = $0f(1)\n}", "kernel $0f() {}"):
        c = cursor(source)
        assert [item.name for item in call_hierarchy.prepare(c.snapshot, c.offset)] == ["f"]


def after(c: Cursor, edits: list[lsp.TextEdit]) -> str:
    text = c.snapshot.text
    for edit in reversed(edits):
        start, end = c.snapshot.offset(edit.range.start), c.snapshot.offset(edit.range.end)
        text = text[:start] + edit.new_text.encode() + text[end:]
    return text.decode()


UGLY = "kernel k( ) {\n  let a=1\n  let b = 2\nlet c=3\n}\n"


def test_formatting_a_document() -> None:
    c = cursor(UGLY)
    edits = formatting.format_document(c.snapshot)
    assert after(c, edits) == "kernel k() {\n  let a = 1\n  let b = 2\n  let c = 3\n}\n"
    # What is in style already is not touched.
    assert all("let b" not in edit.new_text for edit in edits)


def test_formatting_a_range() -> None:
    c = cursor(UGLY)
    at = c.snapshot.text.index(b"let c")
    assert after(c, formatting.format_range(c.snapshot, at, at + 3)) == UGLY.replace("let c=3", "  let c = 3")


def test_a_syntax_error_gives_no_edits() -> None:
    assert formatting.format_document(cursor("kernel k( {\n let a=1").snapshot) == []


def test_a_closing_brace_formats_its_line() -> None:
    c = cursor("kernel k() {\n  let a = 1\n    }$0\n")
    assert after(c, formatting.format_on_type(c.snapshot, c.offset, "}")) == "kernel k() {\n  let a = 1\n}\n"


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("kernel k() {\n$0", "  "),
        ("kernel k() {\n  if a {\n$0\n  }\n}", "    "),
        ("kernel k() {\n  // {\n$0\n}", "  "),
        ("kernel k() {\n  let a = 1\n$0}", "}"),
        ("kernel k() {\n      $0\n}", "  "),
        ("kernel k() {\n  for i in range(0, 4) {\n    if a {\n$0\n    }\n  }\n}", "      "),
        ("kernel k() {\n  if a {\n  } else {\n$0\n  }\n}", "    "),
        ("kernel k() {\n  if a {\n$0  }\n}", "  }"),
        ("kernel k() {\n}\n$0\nkernel l() {\n}", ""),
        ("fn f(x) {\n$0\n}", "  "),
        ("kernel k() {\n  // 😀é漢 {\n$0\n}", "  "),
        ("// {\nkernel k() {\n$0", "  "),
        ("kernel k() {\n\t$0\n}", "  "),
    ],
)
def test_a_new_line_is_indented(source: str, line: str) -> None:
    c = cursor(source)
    number = c.position.line
    assert after(c, formatting.format_on_type(c.snapshot, c.offset, "\n")).splitlines()[number] == line


def test_line_ends_are_kept() -> None:
    c = cursor("kernel k() {\r\nlet a=1\r\n}\r\n")
    assert after(c, formatting.format_document(c.snapshot)) == "kernel k() {\r\n  let a = 1\r\n}\r\n"


def test_a_selection_does_not_grow_without_end() -> None:
    """Not every client reads an answer in which thousands of objects lie in one another."""
    c = cursor("kernel k() {\n  let a = " + "(" * 300 + "$01" + ")" * 300 + "\n}\n")
    (selected,) = selection_ranges(c.snapshot, [c.offset])
    ranges = [selected.range]
    while selected.parent is not None:
        selected = selected.parent
        ranges.append(selected.range)
    assert len(ranges) == MOST_SELECTIONS
    assert c.text(ranges[0]) == "1"
    assert c.text(ranges[-1]) == c.snapshot.text.decode()
