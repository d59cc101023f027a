"""How far values differ between threads, why, and what is written on the program. The texts by every route, with
relatives that are accepted, are in `tests/spec/uniformity.md`."""

from __future__ import annotations

import cProfile
import pickle
from collections.abc import Callable

import pytest

from phobos_core.analysis import CheckedFile, check
from phobos_core.analysis import program as pg
from phobos_core.analysis.walk import walk
from phobos_core.language.context import Variation
from phobos_core.language.diagnostic import Diagnostic
from phobos_core.syntax import parse

PARAMS = (
    "A: tensor<f32>[256, 64], C: tensor<f32>[256, 64], X: tensor<i32>[256], O: tensor<f32>[256],"
    " COUNT: tensor<i32>[4], n: i32, s: f32"
)


def file_of(body: str, functions: str = "") -> CheckedFile:
    return check(parse(f"kernel k({PARAMS}) {{\n{body}\n}}\n{functions}"))


def kernel_of(body: str, functions: str = "") -> pg.CheckedKernel:
    result = file_of(body, functions)
    assert result.diagnostics == ()
    kernel = result.kernels[0].kernel
    assert kernel is not None
    return kernel


def covered(file: CheckedFile, found: Diagnostic) -> str:
    return file.source.text[found.start : found.end].decode()


def chain(file: CheckedFile, found: Diagnostic) -> list[tuple[str, str]]:
    """The related places, each with the text that it covers."""
    return [(file.source.text[r.start : r.end].decode(), r.message) for r in found.related]


# Where a diagnostic stands, and its chain of reasons.

