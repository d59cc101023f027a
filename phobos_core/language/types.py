"""The scalar types of the language: name, kind and width of each, and the rules that join them.

`index` is the type of positions and of every integer computed from them. Its width (32 or 64 bits) is an
option of the compilation, so it has no fixed `bits` here: `bits` is its default, 64.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Kind(Enum):
    FLOAT = "float"
    INT = "int"
    UINT = "uint"
    INDEX = "index"
    BOOL = "bool"


@dataclass(frozen=True, slots=True, eq=False)
class ScalarType:
    """One of those below: there are no others, so they are compared by identity. `is_integer` says that a type takes
    part in integer arithmetic: signed integers and index, not unsigned storage."""

    name: str
    kind: Kind
    bits: int
    is_float: bool = field(init=False, repr=False)
    is_integer: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_float", self.kind is Kind.FLOAT)
        object.__setattr__(self, "is_integer", self.kind in (Kind.INT, Kind.INDEX))

    @property
    def bytes(self) -> int:
        """Size in memory; `bool` takes a byte."""
        return max(self.bits // 8, 1)

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        """A copy, in another process too, is the constant of that name."""
        return self.name.upper()


F16 = ScalarType("f16", Kind.FLOAT, 16)
BF16 = ScalarType("bf16", Kind.FLOAT, 16)
F32 = ScalarType("f32", Kind.FLOAT, 32)
F64 = ScalarType("f64", Kind.FLOAT, 64)
I8 = ScalarType("i8", Kind.INT, 8)
I32 = ScalarType("i32", Kind.INT, 32)
I64 = ScalarType("i64", Kind.INT, 64)
U8 = ScalarType("u8", Kind.UINT, 8)
U16 = ScalarType("u16", Kind.UINT, 16)
U32 = ScalarType("u32", Kind.UINT, 32)
BOOL = ScalarType("bool", Kind.BOOL, 1)
INDEX = ScalarType("index", Kind.INDEX, 64)

# Every scalar type that a source text can spell, in the order of the spec's grammar.
SPELLED = {t.name: t for t in (F16, BF16, F32, F64, I8, I32, I64, U8, U16, U32, BOOL)}

# The types that `T(x)` converts to.
CONVERSIONS = {t.name: t for t in (F16, BF16, F32, F64, I8, I32, I64)}


def join(a: ScalarType, b: ScalarType) -> ScalarType | None:
    """The type both operands of a mixed operation convert to (spec, Operators and conversions, Mixed types).

    Float with float gives the wider, f16 with bf16 gives f32, integer with float gives the float, and two
    integers give the wider. `None` where the operands have no join: unsigned storage and bool join nothing
    but, for bool, themselves.
    """
    if a == b:
        return None if a.kind is Kind.UINT else a
    if Kind.UINT in (a.kind, b.kind) or Kind.BOOL in (a.kind, b.kind):
        return None
    if a.is_float and b.is_float:
        if a.bits == b.bits:
            return F32
        return a if a.bits > b.bits else b
    if a.is_float != b.is_float:
        return a if a.is_float else b
    # i64 and index have one width; index computes, so it wins the tie.
    if a.bits == b.bits:
        return INDEX
    return a if a.bits > b.bits else b
