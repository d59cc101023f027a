"""Pairs of 16-bit integers in one register."""

from __future__ import annotations

from typing import Any

import numpy as np

from phobos_core.emulator.decode import Decoder, Entry, Handler, MicroOp, Value, entry
from phobos_core.emulator.machine import Active
from phobos_core.emulator.ptx import Instruction

PACKED = frozenset({"s16x2", "u16x2"})


def halves(source: Value, dtype: np.dtype[Any], lanes: int) -> Value:
    """A row of registers as a row of their halves, twice as long."""
    row = np.full(lanes, source) if np.ndim(source) == 0 else source
    return row.view(dtype)


def on_halves(function: np.ufunc) -> Handler:
    def handler(decoder: Decoder, at: Instruction) -> MicroOp:
        kind = at.modifiers[-1]
        dtype: np.dtype[Any] = np.dtype(np.int16 if kind == "s16x2" else np.uint16)
        lanes = decoder.geometry.lanes
        a, b = (halves(each, dtype, lanes) for each in decoder.read_all(at, kind))
        destination = decoder.write(at.operands[0], kind, at).view(dtype)
        relu = "relu" in at.modifiers

        def compute() -> Value:
            result = function(a, b)
            return np.maximum(result, dtype.type(0)) if relu else result

        def full() -> None:
            destination[...] = compute()

        def masked(active: Active) -> None:
            np.putmask(destination, np.repeat(active.mask, 2), compute())

        return MicroOp(full, masked)

    return handler


TABLE: dict[str, Entry] = {
    "add.packed": entry(on_halves(np.add), operands=3),
    "min.packed": entry(on_halves(np.minimum), "relu", operands=3),
    "max.packed": entry(on_halves(np.maximum), "relu", operands=3),
}
