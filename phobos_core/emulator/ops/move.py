"""mov, cvta, selp, slct and packing: bits from one place to another."""

from __future__ import annotations

import numpy as np

from phobos_core.emulator.decode import Decoder, Entry, MicroOp, Value, entry, unsupported
from phobos_core.emulator.machine import Active, Array
from phobos_core.emulator.memory import LOCAL_WINDOW, SHARED_WINDOW
from phobos_core.emulator.ptx import Instruction, Symbol, Vector

WINDOWS = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW, "global": 0, "const": 0, "param": 0}


def copy(decoder: Decoder, destination: Array, source: Value) -> MicroOp:
    def full() -> None:
        destination[...] = source

    def masked(active: Active) -> None:
        np.putmask(destination, active.mask, source)

    return MicroOp(full, masked)


def sequence(operations: list[MicroOp]) -> MicroOp:
    if len(operations) == 1:
        return operations[0]

    def full() -> None:
        for operation in operations:
            operation.full()

    def masked(active: Active) -> None:
        for operation in operations:
            operation.masked(active)

    return MicroOp(full, masked)


def mov(decoder: Decoder, at: Instruction) -> MicroOp:
    kind = at.modifiers[-1]
    destination, source = at.operands
    if isinstance(destination, Vector):
        return _unpack(decoder, at, destination, kind)
    if isinstance(source, Vector):
        return _pack(decoder, at, source, kind)
    if isinstance(source, Symbol):
        return copy(decoder, decoder.write(destination, kind, at), _address_of(decoder, source, kind, at))
    return copy(decoder, decoder.write(destination, kind, at), decoder.read(source, kind, at))


def _address_of(decoder: Decoder, source: Symbol, kind: str, at: Instruction) -> Value:
    return decoder.dtype(kind, at).type(decoder.address_of(source.name, at) + source.offset)


def _pack(decoder: Decoder, at: Instruction, source: Vector, kind: str) -> MicroOp:
    """Element 0 is the least significant part."""
    destination = decoder.write(at.operands[0], kind, at)
    part = f"b{8 * destination.itemsize // len(source.items)}"
    parts = [decoder.read(item, part, at) for item in source.items]
    buffer = np.zeros((decoder.geometry.lanes, len(parts)), decoder.dtype(part, at))
    packed = buffer.reshape(-1).view(destination.dtype)

    def gather() -> Array:
        for number, row in enumerate(parts):
            buffer[:, number] = row
        return packed

    return decoder.computed(gather, destination)


def _unpack(decoder: Decoder, at: Instruction, destination: Vector, kind: str) -> MicroOp:
    source = decoder.read(at.operands[1], kind, at)
    part = decoder.dtype(f"b{8 * source.itemsize // len(destination.items)}", at)
    rows = [decoder.write(item, f"b{8 * part.itemsize}", at) for item in destination.items]
    parts = [np.atleast_1d(source).view(part)[number :: len(rows)] for number in range(len(rows))]
    if any(np.shares_memory(row, piece) for row in rows for piece in parts):
        raise unsupported(at)
    return sequence([copy(decoder, row, piece) for row, piece in zip(rows, parts, strict=True)])


def cvta(decoder: Decoder, at: Instruction) -> MicroOp:
    kind = at.modifiers[-1]
    space = next((m for m in at.modifiers if m.partition("::")[0] in WINDOWS), None)
    if space is None:
        raise unsupported(at)
    window = WINDOWS[space.partition("::")[0]]
    destination, source = decoder.write(at.operands[0], kind, at), decoder.read(at.operands[1], kind, at)
    if not window:
        return copy(decoder, destination, source)
    amount = destination.dtype.type(window)
    return decoder.elementwise(np.subtract if "to" in at.modifiers else np.add, destination, source, amount)


def selp(decoder: Decoder, at: Instruction) -> MicroOp:
    kind = at.modifiers[-1]
    destination = decoder.write(at.operands[0], kind, at)
    chosen, negated = decoder.predicate(at.operands[3], at)
    yes, no = decoder.read(at.operands[1], kind, at), decoder.read(at.operands[2], kind, at)
    if negated:
        yes, no = no, yes
    return decoder.computed(np.where, destination, chosen, yes, no)


def slct(decoder: Decoder, at: Instruction) -> MicroOp:
    kind, test = at.modifiers[-2:]
    destination = decoder.write(at.operands[0], kind, at)
    yes, no = decoder.read(at.operands[1], kind, at), decoder.read(at.operands[2], kind, at)
    condition = decoder.read(at.operands[3], test, at)
    zero = condition.dtype.type(0)
    return decoder.computed(lambda c, a, b: np.where(c >= zero, a, b), destination, condition, yes, no)


def isspacep(decoder: Decoder, at: Instruction) -> MicroOp:
    window = WINDOWS.get(at.modifiers[0].partition("::")[0])
    if window is None:
        raise unsupported(at)
    destination = decoder.write(at.operands[0], "pred", at)
    source = decoder.read(at.operands[1], "b64", at)
    if window:
        low, high = np.uint64(window), np.uint64(window + (1 << 32))
    else:
        low, high = np.uint64(0), np.uint64(SHARED_WINDOW)
    return decoder.computed(lambda a: (a >= low) & (a < high), destination, source)


TABLE: dict[str, Entry] = {
    "mov": entry(mov, operands=2),
    "cvta": entry(cvta, "to shared shared::cta local global const param", operands=2),
    "selp": entry(selp, operands=4),
    "slct": entry(slct, "ftz", operands=4),
    "isspacep": entry(isspacep, "shared shared::cta local global const param", operands=2),
}
