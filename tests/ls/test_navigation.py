"""Go to definition, references, highlight: the places of each answer are marked in the source, `$0` is the cursor."""

from pathlib import Path

import pytest
from lsprotocol import types as lsp
from pygls.uris import to_fs_path

from phobos_core.syntax.lines import Encoding
from phobos_ls.features.navigation import definition, highlight, references
from tests.ls.cursor import Cursor, cursor

KERNEL = "@autotune(T in [1, 2])\nkernel k(A: tensor<f32>[N, T], n: i32) {{\n{}\n}}\n"


def marked(c: Cursor, name: str) -> list[tuple[int, int]]:
    """The names at the marks 1 to 9."""
    return sorted((at, at + len(name)) for number, at in c.offsets.items() if number)


def places(c: Cursor, ranges: list[lsp.Range]) -> list[tuple[int, int]]:
    return [(c.snapshot.offset(r.start), c.snapshot.offset(r.end)) for r in ranges]


DEFINITIONS = [
    ("a local", "a", KERNEL.format("let $1a = 1\nlet b = $0a")),
    ("from its own declaration", "a", KERNEL.format("let $0$1a = 1")),
    ("at the end of the name", "ab", KERNEL.format("let $1ab = 1\nlet b = ab$0")),
    ("an inner one that shadows", "a", KERNEL.format("let a = 1\nif n > 0 {\nlet $1a = 2\nlet b = $0a\n}")),
    ("a loop variable", "i", KERNEL.format("for $1i in range(0, 4) {\nlet b = $0i\n}")),
    ("an assigned tile", "t", KERNEL.format("var $1t: tile<f32>[4, 4] = 0.0\n$0t += 1.0")),
    ("an indexed tile", "t", KERNEL.format("var $1t: tile<f32>[4, 4] = 0.0\n$0t[0, 0] = 1.0")),
    ("a tensor", "A", "kernel k($1A: tensor<f32>[N]) {\n  $0A[0] = 1.0\n}"),
    ("a scalar parameter", "n", "kernel k($1n: i32) {\n  let a = $0n\n}"),
    ("a dimension, at the tensor that brings it", "N", "kernel k(A: tensor<f32>[$1N]) {\n  let a = $0N\n}"),
    ("a search name", "T", "@autotune($1T in [1, 2])\nkernel k() {\n  let a = $0T\n}"),
    ("a function", "f", "fn $1f(x) = x\nkernel k() {\n  let a = $0f(1)\n}"),
    ("a function of a function", "g", "fn $1g(x) = x\nfn f(x) = $0g(x)\nkernel k() {}"),
    ("a parameter of a function", "x", "fn f($1x) = $0x + 1\nkernel k() {}"),
    ("a local of a function", "y", "fn f(x) {\n  let $1y = x\n  x = $0y\n}\nkernel k() {}"),
    (
        "a free name of a function, in each caller",
        "z",
        "fn f(x) = x + $0z\nkernel k($1z: i32) {\n  let a = f(1)\n}\nkernel l() {\n  let $2z = 2\n  let b = f(1)\n}",
    ),
    ("beside a syntax error", "a", KERNEL.format("let $1a = 1\nlet b = $0a\nlet = 3")),
    ("a name of a chain of branches", "a", KERNEL.format("let $1a = 1\nif n > 0 {\n} else if $0a > 0 {\n}")),
    ("of two branches, its own", "a", KERNEL.format("if n > 0 {\nlet a = 1\n} else {\nlet $1a = 2\nlet b = $0a\n}")),
    ("behind a block that shadows", "a", KERNEL.format("let $1a = 1\nif n > 0 {\nlet a = 2\n}\nlet b = $0a")),
    (
        "the inner of two loops",
        "i",
        KERNEL.format("for i in range(0, 4) {\nfor $1i in range(0, 4) {\nlet b = $0i\n}\n}"),
    ),
    ("the bounds of an inner loop", "i", KERNEL.format("for $1i in range(0, 4) {\nfor j in range(0, $0i) {\n}\n}")),
    ("a name that hides a parameter", "n", KERNEL.format("let $1n = 1\nlet b = $0n")),
    ("the value that hides it", "n", "kernel k($1n: i32) {\n  let n = $0n + 1\n}"),
    (
        "a count of unrolling",
        "T",
        "@autotune($1T in [1, 2])\nkernel k() {\n  for<unroll $0T> i in range(0, 4) {\n  }\n}",
    ),
    ("a promised dimension", "N", "@aligned($0N = 4)\nkernel k(A: tensor<f32>[$1N]) {\n}"),
    ("what divides it", "T", "@autotune($1T in [4, 8])\n@aligned(N = $0T)\nkernel k(A: tensor<f32>[N]) {\n}"),
    (
        "a tile kept in registers",
        "t",
        "@registers($0t)\nkernel k(A: tensor<f32>[64, 64]) {\n  var $1t: tile<f32>[64, 64] = A[:, :]\n  A[:, :] = t\n}",
    ),
    ("the function of a fold", "f", "fn $1f(a, b) = a + b\nkernel k() {\n  let s = reduce<over ctx.lane>(1.0, $0f)\n}"),
    (
        "a width of a collective",
        "T",
        "@autotune($1T in [4, 8])\nkernel k() {\n  let s = sum<over ctx.lane, width $0T>(1.0)\n}",
    ),
    ("an argument that a body writes", "t", "fn f(t) {\n  t[0] = 1.0\n}\nkernel k($1t: tensor<f32>[4]) {\n  f($0t)\n}"),
    (
        "a local of a function's loop",
        "y",
        "fn f(x) {\n  for i in range(0, 4) {\n    let $1y = i\n    x[i] = $0y\n  }\n}\nkernel k() {\n}",
    ),
    ("a function in a function's block", "g", "fn $1g(x) = x\nfn f(t) {\n  t[0] = $0g(1.0)\n}\nkernel k() {\n}"),
    (
        "behind wide characters",
        "a",
        "kernel k() {\n  let $1a = 1 // 😀é漢\n  /**/let b = $0a // 漢\n}".replace("/**/", ""),
    ),
    ("lines that end with two characters", "a", "kernel k() {\r\n  let $1a = 1\r\n  let b = $0a\r\n}"),
    ("in brackets that are not closed", "a", "kernel k() {\n  let $1a = 1\n  let b = exp(max($0a,\n}"),
    ("in a subscript that is not closed", "n", "kernel k(A: tensor<f32>[4], $1n: i32) {\n  A[$0n :+\n}\n"),
    ("in a text that breaks off", "a", "kernel k() {\n  let $1a = 1\n  let b = $0a +"),
    ("the second of two kernels", "a", "kernel k() {\n  let a = 1\n}\nkernel l() {\n  let $1a = 2\n  let b = $0a\n}"),
    ("in a kernel that the checker refuses", "a", KERNEL.format("let $1a = 1\nlet b = zzz\nlet c = $0a")),
]


