"""One syntax error gives one diagnostic: what it may have swallowed stays silent, and the rest is still checked."""

import pytest

from tests.analysis.support import checked, codes

HEAD = "@autotune(T in [16, 64])\nkernel k(A: tensor<f32>[64, T], n: i32) {\n"
BODY = "  let x = n * 2\n  var t: tile<f32>[16, T] = A[x :+ 16, :]\n  t = where(iota(1) < x, t, 0.0)\n}\n"


@pytest.mark.parametrize(
    "source",
    [
        # The head: a name that the body uses may be lost.
        (HEAD + BODY).replace("@autotune", "autotune"),
        (HEAD + BODY).replace("[16, 64])", "[16, 64)"),
        (HEAD + BODY).replace("T in [", "T in "),
        (HEAD + BODY).replace("(A:", "(:"),
        (HEAD + BODY).replace("[64, T]", "[64, ]"),
        (HEAD + BODY).replace("n: i32", "n i32"),
        # A declaration: its name is on the broken line.
        (HEAD + BODY).replace("let x = n * 2", "lett x = n * 2"),
        (HEAD + BODY).replace("let x = n * 2", "let x = n * "),
        (HEAD + BODY).replace("n * 2", "n * * 2"),
        (HEAD + BODY).replace("[16, T] =", "[16, ] ="),
        (HEAD + BODY).replace("[16, T] = A", "[16, T = A"),
        # A loop whose variable is lost.
        (HEAD + "  for = range(0, n) {\n    let y = i + j\n  }\n}\n"),
    ],
)
def test_one_syntax_error_gives_one_diagnostic(source: str) -> None:
    assert [diagnostic.code for diagnostic in checked(source).diagnostics] == ["syntax-error"]


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ((HEAD + BODY).replace("@autotune", "@autotun"), "unknown-attribute"),
        ((HEAD + BODY).replace("T in [16, 64]", "T"), "attribute-argument"),
        ((HEAD + BODY).replace("T in [16, 64]", "T in [0, 64]"), "autotune-range"),
        ((HEAD + BODY).replace("tile<f32>", "tile<bool>"), "bool-storage"),
        ((HEAD + BODY).replace("tensor<f32>", "tensor<bool>"), "bool-storage"),
        ((HEAD + BODY).replace("tile<f32>[16, T]", "tile<f32>[16]"), "rank-mismatch"),
    ],
)
def test_other_mistakes_in_declarations_do_not_spread(source: str, code: str) -> None:
    assert [diagnostic.code for diagnostic in checked(source).diagnostics] == [code]


def test_the_rest_of_a_broken_kernel_is_checked() -> None:
    assert codes("let x = 1 +* 2\nlet y = n + true\nif f {\n  let z = zz\n}") == [
        "syntax-error",
        "no-join",
        "unknown-name",
    ]


def test_the_blocks_of_a_broken_statement_are_checked() -> None:
    assert codes("if n > * 3 {\n  let z = n + true\n} else {\n  break\n}\nwhile n > * 3 {\n  let z = n & s\n}") == [
        "syntax-error",
        "no-join",
        "jump-outside-loop",
        "syntax-error",
        "float-bit-operation",
    ]


def test_a_broken_kernel_next_to_a_good_one() -> None:
    result = checked("kernel a(n i32) {\n  let x = m\n}\n" + HEAD + BODY)
    assert [d.code for d in result.diagnostics] == ["syntax-error"]
    assert [k.kernel is None for k in result.kernels] == [True, False]
