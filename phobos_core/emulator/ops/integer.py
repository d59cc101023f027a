"""Integer arithmetic: wrapping, widening, with carry, and dot products of bytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from phobos_core.emulator.decode import Decoder, Entry, Handler, MicroOp, Value, entry, unsupported
from phobos_core.emulator.machine import Active, Array
from phobos_core.emulator.ptx import Instruction

INTEGERS = frozenset(f"{kind}{bits}" for kind in "bsu" for bits in (8, 16, 32, 64))


def type_of(at: Instruction) -> str:
    kind = at.modifiers[-1] if at.modifiers else ""
    if kind not in INTEGERS:
        raise unsupported(at)
    return kind


def binary(function: np.ufunc) -> Handler:
    def handler(decoder: Decoder, at: Instruction) -> MicroOp:
        kind = type_of(at)
        if "cc" in at.modifiers:
            return _with_carry(decoder, at)
        destination = decoder.write(at.operands[0], kind, at)
        if "sat" in at.modifiers:
            return _saturating(decoder, at, function, destination)
        return decoder.elementwise(function, destination, *decoder.read_all(at, kind))

    return handler


def _saturating(decoder: Decoder, at: Instruction, function: np.ufunc, destination: Array) -> MicroOp:
    """`add.sat.s32` and `sub.sat.s32` clamp."""
    if type_of(at) != "s32":
        raise unsupported(at)

    def clamp(a: Array, b: Array) -> Value:
        return np.clip(function(np.int64(1) * a, np.int64(1) * b), -(1 << 31), (1 << 31) - 1)

    return decoder.computed(clamp, destination, *decoder.read_all(at, "s32"))


CARRY = "%carry"


def _with_carry(decoder: Decoder, at: Instruction) -> MicroOp:
    """add, sub, mad with `.cc`, and addc, subc, madc, which read the carry of the last `.cc`."""
    kind = type_of(at)
    bits = decoder.dtype(kind, at).itemsize * 8
    unsigned = f"u{bits}"
    carry = decoder.registers.view(CARRY, np.dtype(np.bool_), at)
    destination = decoder.write(at.operands[0], unsigned, at)
    sets, gets = "cc" in at.modifiers, at.opcode.endswith("c")
    subtracts = at.opcode.startswith("sub")

    def compute(values: list[Value]) -> tuple[Array, Array]:
        a, b = (np.asarray(each) for each in values)
        extra = carry.astype(a.dtype) if gets else a.dtype.type(0)
        if subtracts:
            first = a - b
            total = first - extra
            return total, (a < b) | (first < extra)
        first = a + b
        total = first + extra
        return total, (first < a) | (total < first)

    if at.opcode.startswith("mad"):
        sources = decoder.read_all(at, kind)
        part = multiply_high if "hi" in at.modifiers else _multiply_low

        def values() -> list[Value]:
            product = np.asarray(part(sources[0], sources[1]))
            return [product.view(destination.dtype), np.asarray(sources[2]).view(destination.dtype)]

    else:
        plain = decoder.read_all(at, unsigned)

        def values() -> list[Value]:
            return plain

    def full() -> None:
        total, out = compute(values())
        destination[...] = total
        if sets:
            carry[...] = out

    def masked(active: Active) -> None:
        total, out = compute(values())
        np.putmask(destination, active.mask, total)
        if sets:
            np.putmask(carry, active.mask, out)

    return MicroOp(full, masked)


def _multiply_low(a: Value, b: Value) -> Value:
    return np.multiply(a, b)


def multiply_high(a: Value, b: Value) -> Value:
    """The upper half of the full product."""
    kind = np.asarray(a).dtype
    if kind.itemsize < 8:
        wide = np.dtype(f"{kind.kind}{2 * kind.itemsize}")
        product = np.multiply(a, b, dtype=wide)
        return (product >> wide.type(8 * kind.itemsize)).astype(kind)
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    x, y = np.atleast_1d(a).view(np.uint64), np.atleast_1d(b).view(np.uint64)
    x0, x1, y0, y1 = x & low, x >> half, y & low, y >> half
    middle = x1 * y0 + ((x0 * y0) >> half)
    other = x0 * y1 + (middle & low)
    high = x1 * y1 + (middle >> half) + (other >> half)
    if kind.kind == "i":
        high = high - np.where(x >> np.uint64(63), y, np.uint64(0)) - np.where(y >> np.uint64(63), x, np.uint64(0))
    return high.view(kind)


def _wide(kind: str) -> str:
    return f"{kind[0]}{2 * int(kind[1:])}"


def mul(decoder: Decoder, at: Instruction) -> MicroOp:
    kind = type_of(at)
    a, b = decoder.read_all(at, kind)
    if "wide" in at.modifiers:
        destination = decoder.write(at.operands[0], _wide(kind), at)
        wide = destination.dtype
        return decoder.computed(lambda x, y: np.multiply(x, y, dtype=wide), destination, a, b)
    destination = decoder.write(at.operands[0], kind, at)
    if "hi" in at.modifiers:
        return decoder.computed(multiply_high, destination, a, b)
    return decoder.elementwise(np.multiply, destination, a, b)


def mad(decoder: Decoder, at: Instruction) -> MicroOp:
    kind = type_of(at)
    if "cc" in at.modifiers or at.opcode == "madc":
        return _with_carry(decoder, at)
    a, b = decoder.read(at.operands[1], kind, at), decoder.read(at.operands[2], kind, at)
    if "wide" in at.modifiers:
        destination = decoder.write(at.operands[0], _wide(kind), at)
        c = decoder.read(at.operands[3], _wide(kind), at)
        wide = destination.dtype
        return decoder.computed(lambda x, y, z: np.multiply(x, y, dtype=wide) + z, destination, a, b, c)
    destination = decoder.write(at.operands[0], kind, at)
    c = decoder.read(at.operands[3], kind, at)
    part = multiply_high if "hi" in at.modifiers else _multiply_low
    return decoder.computed(lambda x, y, z: np.add(part(x, y), z), destination, a, b, c)


def mul24(decoder: Decoder, at: Instruction) -> MicroOp:
    """The low 24 bits of each factor; `.lo` keeps bits 0 to 31 of the product, `.hi` bits 16 to 47."""
    kind = type_of(at)
    shift = np.int64(16 if "hi" in at.modifiers else 0)
    sources = decoder.read_all(at, kind)
    signed = kind == "s32"

    def low24(value: Value) -> Array:
        wide = np.asarray(value).astype(np.int64) & 0xFFFFFF
        return (wide ^ 0x800000) - 0x800000 if signed else wide

    def compute(*values: Value) -> Value:
        product = (low24(values[0]) * low24(values[1])) >> shift
        return product + values[2] if len(values) == 3 else product

    return decoder.computed(compute, decoder.write(at.operands[0], kind, at), *sources)


def divide(a: Value, b: Value) -> Array:
    """Truncates toward zero; a zero divisor gives all ones, as the hardware's sequence does."""
    x, y = np.broadcast_arrays(a, b)
    zero = y == 0
    safe = np.where(zero, y.dtype.type(1), y)
    if x.dtype.kind == "u":
        quotient = x // safe
    else:
        negative = (x < 0) != (safe < 0)
        size = np.abs(x).view(f"u{x.itemsize}") // np.abs(safe).view(f"u{x.itemsize}")
        quotient = np.where(negative, -size.view(x.dtype), size.view(x.dtype))
    ones = np.array(-1).astype(x.dtype) if x.dtype.kind == "i" else np.array(np.iinfo(x.dtype).max, x.dtype)
    return np.where(zero, ones, quotient)


