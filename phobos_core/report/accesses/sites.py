"""The accesses of PTX code to shared and global memory, as instructions write them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from phobos_core.report.accesses.code import Code, Instruction, split

Kind = Literal["load", "store", "copy", "atomic"]
Space = Literal["shared", "global"]

_KINDS: dict[str, Kind] = {"ld": "load", "st": "store", "atom": "atomic", "red": "atomic"}


@dataclass(frozen=True, slots=True)
class Site:
    """`size` bytes a lane at `base` + `offset`; `number` is that of the instruction. A lane may be told to read nothing
    by an operand of its own, and so be `left_out`. Where it is asked about some of the threads, `only` these."""

    number: int
    at: Instruction
    kind: Kind
    space: Space
    size: int
    base: str
    offset: int
    left_out: bool = False
    only: range | None = None


def sites(code: Code) -> Iterator[Site]:
    """In the order of the PTX. An asynchronous copy is two accesses."""
    for number, at in enumerate(code.instructions):
        if at.name != "cp" and at.name not in _KINDS:
            continue
        words = [word.partition("::")[0] for word in at.opcode.split(".")]
        parts = split(at.operands)
        places = [part for part in parts if part.startswith("[")]
        if words[:2] == ["cp", "async"] and len(places) == 2:
            yield _site(number, at, "copy", "shared", int(parts[2]), places[0])
            yield replace(_site(number, at, "copy", "global", int(parts[2]), places[1]), left_out=len(parts) > 3)
        elif at.name in _KINDS and places:
            size = next((int(word[1:]) for word in words if word in ("v2", "v4", "v8")), 1) * _bytes(words[-1])
            for space in ("shared", "global"):
                if space in words:
                    yield _site(number, at, _KINDS[at.name], space, size, places[0])


def _bytes(type: str) -> int:
    digits = type.lstrip("bsuf").partition("x")[0]
    return int(digits) // 8 * (2 if "x2" in type else 1)


def _site(number: int, at: Instruction, kind: Kind, space: Space, size: int, place: str) -> Site:
    base, _, offset = place.strip("[] ").partition("+")
    return Site(number, at, kind, space, size, base, int(offset or 0))
