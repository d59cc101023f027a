"""Options as they are written, and the configurations they choose."""

from dataclasses import replace

import pytest

from phobos_core.language.targets import TARGETS
from phobos_core.runtime.configurations import check_names, configurations
from phobos_core.runtime.frontend import Names
from phobos_core.runtime.options import (
    ConfigRequest,
    Options,
    UsageError,
    bindings_of,
    known_target,
    parse_binding,
    parse_config,
)
from tests.runtime import programs as make

KERNEL = make.kernel(search={"A": (32, 64), "B": (4, 8, 12)})


@pytest.mark.parametrize("text", ["K=512", " K = 512 ", "K=1", "K=2147483647"])
def test_a_binding(text: str) -> None:
    name, value = parse_binding(text)
    assert (name, value) == ("K", int(text.split("=")[1]))


@pytest.mark.parametrize(
    "text",
    ["", "K", "K=", "=4", "K=4=5", "K 4", "4=K", "K=0", "K=-1", "K=1.5", "K=1_0", "K=0x10", "K=2147483648", "K=٤",
     "K=" + "9" * 5000],
)  # fmt: skip
def test_what_is_no_binding(text: str) -> None:
    with pytest.raises(UsageError):
        parse_binding(text)


def test_one_name_has_one_value() -> None:
    assert bindings_of(["K=4", "N=8", "K=4"]) == {"K": 4, "N": 8}
    with pytest.raises(UsageError, match="`K` is given two values, 4 and 5"):
        bindings_of(["K=4", "K=5"])


@pytest.mark.parametrize(("text", "request_"), [("first", "first"), ("all", "all"), ("A=64,B=8", {"A": 64, "B": 8})])
def test_a_configuration_request(text: str, request_: ConfigRequest) -> None:
    assert parse_config(text) == request_


@pytest.mark.parametrize("text", ["", "best", "A", "A=64,", "A=64;B=8"])
def test_what_is_no_configuration_request(text: str) -> None:
    with pytest.raises(UsageError):
        parse_config(text)


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_is_known(target: str) -> None:
    assert known_target(target) == target


@pytest.mark.parametrize("target", ["", "sm_81", "80", "SM_80", "sm_90x"])
def test_an_unknown_target(target: str) -> None:
    with pytest.raises(UsageError, match="the targets are sm_61, sm_70"):
        known_target(target)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("first", [{"A": 32, "B": 4}]),
        ({"B": 8}, [{"A": 32, "B": 8}]),
        ({"A": 64, "B": 12}, [{"A": 64, "B": 12}]),
        # A name of another kernel of the file.
        ({"Z": 1}, [{"A": 32, "B": 4}]),
        ("all", [{"A": a, "B": b} for a in (32, 64) for b in (4, 8, 12)]),
    ],
)
def test_the_configurations_chosen(config: ConfigRequest, expected: list[dict[str, int]]) -> None:
    assert list(configurations(KERNEL, Options(config=config))) == expected


def test_a_value_that_is_no_choice() -> None:
    with pytest.raises(UsageError, match="A=48 is not a choice of kernel `k`: 32, 64"):
        configurations(KERNEL, Options(config={"A": 48}))


def test_a_million_configurations_are_not_made_to_take_the_first() -> None:
    search = {f"T{i}": tuple(range(1, 101)) for i in range(10)}
    for config in ("first", "all"):
        options = Options(config=config)  # type: ignore[arg-type]
        assert next(configurations(replace(KERNEL, search=search), options)) == dict.fromkeys(search, 1)


def test_names_have_to_exist_in_one_of_the_kernels() -> None:
    names = [Names(frozenset({"TILE"}), frozenset({"M"})), Names(frozenset(), frozenset({"N"}))]
    check_names(names, Options(bindings={"M": 4, "N": 4, "TILE": 8}, config={"TILE": 8}))
    with pytest.raises(
        UsageError, match="no kernel has a dynamic dimension or @autotune name `K`; there are M, N, TILE"
    ):
        check_names(names, Options(bindings={"K": 4}))
    with pytest.raises(UsageError, match="no kernel has an @autotune name `M`; there are TILE"):
        check_names(names, Options(config={"M": 4}))
    with pytest.raises(UsageError, match="there are none"):
        check_names([], Options(bindings={"K": 4}))
