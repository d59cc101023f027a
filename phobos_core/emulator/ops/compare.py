"""setp and set: comparisons, combined with a predicate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from phobos_core.emulator.decode import DTYPES, Decoder, Entry, MicroOp, Value, entry, unsupported
from phobos_core.emulator.machine import Active, Array
from phobos_core.emulator.numerics.rounding import flush, from_bf16
from phobos_core.emulator.ptx import Instruction, Not, Pair

Comparison = Callable[..., Array]


def _unordered(compare: np.ufunc) -> Comparison:
    return lambda a, b: compare(a, b) | np.isnan(a) | np.isnan(b)


COMPARISONS: dict[str, Comparison] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
    "equ": _unordered(np.equal),
    "neu": _unordered(np.not_equal),
    "ltu": _unordered(np.less),
    "leu": _unordered(np.less_equal),
    "gtu": _unordered(np.greater),
    "geu": _unordered(np.greater_equal),
    "num": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
    "nan": lambda a, b: np.isnan(a) | np.isnan(b),
}
COMBINATIONS: dict[str, np.ufunc] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}
FLOATS = frozenset({"f16", "f32", "f64", "bf16", "f16x2", "bf16x2"})


def _comparison(at: Instruction, kind: str) -> Comparison:
    compare = COMPARISONS.get(at.modifiers[0])
    if compare is None:
        raise unsupported(at)
    if kind in FLOATS and at.modifiers[0] == "ne":
        # `ne` on floats is ordered: false if either is NaN.
        compare = _ordered_not_equal
    if "ftz" in at.modifiers and kind == "f32":
        plain = compare
        return lambda a, b: plain(flush(np.asarray(a)), flush(np.asarray(b)))
    if kind in ("bf16", "bf16x2"):
        narrow = compare
        return lambda a, b: narrow(from_bf16(a), from_bf16(b))
    return compare


def _ordered_not_equal(a: Value, b: Value) -> Value:
    return np.not_equal(a, b) & ~(np.isnan(a) | np.isnan(b))


def _combine(decoder: Decoder, at: Instruction) -> Callable[[Array], tuple[Array, Array]] | None:
    """The results for the two destinations, from the comparison's."""
    combination = next((COMBINATIONS[m] for m in at.modifiers if m in COMBINATIONS), None)
    if combination is None:
        return None
    third = at.operands[3]
    other, negated = decoder.read(third, "pred", at), isinstance(third, Not)

    def apply(result: Array) -> tuple[Array, Array]:
        side = np.logical_not(other) if negated else other
        return combination(result, side), combination(np.logical_not(result), side)

    return apply


def setp(decoder: Decoder, at: Instruction) -> MicroOp:
    kind = at.modifiers[-1]
    compare = _comparison(at, kind)
    a, b = decoder.read(at.operands[1], kind, at), decoder.read(at.operands[2], kind, at)
    combine = _combine(decoder, at)
    target = at.operands[0]
    if kind in ("f16x2", "bf16x2"):
        return _packed_setp(decoder, at, compare, a, b)
    if not isinstance(target, Pair):
        destination = decoder.write(target, "pred", at)
        if combine is None:
            if isinstance(compare, np.ufunc):
                return decoder.elementwise(compare, destination, a, b)
            return decoder.computed(compare, destination, a, b)
        return decoder.computed(lambda x, y: combine(compare(x, y))[0], destination, a, b)
    first, second = decoder.write(target.first, "pred", at), decoder.write(target.second, "pred", at)

    def both() -> tuple[Array, Array]:
        result = compare(a, b)
        return combine(result) if combine else (result, np.logical_not(result))

    return _two_results(first, second, both)


def _two_results(first: Array, second: Array, both: Callable[[], tuple[Array, Array]]) -> MicroOp:
    def full() -> None:
        first[...], second[...] = both()

    def masked(active: Active) -> None:
        one, two = both()
        np.putmask(first, active.mask, one)
        np.putmask(second, active.mask, two)

    return MicroOp(full, masked)


def _packed_setp(decoder: Decoder, at: Instruction, compare: Comparison, a: Value, b: Value) -> MicroOp:
    """The two halves compared into the two destinations."""
    target = at.operands[0]
    if not isinstance(target, Pair) or len(at.operands) > 3:
        raise unsupported(at)
    first, second = decoder.write(target.first, "pred", at), decoder.write(target.second, "pred", at)
    return _two_results(first, second, lambda: _halves_compared(compare, a, b, at, decoder.geometry.lanes))


def _halves_compared(compare: Comparison, a: Value, b: Value, at: Instruction, lanes: int) -> tuple[Array, Array]:
    half = np.dtype(np.float16) if at.modifiers[-1] == "f16x2" else np.dtype(np.uint16)
    x, y = (np.ascontiguousarray(np.broadcast_to(each, lanes)).view(half) for each in (a, b))
    result = compare(x, y)
    return result[::2], result[1::2]


def set_(decoder: Decoder, at: Instruction) -> MicroOp:
    """The result as all ones or 1.0 in a register."""
    to, kind = at.modifiers[-2:]
    compare = _comparison(at, kind)
    combine = _combine(decoder, at)
    a, b = decoder.read(at.operands[1], kind, at), decoder.read(at.operands[2], kind, at)
    destination = decoder.write(at.operands[0], to, at)
    if kind in ("f16x2", "bf16x2"):
        return _packed_set(decoder, at, compare, a, b)
    if to == "bf16":
        yes: Value = np.uint16(0x3F80)
    elif to in FLOATS:
        yes = DTYPES[to].type(1)
    else:
        yes = np.array(-1).astype(destination.dtype)[()]

    def compute(x: Value, y: Value) -> Value:
        result = compare(x, y)
        if combine:
            result = combine(result)[0]
        return np.where(result, yes, destination.dtype.type(0))

    return decoder.computed(compute, destination, a, b)


def _packed_set(decoder: Decoder, at: Instruction, compare: Comparison, a: Value, b: Value) -> MicroOp:
    one = {"f16x2": 0x3C00, "bf16x2": 0x3F80}.get(at.modifiers[-2], 0xFFFF)
    lanes = decoder.geometry.lanes

    def compute() -> Array:
        low, high = _halves_compared(compare, a, b, at, lanes)
        return np.where(low, np.uint32(one), np.uint32(0)) | np.where(high, np.uint32(one << 16), np.uint32(0))

    return decoder.computed(compute, decoder.write(at.operands[0], "b32", at))


_WORDS = " ".join((*COMPARISONS, *COMBINATIONS, "ftz"))

TABLE: dict[str, Entry] = {"setp": entry(setp, _WORDS, operands=(3, 4)), "set": entry(set_, _WORDS, operands=(3, 4))}
