"""Built-ins: the spec's Elementwise, Reductions and shape, Dense contraction, and what the decisions add."""

import pytest

from phobos_core.analysis.calls import BUILDERS
from phobos_core.language.builtins import BUILTINS, COLLECTIVES
from tests.analysis.support import checked, codes, found, kernel_of, lines_of


def test_every_supported_builtin_is_built() -> None:
    assert set(BUILDERS) == {name for name, builtin in BUILTINS.items() if builtin.supported}


@pytest.mark.parametrize("builtin", [*BUILTINS.values(), *COLLECTIVES.values()], ids=lambda b: b.name)
def test_the_example_of_an_entry_checks(builtin) -> None:  # type: ignore[no-untyped-def]
    given = {d.code for d in checked(builtin.example).diagnostics if d.severity == "error"}
    assert given == (set() if builtin.supported else {"not-supported-yet"})


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("let x = exp(1.0, 2.0)", "argument-count"),
        ("let x = exp()", "argument-count"),
        ("let x = any(f)", "collective-form"),
        # Math takes floats; abs alone takes an integer too.
        ("let x = exp(n)", "element-type"),
        ("let x = pow(n, 2)", "element-type"),
        ("let x = exp(f)", "element-type"),
        ("let x = abs(f)", "element-type"),
        ("let x = min(f, true)", "element-type"),
        ("var t = exp(I[:, :])", "element-type"),
        ("var t = pow(I[:, :], 2)", "element-type"),
        ("var t = exp(U[:, :])", "unsigned-arithmetic"),
        ("var t = tmax(A[:, :], H[:, :])", "element-type"),
        ("var t = tmax(A[:, :], 1.0)", "not-a-tile"),
        ("var t = argsel(A[:, :], H[:, :], I[:, :], I[:, :])", "element-type"),
        ("var t = argsel(I[:, :], I[:, :], I[:, :], I[:, :])", "element-type"),
        ("var t = argsel(A[:, :], A[:, :], I[:, :], L[:, :])", "element-type"),
        # where and iota.
        ("let x = where(n, 1, 2)", "condition-type"),
        ("let x = where(f, true, 1)", "element-type"),
        ("var t = A[:, :]\nt = where(t > 0.0, t, 0.0) * 2.0", "where-placement"),
        ("var t = A[:, :]\nt = 1.0 + where(t > 0.0, t, 0.0)", "where-placement"),
        ("var t = A[:, :]\nt -= where(t > 0.0, t, 0.0)", "where-placement"),
        ("let t = where(A[:, :] > 0.0, A[:, :], 0.0)", "where-placement"),
        ("var t = rowsum(where(A[:, :] > 0.0, A[:, :], 0.0))", "where-placement"),
        ("var t = where(A[:, :] > 0.0, 1.0, 0.0)", "where-placement"),
        ("var t = A[:, :]\nt = where(!(t > 0.0), t, 0.0)", "logical-operand"),
        ("var t = A[:, :]\nt = where(t, t, 0.0)", "condition-type"),
        ("let x = iota(0)", "iota-placement"),
        ("A[0, 0] = iota(0)", "iota-placement"),
        ("var t = iota(0)", "iota-placement"),
        ("var t: tile<f32>[64, 1] = rowsum(f32(iota(1)))", "iota-placement"),
        ("var t: tile<i32>[64, 64] = iota(2)", "iota-axis"),
        ("var t: tile<i32>[64, 64] = iota(n)", "iota-axis"),
        # Reductions and shape: rank 2, static, floats where the spec says so.
        ("var t = rowsum(V[:])", "reduction-operand"),
        ("var t = transpose(V[:])", "reduction-operand"),
        ("var t = rowsum(n)", "not-a-tile"),
        ("var t = cumsum(I[:, :])", "element-type"),
        ("var t = tril(I[:, :])", "element-type"),
        ("var t = rowsum(X[0 :+ 4, :])", "dynamic-extent"),
        ("var t = transpose(X[:, 0 :+ 4])", "dynamic-extent"),
        ("var t = rowsum(A[:, :] * H[:, :])", "element-type"),
        ("var t = flat(A[:, :])", "not-a-named-tile"),
        ("let v = A[:, :]\nvar t = flat(v)", "not-a-named-tile"),
        ("var v = V[:]\nvar t = flat(v)", "reduction-operand"),
        # gather.
        ("var t = gather(A[:, :], I[:, :])", "shape-mismatch"),
        ("var t = gather(V[:] * 2.0, I[:, :])", "not-a-named-tile"),
        ("var t = gather(V[:], A[:, :])", "element-type"),
        # Contractions.
        ("var t = dot(V[:], A[:, :])", "contraction-operand"),
        ("var t = dot(A[:, :], n)", "not-a-tile"),
        ("var t = dot(I[:, :], I[:, :])", "contraction-operand"),
        ("var t = dot_t(I[:, :], I[:, :])", "contraction-operand"),
        ("var t = dot(C[:, :], C[:, :])", "contraction-operand"),
        ("var t = dot_t(C[:, :], H[:, :])", "contraction-operand"),
        ("var t = dot(A[:, 0 :+ 32], B[:, :])", "shape-mismatch"),
        ("var t = dot_t(A[:, 0 :+ 32], B[:, :])", "shape-mismatch"),
        ("var t = dot(X[:, :], Y[:, 0 :+ 4])", "dynamic-extent"),
        ("var t: tile<f32>[64, 64] = dot_t(C[:, :], C[:, :])", "contraction-destination"),
        ("var t = A[:, :]\nt += dot_t(C[:, :], C[:, :])", "contraction-destination"),
    ],
)
def test_one_mistake_gives_one_diagnostic(body: str, code: str) -> None:
    assert codes(body) == [code]


