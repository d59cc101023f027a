"""The editor queries compile against the grammar, capture what they should, and list the language's words."""

import json
import re
from pathlib import Path

import pytest
import tree_sitter

from phobos_core.language.builtins import BUILTIN_NAMES, COLLECTIVES
from phobos_core.language.keywords import KEYWORDS, RESERVED_NAME
from phobos_core.language.operators import BINARY, COMPOUND, UNARY
from phobos_core.language.types import SPELLED
from phobos_core.syntax import parse
from phobos_core.syntax.convert import LANGUAGE

GRAMMAR = Path(__file__).resolve().parents[2] / "tree-sitter-phobos"
QUERIES = {path.stem: path.read_text() for path in sorted((GRAMMAR / "queries").glob("*.scm"))}
RULES = json.loads((GRAMMAR / "src" / "grammar.json").read_text())

SOURCE = """\
// note
@autotune(T in [1, 2])
kernel scale(A: tensor<f32>[M, T], n: i32) {
  let s = sum<over ctx.lane>(n)
  for i in range(0, n) {
    while s < 1 { A[i, :] = exp(s) }
  }
  if true { return }
}
fn twice(x) = x + x
"""


def captures(query: str) -> set[tuple[str, str]]:
    tree = parse(SOURCE).tree
    found = tree_sitter.QueryCursor(tree_sitter.Query(LANGUAGE, QUERIES[query])).captures(tree.root_node)
    return {(name, (node.text or b"").decode()) for name, nodes in found.items() for node in nodes}


def test_there_are_all() -> None:
    assert set(QUERIES) == {"highlights", "locals", "injections", "folds", "indents", "tags", "textobjects"}


EXPECTED = {
    "highlights": {
        ("comment", "// note"),
        ("attribute", "autotune"),
        ("keyword.function", "kernel"),
        ("function", "scale"),
        ("variable.parameter", "A"),
        ("type.builtin", "tensor"),
        ("type.builtin", "f32"),
        ("function.builtin", "exp"),
        ("function.builtin", "sum"),
        ("keyword.modifier", "over"),
        ("variable.builtin", "ctx"),
        ("keyword.repeat", "range"),
        ("keyword.conditional", "if"),
        ("keyword.return", "return"),
        ("boolean", "true"),
        ("number", "1"),
        ("operator", "+"),
    },
    "locals": {
        ("local.definition.function", "scale"),
        ("local.definition.function", "twice"),
        ("local.definition.parameter", "n"),
        ("local.definition.parameter", "x"),
        ("local.definition.constant", "T"),
        ("local.definition.var", "s"),
        ("local.definition.var", "i"),
        ("local.reference", "s"),
        ("local.scope", "{ return }"),
    },
    "injections": {("injection.content", "// note")},
    "folds": {("fold", "{ A[i, :] = exp(s) }"), ("fold", "(A: tensor<f32>[M, T], n: i32)")},
    "indents": {("indent.begin", "{ return }"), ("indent.end", "}"), ("indent.branch", ")")},
    "tags": {
        ("name", "scale"),
        ("name", "twice"),
        ("definition.function", "fn twice(x) = x + x"),
        ("reference.call", "exp(s)"),
        ("reference.call", "sum<over ctx.lane>(n)"),
    },
    "textobjects": {
        ("function.outer", "fn twice(x) = x + x"),
        ("function.inner", "x + x"),
        ("loop.outer", "while s < 1 { A[i, :] = exp(s) }"),
        ("loop.inner", "{ A[i, :] = exp(s) }"),
        ("conditional.outer", "if true { return }"),
        ("parameter.outer", "n: i32"),
        ("call.outer", "exp(s)"),
        ("attribute.outer", "@autotune(T in [1, 2])"),
        ("comment.outer", "// note"),
    },
}


@pytest.mark.parametrize("query", EXPECTED)
def test_captures(query: str) -> None:
    assert captures(query) >= EXPECTED[query]


def listed(capture: str) -> list[set[str]]:
    """The words of each `#any-of?` on a capture of the highlights."""
    lists = re.findall(rf"\(#any-of\? @{re.escape(capture)}([^)]*)\)", QUERIES["highlights"])
    return [set(re.findall(r'"([^"]+)"', words)) for words in lists]


def test_the_highlighted_words_are_those_of_the_language() -> None:
    assert listed("function.builtin") == [set(BUILTIN_NAMES)]
    assert listed("type.builtin") == [set(SPELLED), {"tensor", "tile"}]


def literals(rule: object) -> set[str]:
    if isinstance(rule, dict):
        if rule.get("type") == "STRING":
            return {rule["value"]}
        return set().union(*map(literals, rule.values()))
    if isinstance(rule, list):
        return set().union(*map(literals, rule))
    return set()


def test_the_grammar_knows_the_words_of_the_language() -> None:
    assert literals(RULES["reserved"]["global"]) == {*KEYWORDS, RESERVED_NAME}
    collective = RULES["rules"]["collective_expression"]["content"]["members"][0]
    assert collective["name"] == "operation"
    assert literals(collective) == set(COLLECTIVES)
    operators = literals(RULES["rules"]["binary_expression"]) | literals(RULES["rules"]["_operation"])
    assert operators == set(BINARY)
    assert literals(RULES["rules"]["unary_expression"]) == set(UNARY)
    assert literals(RULES["rules"]["assignment"]) == {"=", *COMPOUND}
