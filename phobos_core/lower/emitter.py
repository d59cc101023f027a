"""Emits tile IR with index arithmetic folded as it is built.

Constants are shared and stand at the top of the kernel, so that a slice with ten zero offsets costs one op.
"""

from __future__ import annotations

from collections.abc import Sequence

from phobos_core.ir.builder import Builder
from phobos_core.ir.folding import ARITHMETIC, COMMUTATIVE, COMPARISONS, NEUTRAL
from phobos_core.ir.integers import Integers, Range
from phobos_core.ir.intervals import Intervals
from phobos_core.ir.module import Op, Value
from phobos_core.ir.types import TileType
from phobos_core.language.types import BOOL, INDEX, Kind, ScalarType


class Emitter:
    """`build` appends to the block being built; `facts` knows the index values built so far, as addresses, and `exact`
    all integers, as bits."""

    __slots__ = ("_constants", "_literals", "_pool", "_widened", "build", "exact", "facts", "index_bits")

    def __init__(self, facts: Integers, exact: Intervals, index_bits: int) -> None:
        self.facts = facts
        self.exact = exact
        self.build = Builder()
        self._pool = Builder()
        self._constants: dict[tuple[str, str], Value] = {}
        self._literals: dict[Value, int | float | bool] = {}
        self._widened: dict[Value, Value] = {}
        self.index_bits = index_bits

    @property
    def constants(self) -> list[Op]:
        """The constants used, to stand before everything else."""
        return self._pool.ops

    def const(self, value: int | float | bool, type: ScalarType) -> Value:
        key = (repr(value), type.name)
        known = self._constants.get(key)
        if known is None:
            known = self._pool.const(value, type)
            self._observe(self._pool.ops[-1])
            self._constants[key] = known
            self._literals[known] = value
        return known

    def _observe(self, op: Op) -> None:
        self.facts.observe(op)
        self.exact.observe(op)

    def declare_loop(self, variable: Value, lo: Value, hi: Value, step: Value) -> None:
        self.facts.declare_loop(variable, lo, hi, step)
        self.exact.declare_loop(variable, lo, hi, step)

    def index(self, value: int) -> Value:
        return self.const(self._wrapped(value, INDEX), INDEX)

    def _wrapped(self, value: int, type: ScalarType) -> int:
        bits = self.index_bits if type == INDEX else type.bits
        half = 1 << bits - 1
        return value % (2 * half) if type.kind is Kind.UINT else (value + half) % (2 * half) - half

    def literal(self, value: Value) -> int | None:
        """The integer that a value is known to be."""
        known = self._literals.get(value, self.facts.constant(value))
        return known if isinstance(known, int) and not isinstance(known, bool) else None

    def known_bool(self, value: Value) -> bool | None:
        known = self._literals.get(value)
        return known if isinstance(known, bool) else None

    def _observed(self, value: Value) -> Value:
        """`value`, just built; a constant in its place where the facts say that it is one."""
        self._observe(self.build.ops[-1])
        known = self.facts.constant(value)
        if known is None:
            return value
        self.build.ops.pop()
        return self.index(known)

    def ctx(self, field: str) -> Value:
        return self._observed(self.build.ctx(field))

    def binary(self, name: str, lhs: Value, rhs: Value) -> Value:
        if lhs.type == INDEX:
            a, b = self.facts.constant(lhs), self.facts.constant(rhs)
            if b is not None and NEUTRAL.get(name) == b:
                return lhs
            if a is not None and name in COMMUTATIVE and NEUTRAL[name] == a:
                return rhs
            if a is not None and b is not None and name in ARITHMETIC and not (name in ("div", "rem") and b == 0):
                return self.index(ARITHMETIC[name](a, b))
            if name in ("min", "max") and self._unwrapped(lhs) and self._unwrapped(rhs):
                difference = self.facts.linear(rhs).minus(self.facts.linear(lhs))
                if self.facts.never_negative(difference):
                    return lhs if name == "min" else rhs
                if self.facts.never_negative(difference.scaled(-1)):
                    return rhs if name == "min" else lhs
            return self._observed(self.build.binary(name, lhs, rhs))
        if lhs.type == BOOL:
            a_known, b_known = self.known_bool(lhs), self.known_bool(rhs)
            neutral = {"and": True, "or": False}.get(name)
            if neutral is not None:
                if a_known is not None:
                    return rhs if a_known is neutral else lhs
                if b_known is not None:
                    return lhs if b_known is neutral else rhs
        value = self.build.binary(name, lhs, rhs)
        self.exact.observe(self.build.ops[-1])
        return value

    def _unwrapped(self, value: Value) -> bool:
        """Whether a value is its linear form, not only but for a wrap of its bits, and so are the atoms of that."""
        form, whole = self.facts.linear(value), self.exact.of_type(INDEX)
        if any(self.exact.of(atom) == whole and self.facts.range(atom) != Range() for atom in form.terms):
            return False
        ends = [sorted(c * end for end in self.exact.of(atom)) for atom, c in form.terms.items()]
        least, most = (form.constant + sum(each[side] for each in ends) for side in (0, 1))
        return whole[0] <= least and most <= whole[1]

    def add(self, lhs: Value, rhs: Value) -> Value:
        return self.binary("add", lhs, rhs)

    def unary(self, name: str, operand: Value) -> Value:
        if operand.type == INDEX:
            return self._observed(self.build.unary(name, operand))
        known = self.known_bool(operand)
        if name == "not" and known is not None:
            return self.const(not known, BOOL)
        return self.build.unary(name, operand)

    def cmp(self, predicate: str, lhs: Value, rhs: Value) -> Value:
        if lhs.type == INDEX:
            a, b = self.facts.constant(lhs), self.facts.constant(rhs)
            if a is not None and b is not None:
                return self.const(COMPARISONS[predicate](a, b), BOOL)
        return self.build.cmp(predicate, lhs, rhs)

    def select(self, condition: Value, then: Value, orelse: Value) -> Value:
        known = self.known_bool(condition)
        if known is not None:
            return then if known else orelse
        value = self.build.select(condition, then, orelse)
        self._observe(self.build.ops[-1])
        return value

    def convert(self, operand: Value, element: ScalarType) -> Value:
        """To `element`; a literal converted between integer types folds, and an index goes back to what it was."""
        known = self._literals.get(operand)
        if isinstance(known, int) and not isinstance(known, bool) and (element.is_integer or element.kind is Kind.UINT):
            return self.const(self._wrapped(known, element), element)
        narrow = self._widened.get(operand)
        if narrow is not None and narrow.type == element:
            return narrow
        value = self.build.convert(operand, element)
        if value is not operand:
            self._observe(self.build.ops[-1])
            source = operand.type
            exact = isinstance(source, ScalarType) and not source.is_float and source.bits <= self.index_bits
            if element == INDEX and exact:
                self._widened[value] = operand
        return value

    def dp4a(self, a: Value, b: Value, acc: Value, unsigned: tuple[bool, bool] = (False, False)) -> Value:
        value = self.build.dp4a(a, b, acc, unsigned)
        self.exact.observe(self.build.ops[-1])
        return value

    def shaped(self, value: Value, shape: tuple[int, ...]) -> Value:
        """A scalar splatted, a tile broadcast, to `shape`."""
        if isinstance(value.type, TileType):
            return self.build.broadcast(value, shape)
        return self.build.splat(value, shape)

    def minimum(self, values: Sequence[Value]) -> Value:
        result = values[0]
        for value in values[1:]:
            result = result if value is result else self.binary("min", result, value)
        return result

    def maximum(self, values: Sequence[Value]) -> Value:
        result = values[0]
        for value in values[1:]:
            result = result if value is result else self.binary("max", result, value)
        return result
