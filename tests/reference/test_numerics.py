"""The reference's arithmetic against exact rationals and NumPy's own conversions."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phobos_core.language import types as t
from phobos_core.reference import numerics

BF16 = np.dtype(ml_dtypes.bfloat16)

BF16_VALUES = np.arange(2**16, dtype=np.uint16).view(BF16)
FINITE_BF16 = np.sort(BF16_VALUES[np.isfinite(BF16_VALUES.astype(np.float32))].astype(np.float64))


def nearest_bf16(value: Fraction) -> float:
    """By search over every bf16: ties to the even significand."""
    best = [float(v) for v in FINITE_BF16 if abs(float(v) - float(value)) <= abs(float(value)) / 64 + 1e-40]
    ranked = sorted(best, key=lambda v: (abs(Fraction(v) - value), np.float32(v).view(np.uint32) >> 16 & 1))
    return ranked[0]


@given(st.integers(-(2**40), 2**40), st.integers(-50, 0))
def test_f64_to_bf16_rounds_once(significand: int, exponent: int) -> None:
    value = float(significand) * 2.0**exponent
    assert float(numerics.convert(np.float64(value), BF16)) == nearest_bf16(Fraction(value))


@pytest.mark.parametrize(
    ("value", "expected"),
    [(2.9, 2), (-2.9, -2), (3e9, 2**31 - 1), (-3e9, -(2**31)), (math.nan, 0), (math.inf, 2**31 - 1)],
)
def test_float_to_integer_truncates_and_saturates(value: float, expected: int) -> None:
    assert numerics.convert(np.float32(value), np.dtype(np.int32)) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(9.3e18, 2**63 - 1), (-9.3e18, -(2**63)), (2.0**62, 2**62), (-(2.0**63), -(2**63))]
)
def test_float_to_i64_saturates_at_its_own_limits(value: float, expected: int) -> None:
    assert int(numerics.convert(np.float64(value), np.dtype(np.int64))) == expected


def test_narrowing_integers_keep_the_low_bits() -> None:
    values = np.array([300, -129, 127], np.int32)
    assert numerics.convert(values, np.dtype(np.int8)).tolist() == [44, 127, 127]


@given(st.integers(-128, 127), st.integers(-128, 127))
def test_integer_division_truncates_toward_zero(a: int, b: int) -> None:
    quotient = int(numerics.divide(np.asarray(a, np.int32), np.asarray(b, np.int32)))
    rest = int(numerics.remainder(np.asarray(a, np.int32), np.asarray(b, np.int32)))
    if b:
        assert quotient == math.trunc(Fraction(a, b))
        assert rest == a - b * math.trunc(Fraction(a, b))


def test_shifts_at_or_past_the_width() -> None:
    amount = np.array([31, 32, 64], np.int32)
    minus = np.full(3, -8, np.int32)
    assert numerics.shift_right(minus, amount).tolist() == [-1, -1, -1]
    assert numerics.shift_left(minus, amount).tolist() == [0, 0, 0]
    assert numerics.shift_right(np.full(3, 8, np.int32), amount).tolist() == [0, 0, 0]


def test_min_and_max_give_the_other_operand_for_a_nan() -> None:
    a = np.array([np.nan, 1.0], np.float32)
    b = np.array([2.0, np.nan], np.float32)
    assert numerics.BINARY["min"](a, b).tolist() == [2.0, 1.0]
    assert numerics.BINARY["max"](a, b).tolist() == [2.0, 1.0]


def test_float_remainder_has_the_sign_of_the_dividend() -> None:
    assert numerics.remainder(np.float32(-7.5), np.float32(2.0)) == np.float32(-1.5)


def test_row_argmax_takes_the_smallest_index_and_skips_nan() -> None:
    rows = np.array([[1.0, 5.0, 5.0], [np.nan, 2.0, 1.0]], np.float32)
    assert numerics.row_argmax(rows).tolist() == [[1], [1]]


def test_integer_row_sum_wraps_in_its_own_type() -> None:
    assert numerics.row_sum(np.array([[100, 100]], np.int8)).tolist() == [[-56]]


def test_i8_contraction_is_exact() -> None:
    rng = np.random.default_rng(1)
    a = rng.integers(-128, 128, (5, 300)).astype(np.int8)
    b = rng.integers(-128, 128, (300, 7)).astype(np.int8)
    expected = a.astype(np.int64) @ b.astype(np.int64)
    assert (numerics.contract(a, b, np.dtype(np.int32)) == expected).all()


@pytest.mark.parametrize("element", [t.F16, t.BF16, t.F32])
def test_arithmetic_rounds_to_its_own_type(element: t.ScalarType) -> None:
    dtype = numerics.DTYPES[element]
    third = numerics.divide(np.asarray(1, dtype), np.asarray(3, dtype))
    assert np.asarray(third).dtype == dtype
    digits = {"f16": 11, "bf16": 8, "f32": 24}[element.name]
    scaled = Fraction(1, 3) * 2 ** (digits + 1)
    assert Fraction(float(third)) * 2 ** (digits + 1) == round(scaled)
