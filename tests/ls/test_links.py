"""Links in comments, and go to type definition."""

from pathlib import Path
from urllib.parse import urlparse
from urllib.request import url2pathname

import pytest

from phobos_core.language.attributes import ATTRIBUTES
from phobos_core.language.builtins import BUILTINS, COLLECTIVES
from phobos_core.language.context import CTX_FIELDS
from phobos_core.syntax.lines import Encoding
from phobos_ls import reference
from phobos_ls.features.links import document_links, resolve
from phobos_ls.features.type_definition import type_definition
from tests.ls.cursor import cursor

BODY = "\nkernel k() {\n}\n"


def linked(source: str) -> list[str]:
    c = cursor(source)
    return [c.text(link.range) for link in document_links(c.snapshot)]


LINKS = [
    ("an address", "// see https://example.org/a?b=1#c for more", ["https://example.org/a?b=1#c"]),
    ("a full stop ends the sentence", "// see https://example.org/a.", ["https://example.org/a"]),
    ("in parentheses", "// (https://example.org/a)", ["https://example.org/a"]),
    ("two on a line", "// http://a.org, http://b.org", ["http://a.org", "http://b.org"]),
    ("a built-in", "// like `exp`, but wider", ["exp"]),
    ("a built-in with its arguments", "// `dot_t(a, b)` of both", ["dot_t"]),
    ("a collective", "// `argmax<over ctx.lane>(x)`", ["argmax"]),
    ("an attribute", "// needs `@launch`", ["@launch"]),
    ("a field of ctx", "// by `ctx.block.x`", ["ctx.block.x"]),
    ("the code of a diagnostic", "// else `missing-barrier`", ["missing-barrier"]),
    ("a word that is none of the language", "// `acc` and `whatever`", []),
    ("no backticks", "// exp and dot", []),
    ("half-written", "// `exp", []),
    ("an address without a host", "// https:// is a scheme", []),
]


@pytest.mark.parametrize(("comment", "expected"), [case[1:] for case in LINKS], ids=[case[0] for case in LINKS])
def test_in_a_comment(comment: str, expected: list[str]) -> None:
    assert linked(comment + BODY) == expected


def test_only_in_comments() -> None:
    assert linked("kernel k() {\n  let a = exp(1.0) // `log`\n  let `exp` = 1\n}\n") == ["log"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_ranges_behind_wide_characters(encoding: Encoding) -> None:
    c = cursor("// 😀é漢 `exp` 漢 https://example.org/漢/a\nkernel k() {\n}\n", encoding=encoding)
    assert [c.text(link.range) for link in document_links(c.snapshot)] == ["https://example.org/漢/a", "exp"]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("exp", BUILTINS["exp"].summary),
        ("sum", COLLECTIVES["sum"].summary),
        ("@launch", ATTRIBUTES["launch"].summary),
        ("ctx.lane", CTX_FIELDS["lane"].doc),
        ("missing-barrier", "A buffer that threads store to one by one"),
    ],
)
def test_a_link_leads_to_a_page_of_the_word(word: str, said: str) -> None:
    (link,) = document_links(cursor(f"// `{word}`{BODY}").snapshot)
    assert link.target is None
    target = resolve(link).target
    assert target is not None
    assert said in Path(url2pathname(urlparse(target).path)).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name", [*BUILTINS, *COLLECTIVES, *(f"@{a}" for a in ATTRIBUTES), *(f"ctx.{f}" for f in CTX_FIELDS)]
)
def test_every_word_has_a_page(name: str) -> None:
    page = reference.page(name)
    assert page is not None
    assert page.text.startswith(f"# {name}\n")
    assert page.summary in page.text


def test_files_of_pages_are_of_one_word_each() -> None:
    names = [*BUILTINS, *COLLECTIVES, *(f"@{a}" for a in ATTRIBUTES), *(f"ctx.{f}" for f in CTX_FIELDS)]
    files = {name: page.file.lower() for name in names if (page := reference.page(name)) is not None}
    assert len(set(files.values())) == len(files)


# Type definition.

HEAD = "@autotune($3T in [1, 2])\nkernel k($4A: tensor<f32>[$1N, $5M], B: tensor<f32>[N, T], n: i32) {{\n{}\n}}\n"
TYPES = [
    ("a tensor: its dimensions", "A", HEAD.format("let x = $0A[0, 0]"), {1, 5}),
    ("a tensor with a tile constant", "B", HEAD.format("let x = $0B[0, 0]"), {1, 3}),
    ("a tile: the names of its shape", "t", HEAD.format("var $0t: tile<f32>[T, 4] = 0.0"), {3}),
    ("a copy of a slice", "t", HEAD.format("var t = B[0 :+ 4, :]\nlet x = $0t[0, 0]"), {3}),
    ("a view: what it views", "v", HEAD.format("let v = A[0 :+ 4, 0 :+ 4]\nlet x = $0v[0, 0]"), {4}),
    ("a view of a view: that one", "w",
     HEAD.format("let $2v = A[0 :+ 4, 0 :+ 4]\nlet w = v[0 :+ 2, :]\nlet x = $0w[0, 0]"), {2}),
    ("a view of a tile", "v",
     HEAD.format("var $2t: tile<f32>[4, 4] = 0.0\nlet v = t[0 :+ 2, :]\nlet x = $0v[0, 0]"), {2}),
    ("a static tile: nothing", "t", HEAD.format("var $0t: tile<f32>[4, 4] = 0.0"), set()),
    ("a scalar: nothing", "n", HEAD.format("let x = $0n"), set()),
    ("a built-in: nothing", "exp", HEAD.format("let x = $0exp(1.0)"), set()),
    ("a function: nothing", "f", "fn f(x) = x\nkernel k() {\n  let a = $0f(1)\n}\n", set()),
]  # fmt: skip


@pytest.mark.parametrize(("source", "marks"), [case[2:] for case in TYPES], ids=[case[0] for case in TYPES])
def test_type_definition(source: str, marks: set[int]) -> None:
    c = cursor(source)
    found = {c.snapshot.offset(place.range.start) for place in type_definition(c.snapshot, c.offset)}
    assert found == {c.offsets[mark] for mark in marks}
