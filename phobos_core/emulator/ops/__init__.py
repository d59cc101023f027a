"""The table of instructions: one entry and one function for each opcode.

An entry is keyed by the opcode, or by the opcode and the class of its last type: `add.int`, `add.float`.
"""

from __future__ import annotations

from phobos_core.emulator.decode import NOTHING, Decoder, Handler, MicroOp, unsupported
from phobos_core.emulator.ops import (
    atomics,
    bits,
    compare,
    convert,
    floating,
    integer,
    load_store,
    move,
    warp,
)
from phobos_core.emulator.ptx import Instruction


def _no_effect(decoder: Decoder, at: Instruction) -> MicroOp:
    return NOTHING


# Lanes run in lockstep and see each other's writes at once, so a fence has nothing left to do.
FENCES: dict[str, Handler] = dict.fromkeys(
    ("membar", "fence", "nanosleep", "griddepcontrol", "pmevent"), _no_effect
)

TABLE: dict[str, Handler] = {
    **move.TABLE,
    **integer.TABLE,
    **bits.TABLE,
    **floating.TABLE,
    **compare.TABLE,
    **convert.TABLE,
    **load_store.TABLE,
    **atomics.TABLE,
    **warp.TABLE,
    **FENCES,
}


def handler_of(at: Instruction) -> Handler:
    if at.opcode in ("bar", "barrier") and at.modifiers[:1] == ("warp",):
        return TABLE["bar.warp"]
    found = TABLE.get(at.opcode)
    if found is None:
        kind = at.modifiers[-1] if at.modifiers else ""
        if kind in integer.INTEGERS:
            found = TABLE.get(f"{at.opcode}.int")
        elif kind in floating.FLOATS:
            found = TABLE.get(f"{at.opcode}.float")
    if found is None:
        raise unsupported(at)
    return found
