"""Operators, keywords and `ctx` fields against the grammar and the tables of the spec."""

import subprocess
import sys

from phobos_core.language.builtins import BUILTIN_NAMES
from phobos_core.language.context import CTX_FIELDS, Variation
from phobos_core.language.keywords import CONTEXTUAL, KEYWORDS, RESERVED_NAME
from phobos_core.language.operators import BINARY, COMPOUND, UNARY, OperatorClass
from phobos_core.language.type_docs import TYPE_DOCS
from phobos_core.language.types import SPELLED

# Loosest first, as the spec lists them.
SPEC_LEVELS = [
    {"||"},
    {"&&"},
    {"==", "!="},
    {"<", "<=", ">", ">="},
    {"|"},
    {"^"},
    {"&"},
    {"<<", ">>"},
    {"+", "-"},
    {"*", "/", "%"},
]


def test_precedence() -> None:
    levels = sorted({op.level for op in BINARY.values()})
    assert [{op.symbol for op in BINARY.values() if op.level == level} for level in levels] == SPEC_LEVELS
    assert all(op.level > levels[-1] for op in UNARY.values())


def test_compound_assignments() -> None:
    assert set(COMPOUND) == {"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
    assert all(compound == f"{symbol}=" for compound, symbol in COMPOUND.items())


def test_operand_classes() -> None:
    integers_only = {OperatorClass.BITWISE, OperatorClass.SHIFT}
    assert {op.symbol for op in BINARY.values() if op.kind in integers_only} == {"&", "|", "^", "<<", ">>"}
    assert {op.symbol for op in UNARY.values()} == {"-", "!", "~"}
    assert UNARY["~"].kind in integers_only


def test_tiles_are_compared_only_in_where() -> None:
    no_tiles = {op.symbol for op in BINARY.values() if not op.tiles}
    assert no_tiles == {"||", "&&", "==", "!=", "<", "<=", ">", ">="}
    assert all(BINARY[symbol].tiles_in_where for symbol in no_tiles)
    assert not UNARY["!"].tiles
    assert not UNARY["!"].tiles_in_where


def test_keywords_are_those_of_the_spec() -> None:
    spec = "kernel fn let var if else for in while break continue return true false"
    assert list(KEYWORDS) == spec.split()
    assert RESERVED_NAME == "ctx"


def test_contextual_words_are_no_keywords() -> None:
    assert {"tensor", "tile", "range"} <= set(CONTEXTUAL)
    assert not (set(CONTEXTUAL) | BUILTIN_NAMES) & {*KEYWORDS, RESERVED_NAME}


def test_ctx_fields_and_how_far_they_vary() -> None:
    varying = {name: field.variation for name, field in CTX_FIELDS.items()}
    uniform = [f"{group}.{axis}" for group in ("block", "blocks") for axis in "xyz"]
    assert varying == {
        **dict.fromkeys([*uniform, "threads", "warps", "lanes"], Variation.UNIFORM),
        "thread": Variation.VARYING,
        "warp": Variation.WARP_UNIFORM,
        "lane": Variation.VARYING,
    }
    assert {name for name, field in CTX_FIELDS.items() if field.constant} == {"threads", "warps", "lanes"}


def test_the_more_varying_operand_wins() -> None:
    assert max(Variation.UNIFORM, Variation.WARP_UNIFORM) is Variation.WARP_UNIFORM
    assert max(Variation.VARYING, Variation.WARP_UNIFORM) is Variation.VARYING


def test_every_type_has_a_text() -> None:
    assert list(TYPE_DOCS) == list(SPELLED)


def test_the_tables_load_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "import phobos_core.language.attributes, phobos_core.language.builtins, phobos_core.language.codes\n"
        "print(sorted({'numpy', 'llvmlite', 'tree_sitter', 'ml_dtypes'} & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"
