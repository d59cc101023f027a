"""Functions at their calls: what the checked program becomes, where mistakes are shown, and what is known of names."""

from __future__ import annotations

from random import Random

import pytest

from phobos_core.analysis import AnalysisCache, CheckedFile, check
from phobos_core.analysis import program as pg
from phobos_core.language.diagnostic import Diagnostic
from phobos_core.syntax import Edit, Parser, parse
from phobos_core.syntax.tokens import tokenize
from tests.analysis.support import checked, source_of, statement_lines


def program(functions: str, body: str) -> list[str]:
    """The statements of a kernel of the standard parameters, after functions."""
    result = checked(functions + "\n" + source_of(body))
    assert [d for d in result.diagnostics if d.severity == "error"] == []
    kernel = result.kernels[0].kernel
    assert kernel is not None
    return [line for stmt in kernel.body for line in statement_lines(stmt)]


def shown(result: CheckedFile, diagnostic: Diagnostic) -> list[str]:
    """The texts at the diagnostic and at its related places, with what is said of the latter."""
    text = result.source.text
    at = [text[diagnostic.start : diagnostic.end].decode()]
    return at + [f"{text[r.start : r.end].decode()}: {r.message}" for r in diagnostic.related]


# The program.


@pytest.mark.parametrize(
    ("functions", "called", "written_out"),
    [
        ("fn p(x) = x * x", "let y = p(n + 1)", "let y = (n + 1) * (n + 1)"),
        ("fn p(a, b) = a - b", "let y = p(p(n, 1), 2)", "let y = (n - 1) - 2"),
        ("fn p(x) = g(x) + g(2)\nfn g(x) = x * T", "let y = p(n)", "let y = n * T + 2 * T"),
        ("fn p(x) = max(x, 0.0)", "A[:, :] = p(B[:, :]) * 2.0", "A[:, :] = max(B[:, :], 0.0) * 2.0"),
        ("fn p(t, i) = t[i, i + 1]", "let y = p(A, n)", "let y = A[n, n + 1]"),
        ("fn p(t, i) = t[i, 0]", "let y = p(A[n :, 2 :], 3)", "let y = A[n :, 2 :][3, 0]"),
        ("fn p(a, b) = dot(a, b)", "A[:, :] += p(B[:, :], A[:, :])", "A[:, :] += dot(B[:, :], A[:, :])"),
        ("fn p(x) = where(iota(1) < n, x, 0.0)", "var t = p(A[:, :])", "var t = where(iota(1) < n, A[:, :], 0.0)"),
        ("fn p(d) = iota(d)", "I[:, :] = p(1)", "I[:, :] = iota(1)"),
        ("fn p(t) = flat(t)", "var t = A[:, :]\nlet y = p(t)", "var t = A[:, :]\nlet y = flat(t)"),
        ("fn p(x) = x * 0.1", "D[:, :] = p(D[:, :])", "D[:, :] = D[:, :] * 0.1"),
        ("fn p(x, y) = x * y", "D[:, :] = p(D[:, :], -0.1)", "D[:, :] = D[:, :] * -0.1"),
        ("fn p(exp) = exp(exp)", "let y = p(s)", "let y = exp(s)"),
    ],
)
def test_an_expression_function_is_its_expression(functions: str, called: str, written_out: str) -> None:
    assert program(functions, called) == program("", written_out)


def test_literals_of_one_place_keep_what_each_call_gave_them() -> None:
    functions = "fn negative(x) = -x"
    written = "var t: tile<f64>[64, 64] = where(D[:, :] < 0.0, -0.1, -0.2)"
    called = "var t: tile<f64>[64, 64] = where(D[:, :] < 0.0, negative(0.1), negative(0.2))"
    assert program(functions, called) == program("", written)