def remainder(a: Value, b: Value) -> Array:
    """Has the dividend's sign; by a zero divisor it is the dividend."""
    x, y = np.broadcast_arrays(a, b)
    safe = np.where(y == 0, y.dtype.type(1), y)
    return np.where(y == 0, x, x - divide(x, safe) * safe)


def computed(function: Callable[..., Value]) -> Handler:
    def handler(decoder: Decoder, at: Instruction) -> MicroOp:
        kind = type_of(at)
        return decoder.computed(function, decoder.write(at.operands[0], kind, at), *decoder.read_all(at, kind))

    return handler


def sad(a: Value, b: Value, c: Value) -> Value:
    return np.add(c, np.where(a > b, np.subtract(a, b), np.subtract(b, a)))


def dot_bytes(decoder: Decoder, at: Instruction) -> MicroOp:
    """dp4a adds four products of bytes to c, dp2a two products of 16-bit values with two of the bytes."""
    a_kind, b_kind = at.modifiers[-2:]
    signed = "s32" in (a_kind, b_kind)
    c = decoder.read(at.operands[3], "s32" if signed else "u32", at)
    a, b = decoder.read(at.operands[1], "b32", at), decoder.read(at.operands[2], "b32", at)
    two = at.opcode == "dp2a"
    a_type = np.dtype(f"{'i' if a_kind == 's32' else 'u'}{2 if two else 1}")
    b_type = np.dtype("i1" if b_kind == "s32" else "u1")
    first = 2 if two and "hi" in at.modifiers else 0

    def compute(x: Value, y: Value, z: Value) -> Value:
        xs = np.atleast_1d(np.ascontiguousarray(x)).view(a_type).reshape(-1, 2 if two else 4)
        ys = np.atleast_1d(np.ascontiguousarray(y)).view(b_type).reshape(-1, 4)
        if two:
            ys = ys[:, first : first + 2]
        total = (xs.astype(np.int64) * ys.astype(np.int64)).sum(axis=1)
        return (total + z).astype(np.uint32)

    return decoder.computed(compute, decoder.write(at.operands[0], "b32", at), a, b, c)


