"""Statements: assignment and its operators, control flow, declarations."""

import pytest

from tests.analysis.support import codes, found, lines_of


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("var x", "syntax-error"),
        ("var x: f32", "missing-initializer"),
        ("if n { }", "condition-type"),
        ("while 1.0 { }", "condition-type"),
        ("if A[:, :] { }", "condition-type"),
        ("break", "jump-outside-loop"),
        ("if f {\n continue\n}", "jump-outside-loop"),
        ("for i in range(0, 1.5) { }", "index-type"),
        ("for i in range(f, 4) { }", "index-type"),
        ("for i in range(0, 4, 0) { }", "bad-step"),
        ("for i in range(0, 4, 0 - 1) { }", "bad-step"),
        ("let z = 0\nfor i in range(0, 4, z) { }", "bad-step"),
        ("for<unroll 0> i in range(0, 4) { }", "bad-unroll"),
        ("for<unroll n> i in range(0, 4) { }", "not-constant"),
        ("for<unroll 2> i in range(0, 4, n) { }", "bad-unroll"),
        ("n + 1", "no-effect"),
        ("exp(s)", "no-effect"),
        ("A[:, :]", "no-effect"),
    ],
)
def test_one_mistake_gives_one_diagnostic(body: str, code: str) -> None:
    assert codes(body) == [code]


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(0, M) {\n if i == 3 { break } else if i == 4 { continue }\n while f { break }\n}\nreturn",
        "for i in range(n, m, n) { }",
        "for<unroll T> i in range(0, M, 4) {\n A[0, i] = 1.0\n}",
        "var t: tile<f32>[T, 64]\nt[0, 0] = 1.0",
    ],
)
def test_accepted(body: str) -> None:
    assert codes(body) == []


def test_a_statement_without_effect_is_a_warning() -> None:
    [diagnostic] = found("n == 3")
    assert diagnostic.severity == "warning"


def test_steps_that_some_configurations_make_zero() -> None:
    [diagnostic] = found("for i in range(0, 64, T - 16) { }")
    assert diagnostic.code == "bad-step"
    assert "T = 16" in diagnostic.message
    assert "T = 64" not in diagnostic.message


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("x += 2", "x = (x + 2:index)"),
        ("x <<= n", "x = (x << index(n))"),
        ("y -= x", "y = (y - f32(x))"),
        ("t *= 2.0", "t = (t * 2.0:f32)"),
        ("t += 2.0", "t += 2.0:f32"),
        ("t += r", "t += r"),
        ("t[0, 1] += y", "t[0:index, 1:index] += y"),
        ("t[0, 1] -= y", "t[0:index, 1:index] = (t[0:index, 1:index] - y)"),
        ("t[0 :+ 8, :] += y", "t[0:index :+ 8, 0:index :+ 64 unmasked] += y"),
        (
            "t[0 :+ 8, :] /= y",
            "t[0:index :+ 8, 0:index :+ 64 unmasked] = (t[0:index :+ 8, 0:index :+ 64 unmasked] / y)",
        ),
        ("I[0, x] += 1", "I[0:index, x] += 1:i32"),
        ("C[0, x] &= 15", "C[0:index, x] = i8((C[0:index, x] & 15:index))"),
        # The sum of an f16 and an f32 is an f32, and is rounded when it is stored.
        ("H[0, x] += y", "H[0:index, x] = f16((f32(H[0:index, x]) + y))"),
        ("q += t", "q = f16((f32(q) + t))"),
        # A scalar takes the tile's type.
        ("q += y", "q += f16(y)"),
    ],
)
def test_compound_assignment(statement: str, expected: str) -> None:
    before = "var x = 0\nvar y = 1.0\nvar t = A[:, :]\nlet r = R[:, :]\nvar q = H[:, :]"
    assert lines_of(f"{before}\n{statement}")[-1] == expected


def test_loops_and_branches() -> None:
    body = (
        "var x = 0\nfor i in range(n, M, T) {\n if x < 3 {\n  x = i\n } else if f {\n  break\n }\n}\n"
        "while x < 4 && f {\n x += 1\n}"
    )
    assert lines_of(body) == [
        "x: index = 0:index",
        "for i in index(n), <M>, <T>, unroll 1",
        "  if (x < 3:index)",
        "    x = i",
        "  else",
        "    if f",
        "      break",
        "while ((x < 4:index) && f)",
        "  x = (x + 1:index)",
    ]


def test_broken_statements_stay_silent() -> None:
    given = codes("let x = \nlet y = x + 1\nvar t: tile<f32>[ = y\nA[y, = t")
    assert set(given) == {"syntax-error"}


@pytest.mark.parametrize(
    ("body", "places"),
    [
        ("var x = 1\nx = 1.5", ["`x` is `index`"]),
        ("A[0, 0] = true", ["`A` is `tensor<f32>[64, 64]`"]),
        ("R[:, :] = A[:, :]", ["`R` is `tensor<f32>[1, 64]`"]),
        ("var t = A[0 :+ T, :]\nt = I[0 :+ T, :]", ["`t` is `tile<f32>[T, 64]`"]),
    ],
)
def test_the_declaration_of_the_target_is_a_related_place(body: str, places: list[str]) -> None:
    assert [r.message for d in found(body) for r in d.related] == places
