"""One mistake gives one diagnostic, at its place, that says what to do; what stands around it is still read.

In a source, `⟦` and `⟧` mark what the diagnostic spans (nothing between them: the place itself).
"""

import pytest

from phobos_core.language.codes import CODES
from phobos_core.syntax import parse
from tests.syntax.shapes import show

# Source with the place marked, a part of the message, and what the items are read as.
CASES = {
    "else on a line of its own": (
        "kernel k() {\n  if a {\n    b\n  }\n  ⟦else⟧ {\n    c\n  }\n  d\n}",
        "`else` must follow the `}` of the then-block on the same line",
        ["kernel k[] {if a {b} {c}; d}"],
    ),
    "else if on a line of its own": (
        "kernel k() {\n  if a {\n  }\n  ⟦else⟧ if b { c }\n}",
        "on the same line",
        ["kernel k[] {if a {} if b {c} _}"],
    ),
    "else without if": ("fn f() {\n  ⟦else⟧ { }\n  a\n}", "follows no `if`", ["fn f[] {?; a}"]),
    "missing ) before a statement": (
        "fn f() {\n  let x = (a + b⟦⟧\n  let y = 2\n}",
        "missing `)` to close `(`",
        ["fn f[] {let x _ ?; let y _ 2}"],
    ),
    "missing ) before an assignment": (
        "fn f() {\n  let x = g(a, b⟦⟧\n  y = 2\n}",
        "missing `)` to close `(`",
        ["fn f[] {let x _ ?; y = 2}"],
    ),
    "missing ] at the end of a block": (
        "fn f() {\n  x = a[i⟦⟧\n}",
        "missing `]` to close `[`",
        ["fn f[] {x = ?}"],
    ),
    "missing > of a type": (
        "fn f() {\n  var t: tile<f32⟦[⟧M] = 0.0\n  t\n}",
        "expected `>`, found `[`",
        ["fn f[] {var t ? 0.0; t}"],
    ),
    "missing > of a collective": (
        "fn f() {\n  let x = sum<over ctx.lane⟦(⟧a)\n  x\n}",
        "expected `, width w` or `>`, found `(`",
        ["fn f[] {let x _ ?; x}"],
    ),
    "missing comma between parameters": (
        "kernel k(A: tensor<f32>[M]⟦⟧\n         B: f32) { A }",
        "missing `,` between two items",
        ["kernel k[A: (tensor f32 [M]), B: f32] {A}"],
    ),
    "missing comma over two lines": (
        "fn f() {\n  x = g(a[0]⟦⟧ b,\n        c)\n  y\n}",
        "missing `,` between two items",
        ["fn f[] {x = (call g [(index a [0]), b, c]); y}"],
    ),
    "missing } before an item": (
        "kernel k() ⟦{⟧\n  a\n\nkernel l() {\n  b\n}",
        "this `{` is never closed",
        ["kernel k[] {a}", "kernel l[] {b}"],
    ),
    "missing } of an inner block": (
        "kernel k() {\n  for i in range(0, 1) ⟦{⟧\n    a\n  b\n}\nfn f() = 1",
        "this `{` is never closed",
        ["kernel k[] {for _ i 0 1 _ {a; b}}", "fn f[] 1"],
    ),
    "missing }": ("fn f() ⟦{⟧\n  a\n", "this `{` is never closed", ["fn f[] {a}"]),
    "missing { of an if": (
        "fn f() {\n  if a⟦⟧\n    b\n  }\n  c\n}",
        "expected `{` after `a`",
        ["fn f[] {if a {b} _; c}"],
    ),
    "one } too many": (
        "fn f() { a }\n⟦}⟧\nfn g() = 1",
        "stands outside any kernel or function",
        ["fn f[] {a}", "fn g[] 1"],
    ),
    "a stray )": ("fn f() {\n  a⟦)⟧\n  b\n}", "expected a line end or `;`", ["fn f[] {a; b}"]),
    "a ) on its own line": ("fn f() {\n  a\n  ⟦)⟧\n  b\n}", "this `)` closes nothing", ["fn f[] {a; ?; b}"]),
    "a keyword as a let": ("fn f() {\n  let ⟦kernel⟧ = 1\n}", "cannot be a name", ["fn f[] {let kernel _ 1}"]),
    "a keyword as a parameter": (
        "kernel k(⟦if⟧: f32) {}",
        "`if` is a keyword and cannot be a name",
        ["kernel k[if: f32] {}"],
    ),
    "a keyword as a kernel's name": ("kernel ⟦fn⟧() {}", "cannot be a name", ["kernel fn[] {}"]),
    "a keyword as a value": ("fn f() {\n  x = a + ⟦in⟧ * 2\n}", "cannot be a name", ["fn f[] {x = ?}"]),
    "ctx bound": ("fn f() {\n  let ⟦ctx⟧ = 1\n}", "may not be bound", ["fn f[] {let ctx _ 1}"]),
    "ctx read whole": (
        "fn f() {\n  let x = ⟦ctx⟧\n}",
        "read only through its fields",
        ["fn f[] {let x _ ?}"],
    ),
    "a field of something else": (
        "fn f() {\n  let x = A⟦.⟧T\n  x\n}",
        "only `ctx` has fields",
        ["fn f[] {let x _ ?; x}"],
    ),
    "let without a value": (
        "fn f() {\n  let ⟦x⟧\n  let y = 1\n}",
        "`let x` needs a value",
        ["fn f[] {let x _ ?; let y _ 1}"],
    ),
    "typed let without a value": (
        "fn f() {\n  let ⟦x⟧: f32\n  y\n}",
        "`let x` needs a value",
        ["fn f[] {let x f32 ?; y}"],
    ),
    "var without type and value": (
        "fn f() {\n  var ⟦t⟧\n  y\n}",
        "`var t` needs a type or a value",
        ["fn f[] {var t ? _; y}"],
    ),
    "let without a name": (
        "fn f() {\n  let⟦⟧\n  for i in range(0, 1) { a }\n}",
        "expected a name",
        ["fn f[] {?; for _ i 0 1 _ {a}}"],
    ),
    "a value that is missing": (
        "fn f() {\n  let x =⟦⟧\n  y = 1\n}",
        "expected an expression after `=`",
        ["fn f[] {let x _ ?; y = 1}"],
    ),
    "an operand that is missing": (
        "fn f() {\n  let x = a +⟦⟧\n  let y = 1\n}",
        "expected an expression after `+`",
        ["fn f[] {let x _ ?; let y _ 1}"],
    ),
    "an operator at the start of a line": (
        "fn f() {\n  let x = a\n    ⟦+⟧ b\n  y\n}",
        "the one before ended at the line end",
        ["fn f[] {let x _ a; ?; y}"],
    ),
    "two statements on a line": (
        "fn f() {\n  let x = 1 ⟦let⟧ y = 2\n}",
        "expected a line end or `;`, found the keyword `let`",
        ["fn f[] {let x _ 1; let y _ 2}"],
    ),
    "an empty statement": ("fn f() {\n  a;⟦;⟧\n  b\n}", "no statement before this `;`", ["fn f[] {a; b}"]),
    "two unary operators": ("fn f() {\n  x = ⟦--⟧a\n}", "only one unary operator", ["fn f[] {x = ?}"]),
    "a trailing comma": ("fn f() {\n  g(a⟦,⟧)\n}", "does not end with a comma", ["fn f[] {(call g [a])}"]),
    "an empty subscript": ("fn f() {\n  x = A[⟦]⟧\n}", "expected a subscript", ["fn f[] {x = ?}"]),
    "an assignment as a condition": (
        "fn f() {\n  if a ⟦=⟧ 3 { b }\n}",
        "`=` assigns",
        ["fn f[] {if a {b} _}"],
    ),
    "an assignment to an expression": (
        "fn f() {\n  ⟦a + b⟧ = 3\n  c\n}",
        "only a name or an indexed name can be assigned to",
        ["fn f[] {?; c}"],
    ),
    "an assignment to an index of a call": (
        "fn f() {\n  ⟦g(a)[0]⟧ = 3\n}",
        "only a name or an indexed name can be assigned to",
        ["fn f[] {?}"],
    ),
    "range with one bound": (
        "fn f() {\n  for i in range⟦(4)⟧ { a }\n}",
        "`range` takes a lower bound, an upper bound",
        ["fn f[] {for _ i ? ? _ {a}}"],
    ),
    "a loop over something else": (
        "fn f() {\n  for i in ⟦A⟧ { i }\n}",
        "expected `range`, found `A`",
        ["fn f[] {for _ i ? ? _ {i}}"],
    ),
    "an unknown scalar type": (
        "kernel k(a: ⟦float⟧) { a }",
        "unknown type `float`",
        ["kernel k[a: ?] {a}"],
    ),
    "an unknown element type": ("kernel k(A: tensor<⟦f33⟧>[M]) {}", "unknown type `f33`", ["kernel k[A: ?] {}"]),
    "an unknown shaped type": ("kernel k(A: ⟦array⟧<f32>[M]) {}", "unknown type `array`", ["kernel k[A: ?] {}"]),
    "a tile without dimensions": ("kernel k(A: ⟦tile⟧) {}", "needs an element type", ["kernel k[A: ?] {}"]),
    "a computed dimension": (
        "fn f() {\n  var t: tile<f32>[⟦M * 2⟧] = 0.0\n}",
        "a dimension is a name or an integer literal",
        ["fn f[] {var t ? 0.0}"],
    ),
    "a computed attribute argument": (
        "@launch(⟦128 * 2⟧) kernel k() {}",
        "an attribute takes literals and names",
        ["@launch[] kernel k[] {}"],
    ),
    "a search space of names": (
        "@autotune(X in [⟦Y⟧, 2]) kernel k() {}",
        "the values of a search space are integer literals",
        ["@autotune[X in [2]] kernel k[] {}"],
    ),
    "an attribute on a function": ("⟦@pipeline⟧\nfn f() = 1", "takes no attributes", ["fn f[] 1"]),
    "an unclosed attribute": (
        "@autotune(X in [1, 2⟦⟧\nkernel k() { a }",
        "missing `]` to close `[`",
        ["kernel k[] {a}"],
    ),
    "an attribute without a kernel": ("fn f() = 1\n@pipeline⟦⟧\n", "expected `kernel`", ["fn f[] 1"]),
    "a group that is no field of ctx": (
        "fn f() {\n  let x = sum<over ⟦lane⟧>(a)\n}",
        "`over` names `ctx.lane` or `ctx.thread`",
        ["fn f[] {let x _ (group sum over ? _ [a])}"],
    ),
    "a function inside a block": (
        "fn f() {\n  ⟦fn⟧ g(a) { b }\n  c\n}",
        "stands at the top level",
        ["fn f[] {?; c}"],
    ),
    "a statement at the top level": (
        "⟦let⟧ x = 1\nfn f() = 1",
        "only kernels and functions stand at the top level",
        ["fn f[] 1"],
    ),
    "a kernel without parameters": ("kernel k ⟦{⟧ a }", "expected parameters", ["kernel k[] {a}"]),
    "a letter in a number": ("fn f() {\n  x = ⟦12ab⟧ + 1\n}", "is not a number", ["fn f[] {x = ?}"]),
    "a suffix on a float": ("fn f() {\n  x = ⟦1.5f⟧\n}", "is not a number", ["fn f[] {x = ?}"]),
    "an exponent without digits": ("fn f() {\n  x = ⟦1e⟧\n}", "is not a number", ["fn f[] {x = ?}"]),
    "a float without its first digits": ("fn f() {\n  x = ⟦.⟧5\n}", "expected an expression", ["fn f[] {x = ?}"]),
    "a name with an accent": ("fn f() {\n  let ⟦größe⟧ = 1\n}", "`größe` is not a name", ["fn f[] {?}"]),
    "a typographic minus": ("fn f() {\n  x = a ⟦\u2212⟧ b\n}", "`\u2212` has no meaning", ["fn f[] {x = a}"]),
    "a block comment": ("fn f() {\n  x = a ⟦/* b */⟧ + c\n}", "a comment is `// ...`", ["fn f[] {x = a}"]),
    "a string": ('fn f() {\n  x = ⟦"⟧a"\n}', "has no meaning", ["fn f[] {x = ?}"]),
    "an integer past 64 bits": (
        "fn f() {\n  x = ⟦9223372036854775808⟧\n}",
        "at most 9223372036854775807",
        ["fn f[] {x = ?}"],
    ),
    "an integer of many digits": (f"fn f() = ⟦{'9' * 5000}⟧", "at most 9223372036854775807", ["fn f[] ?"]),
    "a float past f64": ("fn f() = ⟦1e999⟧", "past the range of f64", ["fn f[] ?"]),
    "a text that breaks off": (
        "kernel k() {\n  let x = A[0 :+⟦⟧",
        "expected an expression",
        ["kernel k[] {let x _ ?}"],
    ),
    "a header that breaks off": ("kernel k(⟦⟧", "expected a parameter's name", ["kernel k[] {}"]),
}


