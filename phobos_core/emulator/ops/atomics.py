"""atom and red: read-modify-write, one thread after another in the order of their numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from phobos_core.emulator.decode import Decoder, Entry, MicroOp, Value, entry, unsupported
from phobos_core.emulator.machine import Active, Array, Index
from phobos_core.emulator.memory import Access
from phobos_core.emulator.numerics import fused, rounding
from phobos_core.emulator.ops.load_store import MEMORY_WORDS, selected
from phobos_core.emulator.ptx import Instruction, Register

Update = Callable[..., Value]


def _increment(old: Array, limit: Array) -> Value:
    return np.where(old >= limit, old.dtype.type(0), old + old.dtype.type(1))


def _compare_and_swap(old: Array, expected: Array, new: Array) -> Array:
    return np.where(old == expected, new, old)


def _decrement(old: Array, limit: Array) -> Array:
    return np.where((old == 0) | (old > limit), limit, old - old.dtype.type(1))


def _flushed_add(old: Array, b: Array) -> Array:
    """f32 addition in global memory flushes subnormals."""
    return rounding.flush(rounding.flush(old) + rounding.flush(b))


def _bf16_add(old: Array, b: Array) -> Array:
    wide = (rounding.from_bf16(each).astype(np.float64) for each in (old, b))
    return rounding.to_bf16(fused.fused_sum(*wide))


def _packed(update: Update, half: np.dtype[Any]) -> Update:
    def both(old: Array, b: Array) -> Array:
        x, y = (np.ascontiguousarray(each).view(half) for each in (old, b))
        return np.asarray(update(x, y)).view(old.dtype)

    return both


UPDATES: dict[str, Update] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exch": lambda old, b: b,
    "cas": _compare_and_swap,
    "inc": _increment,
    "dec": _decrement,
}


def _update_of(at: Instruction, operation: str, kind: str) -> Update:
    if operation == "add":
        if kind == "bf16":
            return _bf16_add
        if kind == "f16x2":
            return _packed(np.add, np.dtype(np.float16))
        if kind == "bf16x2":
            return _packed(_bf16_add, np.dtype(np.uint16))
        if kind == "f32" and "shared" not in at.modifiers:
            return _flushed_add
    return UPDATES[operation]


def atomic(decoder: Decoder, at: Instruction) -> MicroOp:
    kind = at.modifiers[-1]
    operation = next((m for m in at.modifiers if m in UPDATES), None)
    returns = at.opcode == "atom"
    if operation is None or "async" in at.modifiers or kind.startswith("v"):
        raise unsupported(at)
    dtype = decoder.dtype(kind, at)
    update = _update_of(at, operation, kind)
    first = 1 if returns else 0
    address = decoder.address(at.operands[first], at)
    sources = [decoder.read(operand, kind, at) for operand in at.operands[first + 1 :]]
    if len(sources) != (2 if operation == "cas" else 1):
        raise unsupported(at)
    target = at.operands[0]
    row = decoder.write(target, kind, at) if returns and target != Register("_") else None
    resolve = decoder.space(at).resolve
    access = Access(at, dtype.itemsize)
    shift = dtype.itemsize.bit_length() - 1
    races = decoder.races
    mark = races.mark(at) if races else 0

    def run(active: Active) -> None:
        for chunk in resolve(access, address(active), active):
            lanes = selected(active, chunk.chosen)
            if races:
                touch = races.touch(chunk, access, active, mark)
                if touch is not None:
                    races.strong(touch, True)
            values = [np.full(lanes.size, each) if each.ndim == 0 else each[lanes] for each in sources]
            old = apply(chunk.store.view(dtype), chunk.offsets >> shift, update, values, row is not None)
            if row is not None and old is not None:
                row[lanes] = old

    return decoder.effect(run)


def apply(data: Array, places: Index, update: Update, values: list[Array], returns: bool) -> Array | None:
    """Updates in lane order; gives what each lane found, where that is asked for."""
    order = np.argsort(places, kind="stable")
    ordered = places[order]
    if not np.count_nonzero(ordered[1:] == ordered[:-1]):
        old = data.take(places)
        data[places] = update(old, *values)
        return old
    if not returns and isinstance(update, np.ufunc):
        update.at(data, places, values[0])
        return None
    if update is np.add and data.dtype.kind != "f":
        return _running_sums(data, places, values[0], order)
    # The k-th access to a place goes after the one before it: all first ones, then all second ones.
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    lengths = np.diff(np.append(starts, ordered.size))
    turn = np.arange(ordered.size) - np.repeat(starts, lengths)
    by_turn = np.argsort(turn, kind="stable")
    result = np.empty(places.size, data.dtype)
    for group in np.split(order[by_turn], np.cumsum(np.bincount(turn))[:-1]):
        place = places[group]
        found = data.take(place)
        result[group] = found
        data[place] = update(found, *(each[group] for each in values))
    return result


_WORDS = " ".join((*UPDATES, *MEMORY_WORDS, "noftz"))


def _running_sums(data: Array, places: Index, values: Array, order: Index) -> Array:
    """Integer additions, whose order does not matter: each lane finds the sum of those before it."""
    ordered, added = places[order], values[order]
    before = np.cumsum(added, dtype=data.dtype) - added
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    lengths = np.diff(np.append(starts, ordered.size))
    result = np.empty(places.size, data.dtype)
    result[order] = data.take(ordered) + before - np.repeat(before[starts], lengths)
    np.add.at(data, places, values)
    return result


TABLE: dict[str, Entry] = {"atom": entry(atomic, _WORDS, operands=(3, 4)), "red": entry(atomic, _WORDS, operands=2)}
