"""The examples with one token too few or too many, or broken off: one mistake, so at most one diagnostic.

(None where what is left is a program too.)
"""

from pathlib import Path

import pytest

from phobos_core.syntax import parse
from phobos_core.syntax.tokens import tokenize

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").rglob("*.ph"))
INSERTED = ["let", "if", "(", ")", "]", "}", ",", "=", ":", "else", "kernel", "@", "return", "+", "#"]


@pytest.fixture(params=EXAMPLES, ids=lambda path: path.stem)
def text(request: pytest.FixtureRequest) -> str:
    source: str = request.param.read_text()
    assert parse(source).diagnostics == ()
    return source


def reported(text: str) -> list[str]:
    return [diagnostic.message for diagnostic in parse(text).diagnostics]


def test_every_prefix(text: str) -> None:
    for end in range(0, len(text), 7):
        assert len(reported(text[:end])) <= 1, text[:end]


def test_one_token_too_few(text: str) -> None:
    for token in tokenize(text)[::3]:
        damaged = text[: token.start] + text[token.end :]
        assert len(reported(damaged)) <= 1, damaged


def test_one_token_too_many(text: str) -> None:
    for number, token in enumerate(tokenize(text)[::2]):
        inserted = INSERTED[number % len(INSERTED)]
        damaged = f"{text[: token.start]} {inserted} {text[token.start :]}"
        assert len(reported(damaged)) <= 1, damaged


def test_what_stands_around_the_damage_is_still_read(text: str) -> None:
    file = parse(text)
    for placed in file.items:
        end = placed.offset + placed.item.span.end
        assert parse(f"{text[:end]}\nkernel broken( {text[end:]}").items[0] == file.items[0]
