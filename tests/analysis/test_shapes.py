"""Shapes: broadcasting, assignment, and rules that depend on the configuration."""

import pytest

from tests.analysis.support import codes, found, lines_of, type_of


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("var t = A[:, :] + A[0 :+ 32, :]", "shape-mismatch"),
        ("var t = A[:, :] + V[:]", "rank-mismatch"),
        ("var t: tile<f32>[64, 64] = A[0 :+ 32, :]", "shape-mismatch"),
        ("var t = A[:, :]\nt = A[:, 0 :+ 32]", "shape-mismatch"),
        ("var t = A[:, :]\nt += V[:]", "rank-mismatch"),
        ("R[:, :] = A[:, :]", "shape-mismatch"),
        ("A[:, :] = V[:]", "rank-mismatch"),
        ("let x: f32 = A[:, :]", "not-a-scalar"),
        ("var x = 0.0\nx = A[:, :]", "not-a-scalar"),
        ("A[0, 0] = A[:, :]", "not-a-scalar"),
        ("A[0, 0] = A[0 :+ 1, 0 :+ 1]", "not-a-scalar"),
    ],
)
def test_one_mistake_gives_one_diagnostic(body: str, code: str) -> None:
    assert codes(body) == [code]


@pytest.mark.parametrize(
    "body",
    [
        # A scalar, a row or a column broadcasts in an assignment, as `+=` does.
        "A[:, :] = 0.0",
        "A[:, :] = R[:, :]",
        "A[:, :] = rowsum(A[:, :])",
        "A[:, :] += rowsum(A[:, :])",
        "A[:, :] *= R[:, :]",
        "A[0 :+ T, :] = B[0 :+ T, :] * R[:, :]",
    ],
)
def test_accepted(body: str) -> None:
    assert codes(body) == []


def test_a_row_and_a_column_make_a_tile() -> None:
    assert type_of("A[0 :+ T, 0 :+ 1] * R[:, 0 :+ 16]") == "f32[T, 16]"


def test_a_declaration_that_stretches_its_value_is_a_store() -> None:
    lines = lines_of("let r = R[:, :]\nvar t: tile<f32>[64, 64] = r")
    assert lines[1:] == ["t: f32[64, 64]", "t = r"]


def test_shapes_that_only_some_configurations_match() -> None:
    [diagnostic] = found("var t = A[0 :+ T, :] + A[0 :+ 32, :]")
    assert diagnostic.code == "shape-mismatch"
    assert "[T, 64] and [32, 64]" in diagnostic.message
    assert "T = 16; T = 64" in diagnostic.message
    assert "T = 32" not in diagnostic.message
    assert {r.message for r in diagnostic.related} == {"this is [T, 64]", "this is [32, 64]"}


def test_shapes_that_every_configuration_matches() -> None:
    assert codes("var t = A[0 :+ T, :] + A[0 :+ Z, :]", "@autotune(T in [32], Z in [32])\n") == []


def test_an_extent_of_one_in_some_configuration_stretches() -> None:
    attributes = "@autotune(T in [1, 64, 64])\n"
    assert codes("A[:, :] = A[:, :] + A[0 :+ T, :]", attributes) == []
    # The other way round the value may be larger than its place.
    assert codes("A[0 :+ T, :] = A[:, :] + A[0 :+ T, :]", attributes) == ["shape-mismatch"]


def test_both_sides_and_their_declarations_are_related_places() -> None:
    [diagnostic] = found("var t = A[0 :+ 8, :]\nvar u = A[:, :] * t")
    assert [r.message for r in diagnostic.related] == ["this is [64, 64]", "this is [8, 64]", "`t` is declared here"]


def test_a_space_of_many_configurations_costs_only_its_rules() -> None:
    names = ", ".join(f"P{i} in [1, 2, 4, 8]" for i in range(8))
    body = "\n".join(f"var t{i} = A[0 :+ P{i}, :] + A[0 :+ 3, :]" for i in range(8))
    given = found(body, f"@autotune({names})\n")
    assert [d.code for d in given] == ["shape-mismatch"] * 8
    assert all(f"P{i} = 2; P{i} = 4; P{i} = 8" in d.message for i, d in enumerate(given))