@pytest.mark.parametrize(
    "body",
    [
        # where is the whole value of an assignment, a typed declaration or a var; another may stand in its branches.
        "var t = where(A[:, :] > 0.0, A[:, :], 0.0)",
        "let t: tile<f32>[64, 64] = where(iota(0) == iota(1), 1.0, 0.0)",
        "A[:, :] = where(f, B[:, :], where(B[:, :] < 1.0 || f, 0.0, B[:, :]))",
        "var t = A[:, :]\nt += where(iota(1) < n && t > 0.0, t, 1.0)",
        "A[0, 0] = where(n > 3, 1.0, s)",
        "var t = A[:, :] * where(n > 3, 1.0, s)",
        # iota anywhere inside such a value.
        "var t: tile<i32>[64, 64] = iota(0) * 64 + iota(1)",
        "A[0 :+ 8, :] = f32(iota(1)) * 0.5",
        "var t: tile<f32>[4, 64] = gather(V[:], iota(1))",
        # Reductions, contractions, transpose and gather in a larger expression.
        "var t = A[:, :] * rowsum(A[:, :]) + dot(A[:, :], transpose(B[:, :]))",
        "var t = dot(A[:, :] * 2.0, f32(H[:, :]))",
        "var t = rowsum(abs(A[:, :] - R[:, :]))",
        "var t = rowmax(C[:, :])\nvar u = rowargmax(I[:, :])",
        "var t = rowsum(f32(H[:, :]) * A[:, :])",
        # A table may be of any extent.
        "var t = gather(X[0 :+ 1, :], I[:, :])",
        "var t = gather(V[:], U[:, :])",
        # The contracted extents may be dynamic.
        "var t = dot(X[0 :+ 8, :], Y[:, 0 :+ 8])",
        "var t = dot_t(X[0 :+ 8, :], X[8 :+ 8, :])",
    ],
)
def test_accepted(body: str) -> None:
    assert codes(body) == []


def test_iota_takes_the_shape_of_the_value_of_a_var() -> None:
    body = "var t = where(iota(1) < n, rowsum(A[0 :+ 8, :]) + A[0 :+ 8, 0 :+ 16], 0.0)"
    [stmt] = kernel_of(body).body
    assert str(stmt).count("Iota") == 1
    assert lines_of(body)[0].startswith("t: f32[8, 16] = select((iota(1) < n)")


def test_argsel_is_a_choice_by_greater_or_equal() -> None:
    assert lines_of("var t = argsel(A[:, :], R[:, :], I[:, :], I[:, :])") == [
        "t: i32[64, 64] = select((A[0:index :+ 64 unmasked, 0:index :+ 64 unmasked] >="
        " R[0:index :+ 1 unmasked, 0:index :+ 64 unmasked]),"
        " I[0:index :+ 64 unmasked, 0:index :+ 64 unmasked], I[0:index :+ 64 unmasked, 0:index :+ 64 unmasked])"
    ]


def test_a_product_is_rounded_once_at_its_destination() -> None:
    lines = lines_of("let q = H[:, :]\nvar t: tile<f16>[64, 64] = dot(q, q)\nt += dot(q, q)\nt = t * 2.0 + dot(q, q)")
    assert lines[1:] == [
        "t: f16[64, 64] = f16(dot(q, q))",
        "t = f16((f32(t) + dot(q, q)))",
        "t = f16((f32((t * 2.0:f16)) + dot(q, q)))",
    ]


def test_a_product_in_the_type_of_its_destination_is_added_in_place() -> None:
    lines = lines_of("let q = H[:, :]\nvar t: tile<f32>[64, 64] = 0.0\nt += dot(q, q)")
    assert lines[-1] == "t += dot(q, q)"
    lines = lines_of("let c = C[:, :]\nvar t: tile<i32>[64, 64] = 0\nt += dot_t(c, c)")
    assert lines[-1] == "t += dot_t(c, c)"


def test_mixed_operands_of_a_contraction_convert_to_their_join() -> None:
    lines = lines_of("let a = A[:, :]\nlet q = H[:, :]\nvar t = dot(a, q)\nlet b = BF[:, :]\nvar u = dot(b, q)")
    assert lines[2] == "t: f32[64, 64] = dot(a, f32(q))"
    assert lines[4] == "u: f32[64, 64] = dot(f32(b), f32(q))"


def test_extents_that_only_the_launch_knows_are_requirements() -> None:
    assert [r.text for r in kernel_of("var t = dot(X[0 :+ 8, :], Y[:, 0 :+ 8])").requires] == ["K == K2"]
    assert [r.text for r in kernel_of("var t = dot(X[0 :+ 8, :], A[:, 0 :+ 8])").requires] == ["K == 64"]
    assert kernel_of("var t = dot_t(X[0 :+ 8, :], X[8 :+ 8, :])").requires == ()


def test_extents_that_nobody_knows_are_an_error() -> None:
    assert codes("var t = dot(X[0 :+ 8, 0 : n], Y[:, 0 :+ 8])") == ["shape-mismatch"]


def test_needs_a_later_target() -> None:
    assert codes("let x = tanh(s)", target="sm_70") == ["needs-target"]
    assert codes("let x = tanh(s)", target="sm_75") == []


def test_what_this_version_does_not_build_is_one_diagnostic_at_the_call() -> None:
    [diagnostic] = found("A[0 :+ 1, 0 :+ 8] = qdot_t(C[0 :+ 1, :], A[0 :+ 1, 0 :+ 2], C[0 :+ 8, :], A[0 :+ 8, 0 :+ 2])")
    assert diagnostic.code == "not-supported-yet"
    assert "`qdot_t`" in diagnostic.message
