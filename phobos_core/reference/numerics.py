"""Arithmetic of the language on NumPy values: functions take and give arrays or NumPy scalars of one element type.

This is the meaning of the spec's section Operators and conversions; it favours being plainly right over speed. NumPy
computes f16 and bf16 in f32 and rounds, which equals rounding once for + - * / (an f32 has more than twice their
precision plus two bits).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from phobos_core.language.types import BF16, BOOL, F16, F32, F64, I8, I32, I64, INDEX, U8, U16, U32, Kind, ScalarType

# A tile value (ndarray) or a scalar value (NumPy scalar, kept as an ndarray type for the checker's sake).
Array = NDArray[Any]

DTYPES: Mapping[ScalarType, np.dtype[Any]] = {
    F16: np.dtype(np.float16),
    BF16: np.dtype(ml_dtypes.bfloat16),
    F32: np.dtype(np.float32),
    F64: np.dtype(np.float64),
    I8: np.dtype(np.int8),
    I32: np.dtype(np.int32),
    I64: np.dtype(np.int64),
    U8: np.dtype(np.uint8),
    U16: np.dtype(np.uint16),
    U32: np.dtype(np.uint32),
    BOOL: np.dtype(np.bool_),
    INDEX: np.dtype(np.int64),
}


def dtype_of(element: ScalarType, index_bits: int) -> np.dtype[Any]:
    if element.kind is Kind.INDEX and index_bits == 32:
        return np.dtype(np.int32)
    return DTYPES[element]


def is_float(dtype: np.dtype[Any]) -> bool:
    """True for bf16 too, which NumPy itself files under void."""
    return dtype.kind == "f" or dtype == DTYPES[BF16]


def convert(value: Array, dtype: np.dtype[Any]) -> Array:
    """Float to float to nearest even, integers wrapping or extending, float to integer truncating and saturating."""
    value = np.asarray(value)
    if value.dtype == dtype:
        return value
    if is_float(value.dtype) and not is_float(dtype):
        return _float_to_integer(value, dtype)
    if dtype == DTYPES[BF16] and value.dtype not in (np.float32, np.float16):
        return _to_odd_f32(value).astype(dtype)
    return value.astype(dtype)


def _float_to_integer(value: Array, dtype: np.dtype[Any]) -> Array:
    limits = np.iinfo(dtype)
    wide = np.trunc(value.astype(np.float64))
    # The largest i64 is not a double: compare with the power of two above it.
    inside = (wide >= float(limits.min)) & (wide < float(limits.max) + 1.0)
    result = np.where(inside, wide, 0.0).astype(np.int64).astype(dtype)
    result = np.where(wide >= float(limits.max) + 1.0, limits.max, result)
    return np.where(wide < float(limits.min), limits.min, result).astype(dtype)


def _to_odd_f32(value: Array) -> Array:
    """To f32 rounding to odd, so that rounding the result to bf16 equals rounding `value` once."""
    if is_float(value.dtype):
        exact: Array = value.astype(np.float64)
        nearest = exact.astype(np.float32)
        back = nearest.astype(np.float64)
    else:
        exact = value.astype(np.int64)
        nearest = exact.astype(np.float32)
        back = nearest.astype(np.int64)
    inexact = np.isfinite(nearest) & (back != exact)
    away = inexact & (np.abs(back) > np.abs(exact))
    truncated = np.where(away, np.nextafter(nearest, np.float32(0)), nearest)
    bits = truncated.view(np.uint32) | inexact.astype(np.uint32)
    return np.where(inexact, bits.view(np.float32), nearest)


def divide(a: Array, b: Array) -> Array:
    """Correctly rounded for floats; truncating toward zero for integers, 0 where the divisor is 0."""
    if is_float(np.asarray(a).dtype):
        return np.divide(a, b)
    divisor = np.where(b == 0, 1, b).astype(np.asarray(b).dtype)
    quotient = np.floor_divide(a, divisor)
    inexact = quotient * divisor != a
    towards_zero = quotient + (inexact & ((a < 0) != (b < 0))).astype(quotient.dtype)
    return np.where(b == 0, 0, towards_zero).astype(np.asarray(a).dtype)


def remainder(a: Array, b: Array) -> Array:
    """With the sign of the dividend, floats and integers alike."""
    if is_float(np.asarray(a).dtype):
        return np.fmod(a, b)
    return np.asarray(a - divide(a, b) * b, np.asarray(a).dtype)


def shift_left(a: Array, amount: Array) -> Array:
    """0 for an amount at or past the width."""
    width = np.asarray(a).dtype.itemsize * 8
    inside = (amount >= 0) & (amount < width)
    return np.where(inside, np.left_shift(a, np.where(inside, amount, 0)), 0).astype(np.asarray(a).dtype)


def shift_right(a: Array, amount: Array) -> Array:
    """Arithmetic; the sign for an amount at or past the width."""
    width = np.asarray(a).dtype.itemsize * 8
    inside = (amount >= 0) & (amount < width)
    return np.right_shift(a, np.where(inside, amount, width - 1)).astype(np.asarray(a).dtype)


BINARY: Mapping[str, Callable[[Array, Array], Array]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": divide,
    "%": remainder,
    "min": np.fmin,
    "max": np.fmax,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "<<": shift_left,
    ">>": shift_right,
    "&&": np.logical_and,
    "||": np.logical_or,
}

COMPARE: Mapping[str, Callable[[Array, Array], Array]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}

UNARY: Mapping[str, Callable[[Array], Array]] = {
    "-": np.negative,
    "~": np.invert,
    "!": np.logical_not,
}

_MATH: Mapping[str, Callable[..., Array]] = {
    "exp": np.exp,
    "log": np.log,
    "pow": lambda a, b: np.exp(b * np.log(a)),
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "round": np.rint,
    "floor": np.floor,
    "ceil": np.ceil,
}


def math(op: str, args: list[Array]) -> Array:
    """On f32 values: the exact result in f64, rounded. `abs` stays in the type of its argument."""
    dtype = np.asarray(args[0]).dtype
    if op == "abs":
        return np.abs(args[0]).astype(dtype)
    rounded = [convert(a, DTYPES[F32]).astype(np.float64) for a in args]
    return convert(_MATH[op](*rounded).astype(np.float32), dtype)


def contract(lhs: Array, rhs: Array, accumulator: np.dtype[Any]) -> Array:
    """lhs [M, K] @ rhs [K, N], summed in f64 and rounded once to f32 or f64; exact, then wrapped, for i32."""
    product = lhs.astype(np.float64) @ rhs.astype(np.float64)
    if is_float(accumulator):
        return product.astype(accumulator)
    return product.astype(np.int64).astype(accumulator)


def row_max(value: Array) -> Array:
    """[R, C] -> [R, 1]; a NaN counts only when the row holds nothing else."""
    return np.asarray(np.fmax.reduce(value, axis=1, keepdims=True))


def row_sum(value: Array) -> Array:
    """[R, C] -> [R, 1]; floats summed in f64 and rounded once, integers wrapping in their own type."""
    if is_float(value.dtype):
        return convert(value.astype(np.float64).sum(axis=1, keepdims=True), value.dtype)
    return np.asarray(value.sum(axis=1, keepdims=True, dtype=value.dtype))


def row_argmax(value: Array) -> Array:
    """[R, C] -> [R, 1] i32: the smallest index of the largest element that is not NaN."""
    if not is_float(value.dtype):
        return np.asarray(value.argmax(axis=1), np.int32)[:, None]
    wide = value.astype(np.float64)
    is_top = wide == np.fmax.reduce(wide, axis=1, keepdims=True)
    return np.asarray(is_top.argmax(axis=1), np.int32)[:, None]


def cumsum(value: Array) -> Array:
    """Running sums down the rows, in f64, each rounded once."""
    return convert(value.astype(np.float64).cumsum(axis=0), value.dtype)
