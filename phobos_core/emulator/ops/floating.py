"""Floating-point arithmetic in f32, f64, f16, bf16 and their packed pairs.

A packed instruction is the scalar one on rows twice as long: the view of a 32-bit row as 16-bit halves.
Formats narrower than f32 compute in double and round once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from phobos_core.emulator.decode import Decoder, Entry, Handler, MicroOp, Value, entry, unsupported
from phobos_core.emulator.machine import Active, Array
from phobos_core.emulator.numerics import fused, rounding
from phobos_core.emulator.numerics.approx import (
    APPROXIMATIONS,
    DIVISION_ERROR,
    divide_approximately,
)
from phobos_core.emulator.ops.packed import halves
from phobos_core.emulator.ptx import Instruction

FLOATS = ("f32", "f64", "f16", "bf16", "f16x2", "bf16x2", "f32x2")
MODES = ("rn", "rz", "rm", "rp")

Function = Callable[..., Array]


@dataclass(frozen=True, slots=True)
class Format:
    """A scalar format and how the instruction asks for it."""

    name: str
    packed: bool
    mode: str
    flush: bool
    saturate: bool
    relu: bool

    @property
    def dtype(self) -> np.dtype[Any]:
        return _STORAGE[self.name]


_STORAGE: dict[str, np.dtype[Any]] = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(np.uint16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}


def format_of(at: Instruction) -> Format:
    kind = at.modifiers[-1] if at.modifiers else ""
    if kind not in FLOATS:
        raise unsupported(at)
    name, _, packed = kind.partition("x")
    return Format(
        name,
        bool(packed),
        next((m for m in at.modifiers if m in MODES), "rn"),
        "ftz" in at.modifiers and name in ("f32", "f16"),
        "sat" in at.modifiers,
        "relu" in at.modifiers,
    )


def floating(decoder: Decoder, at: Instruction, form: Format, function: Function) -> MicroOp:
    """A function on rows in the format's storage type, with flushing and saturation around it."""
    kind = at.modifiers[-1]
    sources = [decoder.read(operand, kind, at) for operand in at.operands[1:]]
    destination = decoder.write(at.operands[0], kind, at)
    sources = [halves(each, form.dtype, decoder.geometry.lanes) if form.packed else each for each in sources]
    compute = _wrap(function, form)
    if not form.packed:
        return decoder.computed(compute, destination, *sources)
    pairs = destination.view(form.dtype)

    def full() -> None:
        pairs[...] = compute(*sources)

    def masked(active: Active) -> None:
        np.putmask(pairs, np.repeat(active.mask, 2), compute(*sources))

    return MicroOp(full, masked)


def _wrap(function: Function, form: Format) -> Function:
    if not (form.flush or form.saturate or form.relu):
        return function

    def wrapped(*values: Value) -> Array:
        if form.flush:
            values = tuple(rounding.flush(np.asarray(each)) for each in values)
        result = function(*values)
        if form.flush:
            result = rounding.flush(result)
        if form.name == "bf16" and (form.saturate or form.relu):
            wide = rounding.from_bf16(result)
            return rounding.f32_to_bf16(_limit(wide, form))
        return _limit(result, form)

    return wrapped


def _limit(result: Array, form: Format) -> Array:
    if form.saturate:
        return rounding.saturate(result)
    if form.relu:
        zero = result.dtype.type(0)
        nan = np.isnan(result)
        return np.where(nan, canonical_nan(result.dtype), np.where(result > zero, result, zero))
    return result


def canonical_nan(dtype: np.dtype[Any]) -> Value:
    """NVIDIA's NaN: a clear sign and all other bits set."""
    bits = np.iinfo(f"i{dtype.itemsize}").max
    return np.dtype(f"u{dtype.itemsize}").type(bits).view(dtype)


def bf16_function(function: Callable[..., Array], mode: str) -> Function:
    """A function of exact doubles, rounded to bf16."""

    def compute(*values: Value) -> Array:
        wide = [rounding.from_bf16(np.asarray(each)).astype(np.float64) for each in values]
        return rounding.to_bf16(np.atleast_1d(function(*wide)), mode)

    return compute


# Add, subtract, multiply, fused multiply-add


def _directed(operation: str, form: Format) -> Function:
    if form.name == "f64":
        return lambda a, b: fused.binary_f64(operation, a, b, form.mode)
    narrow = {"add": fused.add_narrow, "mul": fused.mul_narrow, "div": fused.div_narrow}[operation]
    return lambda a, b: narrow(a, b, form.dtype, form.mode)


_NATIVE = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}


def _plain(operation: str, form: Format) -> Function:
    """To nearest: the host's own operation, or in double for bf16."""
    native = _NATIVE[operation]
    if form.name == "bf16":
        if operation in ("add", "sub"):
            sign = 1.0 if operation == "add" else -1.0
            return bf16_function(lambda a, b: fused.fused_sum(a, sign * b), form.mode)
        return bf16_function(native, form.mode)
    return native


