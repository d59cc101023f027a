"""Code lenses: what stands above each kernel."""

import pytest

from phobos_ls.features.code_lens import code_lenses
from phobos_ls.settings import read_settings
from tests.ls.cursor import cursor

TUNED = "@autotune(T in [16, 64], U in [1, 2, 3])\nkernel $1tuned(A: tensor<f32>[N, T]) {\n  A[0, 0] = f32(U)\n}\n"
PLAIN = "kernel $2plain(A: tensor<f32>[4]) {\n  A[0] = 1.0\n}\n"


def shown(source: str, config: object = None) -> list[tuple[str, str, list[object]]]:
    """The titles of the lenses with the word that each stands above, and what its command gets."""
    settings, problems = read_settings({"config": config})
    assert not problems
    c = cursor(source, settings)
    return [
        (lens.command.title, c.text(lens.range), list(lens.command.arguments or ()))
        for lens in code_lenses(c.snapshot)
        if lens.command is not None
    ]


def test_above_each_kernel() -> None:
    assert [title for title, _, _ in shown(PLAIN)] == ["Build", "Run on the emulator", "PTX", "SASS"]
    assert [title for title, _, _ in shown(TUNED)] == [
        "Build",
        "Run on the emulator",
        "T = 16, U = 1",
        "PTX",
        "SASS",
    ]


def test_each_names_its_kernel() -> None:
    found = shown(TUNED + PLAIN)
    assert {(name, arguments[1]) for _, name, arguments in found} == {("tuned", "tuned"), ("plain", "plain")}
    assert {arguments[0] for _, _, arguments in found} == {"file:///kernel.ph"}


def test_the_configuration_is_the_one_of_the_settings() -> None:
    assert "T = 64, U = 3" in [title for title, _, _ in shown(TUNED, {"T": 64, "U": 3})]


def test_a_value_that_is_no_choice_is_passed_over() -> None:
    assert "T = 16, U = 2" in [title for title, _, _ in shown(TUNED, {"T": 17, "U": 2})]


@pytest.mark.parametrize(
    "source",
    [
        TUNED.replace("f32(U)", "zzz"),
        TUNED.replace("f32(U)", "f32("),
        TUNED.replace("A[0, 0] = f32(U)", "let ="),
    ],
)
def test_a_mistake_leaves_them_where_they_are(source: str) -> None:
    assert [title for title, _, _ in shown(source)] == [title for title, _, _ in shown(TUNED)]


@pytest.mark.parametrize("source", ["", "// nothing\n", "fn f(x) = x\n", "kernel (A: tensor<f32>[4]) {\n}\n"])
def test_none_where_there_is_no_kernel(source: str) -> None:
    assert shown(source) == []
