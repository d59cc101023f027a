"""The table of instructions: one entry and one function for each opcode.

An entry is keyed by the opcode, or by the opcode and the class of its last type: `add.int`, `add.float`;
`add.mixed` has two types.
"""

from __future__ import annotations

from phobos_core.emulator.decode import DTYPES, NOTHING, Decoder, Entry, Handler, MicroOp, entry, unsupported
from phobos_core.emulator.ops import (
    atomics,
    bits,
    compare,
    convert,
    floating,
    integer,
    load_store,
    move,
    packed,
    warp,
)
from phobos_core.emulator.ptx import Instruction


def _no_effect(decoder: Decoder, at: Instruction) -> MicroOp:
    return NOTHING


# Lanes run in lockstep and see each other's writes at once, so a fence has nothing left to do.
_FENCE_WORDS = "acq_rel acquire release sc cta cluster gpu sys gl proxy async async::* mbarrier_init alias"
FENCES: dict[str, Entry] = {
    "membar": entry(_no_effect, _FENCE_WORDS, operands=0),
    "fence": entry(_no_effect, _FENCE_WORDS, operands=0),
    "nanosleep": entry(_no_effect, operands=1),
    "pmevent": entry(_no_effect, "mask", operands=1),
    "griddepcontrol": entry(_no_effect, "launch_dependents wait", operands=0),
}

TABLE: dict[str, Entry] = {
    **move.TABLE,
    **integer.TABLE,
    **packed.TABLE,
    **bits.TABLE,
    **floating.TABLE,
    **compare.TABLE,
    **convert.TABLE,
    **load_store.TABLE,
    **atomics.TABLE,
    **warp.TABLE,
    **FENCES,
}


def _keys(at: Instruction) -> list[str]:
    """Where to look for an instruction, most special first."""
    kinds = [modifier for modifier in at.modifiers if modifier in DTYPES]
    keys = []
    if at.opcode in ("bar", "barrier"):
        keys.append("bar.warp")
    if len(kinds) == 2:
        keys.append(f"{at.opcode}.mixed")
    for name, family in (("int", integer.INTEGERS), ("packed", packed.PACKED), ("float", floating.FLOATS)):
        if kinds and kinds[-1] in family:
            keys.append(f"{at.opcode}.{name}")
    return [*keys, at.opcode]


def handler_of(at: Instruction) -> Handler:
    """The handler of an instruction all of whose modifiers it knows: none is passed over in silence."""
    for key in _keys(at):
        found = TABLE.get(key)
        if found is not None and found.understands(at):
            return found.handler
    raise unsupported(at)
