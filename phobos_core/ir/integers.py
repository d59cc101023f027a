"""What is known of index values: linear forms over atoms, ranges, and remainders.

In: the scalar ops of a kernel, one by one as they are built (`observe`) or all at once (`of_kernel`). Out: answers to
"is this never negative?", "what is it a multiple of?", "can this slice pass that extent?". Lower asks them to leave
out masks, passes to split loops and to prove alignment.

An atom is a value that does not split further: a parameter, a loop variable, a quotient. Ranges assume that address
arithmetic does not wrap: extents whose product would pass the index width are refused at launch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import gcd

from phobos_core.analysis.symbolic import truncated_division, truncated_remainder
from phobos_core.ir.module import Block, Kernel, Op, Value
from phobos_core.language.targets import LANES
from phobos_core.language.types import Kind, ScalarType

# No tensor has more elements along an axis: 2^47 bytes is more than a GPU addresses.
MAX_EXTENT = 1 << 47
MAX_GRID = {"x": (1 << 31) - 1, "y": 65535, "z": 65535}


@dataclass(frozen=True, slots=True)
class Range:
    """lo <= value <= hi (None: no bound known), and value = residue modulo `modulus` (0: value is `residue`)."""

    lo: int | None = None
    hi: int | None = None
    modulus: int = 1
    residue: int = 0

    @staticmethod
    def exactly(value: int) -> Range:
        return Range(value, value, 0, value)

    def plus(self, other: Range) -> Range:
        lo = None if self.lo is None or other.lo is None else self.lo + other.lo
        hi = None if self.hi is None or other.hi is None else self.hi + other.hi
        modulus = gcd(self.modulus, other.modulus)
        return Range(lo, hi, modulus, _reduced(self.residue + other.residue, modulus))

    def scaled(self, factor: int) -> Range:
        if factor == 0:
            return Range.exactly(0)
        ends = (self.lo, self.hi) if factor > 0 else (self.hi, self.lo)
        lo, hi = (None if end is None else end * factor for end in ends)
        modulus = self.modulus * abs(factor)
        return Range(lo, hi, modulus, _reduced(self.residue * factor, modulus))

    def times(self, other: Range) -> Range:
        lo = hi = None
        if self.lo is not None and other.lo is not None and self.lo >= 0 and other.lo >= 0:
            lo = self.lo * other.lo
            hi = None if self.hi is None or other.hi is None else self.hi * other.hi
        elif None not in (self.lo, self.hi, other.lo, other.hi):
            ends = [a * b for a in (self.lo, self.hi) for b in (other.lo, other.hi) if a is not None and b is not None]
            lo, hi = min(ends), max(ends)
        modulus = gcd(self.modulus * other.modulus, self.modulus * other.residue, other.modulus * self.residue)
        return Range(lo, hi, modulus, _reduced(self.residue * other.residue, modulus))

    @property
    def multiple(self) -> int:
        """The largest number known to divide the value; 0 for the value 0."""
        return gcd(self.modulus, self.residue)


@dataclass(frozen=True, slots=True)
class Linear:
    """constant + sum of coefficient * atom; no coefficient is 0."""

    terms: Mapping[Value, int]
    constant: int

    def plus(self, other: Linear, factor: int = 1) -> Linear:
        terms = dict(self.terms)
        for atom, coefficient in other.terms.items():
            total = terms.get(atom, 0) + coefficient * factor
            if total:
                terms[atom] = total
            else:
                terms.pop(atom, None)
        return Linear(terms, self.constant + other.constant * factor)

    def minus(self, other: Linear) -> Linear:
        return self.plus(other, -1)

    def scaled(self, factor: int) -> Linear:
        return Linear({a: c * factor for a, c in self.terms.items()} if factor else {}, self.constant * factor)

    def substituted(self, atom: Value, by: Linear) -> Linear:
        rest = Linear({a: c for a, c in self.terms.items() if a is not atom}, self.constant)
        return rest.plus(by, self.terms[atom])


@dataclass(frozen=True, slots=True)
class LoopBounds:
    """A loop variable v: lo <= v <= last, each None where it has no linear form."""

    lo: Linear | None
    last: Linear | None


class Integers:
    """Facts on the index values of one kernel, keyed by value. Grows as values are observed."""

    __slots__ = ("_bits", "_linear", "_loops", "_ranges", "_threads")

    def __init__(self, threads: int, index_bits: int) -> None:
        self._linear: dict[Value, Linear] = {}
        self._ranges: dict[Value, Range] = {}
        self._loops: dict[Value, LoopBounds] = {}
        self._threads = threads
        self._bits = index_bits

    def declare(self, value: Value, range: Range) -> None:
        """Makes `value` an atom of that range."""
        self._ranges[value] = range

    def declare_extent(self, value: Value, multiple: int = 1) -> None:
        """A dynamic dimension, known to be a multiple of a number. A tensor may have no element."""
        self.declare(value, Range(0, min(MAX_EXTENT, (1 << self._bits - 1) - 1), multiple, 0))

    def declare_loop(self, variable: Value, lo: Value, hi: Value, step: Value) -> None:
        """The loop variable of `for (v = lo; v < hi; v += step)`, inside the body."""
        first, end, by = self.linear(lo), self.linear(hi), self.constant(step)
        bounds, limit = self.range(first), self.range(end)
        modulus, residue = 1, 0
        last = end.plus(Linear({}, -1))
        if by is not None and by > 0:
            modulus = gcd(bounds.modulus, by)
            residue = _reduced(bounds.residue, modulus)
            span = end.minus(first)
            over = self.range(span)
            if not span.terms:
                last = first.plus(Linear({}, max(span.constant - 1, 0) // by * by))
            elif over.modulus and over.modulus % by == 0 and over.residue % by == 0:
                last = end.plus(Linear({}, -by))
        top = self.range(last).hi if limit.hi is not None else None
        self.declare(variable, Range(bounds.lo if by is None or by > 0 else None, top, modulus, residue))
        self._loops[variable] = LoopBounds(first if by is None or by > 0 else None, last)

    def linear(self, value: Value) -> Linear:
        known = self._linear.get(value)
        return known if known is not None else Linear({value: 1}, 0)

    def constant(self, value: Value) -> int | None:
        known = self._linear.get(value)
        return known.constant if known is not None and not known.terms else None

    def range(self, form: Value | Linear) -> Range:
        linear = self.linear(form) if isinstance(form, Value) else form
        total = Range.exactly(linear.constant)
        for atom, coefficient in linear.terms.items():
            total = total.plus(self._ranges.get(atom, Range()).scaled(coefficient))
        return total

    def minimum(self, form: Linear, last: Mapping[Value, Linear] | None = None) -> int | None:
        """A lower bound of the form, using what bounds each loop variable symbolically.

        `last` gives the last value of loop variables, in place of what is known of them.
        """
        best = self.range(form).lo
        replaced: set[Value] = set()
        # Each loop variable gives way to the loops around its own, so this ends.
        while atom := next((a for a in reversed(tuple(form.terms)) if a in self._loops and a not in replaced), None):
            replaced.add(atom)
            bounds = self._loops[atom]
            end = bounds.lo if form.terms[atom] > 0 else (last or {}).get(atom, bounds.last)
            if end is not None and atom not in end.terms:
                form = form.substituted(atom, end)
                found = self.range(form).lo
                best = found if best is None else best if found is None else max(best, found)
        return best

    def never_negative(self, form: Linear, last: Mapping[Value, Linear] | None = None) -> bool:
        least = self.minimum(form, last)
        return least is not None and least >= 0

    def observe(self, op: Op) -> None:
        """Records what the op's result is known to be. Ops that give no index are of no interest."""
        if len(op.results) != 1:
            return
        result = op.results[0]
        if not isinstance(result.type, ScalarType) or result.type.kind is not Kind.INDEX:
            return
        match op.name:
            case "const":
                self._linear[result] = Linear({}, int(op.attrs["value"]))
            case "ctx":
                known = self._context(op.attrs["field"])
                if known.modulus == 0:
                    self._linear[result] = Linear({}, known.residue)
                self.declare(result, known)
            case "convert":
                source = op.operands[0].type
                if isinstance(source, ScalarType):
                    self.declare(result, _range_of_type(source, self._bits))
            case "add" | "sub":
                lhs, rhs = (self.linear(v) for v in op.operands)
                self._linear[result] = lhs.plus(rhs, 1 if op.name == "add" else -1)
            case "uniform":
                # Not its operand's form, which is made of values that differ.
                self.declare(result, self.range(op.operands[0]))
            case "neg":
                self._linear[result] = self.linear(op.operands[0]).scaled(-1)
            case "select":
                a, b = (self.range(v) for v in op.operands[1:])
                self.declare(result, _either(a, b))
            case "mul" | "shl":
                self._product(op.name, result, *op.operands)
            case _ if op.name in _TRANSFER:
                a, b = (self.range(v) for v in op.operands)
                self._quotient(op.name, result, *op.operands)
                if result not in self._linear:
                    self.declare(result, _TRANSFER[op.name](a, b))

    def _product(self, name: str, result: Value, lhs: Value, rhs: Value) -> None:
        a, b = self.constant(lhs), self.constant(rhs)
        if name == "shl":
            if b is not None and 0 <= b < 63:
                self._linear[result] = self.linear(lhs).scaled(1 << b)
        elif b is not None:
            self._linear[result] = self.linear(lhs).scaled(b)
        elif a is not None:
            self._linear[result] = self.linear(rhs).scaled(a)
        else:
            self.declare(result, self.range(lhs).times(self.range(rhs)))

    def _quotient(self, name: str, result: Value, lhs: Value, rhs: Value) -> None:
        """Divisions that come out even keep a linear form, if what is divided cannot have wrapped on the way."""
        divisor = self.constant(rhs)
        if name not in ("div", "rem") or not divisor:
            return
        form = self.linear(lhs)
        whole = self.range(form)
        # What wraps keeps its remainder by a power of two.
        if name == "rem" and whole.multiple % divisor == 0 and (abs(divisor).bit_count() == 1 or self._fits(whole)):
            self._linear[result] = Linear({}, 0)
        elif not self._fits(whole):
            return
        elif name == "rem" and whole.modulus % divisor == 0 and whole.lo is not None and whole.lo >= 0:
            self._linear[result] = Linear({}, _reduced(whole.residue, abs(divisor)))
        elif name == "div" and all(c % divisor == 0 for c in (*form.terms.values(), form.constant)):
            terms = {a: truncated_division(c, divisor) for a, c in form.terms.items()}
            self._linear[result] = Linear(terms, truncated_division(form.constant, divisor))

    def _fits(self, range: Range) -> bool:
        half = 1 << self._bits - 1
        return range.lo is not None and range.hi is not None and -half <= range.lo and range.hi < half

    def _context(self, field: str) -> Range:
        name, _, axis = field.partition(".")
        match name:
            case "block":
                return Range(0, MAX_GRID[axis] - 1)
            case "blocks":
                return Range(1, MAX_GRID[axis])
            case "threads":
                return Range.exactly(self._threads)
            case "lanes":
                return Range.exactly(LANES)
            case "warps":
                return Range.exactly(self._threads // LANES)
            case "thread":
                last = self._threads - 1
            case "lane":
                last = min(self._threads, LANES) - 1
            case _:
                last = (self._threads - 1) // LANES
        return Range(0, last) if last else Range.exactly(0)


def of_kernel(kernel: Kernel, believed: frozenset[str] = frozenset()) -> Integers:
    """The facts on every index value of a kernel.

    An assumed divisor is for whoever relies on it to use and to require, so it is no fact but for the dimensions
    `believed`.
    """
    multiples = []
    for param in kernel.params:
        if param.kind == "dim":
            known = param.name not in kernel.assumed or param.name in believed
            multiples.append((param.value, kernel.divisors.get(param.name, 1) if known else 1))
    return _of_body(kernel.body, kernel.threads, kernel.index_bits, tuple(multiples))


@lru_cache(maxsize=4)
def _of_body(body: Block, threads: int, index_bits: int, multiples: tuple[tuple[Value, int], ...]) -> Integers:
    """Once for the passes one after the other that ask and leave the body as it is."""
    facts = Integers(threads, index_bits)
    for extent, multiple in multiples:
        facts.declare_extent(extent, multiple)
    observe_block(facts, body)
    return facts


def observe_block(facts: Integers, block: Block) -> None:
    for op in block.ops:
        observe_nested(facts, op)


def observe_nested(facts: Integers, op: Op) -> None:
    facts.observe(op)
    if op.name == "for":
        facts.declare_loop(op.regions[0].args[0], *op.operands[:3])
    for region in op.regions:
        observe_block(facts, region)


def _either(a: Range, b: Range) -> Range:
    lo = None if a.lo is None or b.lo is None else min(a.lo, b.lo)
    hi = None if a.hi is None or b.hi is None else max(a.hi, b.hi)
    modulus = gcd(a.modulus, b.modulus, a.residue - b.residue)
    return Range(lo, hi, modulus, _reduced(a.residue, modulus))


def _minimum(a: Range, b: Range) -> Range:
    either = _either(a, b)
    return Range(either.lo, _least(a.hi, b.hi, min), either.modulus, either.residue)


def _maximum(a: Range, b: Range) -> Range:
    either = _either(a, b)
    return Range(_least(a.lo, b.lo, max), either.hi, either.modulus, either.residue)


def _least(a: int | None, b: int | None, choose: Callable[[Iterable[int]], int]) -> int | None:
    known = [end for end in (a, b) if end is not None]
    return choose(known) if known else None


def _divided(a: Range, b: Range) -> Range:
    if b.modulus != 0 or b.residue <= 0 or a.lo is None:
        return Range()
    divisor = b.residue
    return Range(truncated_division(a.lo, divisor), None if a.hi is None else truncated_division(a.hi, divisor))


def _remaining(a: Range, b: Range) -> Range:
    if b.lo is None or b.lo <= 0 or b.hi is None:
        return Range()
    if b.modulus == 0 and a.modulus == 0:
        return Range.exactly(truncated_remainder(a.residue, b.residue))
    modulus = gcd(a.modulus, b.modulus, b.residue)
    return Range(0 if a.lo is not None and a.lo >= 0 else 1 - b.hi, b.hi - 1, modulus, _reduced(a.residue, modulus))


def _masked(a: Range, b: Range) -> Range:
    tops = [r.hi for r in (a, b) if r.lo is not None and r.lo >= 0 and r.hi is not None]
    return Range(0, min(tops)) if tops else Range()


def _shifted(a: Range, b: Range) -> Range:
    if b.modulus != 0 or not 0 <= b.residue < 64:
        return Range(0 if a.lo is not None and a.lo >= 0 else None, a.hi if a.lo is not None and a.lo >= 0 else None)
    by = b.residue
    return Range(None if a.lo is None else a.lo >> by, None if a.hi is None else a.hi >> by)


_TRANSFER: Mapping[str, Callable[[Range, Range], Range]] = {
    "min": _minimum,
    "max": _maximum,
    "div": _divided,
    "rem": _remaining,
    "and": _masked,
    "shr": _shifted,
}


def _range_of_type(type: ScalarType, index_bits: int) -> Range:
    """What a value of the type is as an index: one that is too large for it wraps."""
    if type.kind is Kind.UINT and type.bits < index_bits:
        return Range(0, (1 << type.bits) - 1)
    if type.kind is Kind.INT and type.bits < 64:
        return Range(-(1 << type.bits - 1), (1 << type.bits - 1) - 1)
    return Range()


def _reduced(residue: int, modulus: int) -> int:
    return residue % modulus if modulus else residue
