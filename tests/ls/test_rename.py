"""Rename: all that is meant changes, and a name that would not do is refused with the reason."""

import pytest
from lsprotocol import types as lsp

from phobos_core.syntax import parse
from phobos_ls.features.rename import RenameRefused, prepare, rename
from phobos_ls.snapshot import Snapshot
from tests.ls.cursor import URI, Cursor, cursor


def applied(c: Cursor, edit: lsp.WorkspaceEdit) -> str:
    assert edit.changes is not None
    text = c.snapshot.text
    for change in reversed(edit.changes[URI]):
        start, end = c.snapshot.offset(change.range.start), c.snapshot.offset(change.range.end)
        text = text[:start] + change.new_text.encode() + text[end:]
    return text.decode()


RENAMED = [
    (
        "kernel k() {\n  for $0i in range(0, 4) {\n    let b = i\n  }\n}",
        "kernel k() {\n  for new in range(0, 4) {\n    let b = new\n  }\n}",
    ),
    ("kernel k() {\n  var a = 1\n  a += $0a\n}", "kernel k() {\n  var new = 1\n  new += new\n}"),
    (
        "@autotune($0T in [4, 8])\n@aligned(N = T)\nkernel k(A: tensor<f32>[N, T]) {\n  let a = T\n}",
        "@autotune(new in [4, 8])\n@aligned(N = new)\nkernel k(A: tensor<f32>[N, new]) {\n  let a = new\n}",
    ),
    ("@aligned(N = 4)\nkernel k(A: tensor<f32>[$0N]) {}", "@aligned(new = 4)\nkernel k(A: tensor<f32>[new]) {}"),
    (
        "@registers($0t)\nkernel k(A: tensor<f32>[64, 64]) {\n  var t: tile<f32>[64, 64] = A[:, :]\n  A[:, :] = t\n}",
        "@registers(new)\nkernel k(A: tensor<f32>[64, 64]) {\n"
        "  var new: tile<f32>[64, 64] = A[:, :]\n  A[:, :] = new\n}",
    ),
    (
        "fn $0f(a, b) = a + b\nkernel k() {\n  let s = reduce<over ctx.lane>(1.0, f)\n}",
        "fn new(a, b) = a + b\nkernel k() {\n  let s = reduce<over ctx.lane>(1.0, new)\n}",
    ),
    (
        "fn f(x) {\n  let $0y = 1.0\n  x[0] = y\n}\nkernel k(A: tensor<f32>[4]) {\n  let y = 2\n  f(A)\n}",
        "fn f(x) {\n  let new = 1.0\n  x[0] = new\n}\nkernel k(A: tensor<f32>[4]) {\n  let y = 2\n  f(A)\n}",
    ),
    (
        "kernel k() {\r\n  let $0a = 1 // 😀é漢 a\r\n  let b = a\r\n}",
        "kernel k() {\r\n  let new = 1 // 😀é漢 a\r\n  let b = new\r\n}",
    ),
    ("kernel k() {\n  let $0a = 1\n  let b = a\n}", "kernel k() {\n  let new = 1\n  let b = new\n}"),
    ("kernel k() {\n  let a = 1\n  let b = $0a * a\n}", "kernel k() {\n  let new = 1\n  let b = new * new\n}"),
    ("kernel k(A: tensor<f32>[$0N], B: tensor<f32>[N]) {}", "kernel k(A: tensor<f32>[new], B: tensor<f32>[new]) {}"),
    ("fn $0f(x) = x\nkernel k() {\n  let a = f(1)\n}", "fn new(x) = x\nkernel k() {\n  let a = new(1)\n}"),
    ("fn f($0x) = x + 1\nkernel k() {\n  let a = f(1)\n}", "fn f(new) = new + 1\nkernel k() {\n  let a = f(1)\n}"),
    ("kernel $0k() {}", "kernel new() {}"),
    (
        "fn f(x) = x + z\nkernel k($0z: i32) {\n  let a = f(1)\n}\nkernel l(z: i32) {\n  let a = f(1)\n}",
        "fn f(x) = x + new\nkernel k(new: i32) {\n  let a = f(1)\n}\nkernel l(new: i32) {\n  let a = f(1)\n}",
    ),
    (
        "kernel k() {\n  let a = 1\n  if a > 0 {\n    let $0a = 2\n    let b = a\n  }\n}",
        "kernel k() {\n  let a = 1\n  if a > 0 {\n    let new = 2\n    let b = new\n  }\n}",
    ),
]


@pytest.mark.parametrize(("source", "expected"), RENAMED)
def test_rename(source: str, expected: str) -> None:
    c = cursor(source)
    text = applied(c, rename(c.snapshot, c.offset, "new"))
    assert text == expected
    after = Snapshot(URI, 2, parse(text)).checked.diagnostics
    assert [d.code for d in after] == [d.code for d in c.snapshot.checked.diagnostics]


REFUSED = [
    ("let", "kernel k() {\n  let $0a = 1\n}", "word of the language"),
    ("ctx", "kernel k() {\n  let $0a = 1\n}", "word of the language"),
    ("1a", "kernel k() {\n  let $0a = 1\n}", "not a name"),
    ("", "kernel k() {\n  let $0a = 1\n}", "a name is needed"),
    ("é", "kernel k() {\n  let $0a = 1\n}", "not a name"),
    ("b", "kernel k() {\n  let $0a = 1\n  let b = 2\n}", "already declared"),
    (
        "b",
        "kernel k() {\n  let a = 1\n  if a > 0 {\n    let b = 2\n    let c = $0a\n  }\n}",
        "already means something else",
    ),
    ("g", "fn $0f(x) = x\nfn g(x) = x\nkernel k() {}", "already declared"),
    ("dot", "fn $0f(x) = x\nkernel k() {\n  let a = f(1)\n}", "built-in"),
    ("N", "kernel k(A: tensor<f32>[N], $0n: i32) {}", "error"),
    (
        "T",
        "@autotune(T in [4, 8])\nkernel k(A: tensor<f32>[N, 64], n: i32) {\n"
        "  let row = n * T\n  let $0next = row\n  A[next :+ T, :] = A[row :+ T, :]\n}",
        "`T` already means something else where `next` is used",
    ),
    ("x", "kernel k() {\n  let a = $01\n}", "no name"),
    ("x", "kernel k() {\n  let a = e$0xp(1.0)\n}", "no name"),
]


@pytest.mark.parametrize(("name", "source", "reason"), REFUSED)
def test_refused(name: str, source: str, reason: str) -> None:
    c = cursor(source)
    with pytest.raises(RenameRefused, match=reason):
        rename(c.snapshot, c.offset, name)


def test_a_name_keeps_its_own_name() -> None:
    c = cursor("kernel k() {\n  let $0a = 1\n}")
    assert applied(c, rename(c.snapshot, c.offset, "a")) == c.snapshot.text.decode()


def test_prepare_gives_the_name_under_the_cursor() -> None:
    c = cursor("kernel k() {\n  let abc = 1\n  let b = ab$0c\n}")
    found = prepare(c.snapshot, c.offset)
    assert found is not None
    assert (found.placeholder, c.text(found.range)) == ("abc", "abc")


@pytest.mark.parametrize(
    "source", ["kernel k() {\n  let a = $01\n}", "$0kernel k() {}", "kernel k() {\n  let a = ex$0p(1.0)\n}"]
)
def test_nothing_to_rename(source: str) -> None:
    c = cursor(source)
    assert prepare(c.snapshot, c.offset) is None
