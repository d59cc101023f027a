"""Element-wise ops but conversions and math functions, on scalars and on runs of elements: no result is poison.

In: an op and the operands of its operands, all of one width. Out: the operand of the result. LLVM leaves a division
by zero undefined and an over-long shift poison, and deletes code that depends on them; both get guards here.
"""

from __future__ import annotations

from phobos_core.codegen.context import Context
from phobos_core.codegen.convert import convert
from phobos_core.codegen.mathematics import abs_value, math_function, remainder
from phobos_core.codegen.narrow import narrowed
from phobos_core.ir.module import Op
from phobos_core.ir.types import element_of
from phobos_core.language.types import BOOL, Kind, ScalarType

_INTEGER = {"add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor"}
_FLOAT = {"add": "fadd contract", "sub": "fsub contract", "mul": "fmul", "div": "fdiv"}
_FLOAT_PREDICATES = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}


def elementwise(cg: Context, op: Op, operands: list[str], width: int) -> str:
    element = element_of(op.operands[0].type)
    if element.is_integer and isinstance(op.result.type, ScalarType):
        fewer_bits = narrowed(cg, op, operands)
        if fewer_bits is not None:
            return fewer_bits
    match op.name:
        case "cmp":
            return compare(cg, op.attrs["predicate"], element, operands[0], operands[1], width)
        case "select":
            return select(cg, element_of(op.operands[1].type), operands, width)
        case "convert":
            return convert(cg, operands[0], element, element_of(op.results[0].type), width)
        case "math" if op.attrs["function"] == "abs":
            return abs_value(cg, operands[0], element, width)
        case "math":
            return math_function(cg, op.attrs["function"], operands[0], width)
        case "neg" | "not":
            return _unary(cg, op.name, element, operands[0], width)
        case "min" | "max":
            return extremum(cg, op.name, element, operands[0], operands[1], width)
        case "div" | "rem" if not element.is_float:
            return _integer_division(cg, op.name, element, operands[0], operands[1], width)
        case "rem":
            return remainder(cg, operands[0], operands[1], element, width)
        case "shl" | "shr":
            return _shift(cg, op.name, element, operands[0], operands[1], width)
        case "mul" if element.is_float and len(cg.ir.used_by(op.result)) == 1:
            # The product may fuse into a sum only where nothing else reads it.
            return _binary(cg, "fmul contract", element, operands[0], operands[1], width)
        case name:
            instruction = _FLOAT[name] if element.is_float else _INTEGER[name]
            return _binary(cg, instruction, element, operands[0], operands[1], width)


def compare(cg: Context, predicate: str, element: ScalarType, a: str, b: str, width: int) -> str:
    if element.is_float:
        text = f"fcmp {_FLOAT_PREDICATES[predicate]}"
    elif predicate in ("eq", "ne"):
        text = f"icmp {predicate}"
    else:
        text = f"icmp {'u' if element.kind is Kind.UINT else 's'}{predicate}"
    return _binary(cg, text, element, a, b, width)


def select(cg: Context, element: ScalarType, operands: list[str], width: int) -> str:
    condition, a, b = operands
    type = cg.type(element, width)
    return cg.writer.pure(f"select {cg.type(BOOL, width)} {condition}, {type} {a}, {type} {b}")


def extremum(cg: Context, name: str, element: ScalarType, a: str, b: str, width: int) -> str:
    """`min` or `max`; of floats the other operand when one is NaN."""
    if element.is_float:
        function = f"{name}num"
    else:
        function = f"{'u' if element.kind is Kind.UINT else 's'}{name}"
    type = cg.type(element, width)
    return cg.writer.call(type, f"llvm.{function}.{cg.suffix(element, width)}", (type, a), (type, b))


def _binary(cg: Context, instruction: str, element: ScalarType, a: str, b: str, width: int) -> str:
    return cg.writer.pure(f"{instruction} {cg.type(element, width)} {a}, {b}")


def _unary(cg: Context, name: str, element: ScalarType, a: str, width: int) -> str:
    if name == "not":
        ones = cg.constant(True if element == BOOL else -1, element, width)
        return _binary(cg, "xor", element, a, ones, width)
    if element.is_float:
        return cg.writer.pure(f"fneg {cg.type(element, width)} {a}")
    return _binary(cg, "sub", element, cg.constant(0, element, width), a, width)


def _integer_division(cg: Context, name: str, element: ScalarType, a: str, b: str, width: int) -> str:
    instruction = "sdiv" if name == "div" else "srem"
    if _constant_of(b) in (None, 0, -1):
        b = _safe_divisor(cg, element, a, b, width)
    return _binary(cg, instruction, element, a, b, width)


def _safe_divisor(cg: Context, element: ScalarType, a: str, b: str, width: int) -> str:
    """1 in place of 0 (any value will do) and of -1 under the least integer (whose quotient wraps to itself)."""
    least = cg.constant(1 << (cg.bits(element) - 1), element, width)
    zero = compare(cg, "eq", element, b, cg.constant(0, element, width), width)
    minus_one = compare(cg, "eq", element, b, cg.constant(-1, element, width), width)
    overflows = compare(cg, "eq", element, a, least, width)
    both = _binary(cg, "and", BOOL, minus_one, overflows, width)
    unsafe = _binary(cg, "or", BOOL, zero, both, width)
    return select(cg, element, [unsafe, cg.constant(1, element, width), b], width)


def _shift(cg: Context, name: str, element: ScalarType, a: str, amount: str, width: int) -> str:
    bits = cg.bits(element)
    known = _constant_of(amount)
    instruction = "shl" if name == "shl" else "ashr"
    if known is not None and 0 <= known < bits:
        return _binary(cg, instruction, element, a, amount, width)
    type, suffix = cg.type(element, width), cg.suffix(element, width)
    last = cg.constant(bits - 1, element, width)
    clamped = cg.writer.call(type, f"llvm.umin.{suffix}", (type, amount), (type, last))
    shifted = _binary(cg, instruction, element, a, clamped, width)
    if name == "shr":
        return shifted
    fits = _binary(cg, "icmp ule", element, amount, last, width)
    return select(cg, element, [fits, shifted, cg.constant(0, element, width)], width)


def _constant_of(operand: str) -> int | None:
    """The integer that an operand is, in every lane."""
    if operand.startswith("splat ("):
        operand = operand[operand.index(" ", 7) + 1 : -1]
    return None if operand.startswith("%") or not operand.lstrip("-").isdigit() else int(operand)
