"""Bitwise logic, shifts, bit fields, counts and permutations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from phobos_core.emulator.decode import Decoder, Entry, Handler, MicroOp, Value, entry, unsupported
from phobos_core.emulator.machine import Array
from phobos_core.emulator.ptx import Immediate, Instruction


def logic(function: np.ufunc) -> Handler:
    def handler(decoder: Decoder, at: Instruction) -> MicroOp:
        kind = at.modifiers[-1]
        destination = decoder.write(at.operands[0], kind, at)
        return decoder.elementwise(function, destination, *decoder.read_all(at, kind))

    return handler


def cnot(decoder: Decoder, at: Instruction) -> MicroOp:
    kind = at.modifiers[-1]
    return decoder.computed(
        lambda a: np.equal(a, 0),
        decoder.write(at.operands[0], kind, at),
        decoder.read(at.operands[1], kind, at),
    )


def shift(decoder: Decoder, at: Instruction) -> MicroOp:
    """Amounts past the width count as the width: zero, or the sign for a signed right shift."""
    kind = at.modifiers[-1]
    destination = decoder.write(at.operands[0], kind, at)
    source = decoder.read(at.operands[1], kind, at)
    amount = decoder.read(at.operands[2], "u32", at)
    bits = 8 * source.itemsize
    left, signed = at.opcode == "shl", kind[0] == "s"
    function = np.left_shift if left else np.right_shift
    if isinstance(at.operands[2], Immediate) and int(amount) < bits:
        return decoder.elementwise(function, destination, source, source.dtype.type(int(amount)))

    def compute(value: Value, count: Value) -> Value:
        if signed and not left:
            return function(value, np.minimum(count, bits - 1).astype(value.dtype))
        shifted = function(value, np.minimum(count, bits - 1).astype(value.dtype))
        return np.where(count < bits, shifted, value.dtype.type(0))

    return decoder.computed(compute, destination, source, amount)


def lop3(decoder: Decoder, at: Instruction) -> MicroOp:
    table = at.operands[4]
    if at.modifiers != ("b32",) or not isinstance(table, Immediate):
        raise unsupported(at)
    terms = [(bool(n & 4), bool(n & 2), bool(n & 1)) for n in range(8) if table.value >> n & 1]
    sources = [decoder.read(operand, "b32", at) for operand in at.operands[1:4]]

    def compute(*values: Value) -> Value:
        result: Value = np.uint32(0)
        for term in terms:
            part: Value = np.uint32(0xFFFFFFFF)
            for value, positive in zip(values, term, strict=True):
                part = part & (value if positive else ~value)
            result = result | part
        return result

    return decoder.computed(compute, decoder.write(at.operands[0], "b32", at), *sources)


def shf(decoder: Decoder, at: Instruction) -> MicroOp:
    """A funnel shift of b:a; `.clamp` limits the amount to 32, `.wrap` takes it modulo 32."""
    sources = decoder.read_all(at, "b32")
    wrap, left = "wrap" in at.modifiers, "l" in at.modifiers
    full = np.uint64(32)

    def compute(a: Value, b: Value, c: Value) -> Value:
        count = (c & np.uint32(31)) if wrap else np.minimum(c, np.uint32(32))
        both = (np.asarray(b).astype(np.uint64) << full) | np.asarray(a).astype(np.uint64)
        count = np.asarray(count).astype(np.uint64)
        if left:
            return ((both << count) >> full).astype(np.uint32)
        return (both >> count).astype(np.uint32)

    return decoder.computed(compute, decoder.write(at.operands[0], "b32", at), *sources)


def _bit_length(value: Array) -> Value:
    """The number of bits up to the highest set one."""
    high = (value >> value.dtype.type(value.itemsize * 4)).astype(np.uint64)
    low = (value & value.dtype.type((1 << value.itemsize * 4) - 1)).astype(np.uint64)
    # Halves are exact in a double, whose exponent is then the bit length.
    length_high = np.frexp(high.astype(np.float64))[1]
    length_low = np.frexp(low.astype(np.float64))[1]
    return np.where(high != 0, length_high + value.itemsize * 4, length_low)


def clz(a: Value) -> Value:
    return 8 * a.itemsize - _bit_length(np.atleast_1d(a))


def popc(a: Value) -> Value:
    return np.bitwise_count(a)


def brev(a: Value) -> Array:
    value = np.atleast_1d(a)
    data = value.view(np.uint8).reshape(-1, value.itemsize)
    return (
        np.packbits(np.unpackbits(data, axis=1, bitorder="little"), axis=1)
        .reshape(-1)
        .view(value.dtype.newbyteorder(">"))
    )


def counting(function: Callable[[Value], Value]) -> Handler:
    """The source has the type; the result has 32 bits, or for brev the source's width."""

    def handler(decoder: Decoder, at: Instruction) -> MicroOp:
        kind = f"u{at.modifiers[-1][1:]}"
        width = kind if at.opcode == "brev" else "u32"
        return decoder.computed(
            function, decoder.write(at.operands[0], width, at), decoder.read(at.operands[1], kind, at)
        )

    return handler


