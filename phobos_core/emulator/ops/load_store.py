"""ld, st and their vector forms, prefetches and cp.async."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np

from phobos_core.emulator.async_copies import Flight
from phobos_core.emulator.decode import NOTHING, Decoder, Entry, MicroOp, entry, unsupported
from phobos_core.emulator.machine import Active, Array, Index, Mask
from phobos_core.emulator.memory import Access, Chunk, WindowSpace
from phobos_core.emulator.ops.move import copy, sequence
from phobos_core.emulator.ptx import Address, Immediate, Instruction, Operand, PtxError, Symbol, Vector

# Accesses that other threads may make at the same time: they do not race with each other.
STRONG_WORDS = frozenset({"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"})


def _elements(operand: Operand) -> tuple[Operand, ...]:
    return operand.items if isinstance(operand, Vector) else (operand,)


def selected(active: Active, chosen: Index | None) -> Index:
    return active.lanes if chosen is None else active.lanes[chosen]


def load(decoder: Decoder, at: Instruction) -> MicroOp:
    if not {"param", "param::entry"}.isdisjoint(at.modifiers):
        return _load_parameter(decoder, at)
    kind = at.modifiers[-1]
    dtype = decoder.dtype(kind, at)
    rows = [decoder.write(operand, kind, at) for operand in _elements(at.operands[0])]
    resolve = decoder.space(at).resolve
    address = decoder.address(at.operands[1], at)
    access = Access(at, dtype.itemsize * len(rows))
    shift = dtype.itemsize.bit_length() - 1
    races = decoder.races
    mark = races.mark(at) if races else 0
    strong = not STRONG_WORDS.isdisjoint(at.modifiers)
    direct = [row.dtype == dtype for row in rows]

    def run(active: Active) -> None:
        for chunk in resolve(access, address(active), active):
            store, index, chosen = chunk.store, chunk.offsets, chunk.chosen
            if races:
                touch = races.touch(chunk, access, active, mark)
                if touch is not None:
                    if strong:
                        races.strong(touch, False)
                    else:
                        races.read(touch)
            element = index >> shift
            data = store.view(dtype)
            whole = active.full and chosen is None
            lanes = None if whole else selected(active, chosen)
            for number, row in enumerate(rows):
                place = element + number if number else element
                if lanes is not None:
                    row[lanes] = data.take(place)
                elif direct[number]:
                    data.take(place, out=row, mode="clip")
                else:
                    row[...] = data.take(place)

    return decoder.effect(run)


def _load_parameter(decoder: Decoder, at: Instruction) -> MicroOp:
    operand = at.operands[1]
    if not isinstance(operand, Address) or not isinstance(operand.base, Symbol):
        raise unsupported(at)
    data = decoder.parameters.get(operand.base.name)
    if data is None:
        raise PtxError(f"`{operand.base.name}` is not a parameter", at.ptx_line, at.line)
    kind = at.modifiers[-1]
    dtype = decoder.dtype(kind, at)
    offset = operand.base.offset + operand.offset
    operations = []
    for number, element in enumerate(_elements(at.operands[0])):
        start = offset + number * dtype.itemsize
        if start + dtype.itemsize > len(data):
            raise PtxError(f"`{at.name}` reads past parameter `{operand.base.name}`", at.ptx_line, at.line)
        value = np.frombuffer(data, dtype, 1, start)[0]
        destination = decoder.write(element, kind, at)
        operations.append(copy(decoder, destination, value.astype(destination.dtype)))
    return sequence(operations)


def store(decoder: Decoder, at: Instruction) -> MicroOp:
    kind = at.modifiers[-1]
    dtype = decoder.dtype(kind, at)
    values = [decoder.read(operand, kind, at) for operand in _elements(at.operands[1])]
    resolve = decoder.space(at).resolve
    address = decoder.address(at.operands[0], at)
    access = Access(at, dtype.itemsize * len(values))
    shift = dtype.itemsize.bit_length() - 1
    races = decoder.races
    mark = races.mark(at) if races else 0
    strong = not STRONG_WORDS.isdisjoint(at.modifiers)
    bits = np.dtype(f"u{dtype.itemsize}")

    def run(active: Active) -> None:
        for chunk in resolve(access, address(active), active):
            chosen = chunk.chosen
            element = chunk.offsets >> shift
            data = chunk.store.view(bits)
            whole = active.full and chosen is None
            lanes = None if whole else selected(active, chosen)
            parts = [
                value.view(bits) if value.ndim == 0 else (value if lanes is None else value[lanes]).view(bits)
                for value in values
            ]
            places = [element + number if number else element for number in range(len(parts))]
            touch = races.touch(chunk, access, active, mark) if races else None
            if races and touch is not None:
                if strong:
                    races.strong(touch, True)
                    touch = None
                else:
                    races.before_write(touch, partial(_differing, data, places, parts))
            for place, part in zip(places, parts, strict=True):
                data[place] = part
            if races and touch is not None:
                races.after_write(touch, _differing(data, places, parts))

    return decoder.effect(run)


def _differing(data: Array, places: list[Index], parts: list[Array]) -> Mask:
    """The lanes whose bytes in memory are not what they write."""
    different: Mask = data.take(places[0]) != parts[0]
    for place, part in zip(places[1:], parts[1:], strict=True):
        different |= data.take(place) != part
    return different


def nothing(decoder: Decoder, at: Instruction) -> MicroOp:
    return NOTHING


def cp_async(decoder: Decoder, at: Instruction) -> MicroOp:
    if at.modifiers[0] != "async":
        raise unsupported(at)
    match at.modifiers[1:2]:
        case ("commit_group",):
            return decoder.effect(decoder.copies.commit)
        case ("wait_group",):
            number = at.operands[0]
            if not isinstance(number, Immediate):
                raise unsupported(at)
            newest = number.value
            return decoder.effect(lambda active: decoder.copies.wait(newest, active))
        case ("wait_all",):
            return decoder.effect(lambda active: decoder.copies.wait(None, active))
        case ("ca",) | ("cg",):
            return _issue_copy(decoder, at)
    raise unsupported(at)


def _issue_copy(decoder: Decoder, at: Instruction) -> MicroOp:
    """`cp.async` of 4, 8 or 16 bytes; bytes past the source size, or all under `ignore-src`, are zero."""
    size_operand = at.operands[2]
    shared = decoder.spaces["shared"]
    if not isinstance(size_operand, Immediate) or not isinstance(shared, WindowSpace):
        raise unsupported(at)
    size = size_operand.value
    allowed = (16,) if at.modifiers[1] == "cg" else (4, 8, 16)
    if size not in allowed:
        raise PtxError(f"`{at.name}` cannot copy {size} bytes", at.ptx_line, at.line)
    taken = _source_size(decoder, at, size)
    destination, source = decoder.address(at.operands[0], at), decoder.address(at.operands[1], at)
    access = Access(at, size)
    races = decoder.races
    mark = races.mark(at) if races else 0

    def run(active: Active) -> None:
        (chunk,) = shared.resolve(access, destination(active), active)
        data = _fetch(decoder, access, source(active), taken(active), active, mark)
        lanes = active.lanes
        flight = Flight(chunk.store, lanes, chunk.offsets, data, decoder.copies.committed[lanes], mark, at)
        touch = races.touch(chunk, access, active, mark) if races else None
        decoder.copies.issue(flight, touch)

    return decoder.effect(run)


def _source_size(decoder: Decoder, at: Instruction, size: int) -> Callable[[Active], Index]:
    if len(at.operands) < 4:
        return lambda active: np.full(active.count, size, np.int64)
    operand = at.operands[3]
    if decoder.is_predicate(operand):
        ignored, negated = decoder.predicate(operand, at)

        def from_predicate(active: Active) -> Index:
            row = active.select(np.asarray(ignored)) != negated
            return np.where(row, 0, size)

        return from_predicate
    row = decoder.read(operand, "u32", at)

    def from_register(active: Active) -> Index:
        value = np.full(active.count, row) if row.ndim == 0 else active.select(np.asarray(row))
        return np.minimum(value.astype(np.int64), size)

    return from_register


def _fetch(decoder: Decoder, access: Access, addresses: Index, taken: Index, active: Active, mark: int) -> Array:
    """Each lane's bytes, zero past those it takes; a lane that takes none touches no memory."""
    data = np.zeros((addresses.size, access.size), np.uint8)
    space = decoder.spaces["global"]
    column = np.arange(access.size)
    for amount in np.unique(taken):
        if amount == 0:
            continue
        picked = np.flatnonzero(taken == amount)
        mask = np.zeros(active.mask.size, np.bool_)
        mask[active.lanes[picked]] = True
        part = Active.of(mask)
        reading = Access(access.site, int(amount), access.size)
        chunks: Iterable[Chunk] = space.resolve(reading, addresses[picked], part)
        for chunk in chunks:
            into = picked if chunk.chosen is None else picked[chunk.chosen]
            data[into, :amount] = chunk.store.data.take(chunk.offsets[:, None] + column[:amount])
            touch = decoder.races.touch(chunk, reading, part, mark) if decoder.races else None
            if decoder.races and touch is not None:
                decoder.races.read(touch)
    return data


# State spaces, orders and scopes, which loads, stores and atomics share.
MEMORY_WORDS = [
    "global",
    "shared",
    "shared::cta",
    "local",
    "const",
    "param",
    "param::entry",
    "weak",
    "volatile",
    "relaxed",
    "acquire",
    "release",
    "acq_rel",
    "mmio",
    "cta",
    "cluster",
    "gpu",
    "sys",
]
_WORDS = " ".join((*MEMORY_WORDS, "nc v2 v4 v8 ca cg cs cv lu wb wt L1::* L2::*"))

TABLE: dict[str, Entry] = {
    "ld": entry(load, _WORDS, operands=(2, 3)),
    "ldu": entry(load, _WORDS, operands=2),
    "st": entry(store, _WORDS, operands=(2, 3)),
    "prefetch": entry(nothing, "global local const param L1 L2 L2::* tensormap", operands=1),
    "prefetchu": entry(nothing, "L1", operands=1),
    "applypriority": entry(nothing, "global L2::*", operands=2),
    "discard": entry(nothing, "global L2", operands=2),
    "cp": entry(
        cp_async, "async commit_group wait_group wait_all ca cg shared shared::cta global L2::*", operands=(0, 5)
    ),
}
