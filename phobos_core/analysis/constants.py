"""Compile-time values: literals in a type, and the symbolic value of an index expression.

`Const` nodes are literals and what folds from literals alone; a name always stays a read, so that a literal can take
the type of what it meets and a name cannot. `value_of` sees through names: it is what extents are decided by.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

from phobos_core.analysis import program as pg
from phobos_core.analysis.context import Context
from phobos_core.analysis.symbolic import (
    Sym,
    divide,
    maximum,
    minimum,
    remainder,
    sym,
    truncated_division,
    truncated_remainder,
)
from phobos_core.language.types import BF16, F16, F32, I8, INDEX, Kind, ScalarType

ZERO = sym(0)
ONE = sym(1)

# Symbolic values are followed up to this size; expressions that square themselves grow without bound.
MOST_TERMS = 64
MOST_ATOMS = 128

# Atoms that a `Sym` of the checked program may not hold: they mark a value that changes or has no name.
FOREIGN = ("ctx.", "?")


def round_float(value: float, type_: ScalarType) -> float:
    """The value rounded to nearest even in a float type."""
    if not math.isfinite(value):
        return value
    try:
        if type_ == F16:
            return float(struct.unpack("<e", struct.pack("<e", value))[0])
        if type_ == F32:
            return float(struct.unpack("<f", struct.pack("<f", value))[0])
        if type_ == BF16:
            bits = _bits_of_bf16(value)
            return float(struct.unpack("<f", struct.pack("<I", bits << 16))[0])
    except OverflowError:
        return math.copysign(math.inf, value)
    return value


def _bits_of_bf16(value: float) -> int:
    """Rounded once, from the double: an f32 between would round twice."""
    bits = int(struct.unpack("<I", struct.pack("<f", value))[0])
    nearest = struct.unpack("<f", struct.pack("<I", bits))[0]
    if nearest != value:
        # Round to odd in f32: a set last bit stands for the part that was cut, so the tie below is decided by it.
        if abs(nearest) > abs(value):
            bits -= 1
        bits |= 1
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16


def wrap(value: int, type_: ScalarType, index_bits: int) -> int:
    """The low bits of an integer, in a type."""
    bits = index_bits if type_.kind is Kind.INDEX else type_.bits
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if type_.kind is not Kind.UINT and low >> (bits - 1) else low


def const_as(cx: Context, const: pg.Const, type_: ScalarType) -> pg.Const:
    """A literal in another numeric type, as a conversion to it would give."""
    value = const.value
    if type_.is_float:
        value = round_float(float(value), type_)
    elif isinstance(value, float):
        value = _saturate(value, type_, cx.options.index_bits)
    else:
        value = wrap(value, type_, cx.options.index_bits)
    return pg.Const(const.span, type_, value, const.exact)


def _saturate(value: float, type_: ScalarType, index_bits: int) -> int:
    bits = index_bits if type_.kind is Kind.INDEX else type_.bits
    low, high = (0, (1 << bits) - 1) if type_.kind is Kind.UINT else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return high if value > 0 else low
    return min(max(int(value), low), high)


def fold_integers(op: str, a: int, b: int, width: int) -> int | None:
    """`a op b` before wrapping; None where it has no value."""
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            return truncated_division(a, b) if b else None
        case "%":
            return truncated_remainder(a, b) if b else None
        case "&":
            return a & b
        case "|":
            return a | b
        case "^":
            return a ^ b
        case "<<":
            return a << b if 0 <= b < width else 0
        case ">>":
            return a >> min(b, width - 1) if b >= 0 else (-1 if a < 0 else 0)
        case "min":
            return min(a, b)
        case "max":
            return max(a, b)
    return None


def fold_symbolic(op: str, a: Sym, b: Sym) -> Sym | None:
    """`a op b`; None where it has no value, or one too large to be worth following."""
    if len(a.terms) * len(b.terms) > MOST_TERMS or a.size + b.size > MOST_ATOMS:
        return None
    folded = _folded(op, a, b)
    return None if folded is None or any(abs(c) >= 2**63 for _, c in folded.terms) else folded


def _folded(op: str, a: Sym, b: Sym) -> Sym | None:
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            return divide(a, b) if b.constant != 0 else None
        case "%":
            return remainder(a, b) if b.constant != 0 else None
        case "min":
            return minimum(a, b)
        case "max":
            return maximum(a, b)
    return None


def value_of(cx: Context, expr: pg.Expr) -> Sym | None:
    """The value of an integer expression over names, where it has one.

    An i32 or i64 is followed as if it did not wrap: an offset that does is far outside every tensor.
    """
    rule = _VALUES.get(type(expr))
    return None if rule is None else rule(cx, expr)


def _symbolic(cx: Context, expr: pg.SymConst) -> Sym:
    return expr.value


def _literal(cx: Context, expr: pg.Const) -> Sym | None:
    return sym(expr.value) if isinstance(expr.value, int) else None


def _read(cx: Context, expr: pg.ScalarRead) -> Sym:
    symbol = expr.symbol
    return sym(f"?{symbol.key}") if symbol.mutable else _immutable(cx, symbol)


def _ctx(cx: Context, expr: pg.CtxRead) -> Sym:
    return sym(f"ctx.{expr.field}")


def _converted(cx: Context, expr: pg.Convert) -> Sym | None:
    return value_of(cx, expr.operand) if expr.type is INDEX else None


def _binary(cx: Context, expr: pg.Binary) -> Sym | None:
    if not _followed(expr.type):
        return None
    left = value_of(cx, expr.lhs)
    right = value_of(cx, expr.rhs) if left is not None else None
    return fold_symbolic(expr.op, left, right) if left is not None and right is not None else None


def _unary(cx: Context, expr: pg.Unary) -> Sym | None:
    inner = value_of(cx, expr.operand) if expr.op == "-" and _followed(expr.type) else None
    return None if inner is None else ZERO - inner


_VALUES: Mapping[type, Callable[[Context, Any], Sym | None]] = {
    pg.SymConst: _symbolic,
    pg.Const: _literal,
    pg.ScalarRead: _read,
    pg.CtxRead: _ctx,
    pg.Convert: _converted,
    pg.Binary: _binary,
    pg.Unary: _unary,
}


def _followed(type_: pg.ValueType) -> bool:
    return isinstance(type_, ScalarType) and type_.is_integer and type_ is not I8


def _immutable(cx: Context, symbol: pg.Symbol) -> Sym:
    """What a `let` was bound to, unless a `var` took part: that may have changed since."""
    known = cx.values.get(symbol)
    if known is None:
        definition = cx.definitions.get(symbol)
        value = None if definition is None or not _followed(definition.type) else value_of(cx, definition)
        changing = value is None or any(name.startswith("?") for name in value.names)
        known = sym(symbol.key) if changing or value is None else value
        cx.values[symbol] = known
    return known


def expressible(value: Sym) -> bool:
    """Whether the checked program can hold it: over dimensions, `@autotune` names and immutable scalars only."""
    return not any(name.startswith(FOREIGN) for name in value.names)


def is_static(cx: Context, value: Sym) -> bool:
    """Over literals and `@autotune` names only: every configuration knows it."""
    search = cx.search
    for monomial, _ in value.terms:
        for atom in monomial:
            if type(atom) is str:
                if atom not in search:
                    return False
            # `type(..) is` is several times faster than isinstance here, and does not narrow.
            elif not (is_static(cx, atom.lhs) and is_static(cx, atom.rhs)):  # type: ignore[union-attr]
                return False
    return True


def surely_positive(value: Sym) -> bool:
    """Whether a static value needs no check to be at least 1: a positive number, or a product of names, of which every
    choice is positive."""
    if len(value.terms) != 1:
        return False
    [(monomial, coefficient)] = value.terms
    return coefficient > 0 and all(isinstance(atom, str) for atom in monomial)
