"""What is said of a setting that is none, and that it takes no other with it."""

from __future__ import annotations

from typing import Any

import pytest

from phobos_ls.settings import NAMES, Settings, read_settings

WRONG: list[tuple[Any, list[str]]] = [
    ({"dims": [1]}, ["`phobos.dims` is an object"]),
    ({"dims": {"K": "x", "M": 4}}, ["`phobos.dims`: `x` is no value for `K`"]),
    ({"indexBits": 16}, ["`phobos.indexBits` is 32 or 64, not 16"]),
    ({"indexBits": "32"}, ["`phobos.indexBits` is 32 or 64, not '32'"]),
    ({"hints": {"types": "yes"}}, ["`phobos.hints.types` is true or false, not 'yes'"]),
    ({"hints": {"type": True}}, ["`phobos.hints.type`: the kinds of hints are"]),
    ({"hints": "all"}, ["`phobos.hints` is a switch"]),
    ({"targets": ["sm_90"]}, ["`phobos.targets` is no setting; did you mean `target`?"]),
    ({"Build": "off"}, ["`phobos.Build` is no setting; did you mean `build`?"]),
    ({"target": "sm_1", "build": "never", "ptxas": 3}, ["`phobos.target`", "`phobos.build`", "`phobos.ptxas`"]),
    (5, ["`phobos` is an object of settings"]),
]


@pytest.mark.parametrize(("given", "said"), WRONG)
def test_what_is_wrong_is_said(given: Any, said: list[str]) -> None:
    settings, problems = read_settings(given)
    assert len(problems) == len(said)
    for problem, start in zip(problems, said, strict=True):
        assert problem.startswith(start)
    assert settings.hints == Settings().hints


@pytest.mark.parametrize(
    "wrong", [{"dims": [1]}, {"indexBits": 5}, {"hints": {"types": 1}}, {"config": 5}, {"build": 5}]
)
def test_a_wrong_value_takes_no_other_with_it(wrong: dict[str, Any]) -> None:
    given = {"target": "sm_90", "dims": {"K": 8}, "indexBits": 32, "hints": {"lines": True}, "build": "off"}
    settings, problems = read_settings({**given, **wrong})
    right, _ = read_settings({name: value for name, value in given.items() if name not in wrong})
    assert settings == right
    assert len(problems) == 1


@pytest.mark.parametrize("own", [{"path": ""}, {"trace": {"server": "off"}}, {"enabled": True}, {"cmd": ["phobos"]}])
def test_names_of_editors_are_theirs(own: dict[str, Any]) -> None:
    assert read_settings(own) == (Settings(), ())


def test_nothing_is_the_default() -> None:
    for name in NAMES:
        assert read_settings({name: None}) == (Settings(), ())
