"""Rounding an exact or nearly exact double to a narrower format, once.

A result is first held in a double. Where the double is not exact it is *rounded to odd*: an inexact value
gets an odd last bit, which keeps enough of what was lost for a second rounding to a format at least two bits
narrower to come out as if it had been the only one (Boldo and Melquiond, 2008). bf16 values are held as 16
bits in `uint16`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
Any16 = npt.NDArray[np.uint16]
AnyArray = npt.NDArray[Any]


def two_sum(a: F64, b: F64) -> tuple[F64, F64]:
    """The rounded sum and its exact error (Knuth)."""
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    return total, error


def round_to_odd(value: F64, error: F64) -> F64:
    """`value + error` rounded to odd, where `value` is that sum rounded to nearest."""
    bits = value.view(np.uint64)
    move = (error != 0) & (bits & 1 == 0) & np.isfinite(value) & ~np.isnan(error)
    if not np.count_nonzero(move):
        return value
    toward = np.copysign(np.inf, error)
    return np.where(move, np.nextafter(value, toward), value)


def _directed(nearest: AnyArray, back: F64, value: F64, mode: str) -> AnyArray:
    """The nearest narrow value moved to the side that the mode asks for."""
    kind = nearest.dtype.type
    if mode == "rz":
        return np.where(np.abs(back) > np.abs(value), np.nextafter(nearest, kind(0)), nearest)
    if mode == "rm":
        return np.where(back > value, np.nextafter(nearest, kind(-np.inf)), nearest)
    if mode == "rp":
        return np.where(back < value, np.nextafter(nearest, kind(np.inf)), nearest)
    return nearest


def directed_sum(value: F64, error: F64, mode: str) -> F64:
    """`value + error` in a rounding mode, where `value` is that sum rounded to nearest."""
    match mode:
        case "rm":
            return np.where(error < 0, np.nextafter(value, -np.inf), value)
        case "rp":
            return np.where(error > 0, np.nextafter(value, np.inf), value)
        case "rz":
            return np.where(error * value < 0, np.nextafter(value, 0.0), value)
    return value


def to_float(value: F64, dtype: npt.DTypeLike, mode: str = "rn") -> AnyArray:
    """A double rounded to float32, float16 or itself."""
    nearest = value.astype(dtype)
    if mode == "rn" or nearest.dtype == np.float64:
        return nearest
    return _directed(nearest, nearest.astype(np.float64), value, mode)


def f32_to_odd(value: F64) -> npt.NDArray[np.float32]:
    """A double rounded to odd in float32."""
    nearest = value.astype(np.float32)
    back = nearest.astype(np.float64)
    error = np.where(np.isfinite(back), value - back, 0.0)
    move = (error != 0) & (nearest.view(np.uint32) & 1 == 0)
    toward = np.copysign(np.float32(np.inf), error.astype(np.float32))
    return np.where(move, np.nextafter(nearest, toward), nearest)


def from_bf16(bits: Any16) -> npt.NDArray[np.float32]:
    return (np.asarray(bits).astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_bf16(value: F64, mode: str = "rn") -> Any16:
    """A double rounded to bf16."""
    wide = f32_to_odd(np.asarray(value, np.float64))
    return f32_to_bf16(wide, mode)


def f32_to_bf16(wide: npt.NDArray[np.float32], mode: str = "rn") -> Any16:
    bits = wide.view(np.uint32)
    low = bits & np.uint32(0xFFFF)
    high = bits >> np.uint32(16)
    negative = (bits >> np.uint32(31)) != 0
    if mode == "rn":
        up = (low > 0x8000) | ((low == 0x8000) & (high & np.uint32(1) != 0))
    elif mode == "rna":
        up = low >= 0x8000
    elif mode == "rp":
        up = (low != 0) & ~negative
    elif mode == "rm":
        up = (low != 0) & negative
    else:
        up = np.zeros(low.shape, np.bool_)
    finite = np.isfinite(wide)
    rounded = high + (up & finite)
    return np.where(np.isnan(wide), np.uint32(0x7FFF), rounded).astype(np.uint16)


def to_tf32(wide: npt.NDArray[np.float32], mode: str = "rna") -> npt.NDArray[np.uint32]:
    """float32 rounded to the 10 mantissa bits of tf32, the low 13 bits zero."""
    bits = wide.view(np.uint32)
    low = bits & np.uint32(0x1FFF)
    if mode == "rna":
        up = low >= 0x1000
    elif mode == "rn":
        up = (low > 0x1000) | ((low == 0x1000) & (bits & np.uint32(0x2000) != 0))
    else:
        up = np.zeros(low.shape, np.bool_)
    kept = bits - low
    rounded = np.where(up & np.isfinite(wide), kept + np.uint32(0x2000), kept)
    return np.where(np.isnan(wide), np.uint32(0x7FFFFFFF), rounded).astype(np.uint32)


def flush(value: AnyArray) -> AnyArray:
    """Subnormal values become zeros of their sign (`.ftz`)."""
    tiny = np.abs(value) < np.finfo(value.dtype).smallest_normal
    return np.where(tiny, np.copysign(value.dtype.type(0), value), value)


def saturate(value: AnyArray) -> AnyArray:
    """`.sat`: into [0, 1], NaN to positive zero."""
    kind = value.dtype.type
    limited: AnyArray = np.where(value > kind(0), np.minimum(value, kind(1)), kind(0))
    return limited


def round_to_integral(value: AnyArray, mode: str) -> AnyArray:
    match mode:
        case "rni" | "rn":
            result: AnyArray = np.rint(value)
        case "rzi" | "rz":
            result = np.trunc(value)
        case "rmi" | "rm":
            result = np.floor(value)
        case "rpi" | "rp":
            result = np.ceil(value)
        case _:
            raise ValueError(mode)
    return result