@pytest.mark.parametrize("case", CASES)
def test_one_mistake_gives_one_diagnostic(case: str) -> None:
    marked, message, items = CASES[case]
    before, rest = marked.split("⟦")
    inside, after = rest.split("⟧")
    file = parse(before + inside + after)
    start = len(before.encode())
    assert [(d.start, d.end) for d in file.diagnostics] == [(start, start + len(inside.encode()))]
    (diagnostic,) = file.diagnostics
    assert message in diagnostic.message
    assert diagnostic.severity == "error"
    assert diagnostic.code in CODES
    assert [show(placed.item) for placed in file.items] == items


def test_each_mistake_is_reported() -> None:
    file = parse("fn f() {\n  let x =\n  let y\n  z = (1\n  if a = b { c = --d }\n}\nfn g() = ]\n")
    lines = [file.text.count(b"\n", 0, d.start) + 1 for d in file.diagnostics]
    assert lines == [2, 3, 4, 5, 5, 7]


def test_a_broken_item_leaves_the_others_alone() -> None:
    good = "kernel good(A: tensor<f32>[M]) {\n  A[0] = 1.0\n}\n"
    whole = parse(good).items[0].item
    for broken in ("kernel bad(", "fn bad() { (", "let", "kernel bad() { if a { while b {", "fn bad( {}"):
        file = parse(f"{good}{broken}\n{good}")
        assert [placed.item for placed in file.items if placed.item == whole] == [whole, whole], broken
        assert len(file.diagnostics) == 1, broken
