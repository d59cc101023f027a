"""How LLVM IR spells the types and constants of the tile IR.

In: scalar types, vector widths, Python numbers. Out: the text of a type or of an operand. A value of width 1 is a
scalar, of width n a vector of n: a run of neighbouring elements that one thread works on together.
"""

from __future__ import annotations

import struct
from math import copysign, inf, isnan

from phobos_core.language.types import BF16, BOOL, F16, F32, F64, INDEX, Kind, ScalarType

# By name: a scalar type's own hash is slow, and these are looked up for every instruction.
_FLOATS = {F16.name: "half", BF16.name: "bfloat", F32.name: "float", F64.name: "double"}
_F32_MAX = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]


def bits_of(element: ScalarType, index_bits: int) -> int:
    """The width in registers; `index` has the width that the compilation chose."""
    return index_bits if element is INDEX else element.bits


def scalar_type(element: ScalarType, index_bits: int) -> str:
    return _FLOATS.get(element.name) or f"i{bits_of(element, index_bits)}"


def vector_type(type: str, width: int) -> str:
    return type if width == 1 else f"<{width} x {type}>"


def suffix(element: ScalarType, index_bits: int, width: int) -> str:
    """The type as it ends an overloaded intrinsic's name: f32, v4f32, i64."""
    name = element.name if element.is_float else f"i{bits_of(element, index_bits)}"
    return name if width == 1 else f"v{width}{name}"


def constant(value: int | float | bool, element: ScalarType, index_bits: int) -> str:
    """An operand: integers wrap to the type's width, floats round to it."""
    if element == BOOL:
        return "true" if value else "false"
    if element.kind is not Kind.FLOAT:
        bits = bits_of(element, index_bits)
        wrapped = int(value) & ((1 << bits) - 1)
        return str(wrapped - (1 << bits) if wrapped >> (bits - 1) else wrapped)
    return _float(float(value), element)


def _float(value: float, element: ScalarType) -> str:
    if element == F64:
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    if element == F16:
        return f"0xH{_half_bits(value):04X}"
    if element == BF16:
        return f"0xR{_bfloat_bits(value):04X}"
    # LLVM spells an f32 constant as the f64 of that value.
    return f"0x{struct.unpack('<Q', struct.pack('<d', _rounded_to_f32(value)))[0]:016X}"


def _rounded_to_f32(value: float) -> float:
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return copysign(inf, value)
    return rounded


def _half_bits(value: float) -> int:
    try:
        packed = struct.pack("<e", value)
    except OverflowError:
        packed = struct.pack("<e", copysign(inf, value))
    bits: int = struct.unpack("<H", packed)[0]
    return bits


def _bfloat_bits(value: float) -> int:
    if isnan(value):
        return 0x7FC0
    exact = struct.unpack("<Q", struct.pack("<d", value))[0]
    # Round to odd in f32 first, so that the second rounding sees whether anything was cut off.
    near = _rounded_to_f32(value)
    bits: int = struct.unpack("<I", struct.pack("<f", near))[0]
    if near != value and abs(near) != inf:
        if abs(near) > abs(value):
            bits -= 1
        bits |= 1
    elif abs(near) == inf and abs(value) != inf:
        bits = struct.unpack("<I", struct.pack("<f", copysign(_F32_MAX, value)))[0] | 1
    assert exact >> 63 == bits >> 31
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16


def splat(operand: str, type: str, width: int) -> str | None:
    """The constant vector of a constant; None when `operand` is no constant and code must build the vector."""
    if width == 1:
        return operand
    return None if operand.startswith("%") else f"splat ({type} {operand})"


def lane(vector: str) -> str | None:
    """An element of a constant that `splat` gave; None of any other operand."""
    return vector[:-1].rsplit(" ", 1)[1] if vector.startswith("splat (") else None
