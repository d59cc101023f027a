"""Completion and signature help: what is offered where."""

import pytest
from lsprotocol import types as lsp

from phobos_core.language.attributes import ATTRIBUTES
from phobos_core.language.builtins import BUILTINS
from phobos_ls.features.completion import completion, resolve
from phobos_ls.features.signature import signature_help
from tests.ls.cursor import cursor


def labels(source: str) -> set[str]:
    c = cursor(source)
    return {item.label for item in completion(c.snapshot, c.offset).items}


def body(text: str) -> str:
    return f"@autotune(T in [16, 32])\nkernel k(A: tensor<f32>[N, 64], n: i32) {{\n{text}\n}}\nfn twice(x) = x * 2\n"


OFFERED = [
    ("let a = $0", {"A", "n", "N", "T", "exp", "dot", "rowmax", "f32", "ctx", "twice", "sum<>", "true"}),
    ("let first = 1\nlet b = fi$0", {"first"}),
    ("$0", {"let", "var", "for", "if", "while", "return", "A"}),
    ("for i in range(0, 4) {\nlet a = $0\n}", {"i"}),
    ("if n > 0 {\nlet inner = 1\nlet a = $0\n}", {"inner"}),
    ("let a = ctx.$0", {"block.x", "blocks.z", "thread", "lane", "threads", "warps"}),
    ("let a = ctx.block.$0", {"x", "y", "z"}),
    ("let a = sum<$0", {"over"}),
    ("let a = sum<over $0", {"ctx.lane", "ctx.thread"}),
    ("let a = sum<over ctx.lane, $0", {"width"}),
    ("let a = shfl<$0", {"from", "xor", "down", "up"}),
    ("for<$0", {"unroll"}),
    ("var t: $0", {"f32", "i32", "tile"}),
    ("var t: tile<$0", {"f32", "f16", "i8"}),
    ("let a = A[$0", {"n", "T"}),
    ("let a = exp($0", {"n", "A"}),
    ("let a = (n + $0", {"n"}),
]


@pytest.mark.parametrize(("text", "expected"), OFFERED)
def test_offered(text: str, expected: set[str]) -> None:
    assert expected <= labels(body(text))


NOT_OFFERED = [
    ("let a = $0\nlet later = 1", {"later"}),
    ("if n > 0 {\nlet inner = 1\n}\nlet a = $0", {"inner"}),
    ("for i in range(0, 4) {\n}\nlet a = $0", {"i"}),
    ("let own = $0", {"own"}),
    ("// let a = $0", {"n", "exp"}),
    ("let a = $0", {"let", "return"}),
    ("let a = ctx.$0", {"n", "exp"}),
    ("let a = sum<$0", {"n", "exp"}),
]


@pytest.mark.parametrize(("text", "absent"), NOT_OFFERED)
def test_not_offered(text: str, absent: set[str]) -> None:
    assert not absent & labels(body(text))


def test_between_items() -> None:
    assert {"kernel", "fn", "@launch"} <= labels("$0")
    assert set(ATTRIBUTES) == labels("@$0\nkernel k() {}")
    assert {"f32", "tensor"} <= labels("kernel k(A: $0) {}")


def test_in_a_function() -> None:
    found = labels("fn f(left, right) {\nlet mine = left\nleft = $0\n}\nkernel k() {}")
    assert {"left", "right", "mine", "exp"} <= found


def test_names_come_first() -> None:
    c = cursor(body("let first = 1\nlet b = $0"))
    items = sorted(completion(c.snapshot, c.offset).items, key=lambda item: item.sort_text or item.label)
    order = [item.label for item in items]
    assert order.index("first") < order.index("twice") < order.index("exp")


@pytest.mark.parametrize(
    ("text", "label", "expected"),
    [
        ("let a = $0", "exp", "ex2.approx"),
        ("let a = sum$0", "sum<>", "over ctx.lane"),
        ("let a = ctx.$0", "lane", "warp"),
        ("$0", "let", "Binds a name"),
    ],
)
def test_resolved(text: str, label: str, expected: str) -> None:
    c = cursor(body(text))
    item = next(item for item in completion(c.snapshot, c.offset).items if item.label == label)
    assert item.documentation is None
    documented = resolve(item).documentation
    assert isinstance(documented, lsp.MarkupContent)
    assert expected in documented.value