def binary(operation: str) -> Handler:
    def handler(decoder: Decoder, at: Instruction) -> MicroOp:
        form = format_of(at)
        if form.mode != "rn":
            if operation == "sub":
                add = _directed("add", form)
                return floating(decoder, at, form, lambda a, b: add(a, -b))
            return floating(decoder, at, form, _directed(operation, form))
        if form.name in ("f32", "f64") and not (form.packed or form.flush or form.saturate):
            kind = at.modifiers[-1]
            destination = decoder.write(at.operands[0], kind, at)
            return decoder.elementwise(_NATIVE[operation], destination, *decoder.read_all(at, kind))
        return floating(decoder, at, form, _plain(operation, form))

    return handler


def fma(decoder: Decoder, at: Instruction) -> MicroOp:
    form = format_of(at)
    return floating(decoder, at, form, _fma_function(form))


def _fma_function(form: Format) -> Function:
    match form.name:
        case "f32" if form.mode == "rn":
            return fused.fma_f32
        case "f64":
            return lambda a, b, c: fused.fma_f64(a, b, c, form.mode)
        case "bf16":
            return fused.fma_bf16
    return lambda a, b, c: fused.fma_narrow(a, b, c, form.dtype, form.mode)


def mixed(decoder: Decoder, at: Instruction) -> MicroOp:
    """add, sub and fma in f32 whose first sources, all but the last, are f16 or bf16."""
    kind, narrow = at.modifiers[-2:]
    if kind != "f32" or narrow not in ("f16", "bf16"):
        raise unsupported(at)
    *firsts, last = at.operands[1:]
    sources = [decoder.read(operand, narrow, at) for operand in firsts]
    mode = next((m for m in at.modifiers if m in MODES), "rn")
    widen = rounding.from_bf16 if narrow == "bf16" else np.float32
    sign = np.float32(-1 if at.opcode == "sub" else 1)

    def compute(*values: Value) -> Array:
        *narrow_values, addend = values
        factors: list[Value] = [widen(np.atleast_1d(each)) for each in narrow_values]
        second: Value = factors[1] if len(factors) > 1 else np.float32(1)
        result = fused.fma_narrow(factors[0], second, sign * addend, np.float32, mode)
        return rounding.saturate(result) if "sat" in at.modifiers else result

    destination = decoder.write(at.operands[0], "f32", at)
    return decoder.computed(compute, destination, *sources, decoder.read(last, "f32", at))


# Division, roots and approximations


def div(decoder: Decoder, at: Instruction) -> MicroOp:
    form = format_of(at)
    if not {"approx", "full"} & set(at.modifiers):
        return binary("div")(decoder, at)
    approximate = divide_approximately if "approx" in at.modifiers else np.divide
    perturbation = decoder.perturbation

    def compute(a: Value, b: Value) -> Array:
        exact = approximate(np.asarray(a, np.float64), np.asarray(b, np.float64))
        return rounding.to_float(perturbation.apply(np.atleast_1d(exact), DIVISION_ERROR), np.float32)

    return floating(decoder, at, form, compute)


def unary(decoder: Decoder, at: Instruction) -> MicroOp:
    """rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh: rounded as asked, or approximate."""
    form = format_of(at)
    known = APPROXIMATIONS.get((at.opcode, form.name))
    if "approx" not in at.modifiers:
        return floating(decoder, at, form, _rounded_unary(at, form))
    if known is None:
        raise unsupported(at)
    perturbation = decoder.perturbation

    def exact(a: Array) -> Array:
        return perturbation.apply(np.atleast_1d(known.function(a)), known.relative, known.absolute)

    if form.name == "bf16":
        return floating(decoder, at, form, bf16_function(exact, "rn"))
    return floating(decoder, at, form, lambda a: rounding.to_float(exact(np.asarray(a, np.float64)), form.dtype))


def _rounded_unary(at: Instruction, form: Format) -> Function:
    match at.opcode, form.name:
        case "rcp", "f32":
            return lambda a: fused.div_narrow(np.ones(1, np.float32), a, np.float32, form.mode)
        case "sqrt", "f32":
            return lambda a: fused.sqrt_narrow(a, np.float32, form.mode)
        case "rcp", "f64":
            return lambda a: (
                np.divide(1.0, a) if form.mode == "rn" else fused.binary_f64("div", np.ones(1), a, form.mode)
            )
        case "sqrt", "f64" if form.mode == "rn":
            return np.sqrt
    raise unsupported(at)


# Sign, minimum and maximum