@pytest.mark.parametrize(("name", "source"), [(n, s) for _, n, s in DEFINITIONS], ids=[t for t, _, _ in DEFINITIONS])
def test_definition(name: str, source: str) -> None:
    c = cursor(source)
    assert places(c, [place.range for place in definition(c.snapshot, c.offset)]) == marked(c, name)


@pytest.mark.parametrize(
    "source",
    [
        "kernel k() {\n  let a = $01\n}",
        "$0// exp\nkernel k() {}",
        "ker$0nel k() {}",
        "kernel k() {\n  let a = 1 $0+ 2\n}",
        "kernel k() {\n  unkn$0own(1)\n}",
        "@unkn$0own\nkernel k() {}",
        "kernel k() {\n  let a: f$032 = 1.0\n}",
        "$0",
    ],
)
def test_no_definition(source: str) -> None:
    c = cursor(source)
    assert definition(c.snapshot, c.offset) == []


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("kernel k() {\n  let a = e$0xp(1.0)\n}", "exp"),
        ("kernel k() {\n  let a = su$0m<over ctx.lane>(1.0)\n}", "sum"),
        ("kernel k() {\n  let a = sum<over ctx.la$0ne>(1.0)\n}", "ctx.lane"),
        ("kernel k() {\n  let a = ctx.block.$0x\n}", "ctx.block.x"),
        ("@lau$0nch(32)\nkernel k() {}", "@launch"),
    ],
)
def test_a_word_of_the_language_leads_to_its_page(source: str, title: str) -> None:
    c = cursor(source)
    (found,) = definition(c.snapshot, c.offset)
    path = to_fs_path(found.uri)
    assert path is not None
    assert Path(path).read_text(encoding="utf-8").startswith(f"# {title}\n")