CHAINS = [
    (
        "if ctx.lane == 0 {\n  barrier()\n}",
        "`barrier` runs once per CTA, so every thread must reach it",
        "barrier()",
        [
            ("ctx.lane == 0", "this condition, `ctx.lane == 0`, differs between lanes"),
            ("ctx.lane", "`ctx.lane` differs between lanes"),
        ],
    ),
    (
        "let c = ctx.lane + 1\nlet d = c * 2\nvar t = A[d + 1 :+ 4, :]",
        "`tile copy` takes `d + 1`, which differs between lanes",
        "d + 1",
        [
            ("c", "`d` differs between lanes because it comes from `c`"),
            ("ctx.lane", "`c` differs between lanes because it comes from `ctx.lane`"),
        ],
    ),
    (
        "let i = ctx.thread % 32\nlet x = X[X[i] + 1]\nvar t = A[0 :+ 4, :] * f32(x)",
        "`tile expression` takes `f32(x)`, which differs between lanes",
        "f32(x)",
        [
            (
                "X[X[i] + 1]",
                "`x` differs between lanes because it comes from `X[X[i] + 1]`, read at an address that does",
            ),
            ("ctx.thread", "`i` differs between lanes because it comes from `ctx.thread`"),
        ],
    ),
    (
        "var t = A[X[ctx.thread] :+ 4, :]",
        "`tile copy` takes `X[ctx.thread]`, which differs between lanes",
        "X[ctx.thread]",
        [
            ("X[ctx.thread]", "`X[ctx.thread]` is read at an address that differs between lanes"),
            ("ctx.thread", "`ctx.thread` differs between lanes"),
        ],
    ),
    (
        "let x = sum(O[ctx.thread :+ 4])\nif x > s { barrier() }",
        "`barrier` runs once per CTA, so every thread must reach it",
        "barrier()",
        [
            ("x > s", "this condition, `x > s`, differs between lanes"),
            (
                "O[ctx.thread :+ 4]",
                "`x` differs between lanes because it comes from `O[ctx.thread :+ 4]`, read at an address that does",
            ),
            ("ctx.thread", "`ctx.thread` differs between lanes"),
        ],
    ),
    (
        "var row = 0\nif X[ctx.lane] > n {\n  row = 4\n}\nvar t = A[row :+ 4, :]",
        "`tile copy` takes `row`, which differs between lanes",
        "row",
        [
            ("row = 4", "`row` differs between lanes because it is assigned under control that does"),
            ("X[ctx.lane] > n", "this condition, `X[ctx.lane] > n`, differs between lanes"),
            ("X[ctx.lane]", "`X[ctx.lane]` is read at an address that differs between lanes"),
            ("ctx.lane", "`ctx.lane` differs between lanes"),
        ],
    ),
    (
        "for i in range(ctx.lane, 64, 32) {\n  for j in range(0, i) {\n    barrier()\n  }\n}",
        "`barrier` runs once per CTA, so every thread must reach it",
        "barrier()",
        [
            ("i", "a bound of this loop, `i`, differs between lanes"),
            ("ctx.lane", "`i` differs between lanes because a bound of its loop comes from `ctx.lane`"),
        ],
    ),
    (
        "let m = ctx.lane * 2\nfor i in range(0, n) {\n  for j in range(0, m) {\n    O[j] = s\n  }\n"
        "  if m > i { break }\n  barrier()\n}",
        "`barrier` runs once per CTA, so every thread must reach it",
        "barrier()",
        [
            ("break", "only some threads do this `break`"),
            ("m > i", "this condition, `m > i`, differs between lanes"),
            ("ctx.lane", "`m` differs between lanes because it comes from `ctx.lane`"),
        ],
    ),
    (
        "if n > 3 {\n  if ctx.thread > 3 { return }\n}\nC[:, :] = A[:, :]",
        "`tile copy` runs once per CTA, so every thread must reach it",
        "A[:, :]",
        [
            ("return", "only some threads do this `return`"),
            ("ctx.thread > 3", "this condition, `ctx.thread > 3`, differs between lanes"),
            ("ctx.thread", "`ctx.thread` differs between lanes"),
        ],
    ),
    (
        "for i in range(0, ctx.lane) {\n  let j = i + 1\n  O[j] = s\n  if j > 3 { barrier() }\n}",
        "`barrier` runs once per CTA, so every thread must reach it",
        "barrier()",
        [("ctx.lane", "a bound of this loop, `ctx.lane`, differs between lanes")],
    ),
    (
        "var last = 0\nfor i in range(ctx.lane, 64, 32) {\n  last = i\n}\nlet old = atomic_add(COUNT, 0, last)",
        "`atomic_add` takes `last`, which differs between lanes",
        "last",
        [
            ("i", "`last` differs between lanes because it comes from `i`"),
            ("ctx.lane", "`i` differs between lanes because a bound of its loop comes from `ctx.lane`"),
        ],
    ),
    (
        "let x = shfl<xor 1>(s)\nif x > 0.0 { let y = sum<over ctx.lane>(s) }",
        "`sum` runs once per warp, so every lane must reach it",
        "sum<over ctx.lane>(s)",
        [
            ("x > 0.0", "this condition, `x > 0.0`, differs between lanes"),
            ("shfl<xor 1>(s)", "`x` differs between lanes because it comes from `shfl<xor 1>(s)`"),
        ],
    ),
    (
        "if shfl<xor 1>(s) > 0.0 { barrier() }",
        "`barrier` runs once per CTA, so every thread must reach it",
        "barrier()",
        [
            ("shfl<xor 1>(s) > 0.0", "this condition, `shfl<xor 1>(s) > 0.0`, differs between lanes"),
            ("shfl<xor 1>(s)", "`shfl` gives each lane a value of its own"),
        ],
    ),
    (
        "if max<over ctx.lane, width 8>(s) > 0.0 { barrier() }",
        "`barrier` runs once per CTA, so every thread must reach it",
        "barrier()",
        [
            (
                "max<over ctx.lane, width 8>(s) > 0.0",
                "this condition, `max<over ctx.lane, width 8>(s) > 0.0`, differs between lanes",
            ),
            ("max<over ctx.lane, width 8>(s)", "`max` gives each piece of a warp a value of its own"),
        ],
    ),
    (
        "if max<over ctx.lane>(s) > 0.0 { barrier() }",
        "`barrier` runs once per CTA, so every thread must reach it",
        "barrier()",
        [
            ("max<over ctx.lane>(s) > 0.0", "this condition, `max<over ctx.lane>(s) > 0.0`, differs between warps"),
            ("max<over ctx.lane>(s)", "`max` gives each warp a value of its own"),
        ],
    ),
    (
        "let w = ctx.warp\nvar t = A[w :+ 4, :]",
        "`tile copy` takes `w`, which differs between lanes",
        "w",
        [("ctx.warp", "`w` differs between warps because it comes from `ctx.warp`")],
    ),
    (
        "let i = ctx.thread\nA[i, 0] = s\nC[:, :] = A[:, :]",
        "`tile copy` reads `A` after a per-thread store to it with no `barrier()` between",
        "A[:, :]",
        [
            ("A[i, 0] = s", "the per-thread store to `A`"),
            ("ctx.thread", "`i` differs between lanes because it comes from `ctx.thread`"),
        ],
    ),
    (
        "if ctx.lane == n {\n  A[0, 0] = s\n}\nC[:, :] = A[:, :] * 2.0",
        "`tile expression` reads `A` after a per-thread store to it with no `barrier()` between",
        "A[:, :] * 2.0",
        [
            ("A[0, 0] = s", "the per-thread store to `A`"),
            ("ctx.lane == n", "this condition, `ctx.lane == n`, differs between lanes"),
            ("ctx.lane", "`ctx.lane` differs between lanes"),
        ],
    ),
    (
        "for i in range(0, n) {\n  C[:, :] = A[:, :]\n  store(A[n, i :+ 2], s, s)\n}",
        "`tile copy` reads `A` after a per-thread store to it with no `barrier()` between",
        "A[:, :]",
        [("store(A[n, i :+ 2], s, s)", "the per-thread store to `A`, in the iteration before")],
    ),
    (
        "var t = A[0 :+ 16, :]\nlet v = t[4 :+ 8, :]\nlet w = v[2 :+ 2, :]\nlet u = t\n"
        "u[ctx.warp, 0] = s\nC[0 :+ 2, :] = w",
        "`tile store` reads `w` after a per-thread store to it with no `barrier()` between",
        "C[0 :+ 2, :] = w",
        [
            ("w", "`w` is a view of `v`"),
            ("v", "`v` is a view of `t`"),
            ("u[ctx.warp, 0] = s", "the per-thread store to `u`"),
            ("u", "`u` is a view of `t`"),
            ("ctx.warp", "`ctx.warp` differs between warps"),
        ],
    ),
]


