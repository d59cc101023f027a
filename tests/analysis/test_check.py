"""The entry: whole files, the spec's examples, the table of codes, the cache, and damaged sources."""

import re
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phobos_core.analysis import AnalysisCache, check
from phobos_core.analysis import program as pg
from phobos_core.language.builtins import BUILTINS
from phobos_core.language.codes import CODES, Stage
from phobos_core.syntax import parse
from tests.analysis.support import checked, source_of, statement_lines

ROOT = Path(__file__).resolve().parents[2]

SGEMM = """\
@autotune(TILE_M in [32, 256], TILE_N in [32, 256], TILE_K in [4, 32])
@launch(256)
@pipeline
@aligned(M = TILE_M, N = TILE_N, K = TILE_K)
kernel matmul(A: tensor<f32>[M, K], B: tensor<f32>[K, N], C: tensor<f32>[M, N], alpha: f32, beta: f32) {
  let pm = ctx.block.x
  let pn = ctx.block.y
  var acc: tile<f32>[TILE_M, TILE_N] = 0.0
  for kt in range(0, K, TILE_K) {
    var a = A[pm * TILE_M :+ TILE_M, kt :+ TILE_K]
    var b = B[kt :+ TILE_K, pn * TILE_N :+ TILE_N]
    acc += dot(a, b)
  }
  let c_old = C[pm * TILE_M :+ TILE_M, pn * TILE_N :+ TILE_N]
  C[pm * TILE_M :+ TILE_M, pn * TILE_N :+ TILE_N] = alpha * acc + beta * c_old
}
"""

ATTENTION = """\
@cluster(BR in [1024, 4096], BC in [1024, 4096])
@autotune(D in [64], BR in [32, 128], BC in [32, 128])
kernel attention(Q: tensor<f32>[Nq, D], K: tensor<f32>[Nk, D], V: tensor<f32>[Nk, D], O: tensor<f32>[Nq, D],
                 scale: f32) {
  let row = ctx.block.x * BR
  let q = Q[row :+ BR, :]
  var acc: tile<f32>[BR, D] = 0.0
  var m: tile<f32>[BR, 1] = -1.0e30
  var l: tile<f32>[BR, 1] = 0.0
  for kt in range(0, Nk, BC) {
    let k = K[kt :+ BC, :]
    let v = V[kt :+ BC, :]
    var s: tile<f32>[BR, BC] = dot_t(q, k)
    s = where(iota(1) < Nk - kt, s * scale, -1.0e30)
    var mnew: tile<f32>[BR, 1] = rowmax(s)
    mnew = tmax(m, mnew)
    var p: tile<f32>[BR, BC] = exp(s - mnew)
    var corr: tile<f32>[BR, 1] = exp(m - mnew)
    l = l * corr + rowsum(p)
    acc = acc * corr + dot(p, v)
    m = mnew
  }
  acc = acc / l
  O[row :+ BR, :] = acc
}
"""


def test_sgemm_becomes_this_program() -> None:
    [placed] = checked(SGEMM).kernels
    kernel = placed.kernel
    assert kernel is not None
    assert kernel.dims == ("M", "K", "N")
    assert [(p.name, p.kind) for p in kernel.params] == [
        *((name, pg.SymbolKind.TENSOR) for name in "ABC"),
        ("alpha", pg.SymbolKind.SCALAR_PARAM),
        ("beta", pg.SymbolKind.SCALAR_PARAM),
    ]
    assert [r.text for r in kernel.requires] == ["M % TILE_M == 0", "N % TILE_N == 0", "K % TILE_K == 0"]
    assert [line for stmt in kernel.body for line in statement_lines(stmt)] == [
        "pm: index = ctx.block.x",
        "pn: index = ctx.block.y",
        "acc: f32[TILE_M, TILE_N] = 0.0:f32",
        "for kt in 0:index, <K>, <TILE_K>, unroll 1",
        "  a: f32[TILE_M, TILE_K] = A[(pm * <TILE_M>) :+ TILE_M, kt :+ TILE_K]",
        "  b: f32[TILE_K, TILE_N] = B[kt :+ TILE_K, (pn * <TILE_N>) :+ TILE_N]",
        "  acc += dot(a, b)",
        "c_old -> C[(pm * <TILE_M>) :+ TILE_M, (pn * <TILE_N>) :+ TILE_N]",
        "C[(pm * <TILE_M>) :+ TILE_M, (pn * <TILE_N>) :+ TILE_N] = ((alpha * acc) + (beta * c_old))",
    ]