@pytest.mark.parametrize(
    ("functions", "called", "written_out"),
    [
        ("fn p(t) {\nt += 1.0\n}", "var t = A[:, :]\np(t)", "var t = A[:, :]\nt += 1.0"),
        ("fn p(x) {\nA[x, 0] = 1.0\n}", "p(n)", "A[n, 0] = 1.0"),
        ("fn p(x) {\nA[x, 0] = 1.0\n}", "p(n + 1)", "let x = n + 1\nA[x, 0] = 1.0"),
        ("fn p(v) {\nA[:, :] = v\n}", "p(B[:, :])", "let v = B[:, :]\nA[:, :] = v"),
        ("fn p(v) {\nA[:, :] = v\n}", "p(B[:, :] * 2.0)", "let v = B[:, :] * 2.0\nA[:, :] = v"),
        (
            "fn p(k) {\nvar t: tile<f32>[k, 2] = 0.0\nfor i in range(0, k) {\nt[i, 0] = 1.0\n}\n}",
            "p(T)",
            "var t: tile<f32>[T, 2] = 0.0\nfor i in range(0, T) {\nt[i, 0] = 1.0\n}",
        ),
        ("fn p(u) {\nfor<unroll u> i in range(0, n) {\n}\n}", "p(T)", "for<unroll T> i in range(0, n) {\n}"),
    ],
)
def test_a_statement_function_is_its_statements(functions: str, called: str, written_out: str) -> None:
    assert program(functions, called) == program("", written_out)


def test_locals_of_two_calls_are_two_symbols() -> None:
    assert program("fn p(x) {\nlet y = x\n}", "let y = 1\np(n)\np(y)") == [
        "y: index = 1:index",
        "y#1: i32 = n",
        "y#2: index = y",
    ]


# Where mistakes are shown.


def test_a_mistake_in_a_body_is_shown_there_with_the_chain_of_calls() -> None:
    result = checked(
        "fn inner(x) = x + true\nfn outer(t) {\nt = inner(2)\n}\n" + source_of("var v = 0\nouter(v)\nouter(v)")
    )
    [found] = result.diagnostics
    assert found.code == "no-join"
    assert shown(result, found) == [
        "x + true",
        "inner(2): `inner` is called here",
        "outer(v): `outer` is called here",
        "outer(v): `outer` is called here",
    ]
    starts = [related.start for related in found.related]
    assert len(set(starts)) == 3


def test_a_mistake_that_several_kernels_reach_is_one() -> None:
    kernel = "kernel {}(n: i32) {{\n  let a = p(n)\n}}\n"
    result = checked(kernel.format("a") + "fn p(x) = x + true\n" + kernel.format("b"))
    [found] = result.diagnostics
    text = result.source.text
    assert text[: found.start].count(b"\n") == 3
    assert [text[: related.start].count(b"\n") for related in found.related] == [1, 5]
    assert [placed.kernel for placed in result.kernels] == [None, None]


def test_two_calls_with_two_mistakes_at_one_place_are_two() -> None:
    result = checked("fn p(x) = x + true\n" + source_of("let a = p(s)\nlet b = p(n)"))
    assert [d.message.split(":")[0] for d in result.diagnostics] == [
        "`+` on `f32` and `bool`",
        "`+` on `i32` and `bool`",
    ]


def test_many_calls_are_not_all_listed() -> None:
    result = checked("fn p(x) = x + true\n" + source_of("".join(f"let a{i} = p(n)\n" for i in range(30))))
    [found] = result.diagnostics
    assert len(found.related) == 10
    assert found.related[-1].message == "`p` is called here, and 20 more places like it"


def test_a_mistake_in_an_argument_is_shown_in_the_argument_and_once() -> None:
    result = checked("fn p(x) = x * x + x\n" + source_of("let y = p(n + true)"))
    [found] = result.diagnostics
    assert shown(result, found) == ["n + true"]


def test_what_a_body_makes_of_an_argument_is_said_of_the_parameter() -> None:
    result = checked("fn p(x) = g(x)\nfn g(value) = sqrt(value)\n" + source_of("let y = p(n > 0)"))
    [found] = result.diagnostics
    assert shown(result, found) == ["value", "g(x): `g` is called here", "p(n > 0): `p` is called here"]


def test_what_a_caller_makes_of_a_call_is_said_of_the_call() -> None:
    result = checked("fn p(x) = x > 0\n" + source_of("let y = sqrt(p(n))"))
    [found] = result.diagnostics
    assert shown(result, found) == ["p(n)"]


