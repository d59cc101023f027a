"""Scalar integer ops in fewer bits, or as unsigned, where the intervals of their operands show that it is the same.

A GPU computes in 32 bits: a division of 64 is a call, and a conversion to a float takes many times as long. LLVM cannot
know that an index that comes from a loop over an extent is not negative.
"""

from __future__ import annotations

from phobos_core.codegen.context import Context
from phobos_core.codegen.convert import convert
from phobos_core.ir.module import Op
from phobos_core.ir.types import element_of
from phobos_core.language.types import I32, U32

_WIDE = 64


def narrowed(cg: Context, op: Op, operands: list[str]) -> str | None:
    """The result, None where the op is best left as it is."""
    source = element_of(op.operands[0].type)
    match op.name:
        case "convert" if element_of(op.result.type).is_float and cg.bits(source) == _WIDE:
            if not cg.exact.fits(op.operands[0], I32):
                return None
            narrow = cg.writer.pure(f"trunc i64 {operands[0]} to i32") if operands[0][0] == "%" else operands[0]
            return convert(cg, narrow, I32, element_of(op.result.type), 1)
        case "div" | "rem":
            dividend, divisor = (cg.exact.of(v) for v in op.operands)
            if dividend[0] < 0 or divisor[0] <= 0:
                return None
            return _unsigned(cg, op, operands)
        case _:
            return None


def _unsigned(cg: Context, op: Op, operands: list[str]) -> str:
    instruction = "udiv" if op.name == "div" else "urem"
    type = cg.type(element_of(op.result.type))
    fits = all(cg.exact.fits(v, U32 if text[0] == "%" else I32) for v, text in zip(op.operands, operands, strict=True))
    if type != "i64" or not fits:
        return cg.writer.pure(f"{instruction} {type} {operands[0]}, {operands[1]}")
    a, b = (cg.writer.pure(f"trunc i64 {v} to i32") if v[0] == "%" else v for v in operands)
    return cg.writer.pure(f"zext i32 {cg.writer.pure(f'{instruction} i32 {a}, {b}')} to i64")
