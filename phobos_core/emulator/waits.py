"""Which blocks of a grid that hangs wait where, in words.

In: the groups that wait, each with the instruction it waits at. Out: the message of a deadlock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from phobos_core.emulator.machine import Active, Geometry, Mask
from phobos_core.emulator.ptx import Instruction

NOBODY = "a value that no running thread of the grid writes"
# More than this many blocks are counted, not listed.
LISTED = 8


def hanging_grid(
    geometry: Geometry, present: Mask, here: Instruction, waiting: Iterable[tuple[Instruction, Active]]
) -> str:
    """What waits at `here`, and at each other place, and which blocks have ended without letting them go."""
    if geometry.blocks == 1:
        return f"the thread waits for {NOBODY}"
    places: dict[str, set[int]] = {}
    for site, active in waiting:
        place = _place(here, site)
        places.setdefault(place, set()).update(np.unique(geometry.block_of[active.lanes]).tolist())
    ended = set(np.unique(geometry.block_of[present]).tolist()).difference(*places.values())
    parts = []
    for place in sorted(places, key=lambda each: each != "here"):
        what = f" for {NOBODY}" if place == "here" else ""
        parts.append(f"{_blocks(geometry, places[place])} wait{_s(places[place])} {place}{what}")
    if ended:
        parts.append(f"{_blocks(geometry, ended)} {'have' if len(ended) > 1 else 'has'} ended")
    return "; ".join(parts)


def _place(here: Instruction, site: Instruction) -> str:
    if (site.line or site.ptx_line) == (here.line or here.ptx_line):
        return "here"
    return f"at line {site.line}" if site.line else f"at PTX line {site.ptx_line}"


def _s(blocks: set[int]) -> str:
    return "" if len(blocks) > 1 else "s"


def _blocks(geometry: Geometry, blocks: set[int]) -> str:
    if len(blocks) > LISTED:
        return f"{len(blocks)} of {geometry.blocks} blocks"
    names = [geometry.block_name(each) for each in sorted(blocks)]
    return f"block{'s' if len(names) > 1 else ''} {_listed(names)}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