@pytest.mark.parametrize(("body", "message", "place", "related"), CHAINS, ids=[case[0] for case in CHAINS])
def test_a_diagnostic_and_its_chain(body: str, message: str, place: str, related: list[tuple[str, str]]) -> None:
    file = file_of(body)
    [found] = file.diagnostics
    assert (found.severity, found.message, covered(file, found)) == ("error", message, place)
    assert chain(file, found) == related
    assert found.help


def test_a_chain_through_functions_leads_to_where_things_are_written() -> None:
    functions = (
        "fn own() = ctx.lane\nfn put(t, at) {\n  t[at, 0] = 1.0\n}\n"
        "fn fill(t) {\n  put(t, own())\n}\nfn total(m) = rowsum(m)\n"
    )
    body = "var t: tile<f32>[64, 4] = 0.0\nfill(t)\nvar u = total(t)"
    file = file_of(body, functions)
    [found] = file.diagnostics
    assert found.message == "`rowsum` reads `m` after a per-thread store to it with no `barrier()` between"
    assert covered(file, found) == "rowsum(m)"
    assert chain(file, found) == [
        ("t[at, 0] = 1.0", "the per-thread store to `t`"),
        ("put(t, own())", "`put` is called here"),
        ("fill(t)", "`fill` is called here"),
        ("ctx.lane", "`at` differs between lanes because it comes from `ctx.lane`"),
        ("total(t)", "`total` is called here"),
    ]


def test_the_operand_of_a_body_is_told_as_the_body_writes_it() -> None:
    file = file_of("var t = rows(A, twice(ctx.warp))", "fn rows(t, i) = t[i :+ 4, :]\nfn twice(x) = x * 2\n")
    [found] = file.diagnostics
    assert found.message == "`tile copy` takes `i`, which differs between lanes"
    assert (covered(file, found), found.start > file.source.text.index(b"fn rows")) == ("i", True)
    assert chain(file, found) == [
        ("ctx.warp", "`ctx.warp` differs between warps"),
        ("rows(A, twice(ctx.warp))", "`rows` is called here"),
    ]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("if ctx.lane == 0 {\n  barrier()\n}", "condition"),
        ("for i in range(0, ctx.lane) {\n  barrier()\n}", "out of the loop"),
        ("if ctx.lane == 0 { return }\nbarrier()", "before the `return`"),
        ("for i in range(0, n) {\n  barrier()\n  if ctx.lane == i { break }\n}", "out of the loop"),
        ("var t = A[ctx.lane :+ 4, :]", "`A[i, j]`"),
        ("let old = atomic_add(COUNT, 0, ctx.lane)", "`sum<over ctx.thread>(..)`"),
        ("A[ctx.thread, 0] = s\nvar t = A[0 :+ 4, :]", "`barrier()` between"),
    ],
)
def test_what_to_do(body: str, words: str) -> None:
    [found] = file_of(body).diagnostics
    assert words in (found.help or "")


