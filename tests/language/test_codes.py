"""The table of diagnostic codes, and the examples that prove each code."""

import re

import pytest

from phobos_core.language.codes import CODES, FAMILIES, FIXED_MESSAGES, Code, Stage

# The texts of the spec's table of per-thread rules.
SPEC_MESSAGES = {
    "once-per-cta": "`dot` runs once per CTA, so every thread must reach it",
    "differs-between-lanes": "`dot` takes `i`, which differs between lanes",
    "missing-barrier": "`dot` reads `t` after a per-thread store to it with no `barrier()` between",
}


@pytest.mark.parametrize("code", CODES.values(), ids=lambda c: c.code)
def test_the_text_of_an_entry(code: Code) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code.code)
    assert code.title
    assert not code.title.endswith(".")
    assert code.section
    assert code.rule.endswith(".")
    assert bool(code.wrong) == bool(code.right)
    assert code.wrong != code.right or not code.wrong


def test_no_code_twice() -> None:
    assert len(CODES) == sum(len(family) for family in FAMILIES.values())


def test_only_the_machine_has_codes_without_examples() -> None:
    assert all(c.stage is not Stage.CHECK for c in CODES.values() if not c.wrong)


@pytest.mark.parametrize("code", SPEC_MESSAGES)
def test_messages_that_the_spec_fixes(code: str) -> None:
    assert FIXED_MESSAGES[code].format(op="dot", x="i", t="t") == SPEC_MESSAGES[code]


def test_fixed_messages_belong_to_codes() -> None:
    assert set(FIXED_MESSAGES) <= set(CODES)