def test_a_name_of_the_file_comes_before_the_language() -> None:
    c = cursor("kernel k() {\n  let $1exp = 1\n  let b = $0exp + 1\n}")
    assert places(c, [place.range for place in definition(c.snapshot, c.offset)]) == marked(c, "exp")


REFERENCES = [
    ("a local", "a", KERNEL.format("let $0$1a = 1\nlet b = $2a + $3a")),
    (
        "not the one that it shadows",
        "a",
        KERNEL.format("let a = 1\nif n > 0 {\nlet $1a = 2\nlet b = $0$2a\n}\nlet c = a"),
    ),
    ("a tensor", "A", "kernel k($1A: tensor<f32>[N]) {\n  $2A[0] = $0$3A[1]\n}"),
    ("a dimension", "N", "kernel k(A: tensor<f32>[$0$1N], B: tensor<f32>[$2N]) {\n  let a = $3N\n}"),
    (
        "a search name in attributes",
        "T",
        "@autotune($1T in [4, 8])\n@aligned(N = $2T)\nkernel k(A: tensor<f32>[N, $3T]) {\n  let a = $0$4T\n}",
    ),
    (
        "a function",
        "f",
        "fn $0$1f(x) = x\nfn g(x) = $2f(x)\nkernel k() {\n  let a = $3f(1)\n}\nkernel l() {\n  let a = $4f(1)\n}",
    ),
    (
        "a name that a function's body takes from its callers",
        "z",
        "fn f(x) = x + $1z\nkernel k($0$2z: i32) {\n  let a = f($3z)\n}",
    ),
    ("the parameter of one function only", "x", "fn f($0$1x) = $2x\nfn g(x) = x\nkernel k() {}"),
]


@pytest.mark.parametrize(("name", "source"), [(n, s) for _, n, s in REFERENCES], ids=[t for t, _, _ in REFERENCES])
def test_references(name: str, source: str) -> None:
    c = cursor(source)
    assert places(c, [place.range for place in references(c.snapshot, c.offset)]) == marked(c, name)


def test_references_without_the_declaration() -> None:
    c = cursor("kernel k() {\n  let a = 1\n  let b = $0$1a\n}")
    found = references(c.snapshot, c.offset, declared=False)
    assert places(c, [place.range for place in found]) == marked(c, "a")


def test_highlights_tell_writing_from_reading() -> None:
    c = cursor("kernel k() {\n  var a = 1\n  a = a + 1\n  a += $0a\n}")
    found = highlight(c.snapshot, c.offset)
    read, write = lsp.DocumentHighlightKind.Read, lsp.DocumentHighlightKind.Write
    assert [h.kind for h in found] == [write, write, read, write, read]


def test_a_store_to_an_element_writes() -> None:
    c = cursor("kernel k($0A: tensor<f32>[4]) {\n  A[0] = A[1]\n}")
    found = highlight(c.snapshot, c.offset)
    read, write = lsp.DocumentHighlightKind.Read, lsp.DocumentHighlightKind.Write
    assert [h.kind for h in found] == [write, write, read]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_ranges_are_in_the_clients_encoding(encoding: Encoding) -> None:
    # The name stands behind a comment-like text with wide characters on its line: statements may share one.
    source = "// 😀é漢\nkernel k(A: tensor<f32>[4]) { A[0] = 1.0; let b = 2; A[1] = f32($0b) } // 😀é漢"
    c = cursor(source, encoding=encoding)
    for place in references(c.snapshot, c.offset):
        assert c.text(place.range) == "b"
