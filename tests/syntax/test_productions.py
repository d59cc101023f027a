"""Each production of the spec's grammar, and what it parses to."""

import pytest

from phobos_core.syntax import parse
from tests.syntax.shapes import show
from tests.syntax.support import expression, shown

ITEMS = {
    "kernel k() {}": ["kernel k[] {}"],
    "kernel k(A: tensor<f32>[M, 64], n: i32) {}": ["kernel k[A: (tensor f32 [M, 64]), n: i32] {}"],
    "fn f(a, b) = a + b": ["fn f[a, b] (+ a b)"],
    "fn f() { return }": ["fn f[] {return}"],
    "fn f(a) = a; fn g(b) = b\nkernel k() {} kernel l() {}": [
        "fn f[a] a",
        "fn g[b] b",
        "kernel k[] {}",
        "kernel l[] {}",
    ],
    "@pipeline kernel k() {}": ["@pipeline[] kernel k[] {}"],
    "@a() @b\n\n@c(1)\nkernel k() {}": ["@a[] @b[] @c[1] kernel k[] {}"],
    "@autotune(X in [64, 128], Y in [1])\nkernel k() {}": ["@autotune[X in [64, 128], Y in [1]] kernel k[] {}"],
    "@aligned(M = TILE_M, N = 4, O = 1.5, P = true)\nkernel k() {}": [
        "@aligned[M = TILE_M, N = 4, O = 1.5, P = true] kernel k[] {}"
    ],
    "@launch(256, read_only, 0.5, false)\nkernel k() {}": ["@launch[256, read_only, 0.5, false] kernel k[] {}"],
    "": [],
    "// only a comment": [],
    "\ufefffn f() = 1": ["fn f[] 1"],
}


@pytest.mark.parametrize("source", ITEMS)
def test_items(source: str) -> None:
    file = parse(source)
    assert file.diagnostics == ()
    assert [show(placed.item) for placed in file.items] == ITEMS[source]


STATEMENTS = {
    "let a = b": "let a _ b",
    "let a: f32 = b": "let a f32 b",
    "let a: tile<bf16>[M, 2] = b": "let a (tile bf16 [M, 2]) b",
    "var a = b": "var a _ b",
    "var a: i8 = b": "var a i8 b",
    "var a: tile<f16>[R, C]": "var a (tile f16 [R, C]) _",
    "a = b": "a = b",
    "a[i, :] = b": "(index a [i, (: _ _)]) = b",
    "for i in range(0, n) {}": "for _ i 0 n _ {}",
    "for i in range(0, n, 2) { x = i }": "for _ i 0 n 2 {x = i}",
    "for<unroll 4> i in range(a, b) {}": "for 4 i a b _ {}",
    "for < unroll U * 2 > i in range(a, b, c) {}": "for (* U 2) i a b c {}",
    "while a < b { c }": "while (< a b) {c}",
    "if a {}": "if a {} _",
    "if a { b } else { c }": "if a {b} {c}",
    "if a {} else if b {} else {}": "if a {} if b {} {}",
    "break": "break",
    "continue": "continue",
    "return": "return",
    "f(a)": "(call f [a])",
}


@pytest.mark.parametrize("source", STATEMENTS)
def test_statements(source: str) -> None:
    assert shown(source) == [STATEMENTS[source]]


@pytest.mark.parametrize("op", ["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="])
def test_assignments(op: str) -> None:
    assert shown(f"a {op} b") == [f"a {op} b"]
    assert shown(f"a[0]{op}b") == [f"(index a [0]) {op} b"]


SCALARS = ["f16", "bf16", "f32", "f64", "i8", "i32", "i64", "u8", "u16", "u32", "bool"]


@pytest.mark.parametrize("scalar", SCALARS)
def test_types(scalar: str) -> None:
    assert shown(f"let a: {scalar} = b") == [f"let a {scalar} b"]
    assert shown(f"var a: tile<{scalar}>[M]") == [f"var a (tile {scalar} [M]) _"]


