"""Subscripts, views and extents: the spec's Subscripts, Bounds and masking, and the decisions on shapes."""

import pytest

from tests.analysis.support import codes, found, lines_of


@pytest.mark.parametrize(
    ("subscripts", "place"),
    [
        ("A[3, n]", "A[3:index, index(n)]"),
        ("A[0 : 16, :]", "A[0:index :+ 16, 0:index :+ 64 unmasked]"),
        ("A[n :+ 16, :]", "A[index(n) :+ 16, 0:index :+ 64 unmasked]"),
        ("A[16:, :]", "A[16:index :+ 48 unmasked, 0:index :+ 64 unmasked]"),
        ("A[:16, :]", "A[0:index :+ 16, 0:index :+ 64 unmasked]"),
        # A point among slices keeps its axis with extent 1.
        ("A[n, 0 :+ 64]", "A[index(n), 0:index :+ 64]"),
        ("A[n :+ T * 2, :]", "A[index(n) :+ 2 * T, 0:index :+ 64 unmasked]"),
    ],
)
def test_forms(subscripts: str, place: str) -> None:
    assert lines_of(f"let v = {subscripts}")[0].removeprefix("v -> ").removeprefix("v: f32 = ") == place


def test_a_point_among_slices_has_extent_one() -> None:
    assert codes("R[:, :] = A[n, 0 :+ 64]") == []
    assert codes("R[:, :] = A[n :+ 2, 0 :+ 64]") == ["shape-mismatch"]


@pytest.mark.parametrize(
    "body",
    [
        "let r = ctx.block.x * T\nvar t: tile<f32>[T, 64] = A[r : r + T, :]",
        "let r = n * 4\nlet q = r + 16\nvar t: tile<f32>[16, 64] = A[r : q, :]",
        "for i in range(0, 64, 8) {\n var t: tile<f32>[8, 64] = A[i : i + 8, :]\n}",
        "var r = 0\nr = n\nvar t: tile<f32>[8, 64] = A[r : 8 + r, :]",
        "let four = 4\nlet eight = four * 2\nvar t: tile<f32>[eight, T] = 0.0\nt = A[0 :+ eight, 0 :+ T]",
        "let q = T / 4\nvar t: tile<f32>[q, 64] = A[0 :+ T / 4, :]",
    ],
)
def test_extents_are_decided_symbolically(body: str) -> None:
    assert codes(body) == []


def test_an_extent_that_a_var_made_is_not_followed_past_its_change() -> None:
    body = "var r = 0\nlet a = r\nr = 8\nvar t = A[a : r + 8, :]"
    assert codes(body) == ["dynamic-extent"]


def test_a_dynamic_extent_of_a_view_is_bound_to_a_hidden_scalar() -> None:
    assert lines_of("var r = 0\nlet v = X[r:, :]\nvar t = v[0 :+ 4, 0 :+ 4]") == [
        "r: index = 0:index",
        "extent#0: index = (<M> - r)",
        "v -> X[r :+ extent#0 unmasked, 0:index :+ K unmasked]",
        "t: f32[4, 4] = v[0:index :+ 4, 0:index :+ 4]",
    ]


def test_views_of_views() -> None:
    assert lines_of("let v = A[8 :+ 32, :]\nlet w = v[4:, 0 :+ 8]\nlet x = w[1, 2]") == [
        "v -> A[8:index :+ 32, 0:index :+ 64 unmasked]",
        "w -> v[4:index :+ 28 unmasked, 0:index :+ 8]",
        "x: f32 = w[1:index, 2:index]",
    ]


def test_a_slice_of_a_slice_is_a_view_of_a_view() -> None:
    assert lines_of("var t = A[8 :+ 32, :][4 :+ 8, 0 :+ 8]") == [
        "view#0 -> A[8:index :+ 32, 0:index :+ 64 unmasked]",
        "t: f32[8, 8] = view#0[4:index :+ 8, 0:index :+ 8]",
    ]


def test_flat_is_a_view_of_the_same_bytes() -> None:
    assert lines_of("var t = A[0 :+ 4, :]\nlet v = flat(t)\nlet x = flat(t)[0, 5]")[1:] == [
        "v -> flat(t)",
        "x: f32 = flat(t)[0:index, 5:index]",
    ]
    assert codes("var t = A[0 :+ 4, :]\nvar u: tile<f32>[1, 256] = flat(t)") == []


def test_a_let_of_a_bare_tile_is_an_alias() -> None:
    assert lines_of("var t = A[:, :]\nlet v = t")[1] == "v -> t"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("let v = A[:]", "wrong-rank"),
        ("let v = A[0, 0, 0]", "wrong-rank"),
        ("A[0] = 1.0", "wrong-rank"),
        ("let v = n[0]", "not-indexable"),
        ("let v = (A[:, :] + 1.0)[0, 0]", "not-indexable"),
        ("let v = A[0, 0][0]", "not-indexable"),
        ("let v = A[1.5, 0]", "index-type"),
        ("let v = A[f, 0]", "index-type"),
        ("let v = A[A[:, :], 0]", "index-type"),
        ("let v = A[0 :+ s, :]", "index-type"),
        ("let v = A[64, 0]", "out-of-bounds"),
        ("let v = A[0 - 1, 0]", "out-of-bounds"),
        ("let v = A[0, n :+ 0]", "empty-slice"),
        ("let v = A[4 : 4, :]", "empty-slice"),
        ("A[0, :] = A[8 : 4, :]", "empty-slice"),
        ("let i = 70\nA[i, 0] = 1.0", "out-of-bounds"),
        # Values over dynamic extents.
        ("var t = X[:, 0 :+ 4]", "dynamic-extent"),
        ("X[:, :] = 0.0", "dynamic-extent"),
        ("let t = X[0 :+ 4, :] + 1.0", "dynamic-extent"),
        ("var t = A[0 :+ n, :]", "dynamic-extent"),
        ("var t: tile<f32>[M, 4]", "dynamic-extent"),
        ("var t: tile<f32>[n, 4]", "not-constant"),
        ("var r = 4\nvar t: tile<f32>[r, 4]", "not-constant"),
        ("var t: tile<f32>[0, 4]", "empty-extent"),
        ("let z = 4 - 4\nvar t: tile<f32>[z, 4]", "empty-extent"),
    ],
)
def test_one_mistake_gives_one_diagnostic(body: str, code: str) -> None:
    assert codes(body) == [code]


def test_slices_past_the_end_are_masked_and_no_error() -> None:
    assert codes("var t = A[60 :+ 16, 0 - 4 :+ 8]") == []


def test_an_extent_that_some_configurations_make_empty() -> None:
    [diagnostic] = found("let v = A[0 :+ T / 32, :]")
    assert diagnostic.code == "empty-slice"
    assert "T = 16" in diagnostic.message
    assert "T = 32" not in diagnostic.message


def test_a_dimension_bound_by_the_command_line_is_static() -> None:
    assert codes("var t = X[:, 0 :+ 4]", dims={"M": 16}) == []
    assert codes("var t = X[:, 0 :+ 4]", dims={"K": 16}) == ["dynamic-extent"]
    assert codes("", dims={"M": 0}) == ["empty-extent"]


def test_values_that_square_themselves_do_not_grow_without_bound() -> None:
    squares = "\n".join(f"let x{i + 1} = x{i} * x{i} + x{i} / (x{i} + n)" for i in range(60))
    assert codes(f"let x0 = ctx.block.x + n\n{squares}\nlet v = A[x60 :+ 4, :]\nlet w = A[x60 : x60 + 4, :]") == []