def test_attention_is_accepted() -> None:
    result = checked(ATTENTION)
    assert result.diagnostics == ()
    assert result.kernels[0].kernel is not None


# Rules of per-thread code, collectives, functions and quantized built-ins, which are not checked yet.
LATER_CODES = {
    "not-a-tensor",
    "needs-launch",
    "needs-persistent",
    "once-per-cta",
    "differs-between-lanes",
    "missing-barrier",
    "once-per-warp",
    "group-width",
    "collective-form",
}
CHECKED_CODES = [code for code in CODES.values() if code.stage is Stage.CHECK and code.code not in LATER_CODES]


@pytest.mark.parametrize("code", CHECKED_CODES, ids=lambda c: c.code)
def test_the_examples_of_a_code(code) -> None:  # type: ignore[no-untyped-def]
    options = dict(zip(code.options[::2], code.options[1::2], strict=True))
    target = options.get("--target", "sm_80")
    assert [d.code for d in checked(code.wrong, target=target).diagnostics] == [code.code]
    assert checked(code.right, target=target).diagnostics == ()
    [diagnostic] = checked(code.wrong, target=target).diagnostics
    assert diagnostic.severity == code.severity


def test_the_checker_loads_no_numpy_and_no_llvm() -> None:
    program = "import sys, phobos_core.analysis, phobos_core.syntax; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout
    assert not {"numpy", "llvmlite", "ml_dtypes"} & set(loaded.split())
    assert "phobos_core.analysis" in loaded.split()


def test_diagnostics_have_their_place_in_the_file() -> None:
    source = "// é: two bytes\nkernel a() { let x = foo }\nkernel b() {\n let y = bar\n}\n"
    result = checked(source)
    assert [result.source.text[d.start : d.end] for d in result.diagnostics] == [b"foo", b"bar"]
    assert [k.kernel for k in result.kernels] == [None, None]


def test_one_broken_kernel_costs_the_others_nothing() -> None:
    result = checked("kernel a() { let x = }\nkernel b() { let y = 1 }\nkernel c() { let z = q }\n")
    assert [d.code for d in result.diagnostics] == ["syntax-error", "unknown-name"]
    assert [k.kernel is not None for k in result.kernels] == [False, True, False]


def test_references_lead_from_a_name_to_its_symbol() -> None:
    source = source_of("let x = n\nlet y = x + T", params="n: i32")
    placed = checked(source).kernels[0]
    text = source.encode()
    at = {(text[s.start : s.end].decode(), symbol.kind.value) for s, symbol in placed.references}
    assert at == {("x", "scalar"), ("y", "scalar"), ("n", "scalar parameter"), ("T", "@autotune name")}
    assert sum(symbol.name == "x" for _, symbol in placed.references) == 2


def test_a_kernel_is_analysed_again_only_when_something_it_depends_on_changed() -> None:
    cache = AnalysisCache()
    kernel = "kernel k(n: i32) { let x = f(n) }\n"
    other = "kernel other() { let y = 1 }\n"

    def program(text: str, **options: int) -> object:
        return check(parse(text), cache=cache, dims=options).kernels[-1].symbols

    first = program("fn f(a) = a\n" + kernel)
    assert program("fn f(a) = a\n\n// moved down\n" + other + kernel) is first
    assert program("fn f(a) = a\nfn g(a) = a\n" + kernel) is first
    assert program("fn f(a) = a + 1\n" + kernel) is not first
    assert program(kernel) is not first
    again = program(kernel)
    assert program(kernel) is again
    assert program(kernel, N=3) is not again


