"""The examples in the tables: the valid ones are accepted, and a wrong one gives exactly its code."""

import pytest

from phobos_core.analysis import check
from phobos_core.language.attributes import ATTRIBUTES
from phobos_core.language.builtins import BUILTINS, COLLECTIVES, Builtin
from phobos_core.language.codes import CODES, Code, Stage
from phobos_core.syntax import parse

EVERY = [*BUILTINS.values(), *COLLECTIVES.values()]
WITH_EXAMPLES = [code for code in CODES.values() if code.wrong]
CHECKED = [code for code in WITH_EXAMPLES if code.stage is Stage.CHECK]

# Codes of parts of the language that are not supported yet. An entry leaves when its part is: the tests then fail.
NOT_YET = {
    "needs-launch",
}


def codes_of(source: str, options: tuple[str, ...] = ()) -> list[str]:
    target = options[options.index("--target") + 1] if "--target" in options else "sm_80"
    return [diagnostic.code for diagnostic in check(parse(source), target=target).diagnostics]


def syntax_codes(source: str) -> list[str]:
    return [diagnostic.code for diagnostic in parse(source).diagnostics]


@pytest.mark.parametrize("builtin", EVERY, ids=lambda b: f"{b.name}{'<>' if b.brackets else ''}")
def test_the_example_of_a_built_in(builtin: Builtin) -> None:
    assert syntax_codes(builtin.example) == []
    assert set(codes_of(builtin.example)) == (set() if builtin.supported else {"not-supported-yet"})


@pytest.mark.parametrize("name", [a.name for a in ATTRIBUTES.values() if a.example])
def test_the_example_of_an_attribute(name: str) -> None:
    assert codes_of(ATTRIBUTES[name].example) == []


@pytest.mark.parametrize("code", CHECKED, ids=lambda c: c.code)
def test_a_wrong_example_gives_its_code_and_no_other(code: Code) -> None:
    given = codes_of(code.wrong, code.options)
    if code.code in NOT_YET:
        assert code.code not in given
    else:
        assert given == [code.code]


@pytest.mark.parametrize("code", WITH_EXAMPLES, ids=lambda c: c.code)
def test_a_right_example_gives_nothing(code: Code) -> None:
    assert set(codes_of(code.right, code.options)) <= ({"not-supported-yet"} if uses_later_parts(code) else set())


@pytest.mark.parametrize("code", WITH_EXAMPLES, ids=lambda c: c.code)
def test_the_severity_of_an_example(code: Code) -> None:
    given = check(parse(code.wrong)).diagnostics
    assert {d.severity for d in given if d.code == code.code} <= {code.severity}


@pytest.mark.parametrize("code", [c for c in WITH_EXAMPLES if c.stage is not Stage.CHECK], ids=lambda c: c.code)
def test_the_checker_accepts_what_a_later_stage_finds(code: Code) -> None:
    later = {"not-supported-yet"} if uses_later_parts(code) else set()
    assert set(codes_of(code.wrong, code.options)) <= later


def uses_later_parts(code: Code) -> bool:
    return code.code in NOT_YET
