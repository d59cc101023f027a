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


@pytest.mark.parametrize("source", ["", "kernel k( {", "kernel k() {\nlet a = b +\n}", "@", "fn f("])
def test_broken_text(source: str) -> None:
    semantic_tokens(cursor(source).snapshot)
