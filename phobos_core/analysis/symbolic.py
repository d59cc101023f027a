"""Integers known up to names: the extents, offsets and bounds of a kernel before a configuration is chosen.

A `Sym` is a polynomial with integer coefficients over atoms, in a normal form, so that `==` decides equality of
everything that `+ - *` can build. An atom is a name (a dimension, an `@autotune` name, or the unique key of an
immutable scalar binding) or a division, remainder, minimum or maximum that does not simplify.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TypeAlias

from phobos_core.language.records import dataclass


@dataclass(frozen=True, slots=True)
class Opaque:
    """`op(lhs, rhs)` with op one of "/", "%", "min", "max", kept whole. `text` is how it is written, and sorted by;
    `size` counts it and all that is in it."""

    op: str
    lhs: Sym
    rhs: Sym
    text: str = field(compare=False)
    size: int = field(compare=False)

    def __str__(self) -> str:
        return self.text


Atom: TypeAlias = str | Opaque
Monomial: TypeAlias = tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Sym:
    """A sum of `coefficient * product of atoms`; `terms` is sorted and has no zero coefficient."""

    terms: tuple[tuple[Monomial, int], ...]

    @property
    def constant(self) -> int | None:
        """The value, where no name takes part."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and not self.terms[0][0]:
            return self.terms[0][1]
        return None

    @property
    def size(self) -> int:
        """The number of terms and atoms."""
        count = len(self.terms)
        for monomial, _ in self.terms:
            for atom in monomial:
                count += 1 if isinstance(atom, str) else atom.size
        return count

    @property
    def names(self) -> frozenset[str]:
        found: set[str] = set()
        for monomial, _ in self.terms:
            for atom in monomial:
                if isinstance(atom, str):
                    found.add(atom)
                else:
                    found |= atom.lhs.names | atom.rhs.names
        return frozenset(found)

    def evaluate(self, env: Mapping[str, int]) -> int:
        """The value under `env`. Raises KeyError on a name without one, ZeroDivisionError on `/ 0`."""
        total = 0
        for monomial, coefficient in self.terms:
            product = coefficient
            for atom in monomial:
                if isinstance(atom, str):
                    product *= env[atom]
                else:
                    product *= FOLD[atom.op](atom.lhs.evaluate(env), atom.rhs.evaluate(env))
            total += product
        return total

    def __add__(self, other: Sym | int) -> Sym:
        return _from_terms([*self.terms, *sym(other).terms])

    def __sub__(self, other: Sym | int) -> Sym:
        return self + sym(other) * -1

    def __mul__(self, other: Sym | int) -> Sym:
        return _from_terms([(_product(a, b), x * y) for a, x in self.terms for b, y in sym(other).terms])

    def __str__(self) -> str:
        match self.terms:
            case (((Opaque() as alone,), 1),):
                return str(alone)
        text = ""
        for monomial, coefficient in self.terms:
            factors = [str(a) if isinstance(a, str) else f"({a})" for a in monomial]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            sign = "-" if coefficient < 0 else "+"
            term = " * ".join(factors)
            text = f"{text} {sign} {term}" if text else ("-" if coefficient < 0 else "") + term
        return text or "0"


def sym(value: Sym | int | str) -> Sym:
    """The `Sym` of an integer or of a name."""
    if isinstance(value, Sym):
        return value
    if isinstance(value, int):
        return Sym((((), value),)) if value else Sym(())
    return Sym((((value,), 1),))


def divide(lhs: Sym, rhs: Sym) -> Sym:
    """`lhs / rhs`, truncating toward zero; the quotient of an exact multiple simplifies."""
    divisor = rhs.constant
    if divisor and all(c % divisor == 0 for _, c in lhs.terms):
        return Sym(tuple((m, c // divisor) for m, c in lhs.terms))
    if lhs == rhs and divisor != 0 and lhs.terms:
        return sym(1)
    return _opaque("/", lhs, rhs)


def remainder(lhs: Sym, rhs: Sym) -> Sym:
    """`lhs % rhs` with the sign of the dividend."""
    divisor = rhs.constant
    if divisor and all(c % divisor == 0 for _, c in lhs.terms):
        return sym(0)
    if lhs == rhs and lhs.terms:
        return sym(0)
    return _opaque("%", lhs, rhs)


def minimum(lhs: Sym, rhs: Sym) -> Sym:
    return lhs if lhs == rhs else _opaque("min", lhs, rhs)


def maximum(lhs: Sym, rhs: Sym) -> Sym:
    return lhs if lhs == rhs else _opaque("max", lhs, rhs)


def truncated_division(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def truncated_remainder(a: int, b: int) -> int:
    return a - b * truncated_division(a, b)


FOLD: Mapping[str, Callable[[int, int], int]] = {
    "/": truncated_division,
    "%": truncated_remainder,
    "min": min,
    "max": max,
}


def _opaque(op: str, lhs: Sym, rhs: Sym) -> Sym:
    a, b = lhs.constant, rhs.constant
    if a is not None and b is not None and not (b == 0 and op in "/%"):
        return sym(FOLD[op](a, b))
    text = f"{op}({lhs}, {rhs})" if op in ("min", "max") else f"{_grouped(lhs)} {op} {_grouped(rhs)}"
    return Sym((((Opaque(op, lhs, rhs, text, 1 + lhs.size + rhs.size),), 1),))


def _product(a: Monomial, b: Monomial) -> Monomial:
    return tuple(sorted((*a, *b), key=_atom_key)) if a and b else a or b


def _from_terms(terms: list[tuple[Monomial, int]]) -> Sym:
    total: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        total[monomial] = total.get(monomial, 0) + coefficient
    kept = [(m, c) for m, c in total.items() if c]
    if len(kept) > 1:
        # Named terms first, the constant last, as one writes it.
        kept.sort(key=lambda t: (not t[0], [_atom_key(a) for a in t[0]]))
    return Sym(tuple(kept))


def _atom_key(atom: Atom) -> str:
    return atom if isinstance(atom, str) else f"~{atom.text}"


def _grouped(value: Sym) -> str:
    text = str(value)
    return f"({text})" if " " in text else text