def test_a_long_chain_is_cut() -> None:
    steps = [f"let x{i + 1} = x{i} + 1" for i in range(100)]
    file = file_of("\n".join(["let x0 = ctx.lane", *steps, "var t = A[x100 :+ 4, :]"]))
    [found] = file.diagnostics
    assert len(found.related) < 20
    assert chain(file, found)[0] == ("x99", "`x100` differs between lanes because it comes from `x99`")
    assert chain(file, found)[-1] == ("ctx.lane", "`x0` differs between lanes because it comes from `ctx.lane`")


def test_what_is_in_error_elsewhere_hides_no_barrier() -> None:
    """A statement in error may have been the barrier."""
    file = file_of("A[ctx.thread, 0] = s\nbarrier(1)\nC[:, :] = A[:, :]\nif ctx.lane == 0 { barrier() }")
    assert [found.code for found in file.diagnostics] == ["argument-count", "once-per-cta"]


# What is written on the program.


def stores(body: str) -> list[bool]:
    return [node.per_thread for node in walk(kernel_of(body).body) if isinstance(node, pg.StorePoint)]


def controls(body: str) -> list[Variation]:
    return [node.control for node in walk(kernel_of(body).body) if isinstance(node, (pg.If, pg.For, pg.While))]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("A[0, 0] = s", [False]),
        ("A[ctx.block.x, n] += s", [False]),
        ("A[0, 0] = s\nA[ctx.thread, 0] = s", [False, True]),
        ("A[0, ctx.warp] = s", [True]),
        ("A[0, 0] = f32(ctx.lane)", [True]),
        ("A[0, 0] += f32(ctx.warp)", [True]),
        ("A[0, 0] = sum<over ctx.thread>(O[ctx.thread])", [False]),
        ("A[0, 0] = sum<over ctx.lane>(O[ctx.thread])", [True]),
        ("if ctx.lane == 0 { A[0, 0] = s }\nA[0, 1] = s", [True, False]),
        ("if n > 0 { if ctx.lane == 0 { A[0, 0] = s } else { A[0, 0] = s } }", [True, True]),
        ("if ctx.thread > 5 { return }\nA[0, 0] = s", [True]),
        ("for i in range(0, 4) {\nA[0, i] = s\nif ctx.lane == i { continue }\nA[0, i] = s\n}", [False, True]),
        ("for i in range(0, 4) {\nA[0, i] = s\nif ctx.lane == i { break }\n}\nA[0, 0] = s", [True, False]),
        ("var x = 0\nA[0, x] = s\nx = ctx.thread", [True]),
        ("var t: tile<f32>[4, 4] = 0.0\nt[0, 0] = s\nlet v = t\nv[1, ctx.lane % 4] = s", [False, True]),
    ],
)
def test_which_stores_are_per_thread(body: str, expected: list[bool]) -> None:
    assert stores(body) == expected


U, W, V = Variation.UNIFORM, Variation.WARP_UNIFORM, Variation.VARYING


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if n > 0 { O[n] = s }\nO[ctx.thread] = s", [U]),
        ("if ctx.warp > 0 { O[n] = s }", [W]),
        ("if ctx.lane > 0 { O[n] = s }", [V]),
        ("if ctx.lane > 0 { if n > 0 { O[n] = s } }", [V, V]),
        ("if ctx.warp > 0 { if ctx.lane > 0 { O[n] = s } }", [W, V]),
        ("for i in range(0, n) { if ctx.lane > i { O[n] = s } }", [U, V]),
        ("for i in range(0, n) { if ctx.lane > i { break } }", [V, V]),
        ("for i in range(0, n) { if ctx.lane > i { continue } }", [U, V]),
        ("for i in range(0, n) { if ctx.warp > i { return } }\nif n > 1 { O[n] = s }", [W, W, W]),
        ("for i in range(0, n) { if ctx.lane > i { break } }\nif n > 1 { O[n] = s }", [V, V, U]),
        ("for i in range(ctx.warp, n) { for j in range(0, i) { O[n] = s } }", [W, W]),
        ("var x = ctx.lane\nwhile x > 0 { x -= 1 }", [V]),
        ("var x = n\nwhile x > 0 {\nx -= 1\nif x == ctx.lane { x -= 1 }\n}", [V, V]),
        ("var x = n\nwhile x > 0 { x -= 1 }\nO[ctx.thread] = s", [U]),
    ],
)
def test_how_far_control_differs(body: str, expected: list[Variation]) -> None:
    assert controls(body) == expected


