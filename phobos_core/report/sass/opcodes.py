"""Opcodes by what they are for, and how wide a memory access is.

Names are those of NVIDIA's table of instructions in the documentation of its binary utilities.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from types import MappingProxyType

from phobos_core.report.sass.listing import Instruction

BRANCH = "branch"
OTHER = "other"

# Classes that compute what a kernel is for. Integer multiply-add is not among them: it is mostly addresses and moves.
_MATH = {
    "FFMA": ("FFMA", "FFMA2", "FFMA32I"),
    "FADD": ("FADD", "FADD2", "FADD32I"),
    "FMUL": ("FMUL", "FMUL2", "FMUL32I"),
    "DFMA": ("DFMA",),
    "DADD": ("DADD",),
    "DMUL": ("DMUL",),
    "HFMA2": ("HFMA2", "HFMA2_32I"),
    "HADD2": ("HADD2", "HADD2_32I"),
    "HMUL2": ("HMUL2", "HMUL2_32I"),
    "MUFU": ("MUFU",),
    "HMMA": ("HMMA", "HGMMA", "WARPGROUPMMA"),
    "IMMA": ("IMMA", "IGMMA"),
    "DMMA": ("DMMA",),
    "QMMA": ("QMMA", "QGMMA", "OMMA"),
    "IDP": ("IDP", "IDP4A"),
}
_SUPPORT = {
    "IMAD": ("IMAD", "XMAD", "IMUL"),
    "LDS": ("LDS",),
    "LDSM": ("LDSM",),
    "STS": ("STS", "STSM"),
    "LDG": ("LDG",),
    "STG": ("STG",),
    "LDGSTS": ("LDGSTS",),
    "LDL": ("LDL",),
    "STL": ("STL",),
    "LD": ("LD",),
    "ST": ("ST",),
    "atomic": ("ATOM", "ATOMG", "ATOMS", "RED", "REDG"),
    "BAR": ("BAR",),
    "SHFL": ("SHFL",),
    BRANCH: (
        *("BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU", "CALL", "CAL", "JCAL", "RET", "EXIT", "KILL", "BREAK"),
        *("BSSY", "BSYNC", "SSY", "SYNC", "PBK", "BRK", "PCNT", "CONT"),
    ),
}
CLASSES = MappingProxyType({base: name for name, bases in {**_MATH, **_SUPPORT}.items() for base in bases})
MATH = frozenset(_MATH)

# What `bits` is known of: accesses of shared and global memory, and of the local memory that spills go to.
ACCESSES = frozenset({"LDS", "LDSM", "STS", "STSM", "LDG", "STG", "LDGSTS", "LD", "ST"})
LOCAL_ACCESSES = frozenset({"LDL", "STL"})
_WIDTHS = MappingProxyType({"U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128, "256": 256})
_MATRIX_BITS = 32  # of one 8 x 8 matrix of 16-bit elements, for each thread of a warp


# A guard that never holds: the assembler keeps the hardware's rules by such instructions, `@!PT LDS RZ, [RZ]` is one.
_NEVER = "@!PT"


def happens(instruction: Instruction) -> bool:
    """Whether it does anything but take its place."""
    return instruction.guard != _NEVER


def class_of(instruction: Instruction) -> str:
    if not happens(instruction):
        return OTHER
    # Moves in disguise: `HFMA2 R0, -RZ, RZ, high, low` loads a constant, `HADD2.F32 R0, -RZ, R1.H0_H0` converts a half.
    if instruction.base in ("HFMA2", "HADD2") and instruction.operands.split(", ")[1:2] == ["-RZ"]:
        return OTHER
    return CLASSES.get(instruction.base, OTHER)


def mix(instructions: Iterable[Instruction]) -> dict[str, int]:
    """Instructions by class, the most frequent first."""
    return dict(Counter(map(class_of, instructions)).most_common())


def math_share(counts: dict[str, int]) -> float:
    total = sum(counts.values())
    return sum(count for name, count in counts.items() if name in MATH) / total if total else 0.0


def bits(instruction: Instruction) -> int:
    """What one thread moves: `LDS.128` 128, `LDG.E.U16` 16, no width 32, `LDSM.16.M88.4` four matrices."""
    suffixes = instruction.opcode.split(".")[1:]
    if instruction.base in ("LDSM", "STSM"):
        return _MATRIX_BITS * next((int(s) for s in reversed(suffixes) if s in ("2", "4")), 1)
    return next((_WIDTHS[suffix] for suffix in suffixes if suffix in _WIDTHS), 32)
