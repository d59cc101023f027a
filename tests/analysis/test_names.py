"""Names, scopes and immutability: the spec's Lexical and Statements, and the decisions on one namespace."""

import pytest

from tests.analysis.support import checked, codes, found, kernel_of, lines_of


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("let x = y", "unknown-name"),
        ("let x = x", "unknown-name"),
        ("y = 3", "unknown-name"),
        ("if f {\n let y = 1\n}\nlet x = y", "unknown-name"),
        ("for i in range(0, 4) { }\nlet x = i", "unknown-name"),
        ("let x = foo(3)", "unknown-name"),
        ("let x = 1\nlet x = 2", "duplicate-name"),
        ("let x = 1\nvar x: tile<f32>[4, 4]", "duplicate-name"),
        ("let x = exp", "not-a-value"),
        ("let x = A", "not-a-value"),
        ("let x = n(1)", "not-callable"),
        ("let x = A[0, 0](1)", "not-callable"),
        ("let x = ctx.grid.x", "unknown-ctx-field"),
        ("let x = ctx.block", "unknown-ctx-field"),
        ("let ctx = 1", "reserved-name"),
        # What may not change.
        ("let x = 1\nx = 2", "immutable-assignment"),
        ("let x = 1\nx += 2", "immutable-assignment"),
        ("n = 2", "immutable-assignment"),
        ("M = 2", "immutable-assignment"),
        ("T = 2", "immutable-assignment"),
        ("A = 2.0", "immutable-assignment"),
        ("for i in range(0, 4) {\n i = 2\n}", "immutable-assignment"),
        ("let v = A[:, :]\nv = 1.0", "immutable-assignment"),
        ("let v = A[:, :]\nv += 1.0", "immutable-assignment"),
        ("let t: tile<f32>[64, 64] = A[:, :]\nt = 1.0", "immutable-assignment"),
        ("let t: tile<f32>[64, 64] = A[:, :]\nt[0, 0] = 1.0", "immutable-assignment"),
        ("let t: tile<f32>[64, 64] = A[:, :]\nlet v = t\nv[:, :] = 1.0", "immutable-assignment"),
        ("let t = A[:, :] * 2.0\nt[:, :] = 1.0", "immutable-assignment"),
    ],
)
def test_one_mistake_gives_one_diagnostic(body: str, code: str) -> None:
    assert codes(body) == [code]


@pytest.mark.parametrize(
    "body",
    [
        # An inner scope shadows, the kernel's own block included.
        "let n = 1",
        "let M = 1",
        "let T = 1",
        "let x = 1\nif f {\n let x = 2\n}",
        "for i in range(0, 4) {\n let i = 2\n}",
        "var x = 1\nwhile f {\n var x = 2.0\n x = 3.0\n}\nx = 4",
        # Names of built-ins and types are ordinary outside their position.
        "let exp = 1\nlet x = exp + 1",
        "let max = rowmax(A[:, :])\nlet y = max(s, 1.0)",
        "let range = 3\nlet tile = range\nlet f32 = tile\nlet y = f32(f32)",
        "let over = 1\nlet from = 2\nlet unroll = 3",
        # Dimensions and @autotune names are readable as index values.
        "let x = M + T * K",
        # Writing through a view writes what it views.
        "let v = A[0 :+ 16, :]\nv[0, :] = 1.0\nv[0, 0] += 2.0",
        "var t = A[:, :]\nlet v = t\nv[:, :] = 1.0",
        "var t = A[:, :]\nlet v = flat(t)\nv[0, 3] = 1.0",
    ],
)
def test_accepted(body: str) -> None:
    assert codes(body) == []


def test_a_name_used_often_is_reported_once() -> None:
    assert codes("let x = foo + foo\nlet y = foo * x\nlet z = y + x") == ["unknown-name"]


def test_a_mistake_does_not_spread() -> None:
    assert codes("let x = 1 + true\nlet y = x + 1\nA[y, x] = exp(y) * x\nlet t = A[x :+ 4, :] * y") == ["no-join"]


def test_a_shadowed_name_keeps_its_own_meaning() -> None:
    lines = lines_of("let x = 1\nif f {\n let x = 2\n let y = x\n}\nlet z = x")
    assert lines == ["x: index = 1:index", "if f", "  x#1: index = 2:index", "  y: index = x#1", "z: index = x"]


def test_related_places_and_help() -> None:
    source = "let total = 1\ntotal = 2\nlet x = totl"
    first, second = found(source)
    assert [r.message for r in first.related] == ["declared here"]
    assert first.help == "declare it with `var total`"
    assert second.help == "did you mean `total`?"


HEAD = "kernel k(A: tensor<f32>[M, 64], {}) {{ }}"


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (HEAD.format("M: i32"), "duplicate-name"),
        (HEAD.format("A: i32"), "duplicate-name"),
        ("kernel k(n: i32, A: tensor<f32>[n]) { }", "duplicate-name"),
        ("@autotune(T in [4, 8])\n" + HEAD.format("T: i32"), "duplicate-name"),
        ("@autotune(T in [4, 8], T in [4])\n" + HEAD.format("n: i32"), "duplicate-name"),
        (HEAD.format("x: u8"), "unsigned-scalar"),
        (HEAD.format("x: tensor<bool>[4]"), "bool-storage"),
        (HEAD.format("x: tile<f32>[4]"), "misplaced-type"),
        (HEAD.format("x: tensor<f32>[0]"), "empty-extent"),
        ("kernel k() { }\nkernel k() { }", "duplicate-name"),
        ("kernel _() { }", "reserved-name"),
        ("kernel WARP_SZ() { }", "reserved-name"),
        ("fn f(a) = a\nfn f(b) = b\nkernel k() { }", "duplicate-name"),
        ("fn f(a, a) = a\nkernel k() { }", "duplicate-name"),
        ("fn exp(a) = a\nkernel k() { }", "builtin-redefined"),
        ("fn shfl(a) = a\nkernel k() { }", "builtin-redefined"),
        ("fn f(a) = a\nkernel k(n: i32) { let x = f }", "not-a-value"),
        ("fn f(a) = a\nkernel k(n: i32) { f = 3 }", "not-assignable"),
        ("fn f(a) = a\nkernel k(n: i32) { let f = 1; let x = f(n) }", "not-callable"),
    ],
)
def test_declarations_of_a_file(source: str, code: str) -> None:
    assert [diagnostic.code for diagnostic in checked(source).diagnostics] == [code]


def test_a_function_that_nothing_calls_costs_nothing() -> None:
    result = checked("fn f(a) = a * a\nfn g(t) {\n t[0, 0] = 1.0\n}\nkernel k(n: i32) { let x = n }")
    assert result.diagnostics == ()
    assert result.kernels[0].kernel is not None


def test_an_empty_file_is_a_warning() -> None:
    [diagnostic] = checked("// nothing yet\n").diagnostics
    assert (diagnostic.code, diagnostic.severity) == ("no-kernels", "warning")


def test_dimensions_in_order_of_first_appearance() -> None:
    assert kernel_of("").dims == ("M", "K", "K2", "N")


def test_constants_of_ctx() -> None:
    lines = lines_of("let x = ctx.threads / ctx.lanes * ctx.warps", attributes="@launch(128)\n")
    assert lines == ["x: index = <16>"]


def test_warps_need_whole_warps() -> None:
    assert codes("let x = ctx.warps", attributes="@launch(48)\n") == ["not-whole-warps"]
    assert codes("let x = ctx.threads", attributes="@launch(48)\n") == []
