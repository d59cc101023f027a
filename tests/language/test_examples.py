"""The examples in the tables follow the grammar, and those that must not fail as their code says."""

import pytest

from phobos_core.language.attributes import ATTRIBUTES
from phobos_core.language.builtins import BUILTINS, COLLECTIVES
from phobos_core.language.codes import CODES
from phobos_core.syntax import parse

VALID = {
    **{f"{b.name}()": b.example for b in BUILTINS.values()},
    **{f"{b.name}<>()": b.example for b in COLLECTIVES.values()},
    **{f"@{a.name}": a.example for a in ATTRIBUTES.values() if a.example},
    **{f"{c.code}: right": c.right for c in CODES.values() if c.right},
}
# The codes that the parser gives; the source of any other parses.
FROM_PARSER = {"syntax-error", "reserved-name", "literal-too-large", "nesting-too-deep", "unknown-type"}


def codes_of(source: str) -> list[str]:
    return [diagnostic.code for diagnostic in parse(source).diagnostics]


@pytest.mark.parametrize("name", VALID)
def test_a_valid_example_parses(name: str) -> None:
    assert codes_of(VALID[name]) == []


@pytest.mark.parametrize("code", [c.code for c in CODES.values() if c.wrong])
def test_a_wrong_example_parses_unless_its_code_is_the_parser_s(code: str) -> None:
    assert codes_of(CODES[code].wrong) == ([code] if code in FROM_PARSER else [])
