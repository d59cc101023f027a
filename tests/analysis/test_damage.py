"""One syntax error gives one diagnostic: what it may have swallowed stays silent, and the rest is still checked."""

import pytest

from phobos_core.analysis import CheckedFile
from phobos_core.syntax import parse
from phobos_core.syntax.tokens import tokenize
from tests.analysis.support import checked, codes, statement_lines

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


FUNCTIONS = """\
fn scale (x, s) = x * s + x
fn fill (t, v) {
  for i in range(0, 4) {
    t[i, 0] = v
  }
  let u = scale(v, 2.0)
  if v > 0.0 {
    t[0, 0] = u
  }
}
"""
CALLER = """\
kernel k(A: tensor<f32>[16, 16], s: f32) {
  var t: tile<f32>[16, 16] = scale(A[:, :], s)
  fill(t, s)
  A[:, :] = t
}
"""


def program_of(result: CheckedFile) -> list[str] | None:
    kernel = result.kernels[-1].kernel
    return None if kernel is None else [line for stmt in kernel.body for line in statement_lines(stmt)]


def test_a_broken_function_is_silent_where_it_is_called() -> None:
    """One token too few, or one too many, in functions that a kernel calls: it is not compiled without them."""
    whole = checked(FUNCTIONS + CALLER)
    assert whole.diagnostics == ()
    for token in tokenize(FUNCTIONS)[:-1]:
        for damage in ("", "let", "(", ")", "]", "}", ",", "=", ":", "else", "@", "+", "#"):
            end = token.end if not damage else token.start
            text = f"{FUNCTIONS[: token.start]} {damage} {FUNCTIONS[end:]}"
            if parse(text).diagnostics:
                result = checked(text + CALLER)
                assert len(result.diagnostics) <= 1, text
                if damage != "}":  # which ends the function early
                    assert program_of(result) in (None, program_of(whole)), text


def test_a_function_being_written_is_silent_where_it_is_called() -> None:
    # From the first parameter on: before, there is no function.
    for end in range(len("fn scale ("), len(FUNCTIONS)):
        given = [d.code for d in checked(FUNCTIONS[:end] + "\n" + CALLER).diagnostics if "`fill`" not in d.message]
        assert len(given) <= 1, FUNCTIONS[:end]


def test_the_mistakes_of_a_broken_function_wait() -> None:
    functions = "fn a(x) {\n  return +\n}\nfn b(x) = x + * true\n"
    result = checked(functions + "kernel k(n: i32) {\n  a(n)\n  let y = b(n) + zz\n}\n")
    assert [d.code for d in result.diagnostics] == ["syntax-error", "syntax-error", "unknown-name"]


def test_a_kernel_that_calls_no_broken_function_is_whole() -> None:
    kernels = "kernel k(n: i32) {\n  let y = g(n)\n}\nkernel l(n: i32) {\n  let y = f(n)\n}\n"
    result = checked("fn f(x) = x *\nfn g(x) = x\n" + kernels)
    assert [d.code for d in result.diagnostics] == ["syntax-error"]
    assert [placed.kernel is None for placed in result.kernels] == [False, True]
