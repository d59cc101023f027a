"""The table of attributes against the spec, and the values of a search dimension."""

import pytest

from phobos_core.language.attributes import ATTRIBUTES, ArgumentForm, Status, autotune_choices

SPEC_ATTRIBUTES = [
    "autotune",
    "cluster",
    "aligned",
    "launch",
    "tensorcore",
    "registers",
    "pipeline",
    "padstage",
    "dynshared",
    "persistent",
]
SPEC_PLANNED = ["readonly", "fast_math", "assert_coalesced"]


def test_the_attributes_of_the_spec() -> None:
    assert list(ATTRIBUTES) == SPEC_ATTRIBUTES + SPEC_PLANNED
    assert [a.name for a in ATTRIBUTES.values() if a.status is Status.PLANNED] == SPEC_PLANNED


def test_launch_takes_one_to_three_integers_within_bounds() -> None:
    launch = ATTRIBUTES["launch"]
    assert launch.signature == "@launch(threads[, min_blocks[, max_regs]])"
    assert (launch.least_arguments, launch.most_arguments) == (1, 3)
    assert [(s.low, s.high) for s in launch.slots] == [(1, 1024), (1, None), (16, 255)]


def test_tensorcore_takes_a_path() -> None:
    (slot,) = ATTRIBUTES["tensorcore"].slots
    assert slot.words == ("wmma", "sync")
    assert not slot.required


@pytest.mark.parametrize("name", ["pipeline", "padstage", "dynshared", "persistent"])
def test_flags_take_nothing(name: str) -> None:
    assert ATTRIBUTES[name].slots == ()


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("autotune", ArgumentForm.SEARCH),
        ("cluster", ArgumentForm.SEARCH),
        ("aligned", ArgumentForm.KEYWORD),
        ("registers", ArgumentForm.NAME),
    ],
)
def test_lists_take_one_form_any_number_of_times(name: str, form: ArgumentForm) -> None:
    attribute = ATTRIBUTES[name]
    assert [slot.form for slot in attribute.slots] == [form]
    assert (attribute.least_arguments, attribute.most_arguments) == (1, None)


@pytest.mark.parametrize("name", SPEC_ATTRIBUTES)
def test_the_text_of_an_entry(name: str) -> None:
    attribute = ATTRIBUTES[name]
    assert attribute.summary.endswith(".")
    assert f"@{name}" in attribute.example
    assert attribute.snippet.startswith(name)


@pytest.mark.parametrize(
    ("values", "choices"),
    [
        ([16, 256], (16, 32, 64, 128, 256)),  # the spec's own
        ([32, 128], (32, 64, 128)),
        ([32, 100], (32, 64)),
        ([3, 24], (3, 6, 12, 24)),
        ([64], (64,)),
        ([1, 2, 4], (1, 2, 4)),
        ([4, 8, 24], (4, 8, 24)),
        ([64, 32, 16], (64, 32, 16)),
    ],
)
def test_choices(values: list[int], choices: tuple[int, ...]) -> None:
    assert autotune_choices(values) == choices


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([], "at least one value"),
        ([0], "positive"),
        ([0, 64], "positive"),
        ([16, -1, 32], "-1"),
        ([64, 32], "ascend"),
        ([64, 64], "ascend"),
    ],
)
def test_no_choices(values: list[int], reason: str) -> None:
    outcome = autotune_choices(values)
    assert isinstance(outcome, str)
    assert reason in outcome