def test_the_marks_outlive_a_copy() -> None:
    kernel = kernel_of("if ctx.lane == 0 { A[0, 0] = s }")
    [branch] = pickle.loads(pickle.dumps(kernel)).body
    assert branch.control is Variation.VARYING
    assert branch.then[0].per_thread


# What an editor asks.


def test_the_kind_of_a_name_and_of_a_value() -> None:
    file = file_of(
        "let a = n + 1\nlet b = ctx.warp * a\nvar c = 0\nfor d in range(b, 8) { c = d }\nlet e = X[ctx.lane]\n"
        "let f = min<over ctx.lane>(e)\nlet g = min<over ctx.thread>(e)\nO[ctx.thread] = f32(g)"
    )
    placed = file.kernels[0]
    kinds = {
        symbol.name: placed.uniformity.variation(symbol)
        for symbol in placed.symbols
        if symbol.kind in (pg.SymbolKind.SCALAR, pg.SymbolKind.LOOP, pg.SymbolKind.SCALAR_PARAM)
    }
    assert kinds == {"n": U, "s": U, "a": U, "b": W, "c": W, "d": W, "e": V, "f": W, "g": U}
    assert placed.kernel is not None
    values = [stmt.value for stmt in placed.kernel.body if isinstance(stmt, pg.BindScalar) and not stmt.symbol.mutable]
    assert [placed.uniformity.variation(value) for value in values] == [U, W, V, W, U]
    [reason] = placed.uniformity.reasons(next(symbol for symbol in placed.symbols if symbol.name == "b"))
    assert reason.message == "`b` differs between warps because it comes from `ctx.warp`"
    assert placed.uniformity.reasons(placed.symbols[0]) == ()


def test_of_a_tile_and_of_a_kernel_without_threads() -> None:
    file = file_of("var t = A[0 :+ 4, :] * s\nC[0 :+ 4, :] = t")
    placed = file.kernels[0]
    assert {placed.uniformity.variation(symbol) for symbol in placed.symbols} == {U}


# It takes time in proportion to the text, whatever the text is.


def chain_against_the_order(count: int) -> str:
    """Each iteration of the loop takes the variation one assignment further up."""
    declared = "\n".join(f"var x{i} = 0" for i in range(count))
    copied = "\n".join(f"x{i} = x{i + 1}" for i in range(count - 1))
    return f"{declared}\nfor i in range(0, n) {{\n{copied}\nx{count - 1} = ctx.lane\n}}\nO[x0] = s"


def loops_in_loops(count: int) -> str:
    """Around each loop goes a store, which each has a read for."""
    heads = "\n".join(f"for i{i} in range(0, n) {{\nC[0 :+ 1, :] = A[0 :+ 1, :]" for i in range(count))
    return f"{heads}\nA[ctx.thread, 0] = s\n{'}' * count}"


def jumps_in_a_row(count: int) -> str:
    return "\n".join(f"if X[ctx.thread] == {i} {{ return }}\nO[{i % 256}] = s" for i in range(count))


def operations_after_jumps(count: int) -> str:
    """The first jump is what is wrong with every operation after it."""
    after = "\n".join(f"if n == {i} {{ return }}\nbarrier()" for i in range(count))
    return f"if ctx.lane == 0 {{ return }}\n{after}"


def operations_in_a_row(count: int) -> str:
    """Every one is an error with a long chain."""
    steps = "\n".join(f"let x{i + 1} = x{i} + 1\nlet y{i} = atomic_add(COUNT, x{i}, 1)" for i in range(count))
    return f"let x0 = ctx.lane\n{steps}"


PROGRAMS = [(chain_against_the_order, 200), (loops_in_loops, 16), (jumps_in_a_row, 200)]
PROGRAMS += [(operations_after_jumps, 100), (operations_in_a_row, 100)]


@pytest.mark.parametrize(("program", "count"), PROGRAMS)
def test_the_work_grows_with_the_text(program: Callable[[int], str], count: int) -> None:
    """Four times the text is at most eight times the calls, and far from sixteen times."""
    small, large = (calls_of_checking(program(size)) for size in (count, 4 * count))
    assert large < 8 * small


def calls_of_checking(body: str) -> int:
    """How many functions of the rules are called: unlike time, the same on every machine."""
    source = parse(f"kernel k({PARAMS}) {{\n{body}\n}}\n")
    profile = cProfile.Profile(builtins=False)
    profile.runcall(check, source)
    entries = [entry for entry in profile.getstats() if "uniformity" in getattr(entry.code, "co_filename", "")]
    return sum(entry.callcount for entry in entries)