# Places where there is nothing to offer, or one thing.

HEAD = (
    "@autotune(T in [16, 32])\nkernel k(A: tensor<f32>[N, 64], n: i32) {\n  let row = n * T\n"
    "  var acc: tile<f32>[T, 64] = 0.0\n  {}\n}\n"
)
ELEMENTS = {"f16", "bf16", "f32", "f64", "i8", "i32", "i64", "u8", "u16", "u32", "bool"}
EXACTLY = [
    ("a new name", "let $0", set()),
    ("a new name, begun", "var na$0", set()),
    ("the variable of a loop", "for $0", set()),
    ("the variable of an unrolled loop", "for<unroll 4> $0", set()),
    ("behind the variable of a loop", "for i $0", {"in"}),
    ("behind the variable of an unrolled loop", "for<unroll 4> i i$0", {"in"}),
    ("behind the `in` of a loop", "for i in $0", {"range"}),
    ("behind the `in` of a loop, begun", "for i in ra$0", {"range"}),
    ("behind a range", "for i in range(0, 4) $0", set()),
    ("behind a name that is bound", "let a $0", set()),
    ("behind a type", "let a: i32 $0", set()),
    ("behind the element of a tile", "var t: tile<f32>$0", set()),
    ("behind a whole condition", "if row $0", set()),
    ("behind a whole value", "let a = row $0", set()),
    ("behind a call", "let a = exp(1.0) $0", set()),
    ("behind subscripts", "let a = acc[0, 0] $0", set()),
    ("behind the bracket of a collective", "let a = sum<over ctx.lane>$0", set()),
    ("behind an argument", "let a = max(row $0", set()),
    ("in a number", "let a = 12$0", set()),
    ("in a float", "let a = 1.$0", set()),
    ("fields of what has none", "let a = acc.$0", set()),
    ("behind `return`", "return $0", set()),
    ("behind `else`", "if row > 0 {\n  } else $0", {"if"}),
    ("attributes in a body", "@$0", set()),
    ("the element of a tile", "var t: tile<$0", ELEMENTS),
    ("a type", "let a: $0", {*ELEMENTS, "tensor", "tile"}),
    ("an extent", "var t: tile<f32>[$0", {"T", "N", "row", "8", "16", "32", "64", "128", "256"}),
    ("a later extent", "var t: tile<f32>[T, $0", {"T", "N", "row", "8", "16", "32", "64", "128", "256"}),
]


@pytest.mark.parametrize(("text", "expected"), [case[1:] for case in EXACTLY], ids=[case[0] for case in EXACTLY])
def test_exactly(text: str, expected: set[str]) -> None:
    assert labels(HEAD.replace("{}", text)) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("kernel $0", set()),
        ("fn $0", set()),
        ("fn f($0", set()),
        ("fn f(x) $0", set()),
        ("kernel k($0", set()),
        ("kernel k(A$0", set()),
        ("kernel k(A: f32, $0", set()),
        ("kernel k(A: tensor<f32>[N]$0", set()),
        ("kernel k(A: tensor<f32>[N]) $0", set()),
        ("@launch(32)\nkernel $0", set()),
        ("kernel k(A: $0", {*ELEMENTS, "tensor", "tile"}),
        ("@launch(32)\nkernel k(A: i32, B: tensor<$0", ELEMENTS),
    ],
)
def test_exactly_in_a_head(source: str, expected: set[str]) -> None:
    assert labels(source) == expected