def test_a_rule_that_a_configuration_breaks_is_shown_in_the_body() -> None:
    functions = "fn p(a, b) = a + b\n"
    result = checked(
        functions + source_of("var t: tile<f32>[T, 4] = 0.0\nvar u: tile<f32>[16, 4] = 0.0\nvar v = p(t, u)")
    )
    [found] = result.diagnostics
    assert found.code == "shape-mismatch"
    assert "T = 64" in found.message
    assert shown(result, found)[0] == "a + b"
    assert shown(result, found)[-1] == "p(t, u): `p` is called here"
    assert "a: this is [T, 4]" in shown(result, found)


def test_one_broken_rule_inside_a_body_is_not_said_again_of_the_call() -> None:
    functions = "fn p(a, b) = a + b\n"
    body = (
        "var t: tile<f32>[T, 4] = 0.0\nvar u: tile<f32>[16, 4] = 0.0\nvar v: tile<f32>[8, 4] = 0.0\nv = p(t, u) * 2.0"
    )
    assert [d.code for d in checked(functions + source_of(body)).diagnostics] == ["shape-mismatch"]


def test_an_unknown_name_in_a_body_is_said_once_with_the_calls() -> None:
    result = checked("fn p(x) = x * scale + scale\n" + source_of("let a = p(n)\nlet b = p(1)\nlet c = scale"))
    first, second = result.diagnostics
    assert shown(result, first) == ["scale", "p(n): `p` is called here", "p(1): `p` is called here"]
    assert shown(result, second) == ["scale"]


# Functions that nothing calls.


@pytest.mark.parametrize(
    ("functions", "codes"),
    [
        ("fn p(x) = p(x)", ["recursive-function"]),
        ("fn p(x) {\ng(x)\n}\nfn g(x) {\np(x)\n}", ["recursive-function"]),
        ("fn p(x) = reduce<over ctx.lane>(x, p)", ["recursive-function"]),
        ("fn p(x) = p(x) + p(1)\nfn g(x) = p(x) + p(x)", ["recursive-function"]),
        ("fn p(p) = p(1)", []),
        ("fn p(x) {\nlet p = 1\n}", []),
        ("fn p(x) {\nreturn\n}", ["return-in-function"]),
        ("fn p(x) {\nbreak\n}", ["jump-outside-loop"]),
        ("fn p(x) {\nif x {\ncontinue\n} else if y {\nbreak\n}\n}", ["jump-outside-loop"] * 2),
        ("fn p(x) {\nwhile x {\nbreak\n}\nfor i in range(0, 1) {\ncontinue\n}\n}", []),
        ("fn p(x, x) = x", ["duplicate-name"]),
        ("fn p(x) = x +", ["syntax-error"]),
        ("fn p(x) {\nlet y = x + true\n}", []),
    ],
)
def test_what_is_wrong_with_a_function_alone(functions: str, codes: list[str]) -> None:
    assert [d.code for d in checked(functions + "\nkernel k() {\n}\n").diagnostics] == codes


def test_a_cycle_is_shown_with_the_calls_around() -> None:
    result = checked("fn a(x) = b(x)\nfn b(x) = 1 + c(x)\nfn c(x) = a(x)\nkernel k(n: i32) {\nlet y = c(n)\n}\n")
    [found] = result.diagnostics
    assert "`a` calls itself: `a` -> `b` -> `c` -> `a`" in found.message
    assert shown(result, found) == ["b", "c: `b` calls `c` here", "a: `c` calls `a` here"]
    assert result.kernels[0].kernel is None


def test_every_cycle_is_reported_once() -> None:
    result = checked("fn a(x) = b(x) + a(x)\nfn b(x) = a(x) + c(x)\nfn c(x) = c(x)\nkernel k() {\n}\n")
    assert [d.message.split(":")[1].split(";")[0] for d in result.diagnostics] == [
        " `a` -> `b` -> `a`",
        " `a` -> `a`",
        " `c` -> `c`",
    ]


def test_a_long_chain_of_functions() -> None:
    links = "".join(f"fn f{n}_(x) = f{n + 1}_(x)\n" for n in range(2000))
    result = checked(links + "fn f2000_(x) = f0_(x)\nkernel k(n: i32) {\nlet y = f0_(n)\n}\n")
    assert {d.code for d in result.diagnostics} == {"recursive-function", "nesting-too-deep"}