def bfind(decoder: Decoder, at: Instruction) -> MicroOp:
    """The position of the highest bit that differs from the sign; all ones where there is none."""
    kind = at.modifiers[-1]
    bits = int(kind[1:])
    unsigned = np.dtype(f"u{bits // 8}")
    amount = "shiftamt" in at.modifiers

    def compute(a: Value) -> Value:
        value = np.atleast_1d(a)
        if kind[0] == "s":
            value = np.where(value < 0, ~value, value)
        position = _bit_length(value.view(unsigned)).astype(np.int64) - 1
        if amount:
            position = np.where(position >= 0, bits - 1 - position, position)
        return position.astype(np.uint32)

    return decoder.computed(compute, decoder.write(at.operands[0], "u32", at), decoder.read(at.operands[1], kind, at))


def bfe(decoder: Decoder, at: Instruction) -> MicroOp:
    kind = at.modifiers[-1]
    bits, signed = int(kind[1:]), kind[0] == "s"
    a = decoder.read(at.operands[1], f"u{bits}", at)
    start, length = decoder.read(at.operands[2], "u32", at), decoder.read(at.operands[3], "u32", at)
    destination = decoder.write(at.operands[0], f"u{bits}", at)
    kind_type = destination.dtype.type

    def compute(value: Value, b: Value, c: Value) -> Value:
        position = (b & np.uint32(0xFF)).astype(np.int64)
        count = (c & np.uint32(0xFF)).astype(np.int64)
        shifted = _shift_right(value, position, bits)
        field = shifted & _low_bits(count, bits)
        if not signed:
            return field
        top = np.minimum(position + count - 1, bits - 1)
        sign = (_shift_right(value, top, bits) & kind_type(1)) & (count > 0)
        return np.where(sign != 0, field | ~_low_bits(np.minimum(count, bits - position), bits), field)

    return decoder.computed(compute, destination, a, start, length)


def _low_bits(count: Array, bits: int) -> Value:
    kind = np.dtype(f"u{bits // 8}").type
    count = np.clip(count, 0, bits)
    shifted = (kind(1) << np.minimum(count, bits - 1).astype(kind)) - kind(1)
    return np.where(count >= bits, ~kind(0), shifted)


def _shift_right(value: Value, count: Array, bits: int) -> Value:
    kind = value.dtype.type
    shifted = value >> np.clip(count, 0, bits - 1).astype(kind)
    return np.where(count >= bits, kind(0), shifted)


def bfi(decoder: Decoder, at: Instruction) -> MicroOp:
    kind = at.modifiers[-1]
    bits = int(kind[1:])
    a, b = decoder.read(at.operands[1], kind, at), decoder.read(at.operands[2], kind, at)
    start, length = decoder.read(at.operands[3], "u32", at), decoder.read(at.operands[4], "u32", at)
    destination = decoder.write(at.operands[0], kind, at)
    kind_type = destination.dtype.type

    def compute(value: Value, into: Value, c: Value, d: Value) -> Value:
        position = (c & np.uint32(0xFF)).astype(np.int64)
        count = (d & np.uint32(0xFF)).astype(np.int64)
        amount = np.minimum(position, bits - 1).astype(kind_type)
        keep = position < bits
        mask = np.where(keep, _low_bits(count, bits) << amount, kind_type(0))
        return (into & ~mask) | (np.where(keep, value << amount, kind_type(0)) & mask)

    return decoder.computed(compute, destination, a, b, start, length)


def szext(decoder: Decoder, at: Instruction) -> MicroOp:
    """Sign- or zero-extends the low b bits of a."""
    kind = at.modifiers[-1]
    wrap = "wrap" in at.modifiers
    a, b = decoder.read(at.operands[1], "u32", at), decoder.read(at.operands[2], "u32", at)

    def compute(value: Value, count: Value) -> Value:
        number = (count & np.uint32(31)).astype(np.int64) if wrap else np.asarray(count).astype(np.int64)
        mask = _low_bits(number, 32)
        field = value & mask
        if kind == "u32":
            return field
        top = _shift_right(value, np.maximum(number - 1, 0), 32) & np.uint32(1)
        return np.where((top != 0) & (number > 0) & (number < 32), field | ~mask, field)

    return decoder.computed(compute, decoder.write(at.operands[0], "u32", at), a, b)