VALUES = [
    ("behind a comparison", "let a = row < $0", {"row", "n", "exp"}, {"over", "let"}),
    ("behind the larger", "let a = row > $0", {"row", "n", "exp"}, {"let"}),
    ("behind a minus", "let a = -$0", {"row"}, {"let", "a"}),
    ("the end of a range of elements", "let a = A[row : $0", {"row", "n", "T"}, {"tensor", "tile"}),
    ("the end of a range from 0", "let a = A[: $0", {"row", "n", "T"}, {"tile"}),
    ("on the line after an operator", "let a = row +\n    $0", {"row", "exp"}, {"let", "a"}),
    ("on the line after an open bracket", "let a = dot(\n    $0", {"acc", "exp"}, {"let", "a"}),
    ("on the line after an argument", "let a = dot(acc,\n    $0", {"acc", "exp"}, {"let", "a"}),
    ("on the line after a comment", "let a = 1 // exp(\n  $0", {"a", "let"}, {"exp"}),
    ("behind a semicolon", "let a = 1; $0", {"a", "let"}, {"exp"}),
    ("what stands as a statement", "$0", {"let", "barrier", "atomic_add", "acc"}, {"exp", "dot", "sum<>", "ctx"}),
    ("inside a call, its own name", "let a = max($0, 1)", {"row"}, {"a"}),
    ("the bounds of a loop, its own variable", "for i in range($0, 4) {\n  }", {"row"}, {"i"}),
    ("how often to unroll", "for<unroll $0", {"T"}, {"unroll"}),
    ("a lane", "let a = shfl<from $0", {"row"}, {"over"}),
    ("the value of a typed name", "let a: i32 = $0", {"row", "exp"}, {"a", "tile"}),
]


@pytest.mark.parametrize(
    ("text", "expected", "absent"), [case[1:] for case in VALUES], ids=[case[0] for case in VALUES]
)
def test_values(text: str, expected: set[str], absent: set[str]) -> None:
    found = labels(HEAD.replace("{}", text))
    assert expected <= found
    assert not absent & found


def ordered(source: str) -> list[str]:
    c = cursor(source)
    items = sorted(completion(c.snapshot, c.offset).items, key=lambda item: item.sort_text or item.label)
    return [item.label for item in items]


def test_the_nearest_names_come_first() -> None:
    assert ordered(HEAD.replace("{}", "let a = $0"))[:6] == ["acc", "row", "n", "A", "N", "T"]


def test_where_elements_are_counted_numbers_come_first() -> None:
    for text in ("acc[$0", "let a = A[row :+ $0", "for i in range($0"):
        assert ordered(HEAD.replace("{}", text))[:6] == ["row", "n", "N", "T", "acc", "A"]


def test_what_is_not_supported_yet_comes_last() -> None:
    found = ordered(HEAD.replace("{}", "let a = $0"))
    unsupported = [name for name in found if name in BUILTINS and not BUILTINS[name].supported]
    assert found[-len(unsupported) :] == unsupported


def test_a_name_says_its_type() -> None:
    c = cursor(HEAD.replace("{}", "let a = $0"))
    details = {item.label: item.detail for item in completion(c.snapshot, c.offset).items}
    assert [details[name] for name in ("A", "acc", "n", "row")] == [
        "tensor<f32>[N, 64]", "tile<f32>[T, 64]", "i32", "index",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("source", "label", "inserted"),
    [
        (HEAD.replace("{}", "let a = $0"), "dot_t", "dot_t"),
        (HEAD.replace("{}", "let a = $0"), "sum<>", "sum"),
        (HEAD.replace("{}", "$0"), "for<unroll>", "for"),
        (HEAD.replace("{}", "$0"), "for", "for"),
        (HEAD.replace("{}", "$0"), "barrier", "barrier()"),
        ("@$0\nkernel k() {\n}\n", "pipeline", "pipeline"),
        ("@$0\nkernel k() {\n}\n", "launch", "launch"),
        ("$0", "@launch", "@launch"),
        ("@autotune($0)\nkernel k() {\n}\n", "NAME in [..]", "NAME"),
    ],
)
def test_a_client_without_snippets_is_sent_none(source: str, label: str, inserted: str) -> None:
    c = cursor(source)
    items = completion(c.snapshot, c.offset, snippets=False).items
    assert not [item.label for item in items if "$" in (item.insert_text or "") or item.insert_text_format]
    assert next(item for item in items if item.label == label).insert_text == inserted


# Arguments of attributes.

