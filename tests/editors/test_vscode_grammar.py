"""The TextMate grammar of VS Code: by hand for lines hard to colour, and beside the grammar proper for the rest."""

from __future__ import annotations

import runpy
from bisect import bisect_right
from collections.abc import Iterator

from tree_sitter import Node

from phobos_core.language.attributes import ATTRIBUTES
from phobos_core.language.builtins import BUILTINS
from phobos_core.language.codes import CODES
from phobos_core.language.keywords import KEYWORDS
from phobos_core.language.types import SPELLED
from phobos_core.syntax.source import Parser
from tests.editors.neovim import ROOT
from tests.editors.vscode import tokens

BUILTIN, CALL, GROUP = "support.function.builtin", "entity.name.function.call", "keyword.other.group"
LOGICAL, ARITHMETIC, ASSIGNMENT = (
    "keyword.operator.logical",
    "keyword.operator.arithmetic",
    "keyword.operator.assignment",
)
SLICE, CTX, FIELD = "keyword.operator.slice", "variable.language", "variable.other.member"
SHAPED, SCALAR, CONSTANT = "support.type.shaped", "support.type.scalar", "variable.other.constant"
LOOP, UNROLL, CONDITIONAL = "keyword.control.loop", "keyword.other.unroll", "keyword.control.conditional"
AT, DECORATOR = "punctuation.definition.decorator", "entity.name.function.decorator"
VARIABLE, INTEGER, FLOAT = "variable.other", "constant.numeric.integer", "constant.numeric.float"

# A line, and of some of its words, each the first that is new on the line, its scope.
LINES = {
    "sum<over ctx.lane>(x)": {"sum": BUILTIN, "over": GROUP, "ctx": CTX, "lane": FIELD},
    "let over = 1": {"over": VARIABLE, "1": INTEGER},
    "if sum < over { x = 1 }": {"if": CONDITIONAL, "sum": VARIABLE, "<": LOGICAL, "over": VARIABLE},
    "if sum < max { }": {"sum": VARIABLE, "max": VARIABLE},
    "shfl<xor 8 >> 1, width 16>(v) > y": {"xor": GROUP, ">>": ARITHMETIC, "width": GROUP, "> ": LOGICAL},
    "x = shfl<down 1": {"shfl": BUILTIN, "down": GROUP},
    "reduce<over ctx.thread>(a, 1.5e-3)": {"reduce": BUILTIN, "thread": FIELD, "1.5e-3": FLOAT},
    "sum(x)": {"sum": BUILTIN},
    "let sum = x": {"sum": VARIABLE},
    "f32(x)": {"f32": BUILTIN},
    "kernel f32(x: tensor<f32>[f16])": {"kernel": "storage.type.function", "tensor": SHAPED},
    "var t: tile<bf16>[A_B, 4] = 0.0": {"tile": SHAPED, "bf16": SCALAR, "A_B": CONSTANT},
    "let tile = 2": {"tile": VARIABLE},
    "let n: i32 = 1": {"i32": SCALAR},
    "A[i:i32(n)]": {"i32": BUILTIN},
    "A[0 :+ 4, 1: 2]": {":+": SLICE, ":": "punctuation.separator"},
    "for<unroll 2 * N> k in range(0, 8) {": {"for": LOOP, "unroll": UNROLL, "in": LOOP, "range": LOOP},
    "let range = unroll": {"range": VARIABLE, "unroll": VARIABLE},
    "a <<= b >>= c <= d >= e << f >> g": {
        "<<=": ASSIGNMENT,
        ">>=": ASSIGNMENT,
        "<= ": LOGICAL,
        ">= ": LOGICAL,
        "<< ": ARITHMETIC,
        ">> ": ARITHMETIC,
    },
    "a == b != c && !d || ~e": {
        "==": LOGICAL,
        "!=": LOGICAL,
        "&&": LOGICAL,
        "!d": LOGICAL,
        "||": LOGICAL,
        "~": ARITHMETIC,
    },
    "@launch(64) @unheard_of": {"@": AT, "launch": DECORATOR, "unheard_of": VARIABLE},
    "@autotune(TILE in [8, 16])": {"TILE": CONSTANT, "in": LOOP},
    "ctx.block.x + ctx . warp": {"block": FIELD, "x": FIELD, "warp": FIELD},
    "let x1 = 1. + 1e5 + 2.5E+3 + 12": {"x1": VARIABLE, "1. ": FLOAT, "1e5": FLOAT, "2.5E+3": FLOAT, "12": INTEGER},
    "x = exp // exp(x) let": {"exp": VARIABLE, "//": "punctuation.definition.comment", " exp(x) let": "comment.line"},
    "fn twice(x) = helper(x) * 2": {"fn": "storage.type.function", "twice": "entity.name.function", "helper": CALL},
    "true false return": {"true": "constant.language.boolean", "return": "keyword.control.flow"},
    "letter = iffy": {"letter": VARIABLE, "iffy": VARIABLE},
}


