"""PTX's integer instructions on forms.

In: an opcode and its operands as forms. Out: the result's form, None for an instruction that is not known here. What
is not linear is computed where its operands are known, or as far as the low bits that it needs are; what would have to
be known beside is raised as a `Need`. Registers hold numbers as signed; who reads one as unsigned says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import gcd
from operator import and_, or_, rshift, xor
from typing import Protocol, TypeAlias

from phobos_core.report.accesses.forms import (
    Atom,
    Form,
    Vector,
    combined,
    divided,
    known,
    mapped,
    minus,
    multiple_of,
    plus,
    scaled,
    times,
)

# Past this many remainders of an atom its value is asked for.
_MOST_REMAINDERS = 1024
_WIDEST = 64
UNSTEADY = "a loop changes it by other than a fixed step"


class Need(Exception):
    """What must be known of an atom: its remainder by `modulus`, its value for 0."""

    def __init__(self, atom: Atom, modulus: int) -> None:
        self.atom = atom
        self.modulus = modulus


class Unfollowed(Exception):
    """A value that cannot be told without running the kernel; the text says why."""


class Opaque(Protocol):
    def __call__(self, multiple: int, bits: int = 0) -> Form:
        """A number that all threads share, of which nothing is known but what it is a multiple of, and perhaps which
        bits the quotient may have."""
        ...


@dataclass(frozen=True, slots=True)
class Work:
    """An instruction of `type` on these operands. `opaque` gives the result of which nothing else can be said than
    that all threads have the same."""

    type: str
    operands: Sequence[Form]
    opaque: Opaque

    @property
    def bits(self) -> int:
        return bits_of(self.type)

    def of(self, *operands: Form) -> Work:
        return replace(self, operands=operands)

    def read(self) -> list[Form]:
        """The operands as numbers of the type."""
        return [read_as(each, self.type) for each in self.operands]

    @property
    def shared(self) -> bool:
        """Whether the result is the same in all threads, and not known."""
        return all(f.uniform for f in self.operands) and not all(f.pure for f in self.operands)


Operation: TypeAlias = Callable[[Work], Form]


def apply(opcode: str, operands: Sequence[Form], opaque: Opaque) -> Form | None:
    """The opcode with its modifiers, `mul.wide.u32`. Its last part is the type."""
    name, *modifiers = opcode.split(".")
    operation = _OPERATIONS.get(".".join([name, *(m for m in modifiers if m in ("lo", "hi", "wide"))]))
    type = modifiers[-1] if modifiers else ""
    if operation is None or not is_integer(type):
        return None
    return operation(Work(type, operands, opaque))


def is_integer(type: str) -> bool:
    return type[:1] in ("b", "s", "u") and type[1:].isdigit()


def bits_of(type: str) -> int:
    return int(type[1:])


def held(form: Form, type: str) -> Form:
    """As a register of the type holds it: of what is not known, nothing is said of wrapping."""
    half = 1 << (bits_of(type) - 1)
    return form if form.terms or _within(form.constant, -half, half) else _wrapped(_signed, form, type)


def read_as(form: Form, type: str) -> Form:
    """A register as a source of this type."""
    if form.terms or type[0] == "b" or (type[0] == "s" and bits_of(type) >= 32):
        return form
    if type[0] == "s":
        return held(form, type)
    return form if _within(form.constant, 0, 1 << bits_of(type)) else _wrapped(_unsigned, form, type)


def _wrapped(function: Callable[[int, int], int], form: Form, type: str) -> Form:
    return known(mapped(partial(function, bits_of(type)), form.constant))


def _within(vector: Vector, low: int, end: int) -> bool:
    if isinstance(vector, int):
        return low <= vector < end
    return low <= min(vector) and max(vector) < end


def _signed(bits: int, value: int) -> int:
    half = 1 << (bits - 1)
    return (value + half) % (half << 1) - half


def _unsigned(bits: int, value: int) -> int:
    return value % (1 << bits)


def need(form: Form, modulus: int) -> Need:
    """The first thing to be known of the terms that are no multiples of `modulus` (0: of any)."""
    for monomial, coefficient in form.terms.items():
        step = multiple_of(coefficient)
        if modulus == 0 or step % modulus:
            atom = monomial[0]
            if atom.kind in ("assumed", "unsettled"):
                raise Unfollowed(UNSTEADY)
            left = 0 if modulus == 0 else modulus // gcd(step, modulus)
            return Need(atom, left if left <= _MOST_REMAINDERS else 0)
    raise AssertionError("nothing is left to be known")


def low_bits(form: Form, bits: int) -> Vector:
    """The form modulo 2 to the power of `bits`."""
    if not divides(1 << bits, form):
        raise need(form, 1 << bits)
    return mapped(partial(_unsigned, bits), form.constant)


def divides(number: int, form: Form) -> bool:
    """Whether all that is not known is a multiple of a number."""
    return all(multiple_of(c) % number == 0 for c in form.terms.values())


def _power_of_two(*values: int) -> int:
    """The largest that divides them all."""
    return min((v & -v if v else 1 << _WIDEST for v in values), default=1 << _WIDEST)


# Linear


def _add(w: Work) -> Form:
    a, b = w.operands
    return held(plus(a, b), w.type)


def _sub(w: Work) -> Form:
    a, b = w.operands
    return held(minus(a, b), w.type)


def _neg(w: Work) -> Form:
    return held(scaled(w.operands[0], -1), w.type)


def _not(w: Work) -> Form:
    return held(minus(known(-1), w.operands[0]), w.type)


def _mov(w: Work) -> Form:
    return held(w.operands[0], w.type)


def _mul(w: Work) -> Form:
    a, b = w.operands
    return held(times(a, b), w.type)


def _mul_wide(w: Work) -> Form:
    a, b = w.read()
    return times(a, b)


def _mad(w: Work) -> Form:
    a, b, c = w.operands
    return held(plus(times(a, b), c), w.type)


def _mad_wide(w: Work) -> Form:
    a, b, c = w.operands
    return plus(_mul_wide(w.of(a, b)), c)


def converted(form: Form, source: str, target: str, opaque: Opaque) -> Form:
    """`cvt` between integers."""
    if form.pure:
        return held(read_as(form, source), target)
    if bits_of(target) >= 32 or bits_of(target) >= bits_of(source):
        return form
    return opaque(1) if form.uniform else held(known(low_bits(form, bits_of(target))), target)


# Shifts, quotients, extrema


def _shl(w: Work) -> Form:
    a, amount = w.operands
    if not amount.pure:
        if w.shared:
            return w.opaque(1)
        raise need(amount, 0)
    return held(scaled(a, mapped(lambda s: 1 << s if 0 <= s < w.bits else 0, amount.constant)), w.type)


def _shr(w: Work) -> Form:
    a, amount = read_as(w.operands[0], w.type), w.operands[1]
    by = amount.number
    if by is not None and 0 <= by < w.bits:
        return known(combined(rshift, a.constant, by)) if a.pure else _quotient(w, a, 1 << by)
    if a.pure and amount.pure:
        return known(combined(lambda v, s: v >> max(0, min(s, _WIDEST)), a.constant, amount.constant))
    if w.shared:
        return w.opaque(1)
    raise need(a if a.terms else amount, 0)


def _bfe(w: Work) -> Form:
    """Some bits from a place on, without a sign."""
    a, first, count = w.operands
    if w.type[0] == "u" and count.number is not None:
        return _and(w.of(_shr(w.of(a, first)), known((1 << count.number) - 1)))
    if w.shared:
        return w.opaque(1)
    raise Unfollowed("it is computed by `bfe` with a sign")


def _quotient(w: Work, a: Form, by: int) -> Form:
    """Of a form that is not known whole, and not negative."""
    if divides(by, a):
        return divided(a, by)
    if a.uniform:
        return w.opaque(1)
    raise need(a, by)


def _div(w: Work) -> Form:
    a, b = w.read()
    if a.pure and b.pure:
        return held(known(combined(_truncated, a.constant, b.constant)), w.type)
    by = b.number
    if by is not None and by > 0:
        return _quotient(w, a, by)
    if w.shared:
        return w.opaque(1)
    raise need(a if a.terms else b, 0)


def _rem(w: Work) -> Form:
    a, b = w.read()
    if a.pure and b.pure:
        return known(combined(lambda x, y: x - y * _truncated(x, y), a.constant, b.constant))
    by = b.number
    if by is not None and by > 0 and divides(by, a):
        return known(mapped(lambda v: v % by, a.constant))
    if w.shared:
        return w.opaque(1)
    raise need(a, by) if by is not None and by > 0 else need(a if a.terms else b, 0)


def _truncated(a: int, b: int) -> int:
    if b == 0:
        return 0
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _mul_hi(w: Work) -> Form:
    a, b = w.read()
    if w.shared:
        return w.opaque(1)
    for form in (a, b):
        if form.terms:
            raise need(form, 0)
    return held(known(combined(lambda x, y: (x * y) >> w.bits, a.constant, b.constant)), w.type)


def _extremum(function: Callable[[int, int], int], w: Work) -> Form:
    a, b = w.read()
    apart = minus(a, b)
    if apart.pure and (w.type[0] != "u" or (a.counts and b.counts)):
        return plus(b, known(mapped(lambda v: function(v, 0), apart.constant)))
    if w.shared:
        return w.opaque(max(1, gcd(a.multiple, b.multiple)))
    raise need(apart, 0)


def _abs(w: Work) -> Form:
    (a,) = w.read()
    if a.pure:
        return known(mapped(abs, a.constant))
    if w.shared:
        return w.opaque(max(1, a.multiple))
    raise need(a, 0)


# Bits: what a known operand leaves of one that is not, by its low bits


def _and(w: Work) -> Form:
    a, b = w.operands
    if a.pure and b.pure:
        return held(known(combined(and_, a.constant, b.constant)), w.type)
    if a.pure:
        a, b = b, a
    if not b.pure:
        return _of_bits(w)
    least = b.constant if isinstance(b.constant, int) else min(b.constant)
    if b.number is not None and least < 0:
        # All but the low bits.
        return minus(a, _and(w.of(a, known(~least))))
    if least < 0:
        raise need(a, 0)
    bits = (b.constant if isinstance(b.constant, int) else max(b.constant)).bit_length()
    if w.shared and not divides(1 << bits, a):
        unit = _power_of_two(multiple_of(b.constant), a.multiple)
        return w.opaque(unit, (b.number or 0) // unit)
    return known(combined(and_, low_bits(a, bits), b.constant))


def _or(w: Work) -> Form:
    a, b = w.operands
    if a.pure and b.pure:
        return held(known(combined(or_, a.constant, b.constant)), w.type)
    met = _met(w)
    return _of_bits(w) if met is None else minus(plus(a, b), met)


def _xor(w: Work) -> Form:
    a, b = w.operands
    if a.pure and b.pure:
        return held(known(combined(xor, a.constant, b.constant)), w.type)
    for each, other in ((a, b), (b, a)):
        if other.number == -1:
            return minus(known(-1), each)
    met = _met(w)
    return _of_bits(w) if met is None else minus(plus(a, b), scaled(met, 2))


def _met(w: Work) -> Form | None:
    """a & b where one side is known and not negative, so that the low bits of the other tell it."""
    a, b = w.operands
    for each in (a, b):
        if each.pure and (each.constant if isinstance(each.constant, int) else min(each.constant)) >= 0:
            return _and(w)
    return None


def _of_bits(w: Work) -> Form:
    a, b = w.operands
    if w.shared:
        return w.opaque(_power_of_two(a.multiple, b.multiple))
    raise need(a if a.terms else b, 0)


_OPERATIONS: Mapping[str, Operation] = {
    "abs": _abs,
    "add": _add,
    "and": _and,
    "bfe": _bfe,
    "cvta": _mov,
    "div": _div,
    "mad.lo": _mad,
    "mad.wide": _mad_wide,
    "max": partial(_extremum, max),
    "min": partial(_extremum, min),
    "mov": _mov,
    "mul.hi": _mul_hi,
    "mul.lo": _mul,
    "mul.wide": _mul_wide,
    "neg": _neg,
    "not": _not,
    "or": _or,
    "rem": _rem,
    "shl": _shl,
    "shr": _shr,
    "sub": _sub,
    "xor": _xor,
}