EXPRESSIONS = {
    "0": "0",
    "9223372036854775807": "9223372036854775807",
    "007": "7",
    "1.": "1.0",
    "1.5": "1.5",
    "1.e5": "100000.0",
    "1e3": "1000.0",
    "25E-1": "2.5",
    "1.25e+2": "125.0",
    "true": "true",
    "false": "false",
    "ctx.lane": "ctx.lane",
    "ctx.block.x": "ctx.block.x",
    "(ctx . block // here\n . y)": "ctx.block.y",
    "_a1": "_a1",
    "(a)": "a",
    "((a))": "a",
    "a[i]": "(index a [i])",
    "a[s : e]": "(index a [(: s e)])",
    "a[s :+ n]": "(index a [(:+ s n)])",
    "a[:]": "(index a [(: _ _)])",
    "a[s:]": "(index a [(: s _)])",
    "a[:e]": "(index a [(: _ e)])",
    "a[i, s:+n, :]": "(index a [i, (:+ s n), (: _ _)])",
    "f()": "(call f [])",
    "f(a, b + c)": "(call f [a, (+ b c)])",
    "f(a)[b](c)": "(call (index (call f [a]) [b]) [c])",
    "-a": "(- a)",
    "!a": "(! a)",
    "~a": "(~ a)",
    "-a[0]": "(- (index a [0]))",
    "-(-a)": "(- (- a))",
    "sum<over ctx.lane>(x)": "(group sum over ctx.lane _ [x])",
    "any<over ctx.thread>(a < b)": "(group any over ctx.thread _ [(< a b)])",
    "max<over ctx.lane, width W / 2>(x)": "(group max over ctx.lane (/ W 2) [x])",
    "reduce<over ctx.lane>(x, f)": "(group reduce over ctx.lane _ [x, f])",
    "shfl<from s>(v)": "(group shfl from s _ [v])",
    "shfl<xor 1, width 8>(v)": "(group shfl xor 1 8 [v])",
    "shfl<down d + 1>(v)": "(group shfl down (+ d 1) _ [v])",
    "shfl<up (a < b)>(v)": "(group shfl up (< a b) _ [v])",
    "shfl<up -d>(v)": "(group shfl up (- d) _ [v])",
    "1 + sum<over ctx.lane>(x) < 3": "(< (+ 1 (group sum over ctx.lane _ [x])) 3)",
    "sum(x)": "(call sum [x])",
    "a < b": "(< a b)",
}


@pytest.mark.parametrize("source", EXPRESSIONS)
def test_expressions(source: str) -> None:
    assert show(expression(source)) == EXPRESSIONS[source]


# Loosest first, from the spec's table of precedence.
LEVELS = [["||"], ["&&"], ["==", "!="], ["<", "<=", ">", ">="], ["|"], ["^"], ["&"]]
LEVELS += [["<<", ">>"], ["+", "-"], ["*", "/", "%"]]


@pytest.mark.parametrize("loose", range(len(LEVELS)))
def test_precedence(loose: int) -> None:
    for op in LEVELS[loose]:
        for other in LEVELS[loose]:
            assert show(expression(f"a {op} b {other} c")) == f"({other} ({op} a b) c)"
        assert show(expression(f"-a {op} !b")) == f"({op} (- a) (! b))"
        for tight in (op for level in LEVELS[loose + 1 :] for op in level):
            assert show(expression(f"a {op} b {tight} c")) == f"({op} a ({tight} b c))"
            assert show(expression(f"a {tight} b {op} c")) == f"({op} ({tight} a b) c)"
            assert show(expression(f"(a {op} b) {tight} c")) == f"({tight} ({op} a b) c)"


CONTEXTUAL = ["tensor", "tile", "range", "unroll", "over", "from", "xor", "down", "up", "width", "f32"]
CONTEXTUAL += ["bool", "dot", "iota", "sum", "max", "min", "any", "all", "argmax", "reduce", "shfl"]


@pytest.mark.parametrize("word", CONTEXTUAL)
def test_contextual_words_are_ordinary_names(word: str) -> None:
    source = f"let {word} = {word} + {word}\nvar {word} = a\n{word} = {word}\n{word}[0] += {word}({word})"
    assert shown(source) == [
        f"let {word} _ (+ {word} {word})",
        f"var {word} _ a",
        f"{word} = {word}",
        f"(index {word} [0]) += (call {word} [{word}])",
    ]
    assert shown(f"for {word} in range({word}, {word}) {{}}") == [f"for _ {word} {word} {word} _ {{}}"]
    assert shown(f"let a = b < {word}\nlet a = {word} < b") == [f"let a _ (< b {word})", f"let a _ (< {word} b)"]
    (placed,) = parse(f"kernel {word}({word}: f32) {{}}").items
    assert show(placed.item) == f"kernel {word}[{word}: f32] {{}}"
