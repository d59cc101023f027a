"""Names that nothing reads: `$0` and `$1` are around each that is faded."""

from __future__ import annotations

import pytest
from lsprotocol import types as lsp

from phobos_ls.diagnostics import Shown, diagnostics
from phobos_ls.unused import unused_names
from tests.ls.cursor import Cursor, cursor

HEAD = "kernel k(A: tensor<f32>[64, 64], n: i32) {\n  A[0, n] = 1.0\n"


def names(c: Cursor) -> list[str]:
    found = unused_names(c.snapshot)
    for each in found:
        assert c.snapshot.spelled(each.start, each.end) == each.text
    return [each.text for each in found]


UNUSED = [
    ("  let x = 1\n", ["x"]),
    ("  let x = 1\n  let y = x\n", ["y"]),
    ("  var x = 1.0\n", ["x"]),
    ("  var x = 1.0\n  x = 2.0\n", ["x"]),
    ("  var x = 1.0\n  x += 2.0\n", ["x"]),
    ("  var x = 1.0\n  for i in range(0, 4) {\n    if i < n {\n      x = 2.0\n    }\n  }\n", ["x"]),
    ("  var t: tile<f32>[8, 8] = 0.0\n", ["t"]),
    ("  var t: tile<f32>[8, 8] = 0.0\n  t = A[0 :+ 8, 0 :+ 8]\n", ["t"]),
    ("  var t: tile<f32>[8, 8] = 0.0\n  t[0, :] = 1.0\n", ["t"]),
    ("  let v = A[0 :+ 8, 0 :+ 8]\n", ["v"]),
    ("  let x = 1\n  if n < 3 {\n    let x = 2\n    A[1, 1] = x\n  }\n", ["x"]),
    ("  let x = 1\n  let y = 2\n", ["x", "y"]),
]
READ = [
    "  let x = 1\n  A[0, x] = 2.0\n",
    "  let x = 1.0\n  A[0, 0] = x\n",
    "  var x = 1.0\n  x = x + 1.0\n",
    "  let _x = 1\n",
    "  let _ = 1\n",
    "  for i in range(0, 4) {\n    A[0, 0] += 1.0\n  }\n",
    "  let v = A[0 :+ 8, 0 :+ 8]\n  v[0, 0] = 1.0\n",  # storing through a view stores in the tensor
    "  var t: tile<f32>[8, 8] = 0.0\n  A[0 :+ 8, 0 :+ 8] = t\n",
    "  let x = 1\n  let t: tile<f32>[8, 8] = 0.0\n  A[x :+ 8, 0 :+ 8] = t\n",
]


@pytest.mark.parametrize(("body", "expected"), UNUSED)
def test_names_that_are_unused(body: str, expected: list[str]) -> None:
    assert names(cursor(f"{HEAD}{body}}}\n")) == expected


@pytest.mark.parametrize("body", READ)
def test_names_that_are_read(body: str) -> None:
    assert names(cursor(f"{HEAD}{body}}}\n")) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("kernel k(A: tensor<f32>[64], n: i32) {\n}\n", ["A", "n"]),
        ("kernel k(A: tensor<f32>[64], n: i32) {\n  A[0] = 1.0\n}\n", ["n"]),  # storing is what a tensor is for
        ("kernel k(A: tensor<f32>[N], n: i32) {\n  A[N - 1] = f32(n)\n}\n", []),  # `N` may go unread as well
        ("kernel k(A: tensor<f32>[N], _n: i32) {\n  A[0] = 1.0\n}\n", []),
        ("@autotune(T in [1, 2])\nkernel k(A: tensor<f32>[N]) {\n  A[0] = 1.0\n}\n", []),
        ("fn f(x, y) = x\nkernel k(A: tensor<f32>[64]) {\n  A[0] = f(1.0, 2.0)\n}\n", ["y"]),
        ("fn f(x) {\n  let y = x\n}\n", ["y"]),
        ("fn f(x) {\n  var y = x\n  y = 2.0\n}\n", ["y"]),
        ("fn f(t) {\n  t[0] = 2.0\n}\n", []),
        ("fn f(_t) {\n}\n", []),
        # The body of a function is the function's, however often it is called.
        ("fn f(x) {\n  let y = x\n}\nkernel k(n: i32) {\n  f(n)\n  f(n)\n}\n", ["y"]),
    ],
)
def test_parameters_and_functions(source: str, expected: list[str]) -> None:
    assert names(cursor(source)) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("  let x = 1\n  A[0, 0] = y + x\n", []),  # what is wrong may be what hides a read
        ("  let x = 1\n  A[0, 0] = unknown(x)\n", []),
        ("  let x = 1\n  A[0, 0] = x +\n", []),
        ("  let x = 1\n  A[0, 0] = \n", ["x"]),
        ("  let spare = 1\n  A[0, 0] = y\n", ["spare"]),
    ],
)
def test_in_a_kernel_with_a_mistake(body: str, expected: list[str]) -> None:
    assert names(cursor(f"{HEAD}{body}}}\n")) == expected


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_the_place(encoding: str) -> None:
    c = cursor(f"// é語😀\n{HEAD}  let $0spare$1 = 1 // 語😀\n}}\n", encoding=encoding)
    (found,) = diagnostics(c.snapshot, Shown())
    assert found.range == c.snapshot.range(c.offsets[0], c.offsets[1])
    assert found.severity is lsp.DiagnosticSeverity.Hint
    assert found.tags == [lsp.DiagnosticTag.Unnecessary]
    assert found.message == "the name `spare` is never read"


def test_a_client_that_cannot_fade_is_not_told() -> None:
    c = cursor(f"{HEAD}  let spare = 1\n}}\n")
    assert diagnostics(c.snapshot, Shown(unnecessary=False)) == []