def test_a_moved_kernel_has_its_diagnostics_where_it_stands() -> None:
    cache = AnalysisCache()
    kernel = "kernel k() { let x = foo }\n"
    [first] = check(parse(kernel), cache=cache).diagnostics
    [second] = check(parse("\n\n" + kernel), cache=cache).diagnostics
    assert (second.start, second.end) == (first.start + 2, first.end + 2)


def test_the_cache_keeps_the_most_recent() -> None:
    cache = AnalysisCache(capacity=2)

    def symbols(name: str) -> object:
        return check(parse(f"kernel {name}() {{ let x = 1 }}"), cache=cache).kernels[0].symbols

    first, second = symbols("a"), symbols("b")
    assert symbols("a") is first
    symbols("c")
    assert symbols("a") is first
    assert symbols("b") is not second


SEEDS = [SGEMM, ATTENTION, *(builtin.example for builtin in BUILTINS.values() if builtin.supported)]
SEEDS += [
    "fn scale(x, s) = x * s + x\nfn fill(t, v) {\n  for i in range(0, 4) {\n    t[i, 0] = scale(v, 2.0)\n  }\n}\n"
    + source_of("var t = scale(A[:, :], s)\nfill(t, s)\nlet y = scale(t[0, 0], n)\nfill(A, y)")
]
SEEDS += [source_of(body) for body in ("let v = A[n:, :]\nvar t = v[0 :+ T, :]", "for<unroll T> i in range(0, 4) { }")]
TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
WORDS = sorted({token for seed in SEEDS for token in TOKEN.findall(seed) if not token.isspace()} | {"0", "true", "u8"})


def damaged(seed: int) -> str:
    """An example with a few tokens replaced, removed, repeated or swapped."""
    random = Random(seed)
    tokens = TOKEN.findall(random.choice(SEEDS))
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        place = random.randrange(len(tokens))
        match random.randrange(4):
            case 0:
                tokens[place] = random.choice(WORDS)
            case 1:
                tokens.insert(place, random.choice(WORDS))
            case 2:
                other = random.randrange(len(tokens))
                tokens[place], tokens[other] = tokens[other], tokens[place]
            case _ if len(tokens) > 1:
                del tokens[place]
    return "".join(tokens)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_a_damaged_source_gives_diagnostics_only(seed: int) -> None:
    text = damaged(seed)
    result = checked(text)
    for diagnostic in result.diagnostics:
        assert 0 <= diagnostic.start <= diagnostic.end <= len(text.encode())
        assert diagnostic.code in CODES
        assert diagnostic.message
    assert list(result.diagnostics) == sorted(result.diagnostics, key=lambda d: (d.start, d.end, d.code))
    assert len(set(result.diagnostics)) == len(result.diagnostics)


@pytest.mark.parametrize(("open_", "close"), [("(", ")"), ("-", ""), ("exp(", ")"), ("A[", ", 0]"), ("1 + (", ")")])
@pytest.mark.parametrize("depth", [50, 5000])
def test_deep_nesting_is_cut(open_: str, close: str, depth: int) -> None:
    assert {d.code for d in checked(source_of(f"let x = {open_ * depth}1{close * depth}")).diagnostics} <= set(CODES)


def test_long_chains() -> None:
    total = " + ".join(["n"] * 5000)
    chain = "if f { } " + "else if f { } " * 3000
    for body in (f"let x = {total}", chain, "let x = 1; " * 3000):
        assert {d.code for d in checked(source_of(body)).diagnostics} <= {"nesting-too-deep", "duplicate-name"}
