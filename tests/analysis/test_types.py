"""Types of expressions and conversions: the spec's Types, and Operators and conversions."""

import pytest

from tests.analysis.support import codes, found, lines_of, type_of


@pytest.mark.parametrize(
    ("expression", "type_"),
    [
        # A literal float is f32, a literal integer an index.
        ("1.5", "f32"),
        ("3", "index"),
        ("true", "bool"),
        ("-1.0e30", "f32"),
        # A loaded integer of any width extends to index; a parameter keeps its declared type.
        ("C[0, 0]", "index"),
        ("I[0, 0]", "index"),
        ("L[0, 0]", "index"),
        ("U[0, 0]", "index"),
        ("W[0, 0]", "index"),
        ("H[0, 0]", "f16"),
        ("n", "i32"),
        ("i32(C[0, 0])", "i32"),
        # The join of two integers is the wider; a literal takes the other side's type.
        ("n + m", "i64"),
        ("n + 1", "i32"),
        ("1 + n", "i32"),
        ("n + I[0, 0]", "index"),
        ("n + ctx.block.x", "index"),
        ("n << 3", "i32"),
        # Float with float: the wider; f16 with bf16: f32; integer with float: the float.
        ("h + s", "f32"),
        ("s + d", "f64"),
        ("h + BF[0, 0]", "f32"),
        ("n + h", "f16"),
        ("h + 1.0", "f32"),
        # min and max are operators spelled as calls.
        ("min(n, 3)", "i32"),
        ("max(s, 0)", "f32"),
        # Comparisons and logic give bool.
        ("n < 3 && !f || f == true", "bool"),
        ("where(f, n, 3)", "i32"),
        # Math on a scalar computes in f32; abs keeps an integer.
        ("exp(h)", "f32"),
        ("pow(h, 2.0)", "f32"),
        ("abs(n)", "i32"),
        ("abs(h)", "f32"),
    ],
)
def test_type_of_a_scalar(expression: str, type_: str) -> None:
    assert type_of(expression) == type_


@pytest.mark.parametrize(
    ("expression", "type_"),
    [
        ("A[:, :]", "f32[64, 64]"),
        ("U[:, :]", "u8[64, 64]"),
        # A scalar never widens a tile, and takes the type of the integer operand it meets.
        ("H[:, :] * s", "f16[64, 64]"),
        ("H[:, :] * -1.0", "f16[64, 64]"),
        ("H[:, :] * d", "f16[64, 64]"),
        ("C[:, :] + ctx.block.x", "i8[64, 64]"),
        ("C[:, :] + n", "i8[64, 64]"),
        ("A[:, :] * n", "f32[64, 64]"),
        ("I[:, :] * 0.5", "f32[64, 64]"),
        ("I[:, :] * h", "f16[64, 64]"),
        # Tiles join as scalars do.
        ("H[:, :] + A[:, :]", "f32[64, 64]"),
        ("H[:, :] + BF[:, :]", "f32[64, 64]"),
        ("C[:, :] + I[:, :]", "i32[64, 64]"),
        ("I[:, :] + L[:, :]", "i64[64, 64]"),
        ("I[:, :] + H[:, :]", "f16[64, 64]"),
        # Broadcasting.
        ("A[:, :] + R[:, :]", "f32[64, 64]"),
        ("rowsum(A[:, :]) + R[:, :]", "f32[64, 64]"),
        # Conversions.
        ("i32(U[:, :])", "i32[64, 64]"),
        ("f32(W[:, :])", "f32[64, 64]"),
        ("i8(I[:, :])", "i8[64, 64]"),
        # Built-ins.
        ("rowsum(C[:, :])", "i8[64, 1]"),
        ("rowargmax(A[:, :])", "i32[64, 1]"),
        ("transpose(U[0 :+ 16, :])", "u8[64, 16]"),
        ("cumsum(H[:, :])", "f16[64, 64]"),
        ("exp(H[:, :])", "f16[64, 64]"),
        ("abs(C[:, :])", "i8[64, 64]"),
        ("tmax(A[:, :], R[:, :])", "f32[64, 64]"),
        ("argsel(A[:, :], B[:, :], I[:, :], I[:, :])", "i32[64, 64]"),
        ("gather(V[:], U[:, :])", "f32[64, 64]"),
        ("gather(R[:, :], I[:, :])", "f32[64, 64]"),
        # Contractions sum in f32 (f64 for f64, i32 for i8).
        ("dot(H[:, :], H[:, :])", "f16[64, 64]"),
        ("dot(H[:, :], A[:, :])", "f32[64, 64]"),
        ("dot(D[:, :], H[:, :])", "f64[64, 64]"),
        ("dot_t(C[:, :], C[:, :])", "i32[64, 64]"),
    ],
)
def test_type_of_a_tile(expression: str, type_: str) -> None:
    assert type_of(expression) == type_


