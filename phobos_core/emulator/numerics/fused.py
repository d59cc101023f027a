"""Multiply-add with one rounding, and the four operations in each rounding mode."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from phobos_core.emulator.numerics.rounding import (
    F64,
    Any16,
    AnyArray,
    from_bf16,
    round_to_odd,
    to_bf16,
    to_float,
    two_sum,
)

F32 = npt.NDArray[np.float32]

# The low 29 bits of a double that lies halfway between two neighbouring normal float32 values.
_BELOW_F32 = np.uint64((1 << 29) - 1)
_HALFWAY = np.uint64(1 << 28)
_MAGNITUDE = np.uint32(0x7FFFFFFF)
_ONE = np.uint32(1)
_SMALLEST_NORMAL = np.uint32(0x00800000)


def fma_f32(a: F32, b: F32, c: F32) -> AnyArray:
    """`a * b + c` rounded once to nearest.

    The product of two float32 is exact in a double, so only the sum rounds. Rounding that again to float32 is
    wrong only where the double lies exactly halfway; there, and where the result is subnormal, the sum is
    rounded to odd.
    """
    total = np.multiply(a, b, dtype=np.float64)
    total = np.add(total, c, out=total) if total.shape == c.shape else np.atleast_1d(total + c)
    result = total.astype(np.float32)
    halfway = (total.view(np.uint64) & _BELOW_F32) == _HALFWAY
    small = (result.view(np.uint32) & _MAGNITUDE) - _ONE < _SMALLEST_NORMAL
    halfway |= small
    if np.count_nonzero(halfway):
        at = np.flatnonzero(halfway)
        x, y, z = (np.broadcast_to(each, total.shape)[at].astype(np.float64) for each in (a, b, c))
        result[at] = fused_sum(x * y, z)
    return result


def fused_sum(product: F64, addend: F64) -> F64:
    """An exact product plus an addend, rounded to odd."""
    product, addend = np.broadcast_arrays(np.atleast_1d(product), np.atleast_1d(addend))
    return round_to_odd(*two_sum(product, addend))


def fma_narrow(a: AnyArray, b: AnyArray, c: AnyArray, dtype: npt.DTypeLike, mode: str = "rn") -> AnyArray:
    """float32 or float16 `a * b + c` in a rounding mode."""
    product = np.multiply(a, b, dtype=np.float64)
    return to_float(fused_sum(product, np.asarray(c, np.float64)), dtype, mode)


def fma_bf16(a: Any16, b: Any16, c: Any16) -> Any16:
    product = np.multiply(from_bf16(a), from_bf16(b), dtype=np.float64)
    return to_bf16(fused_sum(product, from_bf16(c).astype(np.float64)))


def add_narrow(a: AnyArray, b: AnyArray, dtype: npt.DTypeLike, mode: str) -> AnyArray:
    return to_float(fused_sum(np.asarray(a, np.float64), np.asarray(b, np.float64)), dtype, mode)


def mul_narrow(a: AnyArray, b: AnyArray, dtype: npt.DTypeLike, mode: str) -> AnyArray:
    return to_float(np.atleast_1d(np.multiply(a, b, dtype=np.float64)), dtype, mode)


def div_narrow(a: AnyArray, b: AnyArray, dtype: npt.DTypeLike, mode: str) -> AnyArray:
    """A quotient is never so close to a float32 that its double falls on the wrong side of it."""
    return to_float(np.atleast_1d(np.divide(a, b, dtype=np.float64)), dtype, mode)


def sqrt_narrow(a: AnyArray, dtype: npt.DTypeLike, mode: str) -> AnyArray:
    return to_float(np.atleast_1d(np.sqrt(np.asarray(a, np.float64))), dtype, mode)


_SPLIT = 134217729.0  # 2**27 + 1


def _two_product(a: F64, b: F64) -> tuple[F64, F64]:
    """The rounded product and its exact error (Dekker), for factors far from overflow and underflow."""
    product = a * b
    a_high = a * _SPLIT - (a * _SPLIT - a)
    b_high = b * _SPLIT - (b * _SPLIT - b)
    a_low, b_low = a - a_high, b - b_high
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _exponent(value: F64) -> npt.NDArray[np.int32]:
    return np.frexp(value)[1]


def fma_f64(a: F64, b: F64, c: F64, mode: str = "rn") -> F64:
    """float64 `a * b + c` rounded once (Boldo and Melquiond), by fractions where exponents are extreme."""
    a, b, c = np.broadcast_arrays(*(np.atleast_1d(np.asarray(each, np.float64)) for each in (a, b, c)))
    high, low = _two_product(a, b)
    t_high, t_low = two_sum(c, low)
    v_high, v_low = two_sum(high, t_high)
    result = v_high + round_to_odd(*two_sum(t_low, v_low))
    exponents = _exponent(a) + _exponent(b)
    plain = (exponents > -900) & (exponents < 1000) & (_exponent(a) < 990) & (_exponent(b) < 990)
    plain &= (np.abs(c) < 2.0**1000) & ((c == 0) | (np.abs(c) > 2.0**-900)) & (mode == "rn")
    plain &= np.isfinite(a) & np.isfinite(b)  # their `frexp` gives an exponent of 0
    hard = ~plain | (result == 0) | (a == 0) | (b == 0)
    if np.count_nonzero(hard):
        result = result.copy()
        for at in np.flatnonzero(hard):
            result[at] = _exact_fma(float(a[at]), float(b[at]), float(c[at]), mode)
    return result


def _exact_fma(a: float, b: float, c: float, mode: str) -> float:
    if not (np.isfinite(a) and np.isfinite(b)) or a == 0 or b == 0:
        return float(np.float64(a) * np.float64(b) + np.float64(c))
    if not np.isfinite(c):  # a finite product never meets it, however large
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        product_negative = (a < 0) != (b < 0)
        return -0.0 if (mode == "rm" or (c == 0 and product_negative and np.signbit(c))) else 0.0
    return round_fraction(exact, mode)


def round_fraction(exact: Fraction, mode: str) -> float:
    """A nonzero exact value as a double in a rounding mode."""
    try:
        nearest = exact.numerator / exact.denominator
    except OverflowError:
        nearest = float("inf") if exact > 0 else float("-inf")
    if mode == "rn":
        return nearest
    back = Fraction(nearest) if np.isfinite(nearest) else None
    above = nearest > 0 if back is None else back > exact
    below = nearest < 0 if back is None else back < exact
    down = mode == "rm" or (mode == "rz" and exact > 0)
    if down and above:
        return float(np.nextafter(nearest, -np.inf))
    if not down and below:
        return float(np.nextafter(nearest, np.inf))
    return nearest


def binary_f64(operation: str, a: F64, b: F64, mode: str) -> F64:
    """float64 add, mul or div in a directed mode, element by element through exact fractions."""
    a, b = np.broadcast_arrays(np.atleast_1d(a), np.atleast_1d(b))
    native = {"add": np.add, "mul": np.multiply, "div": np.divide}[operation]
    result = np.array(native(a, b), np.float64)
    for at in np.flatnonzero(np.isfinite(a) & np.isfinite(b)):
        x, y = Fraction(float(a[at])), Fraction(float(b[at]))
        if operation == "div" and y == 0:
            continue
        exact = x + y if operation == "add" else x * y if operation == "mul" else x / y
        if exact != 0:
            result[at] = round_fraction(exact, mode)
    return result
