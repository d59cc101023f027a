"""Colours by meaning: what each token is, and the numbers that the protocol makes of them."""

import random
from itertools import pairwise

import pytest
from lsprotocol import types as lsp

from phobos_core.syntax.lines import Encoding
from phobos_ls.features.semantic_tokens import MODIFIERS, TYPES, difference, semantic_tokens, tokens
from tests.ls.cursor import cursor

SOURCE = """\
fn twice(x) = x * 2

@launch(64)
kernel k(A: tensor<f32>[N], n: i32) {
  let a = ctx.lane
  var b = exp(1.0)
  let c = sum<over ctx.lane>(a)
  A[twice(a)] = b
}
"""


def shown(source: str) -> list[str]:
    snapshot = cursor(source).snapshot
    return [
        f"{snapshot.spelled(t.start, t.end)} {t.type} {' '.join(sorted(t.modifiers))}".rstrip()
        for t in tokens(snapshot)
    ]


def test_what_each_name_is() -> None:
    found = shown(SOURCE)
    for expected in (
        "twice function declaration",
        "x parameter declaration",
        "@launch decorator defaultLibrary",
        "k function declaration",
        "A parameter declaration",
        "f32 type defaultLibrary",
        "N enumMember declaration readonly",
        "n parameter declaration readonly",
        "a variable declaration readonly varying",
        "lane property defaultLibrary readonly",
        "b variable declaration",
        "exp function defaultLibrary",
        "sum function defaultLibrary",
        "c variable declaration readonly varying",
        "twice function",
        "A parameter",
    ):
        assert expected in found


def decoded(data: list[int]) -> list[tuple[int, int, int, str, int]]:
    line = column = 0
    found = []
    for lines, columns, length, type_, modifiers in zip(*[iter(data)] * 5, strict=True):
        column = columns + (column if lines == 0 else 0)
        line += lines
        found.append((line, column, length, TYPES[type_], modifiers))
    return found


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_the_numbers_name_the_tokens(encoding: Encoding) -> None:
    source = f"// 😀é漢\n{SOURCE}// 😀é漢\nkernel z() {{ let ab = 1; let é = 2; let cd = ab }}"
    c = cursor(source, encoding=encoding)
    expected = [(c.snapshot.position(t.start), t.type) for t in tokens(c.snapshot)]
    found = decoded(semantic_tokens(c.snapshot))
    assert [(lsp.Position(line, column), type_) for line, column, _, type_, _ in found] == expected
    assert all(modifiers < 1 << len(MODIFIERS) for *_, modifiers in found)


def test_tokens_are_in_order_and_disjoint() -> None:
    found = tokens(cursor(SOURCE).snapshot)
    assert all(a.end <= b.start for a, b in pairwise(found))


def test_a_part_has_the_tokens_of_the_part() -> None:
    c = cursor(SOURCE)
    start = SOURCE.index("kernel")
    whole = [t for t in decoded(semantic_tokens(c.snapshot)) if t[0] >= 3]
    assert decoded(semantic_tokens(c.snapshot, start, len(SOURCE))) == whole


def test_a_difference_makes_the_new_tokens_of_the_old() -> None:
    chance = random.Random(1)
    for _ in range(200):
        before = [chance.randrange(3) for _ in range(chance.randrange(20))]
        after = [chance.randrange(3) for _ in range(chance.randrange(20))]
        result = list(before)
        for edit in difference(before, after):
            result[edit.start : edit.start + edit.delete_count] = edit.data
        assert result == after
    assert difference([1, 2], [1, 2]) == []


VARYING = [
    ("let $1a = ctx.lane", True),
    ("let $1a = ctx.warp", True),
    ("let $1a = ctx.block.x", False),
    ("let $1a = n", False),
    ("let i = ctx.thread\nlet $1a = A[i]", True),
    ("let $1a = A[0]", False),
    ("var $1a = 0\nif ctx.lane == 0 {\na = 1\n}", True),
    ("var $1a = 0\nif n == 0 {\na = 1\n}", False),
    ("for $1i in range(ctx.lane, 8) {\n}", True),
    ("for $1i in range(0, n) {\n}", False),
    ("let $1a = sum<over ctx.thread>(1.0)", False),
    ("let $1a = sum<over ctx.lane>(f32(ctx.thread))", True),
    ("let b = ctx.lane\nlet $1a = b * 0 + 1", True),
    ("let b = ctx.lane\nlet $1a = where(b > 0, 1, 2)", True),
]


@pytest.mark.parametrize(("body", "varying"), VARYING)
def test_what_differs_between_threads_is_marked(body: str, varying: bool) -> None:
    """As far as the section Per-thread values says: between lanes or between warps."""
    c = cursor(f"kernel k(A: tensor<f32>[4], n: i32) {{\n$0{body}\n}}")
    token = next(each for each in tokens(c.snapshot) if each.start == c.offsets[1])
    assert ("varying" in token.modifiers) is varying


@pytest.mark.parametrize(
    ("source", "known"),
    [
        ("", []),
        ("kernel k( {", ["k"]),
        ("kernel k() {\nlet a = b +\n}", ["k"]),
        ("@", []),
        ("fn f(", ["f"]),
        ("kernel k(n: i32) {\n  let a = n\n  let = 1\n  let b = a\n}", ["k", "n", "i32", "a", "n", "b", "a"]),
    ],
)
def test_broken_text(source: str, known: list[str]) -> None:
    """What can be told is told, once for each place."""
    c = cursor(source)
    found = tokens(c.snapshot)
    assert [c.snapshot.spelled(each.start, each.end) for each in found] == known
    assert len(semantic_tokens(c.snapshot)) == 5 * len(found)