def bmsk(decoder: Decoder, at: Instruction) -> MicroOp:
    """b ones from bit a on."""
    wrap = "wrap" in at.modifiers
    a, b = decoder.read(at.operands[1], "u32", at), decoder.read(at.operands[2], "u32", at)

    def compute(start: Value, count: Value) -> Array:
        limit = np.uint32(31) if wrap else None
        first = np.asarray(start & limit if limit else start).astype(np.int64)
        number = np.asarray(count & limit if limit else count).astype(np.int64)
        ones = _low_bits(number, 32).astype(np.uint64)
        return np.where(first < 32, ones << np.minimum(first, 31).astype(np.uint64), np.uint64(0)).astype(np.uint32)

    return decoder.computed(compute, decoder.write(at.operands[0], "u32", at), a, b)


def prmt(decoder: Decoder, at: Instruction) -> MicroOp:
    """Each byte of the result is one of the eight bytes of b:a, or that byte's sign spread."""
    mode = next((m for m in at.modifiers if m in _PERMUTES), "")
    a, b, c = decoder.read_all(at, "b32")

    def compute(low: Value, high: Value, select: Value) -> Array:
        low, high, select = np.broadcast_arrays(np.atleast_1d(low), high, select)
        pool = np.stack([low, high], axis=1).view(np.uint8).reshape(-1, 8)
        if mode:
            index = _PERMUTES[mode][(select & np.uint32(3)).astype(np.int64)]
            signs = np.zeros(index.shape, np.bool_)
        else:
            nibbles = (select[:, None] >> np.array([0, 4, 8, 12], np.uint32)) & np.uint32(15)
            index, signs = (nibbles & np.uint32(7)).astype(np.int64), (nibbles & np.uint32(8)) != 0
        chosen = np.take_along_axis(pool, index, axis=1)
        spread = np.where(chosen & 0x80, np.uint8(0xFF), np.uint8(0))
        return np.ascontiguousarray(np.where(signs, spread, chosen)).view(np.uint32).reshape(-1)

    return decoder.computed(compute, decoder.write(at.operands[0], "b32", at), a, b, c)


_PERMUTES = {
    "f4e": np.array([[i, i + 1, i + 2, i + 3] for i in range(4)]),
    "b4e": np.array([[i, (i - 1) % 8, (i - 2) % 8, (i - 3) % 8] for i in range(4)]),
    "rc8": np.array([[i] * 4 for i in range(4)]),
    "ecl": np.array([[max(i, n) for n in range(4)] for i in range(4)]),
    "ecr": np.array([[min(i, n) for n in range(4)] for i in range(4)]),
    "rc16": np.array([[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]]),
}


def fns(decoder: Decoder, at: Instruction) -> MicroOp:
    """The position of the n-th set bit from a base, upward or, for a negative n, downward."""
    mask, base, offset = (
        decoder.read(operand, kind, at) for operand, kind in zip(at.operands[1:], ("b32", "u32", "s32"), strict=True)
    )

    def one(bits: int, start: int, number: int) -> int:
        if number == 0:
            return start if start < 32 and bits >> start & 1 else 0xFFFFFFFF
        places = range(start, 32) if number > 0 else range(start, -1, -1)
        for place in places:
            if bits >> place & 1:
                number += -1 if number > 0 else 1
                if number == 0:
                    return place
        return 0xFFFFFFFF

    def compute(*values: Value) -> Value:
        rows = np.broadcast_arrays(*(np.atleast_1d(each) for each in values))
        return np.array([one(int(x), int(y), int(z)) for x, y, z in zip(*rows, strict=True)], np.uint32)

    return decoder.computed(compute, decoder.write(at.operands[0], "b32", at), mask, base, offset)


TABLE: dict[str, Entry] = {
    "and": entry(logic(np.bitwise_and), operands=3),
    "or": entry(logic(np.bitwise_or), operands=3),
    "xor": entry(logic(np.bitwise_xor), operands=3),
    "not": entry(logic(np.invert), operands=2),
    "cnot": entry(cnot, operands=2),
    "shl": entry(shift, operands=3),
    "shr": entry(shift, operands=3),
    "lop3": entry(lop3, operands=5),
    "shf": entry(shf, "l r clamp wrap", operands=4),
    "clz": entry(counting(clz), operands=2),
    "popc": entry(counting(popc), operands=2),
    "brev": entry(counting(brev), operands=2),
    "bfind": entry(bfind, "shiftamt", operands=2),
    "bfe": entry(bfe, operands=4),
    "bfi": entry(bfi, operands=5),
    "szext": entry(szext, "clamp wrap", operands=3),
    "bmsk": entry(bmsk, "clamp wrap", operands=3),
    "prmt": entry(prmt, "f4e b4e rc8 ecl ecr rc16", operands=4),
    "fns": entry(fns, operands=4),
}
