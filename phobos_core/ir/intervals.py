"""The least and the most that an integer scalar can be, as its bits are: arithmetic that may wrap says nothing.

In: the scalar ops of a kernel, one by one (`observe`) or all at once (`of_kernel`). Out: an interval for any integer
value. `integers.py` knows more of addresses, which it takes never to wrap; here are the facts by which a computation
may be done in fewer bits, or as unsigned, without changing a value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from phobos_core.analysis.symbolic import truncated_division
from phobos_core.ir.integers import MAX_EXTENT, MAX_GRID
from phobos_core.ir.module import Block, Kernel, Op, Value
from phobos_core.language.targets import LANES
from phobos_core.language.types import BOOL, I32, INDEX, Kind, ScalarType

Interval: TypeAlias = tuple[int, int]

# The sum of four products of bytes: signed, and with unsigned bytes on either side.
_DP4A: Mapping[tuple[bool, bool], Interval] = {
    (False, False): (4 * -128 * 127, 4 * 128 * 128),
    (True, False): (4 * 255 * -128, 4 * 255 * 127),
    (False, True): (4 * 255 * -128, 4 * 255 * 127),
    (True, True): (0, 4 * 255 * 255),
}


class Intervals:
    __slots__ = ("_bits", "_known", "_threads")

    def __init__(self, threads: int, index_bits: int) -> None:
        self._known: dict[Value, Interval] = {}
        self._threads = threads
        self._bits = index_bits

    def of(self, value: Value) -> Interval:
        known = self._known.get(value)
        if known is not None:
            return known
        assert isinstance(value.type, ScalarType)
        return self.of_type(value.type)

    def of_type(self, type: ScalarType) -> Interval:
        bits = self._bits if type == INDEX else type.bits
        return (0, (1 << bits) - 1) if type.kind is Kind.UINT else (-(1 << bits - 1), (1 << bits - 1) - 1)

    def within(self, value: Value, least: int, most: int) -> bool:
        lo, hi = self.of(value)
        return least <= lo and hi <= most

    def fits(self, value: Value, type: ScalarType) -> bool:
        return self.within(value, *self.of_type(type))

    def declare(self, value: Value, interval: Interval) -> None:
        """What is known of a value; nothing, where it passes what its type holds."""
        assert isinstance(value.type, ScalarType)
        least, most = self.of_type(value.type)
        if least <= interval[0] and interval[1] <= most:
            self._known[value] = interval

    def declare_extent(self, value: Value) -> None:
        self.declare(value, (0, min(MAX_EXTENT, self.of_type(INDEX)[1])))

    def declare_loop(self, variable: Value, lo: Value, hi: Value, step: Value) -> None:
        """The variable of `for (v = lo; v < hi; v += step)`, where v + step cannot wrap before it is compared."""
        first, end, by = self.of(lo), self.of(hi), self.of(step)
        if by[0] > 0 and end[1] + by[1] <= self.of_type(INDEX)[1]:
            self.declare(variable, (first[0], max(end[1] - 1, first[0])))

    def observe(self, op: Op) -> None:
        """Records what the result of a scalar integer op can be."""
        if len(op.results) != 1 or not is_integer(op.results[0]):
            return
        result = op.result
        match op.name:
            case "const":
                self.declare(result, (op.attrs["value"], op.attrs["value"]))
            case "ctx":
                self.declare(result, self._context(op.attrs["field"]))
            case "convert" | "uniform" if is_integer(op.operands[0]):
                self.declare(result, self.of(op.operands[0]))
            case "select":
                self.declare(result, _hull(*(self.of(v) for v in op.operands[1:])))
            case "neg":
                lo, hi = self.of(op.operands[0])
                self.declare(result, (-hi, -lo))
            case "dp4a":
                least, most = _DP4A[op.attrs.get("unsigned", (False, False))]
                lo, hi = self.of(op.operands[2])
                self.declare(result, (lo + least, hi + most))
            case "popcount":
                self.declare(result, (0, I32.bits))
            case name if name in _ARITHMETIC:
                found = _ARITHMETIC[name](*(self.of(v) for v in op.operands))
                if found is not None:
                    self.declare(result, found)
            case _:
                pass

    def _context(self, field: str) -> Interval:
        name, _, axis = field.partition(".")
        match name:
            case "block":
                return 0, MAX_GRID[axis] - 1
            case "blocks":
                return 1, MAX_GRID[axis]
            case "threads":
                return self._threads, self._threads
            case "lanes":
                return LANES, LANES
            case "warps":
                return self._threads // LANES, self._threads // LANES
            case "thread":
                return 0, self._threads - 1
            case "lane":
                return 0, min(self._threads, LANES) - 1
            case _:
                return 0, (self._threads - 1) // LANES


def of_kernel(kernel: Kernel) -> Intervals:
    found = Intervals(kernel.threads, kernel.index_bits)
    for param in kernel.params:
        if param.kind == "dim":
            found.declare_extent(param.value)
    _block(found, kernel.body)
    return found


def is_integer(value: Value) -> bool:
    return isinstance(value.type, ScalarType) and not value.type.is_float and value.type != BOOL


def _block(found: Intervals, block: Block) -> None:
    for op in block.ops:
        found.observe(op)
        if op.name == "for":
            found.declare_loop(op.regions[0].args[0], *op.operands[:3])
        for region in op.regions:
            _block(found, region)


def _hull(*intervals: Interval) -> Interval:
    return min(lo for lo, _ in intervals), max(hi for _, hi in intervals)


def _products(a: Interval, b: Interval) -> Interval:
    ends = [x * y for x in a for y in b]
    return min(ends), max(ends)


def _and(a: Interval, b: Interval) -> Interval | None:
    """A side that is never negative bounds the result, and makes it not negative."""
    masks = [hi for lo, hi in (a, b) if lo >= 0]
    return (0, min(masks)) if masks else None


def _or(a: Interval, b: Interval) -> Interval | None:
    if a[0] < 0 or b[0] < 0:
        return None
    return 0, (1 << max(a[1], b[1]).bit_length()) - 1


def _left(a: Interval, b: Interval) -> Interval | None:
    return (a[0] << b[0], a[1] << b[0]) if b[0] == b[1] and 0 <= b[0] < I32.bits * 2 else None


def _right(a: Interval, b: Interval) -> Interval:
    """By more it comes nearer to 0, or to -1; an amount outside the width gives the sign."""
    least = b[0] if b[0] >= 0 and b[1] < I32.bits * 2 else 0
    return (0 if a[0] >= 0 else a[0] >> least), (a[1] >> least if a[1] >= 0 else -1)


def _quotient(a: Interval, b: Interval) -> Interval | None:
    if b[0] <= 0:
        return None
    return _hull(*((truncated_division(x, y),) * 2 for x in a for y in b))


def _rest(a: Interval, b: Interval) -> Interval | None:
    """With the sign of the dividend, and smaller than the divisor."""
    if b[0] <= 0:
        return None
    return max(a[0], 1 - b[1]) if a[0] < 0 else 0, min(a[1], b[1] - 1) if a[1] > 0 else 0


_ARITHMETIC: Mapping[str, Callable[[Interval, Interval], Interval | None]] = {
    "add": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "sub": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "mul": _products,
    "min": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "max": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "and": _and,
    "or": _or,
    "xor": _or,
    "shl": _left,
    "shr": _right,
    "div": _quotient,
    "rem": _rest,
}
