"""What is known of an integer in every thread of a block: a polynomial over numbers that are the same in all of them.

The coefficients are numbers, or one number for each thread where they differ: `4 * K * t + 16`, for the thread t, is
the coefficients (0, 4, 8, ..) of K and the constant 16. What all threads share (parameters, block numbers, iterations)
is an `Atom`: nothing need be known of it to tell how threads differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from math import gcd
from operator import add, mul, sub
from typing import Literal, TypeAlias

# A number for all threads, or one for each.
Vector: TypeAlias = int | tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Atom:
    """A number that all threads of a block share at a time.

    `name` says what it is, to people; a `tensor` is where one begins. `block` is the block of the code that computes
    it, None for what the launch gives; of an iteration, the loop's header. `bits` are those that it may have, 0 where
    that is not known. A `choice` is 0 or 1. Two stand for a value still being found: an `assumed` one is taken to be
    the same in all threads, an `unsettled` one not.
    """

    kind: Literal["tensor", "given", "value", "iteration", "choice", "assumed", "unsettled"]
    name: str = ""
    block: int | None = None
    bits: int = 0


# A product of atoms, in the order of their identities.
Monomial: TypeAlias = tuple[Atom, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """`constant` + the sum of coefficient * monomial; no coefficient is 0."""

    constant: Vector
    terms: Mapping[Monomial, Vector] = field(default_factory=dict)

    @property
    def pure(self) -> bool:
        """Whether all of it is known."""
        return not self.terms

    @property
    def counts(self) -> bool:
        """Whether nothing is taken away in it, so that it is not negative where no atom is."""
        vectors = (self.constant, *self.terms.values())
        return all((v if isinstance(v, int) else min(v)) >= 0 for v in vectors)

    @property
    def uniform(self) -> bool:
        """Whether all threads have the same."""
        return isinstance(self.constant, int) and all(
            isinstance(c, int) and all(atom.kind != "unsettled" for atom in m) for m, c in self.terms.items()
        )

    @property
    def number(self) -> int | None:
        """Where it is one known number."""
        return self.constant if isinstance(self.constant, int) and not self.terms else None

    @property
    def atoms(self) -> set[Atom]:
        return {atom for monomial in self.terms for atom in monomial}

    @property
    def multiple(self) -> int:
        """What it is a multiple of in every thread; 0 for the number 0."""
        return gcd(multiple_of(self.constant), *(multiple_of(c) for c in self.terms.values()))


def known(constant: Vector) -> Form:
    return Form(constant)


def one(atom: Atom, factor: int = 1) -> Form:
    return Form(0, {(atom,): factor})


def multiple_of(vector: Vector) -> int:
    return abs(vector) if isinstance(vector, int) else gcd(*vector)


def simplest(values: tuple[int, ...]) -> Vector:
    """One number where all are equal."""
    return values[0] if values.count(values[0]) == len(values) else values


def mapped(function: Callable[[int], int], vector: Vector) -> Vector:
    if isinstance(vector, int):
        return function(vector)
    return simplest(tuple(map(function, vector)))


def combined(function: Callable[[int, int], int], a: Vector, b: Vector) -> Vector:
    if isinstance(a, int):
        return function(a, b) if isinstance(b, int) else simplest(tuple(map(function, repeat(a), b)))
    return simplest(tuple(map(function, a, repeat(b) if isinstance(b, int) else b)))


def plus(a: Form, b: Form) -> Form:
    if b.number == 0:
        return a
    return b if a.number == 0 else _joined(add, a, b)


def minus(a: Form, b: Form) -> Form:
    return a if b.number == 0 else _joined(sub, a, b)


def _joined(function: Callable[[int, int], int], a: Form, b: Form) -> Form:
    constant = combined(function, a.constant, b.constant)
    if not b.terms:
        return Form(constant, a.terms)
    terms = dict(a.terms)
    for monomial, coefficient in b.terms.items():
        total = combined(function, terms.get(monomial, 0), coefficient)
        if total == 0:
            terms.pop(monomial, None)
        else:
            terms[monomial] = total
    return Form(constant, terms)


def scaled(form: Form, factor: Vector) -> Form:
    if factor == 0:
        return Form(0)
    if factor == 1:
        return form
    terms = {m: product for m, c in form.terms.items() if (product := combined(mul, c, factor)) != 0}
    return Form(combined(mul, form.constant, factor), terms)


def times(a: Form, b: Form) -> Form:
    if not b.terms:
        return scaled(a, b.constant)
    if not a.terms:
        return scaled(b, a.constant)
    result = plus(scaled(Form(0, a.terms), b.constant), scaled(b, a.constant))
    for m, c in a.terms.items():
        products = {tuple(sorted((*m, *n), key=id)): combined(mul, c, d) for n, d in b.terms.items()}
        result = plus(result, Form(0, {n: d for n, d in products.items() if d != 0}))
    return result


def divided(form: Form, by: int) -> Form:
    """The terms are multiples of `by`; the constant is rounded down."""
    terms = {m: mapped(lambda c: c // by, c) for m, c in form.terms.items()}
    return Form(mapped(lambda c: c // by, form.constant), terms)


def same(a: Form, b: Form) -> bool:
    return a.constant == b.constant and a.terms == b.terms