def test_integer_division_stays_integer_whatever_the_destination() -> None:
    assert lines_of("var t = f32(i32(U[:, :]) / 16 % 4)") == [
        "t: f32[64, 64] = f32(((i32(U[0:index :+ 64 unmasked, 0:index :+ 64 unmasked]) / 16:i32) % 4:i32))"
    ]


def test_a_comparison_is_at_the_wider_type() -> None:
    body = "var t = A[:, :]\nt = where(iota(1) < m - 3, t, 0.0)"
    assert lines_of(body)[1] == "t = select((i64(iota(1)) < (m - 3:i64)), t, 0.0:f32)"


def test_a_literal_beyond_the_other_type_is_not_truncated_in_a_comparison() -> None:
    body = "var t = C[:, :]\nt = where(t < 200, t, 0)"
    assert lines_of(body)[1] == "t = select((index(t) < 200:index), t, 0:i8)"


def test_a_float_literal_has_the_tiles_type_in_a_tile_expression() -> None:
    assert lines_of("var t: tile<f64>[64, 64] = 0.1") == ["t: f64[64, 64] = 0.1:f64"]
    # 0.1 in f32, and in f16: the neighbours of 1/10 with 24 and 11 significant bits.
    assert lines_of("let x = 0.1") == [f"x: f32 = {13421773 / 2**27}:f32"]
    assert lines_of("var t: tile<f16>[64, 64] = 0.1") == [f"t: f16[64, 64] = {1638 / 2**14}:f16"]
    # A scalar literal is an f32, whatever it is assigned to.
    assert lines_of("let x: f64 = 0.1") == [f"x: f64 = {13421773 / 2**27}:f64"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # Float to float and index to float.
        ("let x: f16 = s", "x: f16 = f16(s)"),
        ("let x: f32 = ctx.block.x", "x: f32 = f32(ctx.block.x)"),
        ("let x: f32 = 3", "x: f32 = 3.0:f32"),
        # A literal or an index to integer storage wraps.
        ("let x: i32 = ctx.block.x", "x: i32 = i32(ctx.block.x)"),
        ("let x: i8 = 300", "x: i8 = 44:i8"),
        ("I[0, 0] = I[1, 1] + 1", "I[0:index, 0:index] = i32((I[1:index, 1:index] + 1:index))"),
        ("U[0, 0] = 256 + 7", "U[0:index, 0:index] = 7:u8"),
        ("var t: tile<u8>[4, 4] = 255 + 1", "t: u8[4, 4] = 0:u8"),
        ("var t: tile<u8>[64, 64] = I[:, :]", "t: u8[64, 64] = u8(I[0:index :+ 64 unmasked, 0:index :+ 64 unmasked])"),
        # No conversion to index is spelled, so an integer widens to it.
        ("var x = 0\nx = n", "x = index(n)"),
    ],
)
def test_conversions_that_happen_by_themselves(body: str, expected: str) -> None:
    assert lines_of(body)[-1] == expected


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("let x: i32 = 1.5", "type-mismatch"),
        ("let x: i32 = m", "type-mismatch"),
        ("let x: i64 = n", "type-mismatch"),
        ("let x: f32 = n", "type-mismatch"),
        ("let x: f32 = true", "type-mismatch"),
        ("let x: bool = 1", "type-mismatch"),
        ("var t: tile<i32>[64, 64] = A[:, :]", "type-mismatch"),
        ("var t: tile<f32>[64, 64] = I[:, :]", "type-mismatch"),
        ("var t: tile<f32>[64, 64] = U[:, :]", "type-mismatch"),
        ("var t: tile<u8>[64, 64] = C[:, :]", "type-mismatch"),
        ("var t: tile<u32>[64, 64] = U[:, :]", "type-mismatch"),
        ("var x = 0\nx = 1.5", "type-mismatch"),
        ("var t = U[:, :] + 1", "unsigned-arithmetic"),
        ("var t = -U[:, :]", "unsigned-arithmetic"),
        ("var t = U[:, :]\nt += 1", "unsigned-arithmetic"),
        ("var t = rowsum(U[:, :])", "unsigned-arithmetic"),
        ("var t = U[:, :]\nt = where(t < 3, 1, 0)", "unsigned-arithmetic"),
        ("let x = f + 1", "no-join"),
        ("let x = f & f", "no-join"),
        ("let x = f < f", "no-join"),
        ("let x = -f", "no-join"),
        ("let x = f32(f)", "no-conversion"),
        ("let x = bool(n)", "no-conversion"),
        ("let x = u8(n)", "no-conversion"),
        ("let x = s & 3", "float-bit-operation"),
        ("let x = ~1.5", "float-bit-operation"),
        ("var t = A[:, :] >> 1", "float-bit-operation"),
        ("let x = n && f", "logical-operand"),
        ("let x = !n", "logical-operand"),
        ("let x = n / 0", "division-by-zero"),
        ("let x = n % (4 - 4)", "division-by-zero"),
        ("let x = n / (T - T)", "division-by-zero"),
        ("var t = I[:, :] / 0", "division-by-zero"),
        ("let x = A[:, :] < 1.0", "tile-comparison"),
        ("let x: u8 = 3", "unsigned-scalar"),
        ("var t: tile<bool>[4, 4]", "bool-storage"),
        ("var t: tensor<f32>[4]", "misplaced-type"),
    ],
)
def test_one_mistake_gives_one_diagnostic(body: str, code: str) -> None:
    assert codes(body) == [code]