TUNED = (
    "@autotune(T in [16, 32])\n{}\nkernel k(A: tensor<f32>[N, 64], B: tensor<f32>[M, T]) {{\n"
    "  var acc: tile<f32>[T, 64] = 0.0\n}}\n"
)
ARGUMENTS = [
    ("the dimensions to promise", "@aligned($0)", {"N", "M"}, {"T", "64", "acc", "exp"}),
    ("a second promise", "@aligned(N = 64, $0)", {"M"}, {"acc", "exp"}),
    ("what divides the dimension", "@aligned(N = $0)", {"T", "64"}, {"N", "M", "acc"}),
    ("what divides it, half-written", "@aligned(N = T$0", {"T"}, {"exp"}),
    ("threads", "@launch($0)", {"32", "256", "1024"}, {"N", "T", "exp"}),
    ("blocks", "@launch(256, $0)", {"1", "2"}, {"1024", "N"}),
    ("registers", "@launch(256, 2, $0)", {"128", "255"}, {"1024", "8"}),
    ("nothing after the last", "@launch(256, 2, 64, $0)", set(), {"1", "256", "N"}),
    ("the paths of tensor cores", "@tensorcore($0)", {"wmma", "sync"}, {"N", "T", "exp"}),
    ("tiles to keep in registers", "@registers($0)", {"acc"}, {"A", "N", "T", "exp"}),
    ("a second tile", "@registers(acc, $0)", {"acc"}, {"A", "exp"}),
    ("a search dimension", "@autotune($0)", {"NAME in [..]"}, {"N", "exp"}),
    ("choices", "@autotune(U in [$0])", {"16", "128"}, {"N", "exp", "NAME in [..]"}),
    ("an attribute without arguments", "@pipeline($0)", set(), {"N", "T", "exp"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("attribute", "expected", "absent"), [case[1:] for case in ARGUMENTS], ids=[case[0] for case in ARGUMENTS]
)
def test_arguments_of_attributes(attribute: str, expected: set[str], absent: set[str]) -> None:
    found = labels(TUNED.format(attribute))
    assert expected <= found
    assert not absent & found


def test_over_several_lines() -> None:
    assert {"N", "M"} <= labels(TUNED.format("@aligned(\n  $0\n)"))


# Tables of quantized built-ins.

QUANTIZED = (
    "kernel k(A: tensor<i8>[128, 256], S: tensor<f32>[128, 8], QB: tensor<i8>[64, 66], D: tensor<f16>[64, 1],\n"
    "         GRID: tensor<i8>[1, 2048], C: tensor<f32>[128, 64]) {{\n"
    "  C[:, :] = {}_qgemm_t(A[:, :], S[:, :], QB[:, :], D[:, :], {}\n}}\n"
)


@pytest.mark.parametrize(
    ("format_", "argument", "expected"),
    [
        ("iq2xxs", "$0)", {"GRID[:, :]", "IQ2XXS_PACKED_GRID[:, :]"}),
        ("iq2xxs", "GRID[:, :], $0)", {"GRID[:, :]", "IQ2XXS_SIGN_MASKS[:, :]"}),
        ("iq1s", "$0)", {"IQ1S_GRID2[:, :]"}),
        ("iq1s", "$0", {"IQ1S_GRID2[:, :]"}),
        ("iq3s", "GRID[:, :], $0)", {"IQ2S_SIGN_MASKS[:, :]"}),
    ],
)
def test_tables_by_the_format(format_: str, argument: str, expected: set[str]) -> None:
    assert expected <= labels(QUANTIZED.format(format_, argument))


def test_a_format_without_tables_has_none() -> None:
    assert not [label for label in labels(QUANTIZED.format("q4k", "$0)")) if label.endswith("[:, :]")]


def test_a_table_becomes_a_parameter() -> None:
    c = cursor(QUANTIZED.format("iq2xxs", "$0)"))
    items = completion(c.snapshot, c.offset).items
    table = next(item for item in items if item.label == "IQ2XXS_PACKED_GRID[:, :]")
    (edit,) = table.additional_text_edits or ()
    assert edit.new_text == ", IQ2XXS_PACKED_GRID: tensor<i8>[1, 2048]"
    assert c.snapshot.text[c.snapshot.offset(edit.range.start) :].startswith(b") {")


# Places at the edge of something, and texts that are half-written.

EDGES = [
    (
        "a parameter of the kernel, with a line end of two characters",
        "kernel k(n: i32) {\r\n  let a = $0\r\n}\r\n",
        {"n"},
        set(),
    ),
    ("behind wide characters", "kernel k(n: i32) {\n  // 😀é漢\n  let a = n; let b = $0 // 漢\n}\n", {"n", "a"}, {"b"}),
    ("at the end of the file", "kernel k(n: i32) {\n  let a = 1\n  let b = $0", {"n", "a"}, {"b"}),
    (
        "in a branch",
        "kernel k(n: i32) {\n  if n > 0 {\n    let a = 1\n  } else {\n    let b = $0\n  }\n}\n",
        {"n"},
        {"a"},
    ),
    (
        "in the first branch",
        "kernel k(n: i32) {\n  if n > 0 {\n    let a = 1\n    let b = $0\n  } else {\n    let c = 1\n  }\n}\n",
        {"n", "a"},
        {"c"},
    ),
    (
        "in a chain of branches",
        "kernel k(n: i32) {\n  if n > 0 {\n    let a = 1\n  } else if n > $0 {\n  }\n}\n",
        {"n"},
        {"a"},
    ),
    (
        "in an inner loop",
        "kernel k(n: i32) {\n  for i in range(0, 4) {\n    for j in range(0, 4) {\n      let b = $0\n    }\n  }\n}\n",
        {"i", "j"},
        {"b"},
    ),
    (
        "between loops",
        "kernel k(n: i32) {\n  for i in range(0, 4) {\n    for j in range(0, 4) {\n    }\n    let b = $0\n  }\n}\n",
        {"i"},
        {"j"},
    ),
    ("in the bounds of a loop", "kernel k(n: i32) {\n  for i in range(0, $0) {\n  }\n}\n", {"n"}, {"let"}),
    ("in the condition of a loop", "kernel k(n: i32) {\n  while $0 {\n  }\n}\n", {"n"}, {"let"}),
    (
        "an inner name hides an outer one",
        "kernel k(n: i32) {\n  let a = 1\n  if n > 0 {\n    var a = 2.0\n    let b = $0\n  }\n}\n",
        {"a"},
        {"b"},
    ),
    ("the second kernel's own names", "kernel k(n: i32) {\n}\nkernel l(m: i32) {\n  let b = $0\n}\n", {"m"}, {"n"}),
    ("beside a mistake", "kernel k(n: i32) {\n  let a = 1\n  let = 2\n  let b = $0\n}\n", {"n", "a"}, {"b"}),
    ("in a call that is not closed", "kernel k(n: i32) {\n  let a = exp($0\n}\n", {"n", "exp"}, {"a"}),
    (
        "in subscripts that are not closed",
        "kernel k(A: tensor<f32>[N], n: i32) {\n  A[n :+ $0\n}\n",
        {"n", "N"},
        {"let"},
    ),
    (
        "a function's own names",
        "fn f(x, y) {\n  let a = x\n  for i in range(0, 4) {\n    let b = $0\n  }\n}\n",
        {"x", "y", "a", "i", "exp"},
        {"b"},
    ),
    (
        "a function's names after their block",
        "fn f(x) {\n  if x > 0 {\n    let a = x\n  }\n  let b = $0\n}\n",
        {"x"},
        {"a"},
    ),
    ("in an expression function", "fn f(x, y) = x + $0\n", {"x", "y", "exp"}, {"let"}),
    ("functions of the file", "fn half(x) = x / 2\nkernel k(n: i32) {\n  let a = $0\n}\n", {"half"}, set()),
    ("a function declared below", "kernel k(n: i32) {\n  let a = $0\n}\nfn half(x) = x / 2\n", {"half"}, set()),
    ("what stands as a statement", "kernel k(n: i32) {\n  $0\n}\n", {"barrier", "let", "for<unroll>"}, set()),
    (
        "not a statement where a value stands",
        "kernel k(n: i32) {\n  let a = $0\n}\n",
        {"atomic_add", "load_acquire"},
        {"for<unroll>", "kernel"},
    ),
    ("between kernels", "kernel k() {\n}\n$0\nkernel l() {\n}\n", {"kernel", "fn", "@launch"}, {"let", "exp"}),
    ("elements of a tensor", "kernel k(A: tensor<$0>[N]) {\n}\n", {"f32", "bf16", "u8"}, {"exp"}),
    (
        "extents of a tile",
        "@autotune(T in [1, 2])\nkernel k(A: tensor<f32>[N, 64]) {\n  var t: tile<f32>[$0, 64] = 0.0\n}\n",
        {"T"},
        {"let"},
    ),
    (
        "dimensions of another parameter",
        "kernel k(A: tensor<f32>[N, M], B: tensor<f32>[$0]) {\n}\n",
        {"N", "M"},
        {"exp"},
    ),
    ("the axes of blocks", "kernel k() {\n  let a = ctx.blocks.$0\n}\n", {"x", "y", "z"}, {"block", "lane"}),
    ("fields, half-written", "kernel k() {\n  let a = ctx.la$0\n}\n", {"lane", "lanes"}, {"exp"}),
    (
        "groups of a collective",
        "kernel k() {\n  let a = max<over ctx.$0>(1)\n}\n",
        {"lane", "thread"},
        {"block.x", "exp"},
    ),
    ("a comment says nothing", "kernel k(n: i32) {\n  let a = 1 // $0\n}\n", set(), {"n", "exp"}),
]


@pytest.mark.parametrize(
    ("source", "expected", "absent"), [case[1:] for case in EDGES], ids=[case[0] for case in EDGES]
)
def test_edges(source: str, expected: set[str], absent: set[str]) -> None:
    found = labels(source)
    assert expected <= found
    assert not absent & found


@pytest.mark.parametrize(
    ("source", "label", "inserted"),
    [
        ("kernel k() {\n  $0\n}\n", "for", "for ${1:i} in range(${2:0}, ${3:n}) {\n  $0\n}"),
        ("kernel k() {\n  let a = $0\n}\n", "dot_t", "dot_t(${1:a}, ${2:b})"),
        ("kernel k() {\n  let a = $0\n}\n", "sum<>", "sum<over ctx.lane>(${2:x})"),
        ("kernel k() {\n  let a = $0\n}\n", "shfl<>", "shfl<from ${1:s}>(${2:x})"),
        ("fn both(a, b) = a + b\nkernel k() {\n  let a = $0\n}\n", "both", "both(${1:a}, ${2:b})"),
        ("kernel k(A: tensor<f32>[N]) {\n  $0\n}\n", "barrier", "barrier()"),
        ("@$0\nkernel k() {\n}\n", "launch", "launch(${1:256})"),
        ("$0", "kernel", "kernel ${1:name}(${2:A: tensor<f32>[N]}) {\n  $0\n}"),
    ],
)  # fmt: skip
def test_what_is_inserted(source: str, label: str, inserted: str) -> None:
    c = cursor(source.replace("\n  $0\n}", "\n  $0\n}", 1))
    item = next(each for each in completion(c.snapshot, c.offset).items if each.label == label)
    assert item.insert_text == inserted
    assert item.insert_text_format is lsp.InsertTextFormat.Snippet


def active(source: str) -> str | None:
    c = cursor(source)
    found = signature_help(c.snapshot, c.offset)
    if found is None:
        return None
    signature = found.signatures[found.active_signature or 0]
    at = signature.parameters[found.active_parameter or 0].label if signature.parameters else (0, 0)
    assert isinstance(at, tuple)
    return f"{signature.label[: at[0]]}*{signature.label[at[0] : at[1]]}*{signature.label[at[1] :]}"


SIGNATURES = [
    ("let a = dot($0", "dot(*a*, b)"),
    ("let a = dot(A, $0", "dot(a, *b*)"),
    ("let a = dot(A[0, 1], $0)", "dot(a, *b*)"),
    ("let a = exp(dot(A,$0", "dot(a, *b*)"),
    ("let a = exp(dot(A, A), $0", "exp(*t*)"),
    ("let a = twice($0", "twice(*x*)"),
    ("let a = sum<over ctx.lane>($0", "sum<over ctx.lane>(*x*)"),
    ("let a = where(n > 0, $0", "where(c, *a*, b)"),
    ("let a = dot(A, // one, two\n$0", "dot(a, *b*)"),
    ("let a = dot(A[0 :+ 4, :], A[$0", "dot(a, *b*)"),
    ("let a = max(exp(1.0), $0)", "max(a, *b*)"),
    ("let a = exp($0)\nlet b = 1", "exp(*t*)"),
    ("let a = shfl<xor 1>($0)", "shfl<from index>(*v*)"),
    ("let a = reduce<over ctx.lane>(1.0, $0)", "reduce<over ctx.lane>(x, *f*)"),
    ("let a = atomic_add(A, n, $0)", "atomic_add(t, i, *v*)"),
    ("let é = exp($0", "exp(*t*)"),
    ("if max(n, $0", "max(a, *b*)"),
    ("A[max(n, $0)] = 1.0", "max(a, *b*)"),
]


@pytest.mark.parametrize(("text", "expected"), SIGNATURES)
def test_signature(text: str, expected: str) -> None:
    assert active(body(text)) == expected


ATTRIBUTE_SIGNATURES = [
    ("@launch($0", "@launch(*threads*[, min_blocks[, max_regs]])"),
    ("@launch(256, $0)", "@launch(threads[, *min_blocks*[, max_regs]])"),
    ("@launch(256, 2, $0)", "@launch(threads[, min_blocks[, *max_regs*]])"),
    ("@aligned($0)", "@aligned(*DIM = tile, ..*)"),
    ("@aligned(N = 4, $0)", "@aligned(*DIM = tile, ..*)"),
    ("@tensorcore($0)", "@tensorcore[(*path*)]"),
    ("@registers(a, $0)", "@registers(*tile, ..*)"),
    ("@autotune(T in [1, $0])", "@autotune(*X in [..], ..*)"),
    ("@autotune($0)", "@autotune(*X in [..], ..*)"),
    ("@pipeline($0)", None),
    ("@unknown($0)", None),
]


@pytest.mark.parametrize(("attribute", "expected"), ATTRIBUTE_SIGNATURES)
def test_the_signature_of_an_attribute(attribute: str, expected: str | None) -> None:
    assert active(f"{attribute}\nkernel k(A: tensor<f32>[N]) {{\n}}\n") == expected


def test_an_argument_of_an_attribute_says_its_bounds() -> None:
    c = cursor("@launch(1, 1, $0)\nkernel k() {\n}\n")
    found = signature_help(c.snapshot, c.offset)
    assert found is not None
    documentation = (found.signatures[0].parameters or ())[2].documentation
    assert isinstance(documentation, lsp.MarkupContent)
    assert "16 to 255" in documentation.value
    assert "optional" in documentation.value


@pytest.mark.parametrize(
    ("text", "number", "said"),
    [
        ("let a = atomic_add($0", 0, "tensor"),
        ("let a = atomic_add(A, $0", 1, "the same in every thread"),
        ("let a = cumsum($0", 0, "f32"),
        ("let a = gather($0", 1, "tile"),
    ],
)
def test_a_parameter_says_its_constraint(text: str, number: int, said: str) -> None:
    c = cursor(body(text))
    found = signature_help(c.snapshot, c.offset)
    assert found is not None
    documentation = (found.signatures[0].parameters or ())[number].documentation
    assert isinstance(documentation, lsp.MarkupContent)
    assert said in documentation.value


@pytest.mark.parametrize(
    "text",
    ["let a = $0", "let a = (n + $0", "let a = A[$0", "let a = exp(1.0)$0", "let a = exp(1.0)\n$0", "unknown($0"],
)
def test_no_signature(text: str) -> None:
    assert active(body(text)) is None


def test_a_parameter_says_what_it_takes() -> None:
    c = cursor(body("let a = dot($0"))
    found = signature_help(c.snapshot, c.offset)
    assert found is not None
    (first, _) = found.signatures[0].parameters or ()
    assert isinstance(first.documentation, lsp.MarkupContent)
    assert "a tile" in first.documentation.value