# How far inlining goes.


def test_bodies_nest_up_to_a_depth() -> None:
    def chain(length: int) -> list[str]:
        links = "".join(f"fn f{n}_(x) = f{n + 1}_(x) + 1\n" for n in range(length))
        source = links + f"fn f{length}_(x) = x\nkernel k(n: i32) {{\nlet y = f0_(n)\n}}\n"
        return [d.code for d in checked(source).diagnostics]

    assert chain(30) == []
    assert chain(500) == ["nesting-too-deep"]


def test_an_argument_used_over_and_over_is_bounded() -> None:
    uses = " + ".join(["x"] * 80)
    argument = " + ".join(["n"] * 90)
    calls = "".join(f"let y{i} = p({argument})\n" for i in range(10))
    result = checked(f"fn p(x) = {uses.replace('x + x', 'g(x)')}\nfn g(x) = x + x\n" + source_of(calls))
    assert {d.code for d in result.diagnostics} == {"too-much-inlined"}
    assert len(result.diagnostics) == 1


# What is known of names.


def test_references_and_calls_of_a_kernel() -> None:
    source = "fn p(x) = x + T\nfn g(t) {\nlet y = t\nt = p(y)\n}\n" + source_of("var v = 1\ng(v)\nlet w = p(v)")
    result = checked(source)
    [placed] = result.kernels
    offsets = {**result.library.offsets, "": placed.offset}

    def at(span: object) -> str:
        start, end, *_ = span  # type: ignore[misc]
        offset = offsets[span.item]  # type: ignore[attr-defined]
        return result.source.text[start + offset : end + offset].decode()

    inside = [(at(span), span.item, symbol.name) for span, symbol in placed.references if span.item]
    assert inside == [
        ("t", "g", "v"),
        ("y", "g", "y"),
        ("t", "g", "v"),
        ("y", "g", "y"),
        ("T", "p", "T"),
        ("T", "p", "T"),  # the second call, from the kernel
    ]
    assert [(at(span), span.item, name) for span, name in placed.calls] == [
        ("g", "", "g"),
        ("p", "g", "p"),
        ("p", "", "p"),
    ]
    assert [symbol.name for symbol in placed.symbols if symbol.span.item] == ["y"]


def test_an_argument_used_twice_is_one_reference() -> None:
    result = checked("fn p(x) = x + x * x\n" + source_of("let y = p(n)"))
    [placed] = result.kernels
    assert sum(symbol.name == "n" for _, symbol in placed.references) == 2  # the parameter, and its one mention


def test_what_a_function_says_of_its_own_names() -> None:
    source = (
        "fn p(t, x) {\n  let y = t[0] + free\n  for i in range(0, y) {\n    var t = i\n    t = g(t, x)\n  }\n"
        "  t[1] = x\n}\nfn g(a, b) = a + b\nkernel k() {\n}\n"
    )
    result = checked(source)
    placed = result.library.placed[0]
    text = placed.text.decode()
    facts = placed.facts
    names = [(text[s.start : s.end], s.start, d.kind, d.span.start) for s, d in facts.references]
    where = {name: [m.start for m in _words(text, name)] for name in ("t", "x", "y", "i")}
    t, x, y, i = where["t"], where["x"], where["y"], where["i"]
    assert sorted(names, key=lambda each: each[1]) == [
        ("t", t[0], "parameter", t[0]),
        ("x", x[0], "parameter", x[0]),
        ("y", y[0], "let", y[0]),
        ("t", t[1], "parameter", t[0]),
        ("i", i[0], "loop variable", i[0]),
        ("y", y[1], "let", y[0]),
        ("t", t[2], "var", t[2]),
        ("i", i[1], "loop variable", i[0]),
        ("t", t[3], "var", t[2]),
        ("t", t[4], "var", t[2]),
        ("x", x[1], "parameter", x[0]),
        ("t", t[5], "parameter", t[0]),
        ("x", x[2], "parameter", x[0]),
    ]
    assert [name.text for name in facts.calls] == ["g"]
    assert list(facts.named) == ["t"]
    assert [definition.name for definition in facts.definitions] == ["t", "x", "y", "i", "t"]


