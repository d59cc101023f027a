"""Conversions between element types, as the language defines them: floats round to nearest even, float to integer
truncates and saturates with NaN giving 0, integers wrap, unsigned storage zero-extends."""

from __future__ import annotations

from phobos_core.codegen.context import Context
from phobos_core.language.types import BF16, F32, F64, I32, I64, Kind, ScalarType

# An f32 holds every integer of so many bits.
F32_INTEGER_BITS = 24


def convert(cg: Context, operand: str, source: ScalarType, target: ScalarType, width: int) -> str:
    if source == target:
        return operand
    match source.is_float, target.is_float:
        case True, True:
            return _float_to_float(cg, operand, source, target, width)
        case True, False:
            return _float_to_integer(cg, operand, source, target, width)
        case False, True if target == BF16 and cg.bits(source) > F32_INTEGER_BITS:
            return _cast(cg, "fptrunc", _to_odd_f32(cg, operand, source, width), F32, target, width)
        case False, True:
            instruction = "uitofp" if source.kind is Kind.UINT else "sitofp"
            return _cast(cg, instruction, operand, source, target, width)
        case _:
            return _integer_to_integer(cg, operand, source, target, width)


def _cast(cg: Context, instruction: str, operand: str, source: ScalarType, target: ScalarType, width: int) -> str:
    return cg.writer.pure(f"{instruction} {cg.type(source, width)} {operand} to {cg.type(target, width)}")


def _float_to_float(cg: Context, operand: str, source: ScalarType, target: ScalarType, width: int) -> str:
    if source.bits == target.bits:  # f16 and bf16 meet in f32, which holds both
        return _cast(cg, "fptrunc", _cast(cg, "fpext", operand, source, F32, width), F32, target, width)
    return _cast(cg, "fpext" if target.bits > source.bits else "fptrunc", operand, source, target, width)


def _to_odd_f32(cg: Context, operand: str, source: ScalarType, width: int) -> str:
    """An integer cut off to an f32, with the last bit set where anything was lost: rounding that to a bf16 equals
    rounding the integer once. LLVM by itself would round to nearest twice."""
    elements = cg.lanes(_integer_to_integer(cg, operand, source, I64, width), "i64", width)
    return cg.gathered([_to_odd_element(cg, element) for element in elements], "float")


def _to_odd_element(cg: Context, operand: str) -> str:
    truncated = cg.writer.call("float", "llvm.nvvm.ll2f.rz", ("i64", operand))
    back = cg.writer.call("i64", "llvm.nvvm.f2ll.rz", ("float", truncated))
    inexact = cg.writer.pure(f"icmp ne i64 {back}, {operand}")
    sticky = cg.writer.pure(f"zext i1 {inexact} to i32")
    bits = cg.writer.pure(f"or i32 {cg.writer.pure(f'bitcast float {truncated} to i32')}, {sticky}")
    return cg.writer.pure(f"bitcast i32 {bits} to float")


def _integer_to_integer(cg: Context, operand: str, source: ScalarType, target: ScalarType, width: int) -> str:
    have, want = cg.bits(source), cg.bits(target)
    if have == want:
        return operand
    extend = "zext" if source.kind is Kind.UINT else "sext"
    return _cast(cg, extend if want > have else "trunc", operand, source, target, width)


def _float_to_integer(cg: Context, operand: str, source: ScalarType, target: ScalarType, width: int) -> str:
    if target.kind is Kind.UINT:
        name = f"llvm.fptoui.sat.{cg.suffix(target, width)}.{cg.suffix(source, width)}"
        return cg.writer.call(cg.type(target, width), name, (cg.type(source, width), operand))
    if source != F64:
        operand = convert(cg, operand, source, F32, width)
        source = F32
    if cg.bits(target) < 32:
        wide = _float_to_integer(cg, operand, source, I32, width)
        return _integer_to_integer(cg, _clamped(cg, wide, cg.bits(target), width), I32, target, width)
    wide_type = I64 if cg.bits(target) == 64 else I32
    elements = cg.lanes(operand, cg.type(source), width)
    return cg.gathered([_truncated(cg, e, source, wide_type) for e in elements], cg.type(wide_type))


def _truncated(cg: Context, operand: str, source: ScalarType, target: ScalarType) -> str:
    """One element by PTX's cvt.rzi, which saturates; NaN gives 0 by itself only from f32 to s32."""
    name = f"llvm.nvvm.{'d' if source == F64 else 'f'}2{'ll' if target == I64 else 'i'}.rz"
    source_type, type = cg.type(source), cg.type(target)
    result = cg.writer.call(type, name, (source_type, operand))
    if source == F32 and target == I32:
        return result
    ordered = cg.writer.pure(f"fcmp ord {source_type} {operand}, {operand}")
    return cg.writer.pure(f"select i1 {ordered}, {type} {result}, {type} 0")


def _clamped(cg: Context, operand: str, bits: int, width: int) -> str:
    type, suffix = cg.type(I32, width), cg.suffix(I32, width)
    most = cg.constant((1 << (bits - 1)) - 1, I32, width)
    least = cg.constant(-(1 << (bits - 1)), I32, width)
    capped = cg.writer.call(type, f"llvm.smin.{suffix}", (type, operand), (type, most))
    return cg.writer.call(type, f"llvm.smax.{suffix}", (type, capped), (type, least))
