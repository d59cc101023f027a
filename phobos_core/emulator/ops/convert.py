"""cvt and cvt.pack: between all number formats, in each rounding mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from phobos_core.emulator.decode import DTYPES, Decoder, Entry, MicroOp, Value, entry, unsupported
from phobos_core.emulator.machine import Array
from phobos_core.emulator.numerics import rounding
from phobos_core.emulator.numerics.rounding import F64
from phobos_core.emulator.ops.floating import canonical_nan
from phobos_core.emulator.ops.integer import INTEGERS
from phobos_core.emulator.ptx import Instruction

MODES = ("rn", "rz", "rm", "rp", "rna", "rni", "rzi", "rmi", "rpi")
FLOATS = ("f16", "f32", "f64", "bf16")
PACKED = ("f16x2", "bf16x2", "e4m3x2", "e5m2x2")
EIGHT_BITS = {"e4m3x2": ml_dtypes.float8_e4m3fn, "e5m2x2": ml_dtypes.float8_e5m2}
LARGEST_EIGHT_BITS = {"e4m3x2": 448.0, "e5m2x2": 57344.0}


def _mode(at: Instruction) -> str:
    return next((m for m in at.modifiers if m in MODES), "")


def cvt(decoder: Decoder, at: Instruction) -> MicroOp:
    if at.modifiers[0] == "pack":
        return _pack_integers(decoder, at)
    if len(at.modifiers) < 2:
        raise unsupported(at)
    to, source = at.modifiers[-2:]
    if to in PACKED or source in PACKED:
        return _packed(decoder, at, to, source)
    if to == "tf32":
        mode, relu = _mode(at), "relu" in at.modifiers
        return _one(decoder, at, lambda a: rounding.to_tf32(_relu(np.atleast_1d(a), relu), mode))
    table: dict[tuple[bool, bool], Callable[[Instruction, str, str], Callable[[Value], Array]]] = {
        (True, True): _integer_to_integer,
        (True, False): _integer_to_float,
        (False, True): _float_to_integer,
        (False, False): _float_to_float,
    }
    if any(each not in INTEGERS and each not in FLOATS for each in (to, source)):
        raise unsupported(at)
    return _one(decoder, at, table[source in INTEGERS, to in INTEGERS](at, to, source))


def _one(decoder: Decoder, at: Instruction, function: Callable[[Value], Array]) -> MicroOp:
    to, source = at.modifiers[-2:]
    return decoder.computed(function, decoder.write(at.operands[0], to, at), decoder.read(at.operands[1], source, at))


def integer_type(kind: str) -> np.dtype[Any]:
    return np.dtype(f"{'i' if kind[0] == 's' else 'u'}{int(kind[1:]) // 8}")


def _clamp_integer(value: Value, dtype: np.dtype[Any]) -> Value:
    """An integer clamped to the range of a type, whatever the signs and widths of both."""
    limits, own = np.iinfo(dtype), np.iinfo(value.dtype)
    low, high = max(limits.min, own.min), min(limits.max, own.max)
    return np.clip(value, value.dtype.type(low), value.dtype.type(high)).astype(dtype)


def _integer_to_integer(at: Instruction, to: str, source: str) -> Callable[[Value], Array]:
    dtype = integer_type(to)
    if "sat" in at.modifiers:
        return lambda a: _clamp_integer(a, dtype)
    return lambda a: np.asarray(a).astype(dtype)


def _exact(value: Value) -> tuple[F64, F64]:
    """An integer as an unevaluated sum of two doubles: rounded to nearest, and the rest."""
    whole = np.atleast_1d(value)
    if whole.itemsize < 8:
        return whole.astype(np.float64), np.zeros(whole.shape)
    low = (whole & whole.dtype.type(0xFFFFFFFF)).astype(np.float64)
    high = (whole >> whole.dtype.type(32)).astype(np.float64) * 2.0**32
    return rounding.two_sum(high, low)


def _integer_to_float(at: Instruction, to: str, source: str) -> Callable[[Value], Array]:
    mode = _mode(at) or "rn"
    saturate = "sat" in at.modifiers

    def convert(a: Value) -> Array:
        nearest, rest = _exact(a)
        if to == "f64":
            result: Array = rounding.directed_sum(nearest, rest, mode)
        elif to == "bf16":
            return rounding.to_bf16(rounding.round_to_odd(nearest, rest), mode)
        else:
            dtype = np.float16 if to == "f16" else np.float32
            result = rounding.to_float(rounding.round_to_odd(nearest, rest), dtype, mode)
        return rounding.saturate(result) if saturate else result

    return convert


def _double(value: Value, kind: str, flush: bool) -> F64:
    row = np.atleast_1d(value)
    if kind == "bf16":
        return rounding.from_bf16(row).astype(np.float64)
    if flush and kind == "f32":
        row = rounding.flush(row)
    return row.astype(np.float64)


def _float_to_integer(at: Instruction, to: str, source: str) -> Callable[[Value], Array]:
    """Out of range gives the nearest limit. NaN gives 0, or from f64 or to 64 bits the top bit alone."""
    mode = _mode(at)
    dtype = integer_type(to)
    limits = np.iinfo(dtype)
    flush = "ftz" in at.modifiers
    middle = source == "f64" or dtype.itemsize == 8
    for_nan = np.uint64(1 << (8 * dtype.itemsize - 1) if middle else 0).astype(f"u{dtype.itemsize}").view(dtype)

    def convert(a: Value) -> Array:
        value = _double(a, source, flush)
        whole = rounding.round_to_integral(value, mode)
        # The upper limit of a 64-bit type is not a double, but one more than it is.
        above, below = whole >= float(limits.max + 1), whole < float(limits.min)
        inside = np.where(above | below | np.isnan(whole), 0.0, whole)
        wide = inside.astype(np.int64 if dtype.kind == "i" else np.uint64).astype(dtype)
        result = np.where(above, dtype.type(limits.max), np.where(below, dtype.type(limits.min), wide))
        return np.where(np.isnan(value), for_nan, result)

    return convert


def _float_to_float(at: Instruction, to: str, source: str) -> Callable[[Value], Array]:
    mode = _mode(at)
    flush = "ftz" in at.modifiers
    saturate, relu, finite = ("sat" in at.modifiers, "relu" in at.modifiers, "satfinite" in at.modifiers)

    def convert(a: Value) -> Array:
        value = _double(a, source, flush)
        if mode.endswith("i"):
            value = rounding.round_to_integral(value, mode)
        if saturate:
            value = rounding.saturate(value)
        result = narrow(_relu(value, relu), to, mode if mode in ("rn", "rz", "rm", "rp") else "rn", finite)
        return rounding.flush(result) if flush and to == "f32" else result

    return convert


def _relu(value: Array, enabled: bool) -> Array:
    return np.where(value < 0, value.dtype.type(0), value) if enabled else value


def narrow(value: F64, to: str, mode: str, finite: bool) -> Array:
    """A double in another format, NaN canonical; with `finite` infinities become the largest number."""
    if to == "bf16":
        result = rounding.to_bf16(value, mode)
        if finite:
            over = (result & np.uint16(0x7FFF)) == 0x7F80
            result = np.where(over, result - np.uint16(1), result)
        return result
    dtype = DTYPES[to]
    result = rounding.to_float(value, dtype, mode)
    if finite:
        limit = np.finfo(dtype).max
        result = np.clip(result, -limit, limit)
    nan = np.isnan(value)
    if np.count_nonzero(nan):
        result = np.where(nan, canonical_nan(result.dtype), result)
    return result


# Packed pairs


def _packed(decoder: Decoder, at: Instruction, to: str, source: str) -> MicroOp:
    """Two values into one register, the first into the upper half; or 8-bit floats out of one."""
    finite, relu = "satfinite" in at.modifiers, "relu" in at.modifiers
    mode = _mode(at) or "rn"
    destination = decoder.write(at.operands[0], to, at)
    if source in EIGHT_BITS and to == "f16x2":
        return decoder.computed(
            lambda a: _relu(_unpack_eight(a, source), relu).view(np.uint32),
            destination,
            decoder.read(at.operands[1], source, at),
        )
    if to in EIGHT_BITS and source == "f16x2":
        return decoder.computed(
            lambda a: _pack_eight(_relu(np.atleast_1d(a).view(np.float16).astype(np.float64), relu), to),
            destination,
            decoder.read(at.operands[1], source, at),
        )
    if source != "f32" or len(at.operands) != 3:
        raise unsupported(at)
    upper, lower = (decoder.read(operand, "f32", at) for operand in at.operands[1:])
    lanes = decoder.geometry.lanes

    def convert(a: Value, b: Value) -> Array:
        both = np.empty((lanes, 2), np.float64)
        both[:, 0], both[:, 1] = b, a
        values = _relu(both.reshape(-1), relu)
        if to in EIGHT_BITS:
            return _pack_eight(values, to)
        return narrow(values, to[:-2], mode, finite).view(np.uint32)

    return decoder.computed(convert, destination, upper, lower)


def _pack_eight(values: F64, to: str) -> Array:
    """Pairs of doubles as 8-bit floats; these conversions always saturate to the largest finite number."""
    kind = EIGHT_BITS[to]
    limit = LARGEST_EIGHT_BITS[to]
    clipped = np.clip(values, -limit, limit)
    bits = rounding.f32_to_odd(clipped).astype(kind).view(np.uint8)
    return np.where(np.isnan(values), np.uint8(0x7F), bits).view(np.uint16)


def _unpack_eight(a: Value, source: str) -> Value:
    return np.ascontiguousarray(np.atleast_1d(a)).view(np.uint8).view(EIGHT_BITS[source]).astype(np.float16)


def _pack_integers(decoder: Decoder, at: Instruction) -> MicroOp:
    """`cvt.pack.sat`: two clamped values, the second lowest, with the low part of a third above them."""
    kind = at.modifiers[2]
    if at.modifiers[1] != "sat" or at.modifiers[3] not in ("s32", "u32"):
        raise unsupported(at)
    dtype = integer_type(kind)
    bits = np.uint32(8 * dtype.itemsize)
    mask = np.uint32((1 << int(bits)) - 1)
    a, b = (decoder.read(operand, at.modifiers[3], at) for operand in at.operands[1:3])
    third = [decoder.read(operand, "b32", at) for operand in at.operands[3:]]

    def clamp(value: Value) -> Value:
        return _clamp_integer(value, dtype).astype(np.int64).astype(np.uint32) & mask

    def pack(x: Value, y: Value, *rest: Value) -> Value:
        result: Value = (clamp(x) << bits) | clamp(y)
        for each in rest:
            result = result | (each << np.uint32(2 * bits))
        return result

    return decoder.computed(pack, decoder.write(at.operands[0], "b32", at), a, b, *third)


TABLE: dict[str, Entry] = {"cvt": entry(cvt, " ".join((*MODES, "ftz sat satfinite relu pack")), operands=(2, 4))}