def test_float_division_by_zero_has_a_value() -> None:
    assert codes("let x = s / 0.0\nvar t = A[:, :] / 0") == []


def test_minus_a_tile_is_zero_minus_it() -> None:
    assert lines_of("var t = A[:, :]\nt = -t\nlet x = -s")[1:] == ["t = (0.0:f32 - t)", "x: f32 = -s"]


def test_a_quotient_of_a_choice_may_be_a_zero_divisor() -> None:
    [diagnostic] = found("let x = n % (T / 32)")
    assert "T = 16" in diagnostic.message


def test_a_divisor_that_some_configurations_make_zero() -> None:
    [diagnostic] = found("let x = n / (T - 32)")
    assert diagnostic.code == "division-by-zero"
    assert "T = 32" in diagnostic.message
    assert "T = 16" not in diagnostic.message


def test_the_join_of_i64_and_index_follows_the_index_width() -> None:
    wide, narrow = (lines_of("let x = m + ctx.block.x", bits=bits)[0] for bits in (64, 32))
    assert wide == "x: index = (index(m) + ctx.block.x)"
    assert narrow == "x: i64 = (m + i64(ctx.block.x))"


def test_an_index_literal_fits_its_width() -> None:
    assert codes("let x = 2147483648", bits=32) == ["literal-too-large"]
    assert codes("let x = 2147483648") == []


def test_index_literals_fold_with_wrapping() -> None:
    assert lines_of("let x = 9223372036854775807 + 1") == [f"x: index = {-(2**63)}:index"]
    assert lines_of("let x = 0 - 7 / 2") == ["x: index = -3:index"]
    assert lines_of("let x = (0 - 7) % 4") == ["x: index = -3:index"]
    assert lines_of("let x = (0 - 8) >> 70") == ["x: index = -1:index"]


def test_f64_math_says_that_it_computes_in_f32() -> None:
    [note] = found("D[:, :] = exp(D[:, :])")
    assert (note.code, note.severity) == ("f64-math", "note")