def sign_change(function: Callable[[Array, Value], Value]) -> Handler:
    """neg and abs act on the sign bit alone."""

    def handler(decoder: Decoder, at: Instruction) -> MicroOp:
        form = format_of(at)
        bits = np.dtype(f"u{form.dtype.itemsize}")
        sign = bits.type(1 << (8 * bits.itemsize - 1))
        return floating(decoder, at, form, lambda a: function(np.atleast_1d(a).view(bits), sign).view(form.dtype))

    return handler


def copysign(decoder: Decoder, at: Instruction) -> MicroOp:
    """The sign of the first source on the magnitude of the second."""
    form = format_of(at)
    return floating(decoder, at, form, lambda sign, magnitude: np.copysign(magnitude, sign))


def minmax(smallest: bool) -> Handler:
    def handler(decoder: Decoder, at: Instruction) -> MicroOp:
        form = format_of(at)
        extreme = _extreme(smallest, "NaN" in at.modifiers, "xorsign" in at.modifiers)

        def compute(*values: Value) -> Array:
            wide = [rounding.from_bf16(np.asarray(v)) if form.name == "bf16" else v for v in values]
            result = extreme(wide[0], wide[1])
            for each in wide[2:]:
                result = extreme(result, each)
            return rounding.f32_to_bf16(result) if form.name == "bf16" else result

        return floating(decoder, at, form, compute)

    return handler


def _extreme(smallest: bool, propagate: bool, xorsign: bool) -> Callable[[Value, Value], Array]:
    """+0 is above -0; a NaN gives the other operand, or NaN with `.NaN`; `.xorsign` takes magnitudes."""
    choose: Callable[[Array, Array], Array] = np.minimum if smallest else np.maximum
    if not propagate:
        choose = np.fmin if smallest else np.fmax
    merge = np.bitwise_or if smallest else np.bitwise_and

    def compute(a: Value, b: Value) -> Array:
        x, y = np.broadcast_arrays(np.atleast_1d(a), b)
        if xorsign:
            sign = np.where(np.signbit(x) != np.signbit(y), x.dtype.type(-1), x.dtype.type(1))
            x, y = np.abs(x), np.abs(y)
        result = choose(x, y)
        equal = x == y
        if np.count_nonzero(equal & (result == 0)):
            bits = np.dtype(f"u{x.itemsize}")
            x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
            result = np.where(equal, merge(x.view(bits), y.view(bits)).view(x.dtype), result)
        if xorsign:
            result = np.copysign(result, sign)
        nan = np.isnan(result)
        if np.count_nonzero(nan):
            result = np.where(nan, canonical_nan(result.dtype), result)
        return result

    return compute


TESTS: dict[str, Callable[[Array], Array]] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda a: ~np.isnan(a),
    "notanumber": np.isnan,
    "normal": lambda a: np.isfinite(a) & (np.abs(a) >= np.finfo(a.dtype).tiny),
    "subnormal": lambda a: (a != 0) & (np.abs(a) < np.finfo(a.dtype).tiny),
}


def testp(decoder: Decoder, at: Instruction) -> MicroOp:
    test = TESTS.get(at.modifiers[0])
    if test is None:
        raise unsupported(at)
    return decoder.computed(
        test, decoder.write(at.operands[0], "pred", at), decoder.read(at.operands[1], at.modifiers[-1], at)
    )


TABLE: dict[str, Entry] = {
    "add.float": entry(binary("add"), "rn rz rm rp ftz sat", operands=3),
    "sub.float": entry(binary("sub"), "rn rz rm rp ftz sat", operands=3),
    "mul.float": entry(binary("mul"), "rn rz rm rp ftz sat", operands=3),
    "div.float": entry(div, "rn rz rm rp ftz approx full", operands=3),
    "fma.float": entry(fma, "rn rz rm rp ftz sat relu", operands=4),
    "mad.float": entry(fma, "rn rz rm rp ftz sat", operands=4),
    "add.mixed": entry(mixed, "rn rz rm rp sat", operands=3),
    "sub.mixed": entry(mixed, "rn rz rm rp sat", operands=3),
    "fma.mixed": entry(mixed, "rn rz rm rp sat", operands=4),
    "neg.float": entry(sign_change(np.bitwise_xor), "ftz", operands=2),
    "abs.float": entry(sign_change(lambda a, sign: a & ~sign), "ftz", operands=2),
    "copysign": entry(copysign, operands=3),
    "min.float": entry(minmax(True), "ftz NaN xorsign abs", operands=(3, 4)),
    "max.float": entry(minmax(False), "ftz NaN xorsign abs", operands=(3, 4)),
    "testp": entry(testp, "finite infinite number notanumber normal subnormal", operands=2),
} | dict.fromkeys(
    ("rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2", "tanh"), entry(unary, "rn rz rm rp ftz approx", operands=2)
)