def carried(decoder: Decoder, at: Instruction) -> MicroOp:
    return _with_carry(decoder, at)


def minmax(function: np.ufunc) -> Handler:
    def handler(decoder: Decoder, at: Instruction) -> MicroOp:
        kind = type_of(at)
        destination = decoder.write(at.operands[0], kind, at)
        if "relu" in at.modifiers:
            zero = destination.dtype.type(0)
            return decoder.computed(
                lambda a, b: np.maximum(function(a, b), zero), destination, *decoder.read_all(at, kind)
            )
        return decoder.elementwise(function, destination, *decoder.read_all(at, kind))

    return handler


TABLE: dict[str, Entry] = {
    "add.int": entry(binary(np.add), "cc sat", operands=3),
    "sub.int": entry(binary(np.subtract), "cc sat", operands=3),
    "addc": entry(carried, "cc", operands=3),
    "subc": entry(carried, "cc", operands=3),
    "mul.int": entry(mul, "lo hi wide", operands=3),
    "mad.int": entry(mad, "lo hi wide cc", operands=4),
    "madc": entry(mad, "lo hi cc", operands=4),
    "mul24": entry(mul24, "lo hi", operands=3),
    "mad24": entry(mul24, "lo hi", operands=4),
    "div.int": entry(computed(divide), operands=3),
    "rem": entry(computed(remainder), operands=3),
    "abs.int": entry(computed(np.abs), operands=2),
    "neg.int": entry(computed(np.negative), operands=2),
    "min.int": entry(minmax(np.minimum), "relu", operands=3),
    "max.int": entry(minmax(np.maximum), "relu", operands=3),
    "sad": entry(computed(sad), operands=4),
    "dp4a": entry(dot_bytes, operands=4),
    "dp2a": entry(dot_bytes, "lo hi", operands=4),
}