def _words(text: str, name: str) -> list:  # type: ignore[type-arg]
    return [token for token in tokenize(text) if token.text == name]


# Remembered results.


FILE = """\
fn scale(x) = x * factor

fn add(t, x) {
  let y = inner(x)
  t += y
}

fn inner(x) = x + 1.0

kernel a(A: tensor<f32>[4, 4], factor: f32) {
  var t = scale(A[:, :])
  add(t, 2.0)
  A[:, :] = t
}

kernel b(A: tensor<f32>[4, 4], s: f32) {
  var t = A[:, :]
  add(t, s)
  A[:, :] = t
}

kernel c(A: tensor<f32>[4, 4]) {
  A[:, :] = 0.0
}
"""


def test_an_edit_in_a_function_checks_its_callers_again_and_no_other() -> None:
    cache = AnalysisCache()

    def symbols(text: str) -> list[object]:
        return [placed.symbols for placed in check(parse(text), cache=cache).kernels]

    def again(old: str, new: str) -> list[bool]:
        before = symbols(FILE)
        return [was is not now for was, now in zip(before, symbols(FILE.replace(old, new)), strict=True)]

    assert again("x * factor", "x * factor * 2.0") == [True, False, False]
    assert again("x + 1.0", "x + 2.0") == [True, True, False]
    assert again("fn scale", "\n// moved\n\nfn scale") == [False, False, False]
    assert again("fn inner(x) = x + 1.0", "fn inner(x) = x + ") == [True, True, False]
    assert again("fn inner(x) = x + 1.0\n", "") == [True, True, False]
    assert again("kernel c", "fn unused(x) = x\n\nkernel c") == [False, False, False]


def test_a_body_that_moved_has_its_mistakes_where_it_stands() -> None:
    cache = AnalysisCache()
    text = "kernel k(n: i32) {\nlet x = p(n)\n}\nfn p(x) = x + true\n"
    for moved in (text, "\n\n" + text, text.replace("fn f", "// down\nfn f"), text.replace("kernel", "// é\nkernel")):
        [found] = check(parse(moved), cache=cache).diagnostics
        [related] = found.related
        assert moved.encode()[found.start : found.end] == b"x + true"
        assert moved.encode()[related.start : related.end] == b"p(n)"


def test_help_with_a_name_follows_the_functions_of_the_file() -> None:
    cache = AnalysisCache()
    kernel = "kernel k(n: i32) {\nlet x = scal(n)\n}\n"

    def help_of(functions: str) -> str | None:
        return check(parse(functions + kernel), cache=cache).diagnostics[0].help

    assert help_of("fn scaly(x) = x\n") == "did you mean `scaly`?"
    assert help_of("fn other(x) = x\nfn scalp(x) = x\n") == "did you mean `scalp`?"


@pytest.mark.parametrize("seed", range(8))
def test_an_edited_file_is_checked_as_a_fresh_one(seed: int) -> None:
    random = Random(seed)
    parser, cache = Parser(), AnalysisCache()
    file = parser.parse(FILE)
    words = ["x", "t", "add", "scale", "(", ")", "{", "}", "1.0", "true", "\n", "return", "inner", ",", "="]
    for _ in range(25):
        tokens = tokenize(file.text.decode())
        token = random.choice(tokens)
        if random.random() < 0.3:
            edit = Edit(0, len(file.text), FILE.encode())
        elif random.random() < 0.5:
            edit = Edit(token.start, token.end, b"")
        else:
            edit = Edit(token.start, token.start, random.choice(words).encode() + b" ")
        file = parser.edit(file, [edit])
        known, fresh = check(file, cache=cache), check(parse(file.text))
        assert known.diagnostics == fresh.diagnostics
        assert [_text(placed.kernel) for placed in known.kernels] == [_text(placed.kernel) for placed in fresh.kernels]


def _text(kernel: pg.CheckedKernel | None) -> list[str] | None:
    return None if kernel is None else [line for stmt in kernel.body for line in statement_lines(stmt)]
