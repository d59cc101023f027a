"""A thread's own runs of elements: `elem`, `word`, `store` and `sum(e)`.

A run is one `load_run`, whose accesses a pass makes as wide as the address allows; equal ones are merged later.
`sum(e)` is the expression once for each position, or, where its operands are bytes, one `dp4a` for four of them. A long
sum is a loop over parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from phobos_core.analysis import program as p
from phobos_core.ir.module import Value
from phobos_core.ir.types import element_of
from phobos_core.language.types import I8, I32, I64, INDEX, U8, U32, ScalarType
from phobos_core.lower.context import Context, RunPart, Summing
from phobos_core.lower.places import point_of

# A sum of more elements is a loop over parts of as many.
_PART = 32
_LONGEST = 64
# As many bytes take the same instructions as a part of wider elements.
_BYTES_PART = 128
_LONGEST_BYTES = 256
_ONES = 0x01010101
_BYTE = 8


@dataclass(frozen=True, slots=True)
class _Bytes:
    """The bytes of a run, each `(byte >> shift) & mask`; `mask` None keeps all of it."""

    place: p.Place
    shift: int = 0
    mask: int | None = None

    @property
    def unsigned(self) -> bool:
        return self.place.element == U8 and self.mask is None


def element(c: Context, e: p.Elem) -> Value:
    run = _load(c, e.place)
    position = c.static(e.position)
    assert position is not None
    return c.emit.convert(c.emit.build.run_element(run, position), e.type)


def word(c: Context, e: p.Word) -> Value:
    run = _load(c, e.place)
    position = c.static(e.position)
    assert position is not None
    return c.emit.convert(c.emit.build.run_word(run, position), e.type)


def store(c: Context, s: p.StoreRun) -> None:
    window, indices = point_of(c, s.place)
    values = [c.lower(c, value) for value in s.values]
    c.at(s.span)
    values = [c.emit.convert(value, element_of(window.mem.type)) for value in values]
    token = c.state[window.base]
    c.state[window.base] = c.emit.build.store_run(window.mem, indices, values, _axis(s.place), token)


def run_element(c: Context, e: p.RunElement) -> Value:
    """The element of a run at the position that `sum(e)` is at."""
    summing = c.summing
    assert summing is not None
    if id(e.place) not in summing.runs:
        summing.runs[id(e.place)] = _load(c, e.place, summing.part)
    return c.emit.convert(c.emit.build.run_element(summing.runs[id(e.place)], summing.position), e.type)


def total(c: Context, e: p.RunSum) -> Value:
    """`sum(e)`."""
    length = c.static(e.length)
    assert length is not None
    factors = _byte_factors(c, e.operand) if length % 4 == 0 else None
    c.at(e.span)
    if factors is None:
        zero = c.emit.const(0.0 if e.type.is_float else 0, e.type)
        return _in_parts(c, zero, length, _PART, _LONGEST, lambda part, acc: _elements(c, e, part, acc))
    zero = c.emit.const(0, I32)
    dots = _in_parts(c, zero, length, _BYTES_PART, _LONGEST_BYTES, lambda part, acc: _dp4a(c, factors, part, acc))
    return c.emit.convert(dots, e.type)


def _in_parts(
    c: Context, zero: Value, length: int, part: int, longest: int, add: Callable[[RunPart, Value], Value]
) -> Value:
    """The sum of `length` elements; `add` adds those of a part to what there is."""
    if length <= longest:
        return add((None, length), zero)
    emit, line = c.emit, c.emit.build.line
    whole = length // part * part
    lo, hi, step = emit.index(0), emit.index(whole), emit.index(part)
    start, acc = Value(INDEX), Value(zero.type)
    emit.declare_loop(start, lo, hi, step)
    region = c.region((start, acc), lambda: [add((start, part), acc)])
    emit.build.line = line
    result = emit.build.for_(lo, hi, step, [zero], region).results[0]
    return result if whole == length else add((emit.index(whole), length - whole), result)


def _elements(c: Context, e: p.RunSum, part: RunPart, acc: Value) -> Value:
    outer, runs = c.summing, dict[int, Value]()
    zero = c.emit.const(0.0 if e.type.is_float else 0, e.type)
    for position in range(part[1]):
        c.summing = Summing(runs, part, position)
        value = c.lower(c, e.operand)
        c.at(e.span)
        acc = value if acc is zero else c.emit.binary("add", acc, value)
    c.summing = outer
    return acc


def _dp4a(c: Context, factors: tuple[_Bytes, _Bytes | None], part: RunPart, acc: Value) -> Value:
    a, b = factors
    line = c.emit.build.line
    left = _load(c, a.place, part)
    right = _load(c, b.place, part) if b is not None else None
    c.emit.build.line = line
    for position in range(part[1] // 4):
        x = _word(c, left, a, position)
        y = c.emit.const(_ONES, U32) if b is None or right is None else _word(c, right, b, position)
        acc = c.emit.dp4a(x, y, acc, (a.unsigned, b is not None and b.unsigned))
    return acc


def _word(c: Context, run: Value, bytes: _Bytes, position: int) -> Value:
    """Four bytes, shifted and masked together."""
    packed = c.emit.build.run_word(run, position)
    if bytes.mask is None:
        return packed
    if bytes.shift:
        packed = c.emit.binary("shr", packed, c.emit.const(bytes.shift, U32))
    return c.emit.binary("and", packed, c.emit.const(bytes.mask * _ONES, U32))


# Runs


def _load(c: Context, place: p.Place, part: RunPart | None = None) -> Value:
    window, indices = point_of(c, place)
    c.at(place.span)
    axis = _axis(place)
    assert place.axes is not None
    length = c.static(place.axes[axis].extent)
    if part is not None:
        start, length = part
        indices[axis] = indices[axis] if start is None else c.emit.add(indices[axis], start)
    assert length is not None
    return c.emit.build.load_run(window.mem, indices, length, axis, c.state[window.base])


def _axis(place: p.Place) -> int:
    """The axis along which the run goes."""
    assert place.axes is not None
    return next(number for number, axis in enumerate(place.axes) if not axis.point)


# Sums of bytes: `a * b`, or `a` alone, each a byte or what a shift and a mask below 128 leave of one.


def _byte_factors(c: Context, e: p.Expr) -> tuple[_Bytes, _Bytes | None] | None:
    e = _widened(e)
    if isinstance(e, p.Binary) and e.op == "*":
        a, b = _bytes(c, e.lhs), _bytes(c, e.rhs)
        return None if a is None or b is None else (a, b)
    alone = _bytes(c, e)
    return None if alone is None else (alone, None)


def _bytes(c: Context, e: p.Expr) -> _Bytes | None:
    e = _widened(e)
    match e:
        case p.RunElement(place=place) if place.element in (I8, U8):
            return _Bytes(place)
        case p.Binary(op="&", lhs=lhs, rhs=rhs):
            for value, other in ((lhs, rhs), (rhs, lhs)):
                mask, shifted = _constant(c, other), _shifted(c, value)
                if mask is not None and shifted is not None and 0 <= mask << shifted.shift < 1 << _BYTE and mask < 128:
                    return _Bytes(shifted.place, shifted.shift, mask)
            return None
        case _:
            return None


def _shifted(c: Context, e: p.Expr) -> _Bytes | None:
    e = _widened(e)
    if isinstance(e, p.Binary) and e.op == ">>":
        inner, shift = _bytes(c, e.lhs), _constant(c, e.rhs)
        fits = inner is not None and inner.mask is None and shift is not None and 0 <= shift < _BYTE
        return _Bytes(inner.place, shift) if fits and inner is not None and shift is not None else None
    inner = _bytes(c, e)
    return inner if inner is not None and inner.mask is None else None


def _widened(e: p.Expr) -> p.Expr:
    """Below the conversions that keep the value of a byte."""
    while isinstance(e, p.Convert) and e.type in (I32, I64, INDEX):
        e = e.operand
    return e


def _constant(c: Context, e: p.Expr) -> int | None:
    e = _widened(e)
    match e:
        case p.Const(value=int(value)):
            return value
        case p.SymConst(value=form):
            return c.static(form)
        case p.ScalarRead(symbol=symbol) if not symbol.mutable and isinstance(symbol.type, ScalarType):
            return c.emit.literal(c.state[symbol])
        case _:
            return None