def test_the_grammar_is_current() -> None:
    for path, text in runpy.run_path(str(ROOT / "editors" / "generate_vscode.py"))["files"]().items():
        assert path.read_text(encoding="utf-8") == text, "run: python editors/generate_vscode.py"


def test_lines_that_are_hard_to_colour() -> None:
    for (line, wanted), found in zip(LINES.items(), tokens(list(LINES)), strict=True):
        start = 0
        for word, scope in wanted.items():
            start = line.index(word, start)
            (scopes,) = (scopes for _, first, last, scopes in found if first <= start < last)
            assert any(f"{name}.".startswith(f"{scope}.") for name in scopes), f"{word!r} of {line!r}: {scopes}"
            start += len(word)


def test_an_unfinished_collective_ends_with_its_line() -> None:
    (found,) = tokens(["x = sum<over ctx.lane\ny = a > b"])
    (scopes,) = [scopes for line, start, end, scopes in found if line == 1 and start <= 6 < end]
    assert scopes == ["keyword.operator.logical.phobos"]


SOURCES = {path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").glob("*.ph"))}
SOURCES |= {f"explain {code}": entry.right for code, entry in CODES.items()}


def test_it_agrees_with_the_grammar_proper() -> None:
    """On every leaf of the syntax trees of the examples."""
    seen: set[str] = set()
    for (name, source), found in zip(SOURCES.items(), tokens(list(SOURCES.values())), strict=True):
        leaves = list(_leaves(Parser().parse(source.encode()).tree.root_node))
        text = source.encode()
        starts = [0, *(index + 1 for index, byte in enumerate(text) if byte == ord("\n"))]
        lines = source.split("\n")
        scopes_at = {(line, column): scopes for line, first, last, scopes in found for column in range(first, last)}
        for leaf in leaves:
            wanted = _scope(leaf)
            row = bisect_right(starts, leaf.start_byte) - 1
            before = text[starts[row] : leaf.start_byte].decode()
            column = len(before.encode("utf-16-le")) // 2
            scopes = scopes_at[row, column]
            told = f"{name}:{row + 1}: {lines[row]!r}: {leaf.type} at {column}: {scopes}, wanted {wanted}"
            assert any(f"{scope}.".startswith(f"{wanted}.") for scope in scopes), told
            seen.add(wanted)
    assert seen >= {BUILTIN, CALL, GROUP, LOGICAL, ARITHMETIC, ASSIGNMENT, VARIABLE, INTEGER, FLOAT, "comment.line"}


def _leaves(node: Node) -> Iterator[Node]:
    if node.type in ("comment", "identifier") or node.child_count == 0:
        if node.end_byte > node.start_byte and node.type not in ("\n", "\r\n", "\r", "_newline"):
            yield node
        return
    for child in node.children:
        yield from _leaves(child)


_KEYWORDS = {
    "kernel": "storage.type.function",
    "fn": "storage.type.function",
    "let": "storage.type",
    "var": "storage.type",
    "return": "keyword.control.flow",
    "true": "constant.language",
    "false": "constant.language",
    "if": CONDITIONAL,
    "else": CONDITIONAL,
}
_LOGICAL = ("&&", "||", "==", "!=", "<", "<=", ">", ">=", "!")


def _scope(leaf: Node) -> str:
    """What a leaf of the syntax tree is, by its place there."""
    parent = leaf.parent
    assert parent is not None
    text = (leaf.text or b"").decode()
    match parent.type, leaf.type:
        case _, "comment":
            return "comment.line"
        case _, "integer":
            return INTEGER
        case _, "float":
            return FLOAT
        case _, "field_identifier":
            return FIELD
        case _, "ctx":
            return CTX
        case "attribute", "@":
            return AT
        case "attribute", "identifier":
            return DECORATOR if text in ATTRIBUTES else VARIABLE
        case (("kernel_definition" | "function_definition"), "identifier"):
            return "entity.name.function"
        case "shaped_type", "identifier":
            return SHAPED
        case "scalar_type", _:
            return SCALAR if text in SPELLED else VARIABLE
        case "call_expression", "identifier":
            return BUILTIN if text in BUILTINS else CALL
        case "collective_expression", "identifier" if leaf == parent.child_by_field_name("operation"):
            return BUILTIN
        case "collective_expression", ("over" | "from" | "xor" | "down" | "up" | "width"):
            return GROUP
        case (("collective_expression" | "shaped_type" | "for_statement"), ("<" | ">")):
            return "punctuation.definition.group" if parent.type != "for_statement" or text == "<" else LOGICAL
        case _, "unroll":
            return UNROLL
        case _, "identifier":
            return VARIABLE
        case _, ":+":
            return SLICE
        case (("binary_expression" | "unary_expression"), _) if text in _LOGICAL:
            return LOGICAL
        case (("binary_expression" | "unary_expression"), _) if not text[0].isalpha() and text not in ("(", ")"):
            return ARITHMETIC
        case _, _ if text in KEYWORDS or text == "range":
            return _KEYWORDS.get(text, LOOP)
        case _, _ if text.endswith("="):
            return ASSIGNMENT
        case "ctx_field", ".":
            return "punctuation.accessor"
        case _:
            return "punctuation"
