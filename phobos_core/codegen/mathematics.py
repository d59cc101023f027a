"""The math functions: PTX's approximations where the language names them, exact instructions elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from math import e, log, log2

from phobos_core.codegen.context import Context
from phobos_core.codegen.convert import convert
from phobos_core.codegen.types import constant
from phobos_core.language.types import F32, F64, ScalarType


@dataclass(frozen=True, slots=True)
class _Approximation:
    """after * intrinsic(before * x)."""

    intrinsic: str
    before: float | None = None
    after: float | None = None


_APPROXIMATE = {
    "exp": _Approximation("llvm.nvvm.ex2.approx.f32", before=log2(e)),
    "log": _Approximation("llvm.nvvm.lg2.approx.f", after=log(2)),
    "sqrt": _Approximation("llvm.nvvm.sqrt.approx.f"),
    "rsqrt": _Approximation("llvm.nvvm.rsqrt.approx.f"),
    "sin": _Approximation("llvm.nvvm.sin.approx.f"),
    "cos": _Approximation("llvm.nvvm.cos.approx.f"),
    "tanh": _Approximation("llvm.nvvm.tanh.approx.f32"),
}
_EXACT = {"round": "roundeven", "floor": "floor", "ceil": "ceil"}


def math_function(cg: Context, function: str, operand: str, width: int) -> str:
    """Any function but abs, in f32."""
    vector = cg.type(F32, width)
    if function in _EXACT:
        return cg.writer.call(vector, f"llvm.{_EXACT[function]}.{cg.suffix(F32, width)}", (vector, operand))
    if function == "tanh":
        cg.require("tanh_approx", "tanh")
    chosen = _APPROXIMATE[function]
    if chosen.before is not None:
        operand = cg.writer.pure(f"fmul {vector} {operand}, {cg.constant(chosen.before, F32, width)}")
    elements = cg.lanes(operand, "float", width)
    result = cg.gathered([cg.writer.call("float", chosen.intrinsic, ("float", x)) for x in elements], "float")
    if chosen.after is not None:
        result = cg.writer.pure(f"fmul {vector} {result}, {cg.constant(chosen.after, F32, width)}")
    return result


def abs_value(cg: Context, operand: str, element: ScalarType, width: int) -> str:
    """max(x, -x): the least integer stays itself."""
    type, suffix = cg.type(element, width), cg.suffix(element, width)
    if element.is_float:
        return cg.writer.call(type, f"llvm.fabs.{suffix}", (type, operand))
    return cg.writer.call(type, f"llvm.abs.{suffix}", (type, operand), ("i1", "false"))


def remainder(cg: Context, a: str, b: str, element: ScalarType, width: int) -> str:
    """Float a % b, exact, with the sign of a; f16 and bf16 in f32, where their remainders are exact too."""
    inner = F64 if element == F64 else F32
    type = cg.type(inner)
    cg.helpers.add(_REMAINDER[inner])
    cg.writer.declarations.update(_REMAINDER_CALLS[inner])
    pairs = zip(
        cg.lanes(convert(cg, a, element, inner, width), type, width),
        cg.lanes(convert(cg, b, element, inner, width), type, width),
        strict=True,
    )
    name = f"remainder.{cg.suffix(inner)}"
    results = [cg.writer.pure(f"call {type} @{name}({type} {x}, {type} {y})") for x, y in pairs]
    return convert(cg, cg.gathered(results, type), inner, element, width)


def _remainder_function(type: str, suffix: str, divide: str, leap: float) -> str:
    """Takes off the multiple of |b| that a quotient rounded toward zero gives, until less than |b| is left.

    Each step is exact: the quotient never exceeds the true one, so what is left is a multiple of the smaller unit
    and no longer than the mantissa. Where the quotient would overflow, |b| times `leap`, a power of two, is taken off
    first. A NaN, an infinite a or a zero b leave the loop at once or give NaN; an infinite b leaves a as it is.
    """
    factor = constant(leap, F32 if suffix == "f32" else F64, 64)
    return f"""define internal {type} @remainder.{suffix}({type} %a, {type} %b) alwaysinline {{
entry:
  %x = call {type} @llvm.fabs.{suffix}({type} %a)
  %y = call {type} @llvm.fabs.{suffix}({type} %b)
  %large = fmul {type} %y, {factor}
  %largest = fmul {type} %large, {factor}
  br label %test
test:
  %left = phi {type} [ %x, %entry ], [ %next, %step ]
  %more = fcmp oge {type} %left, %y
  br i1 %more, label %step, label %done
step:
  %is_large = fcmp oge {type} %left, %large
  %is_largest = fcmp oge {type} %left, %largest
  %first = select i1 %is_large, {type} %large, {type} %y
  %divisor = select i1 %is_largest, {type} %largest, {type} %first
  %ratio = call {type} @{divide}({type} %left, {type} %divisor)
  %whole = call {type} @llvm.trunc.{suffix}({type} %ratio)
  %minus = fneg {type} %whole
  %next = call {type} @llvm.fma.{suffix}({type} %minus, {type} %divisor, {type} %left)
  br label %test
done:
  %nan = fcmp uno {type} %a, %b
  %sum = fadd {type} %a, %b
  %signed = call {type} @llvm.copysign.{suffix}({type} %left, {type} %a)
  %result = select i1 %nan, {type} %sum, {type} %signed
  ret {type} %result
}}"""


def _remainder_calls(type: str, suffix: str, divide: str) -> dict[str, str]:
    """The declarations that the function needs, each once in a module however many others call it."""
    arities = {"llvm.fabs": 1, "llvm.trunc": 1, "llvm.fma": 3, "llvm.copysign": 2}
    taken = {f"{name}.{suffix}": arity for name, arity in arities.items()} | {divide: 2}
    return {name: f"declare {type} @{name}({', '.join([type] * arity)})" for name, arity in taken.items()}


_REMAINDER_CALLS = {
    F32: _remainder_calls("float", "f32", "llvm.nvvm.div.rz.f"),
    F64: _remainder_calls("double", "f64", "llvm.nvvm.div.rz.d"),
}
_REMAINDER = {
    F32: _remainder_function("float", "f32", "llvm.nvvm.div.rz.f", 2.0**100),
    F64: _remainder_function("double", "f64", "llvm.nvvm.div.rz.d", 2.0**800),
}
