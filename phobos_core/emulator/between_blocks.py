"""What orders the accesses of different blocks: releases and acquires, by atomics and flags, as in a grid barrier.

In: every strong access, in the order in which they happen. Out: whether a block knows another's access to be over. A
release leaves in its word what its thread knows: how far the warps of its own block have come, by their common
barriers, and what its block has learnt of others. A block that acquires the word knows that too. The acquiring side is
taken as a block, not as a thread: what a thread has learnt, all of its block are held to know. So a race may be missed
where a block's own barrier is, but none is made up.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from phobos_core.emulator.clocks import BLOCK_SHIFT, Clocks, Moment, clock_of, warp_of
from phobos_core.emulator.machine import Geometry, Index, Mask
from phobos_core.emulator.ptx import Instruction, Kernel

FENCES = frozenset({"membar", "fence"})
ORDERS = frozenset({"acquire", "release", "acq_rel", "volatile"})


def has_fences(kernel: Kernel) -> bool:
    return any(at.opcode in FENCES for at in kernel.instructions)


@dataclass(slots=True)
class _Word:
    """What the releases to one word have left, and the number of the last one that each block has seen."""

    left: Index
    seen: Index
    number: int = 0


@dataclass(slots=True)
class BlockOrder:
    geometry: Geometry
    clocks: Clocks
    fences: bool
    # For each block, the clock of each warp of each other block before which everything is over.
    known: Index | None = None
    words: dict[tuple[int, int], _Word] = field(default_factory=dict)

    def reset(self) -> None:
        self.known = None
        self.words = {}

    def orders(self, site: Instruction) -> bool:
        """Whether a strong access orders others: by itself, or by the fences around it."""
        return self.fences or not ORDERS.isdisjoint(site.modifiers)

    def acquire(self, store: int, places: Index, lanes: Index) -> None:
        """The lanes have read what the last releases have left at their places."""
        if not self.words:
            return
        blocks = self.geometry.block_of[lanes]
        for place in np.unique(places):
            word = self.words.get((store, int(place)))
            if word is not None:
                self._learn(word, np.unique(blocks[places == place]))

    def release(self, store: int, places: Index, lanes: Index, *, acquires: bool) -> None:
        """The lanes, one after the other, leave at their places what they know; an atomic acquires at once."""
        g = self.geometry
        warps = g.block_of[lanes] * g.warps + g.warp_of[lanes]
        _, first = np.unique(np.stack([warps, places]), axis=1, return_index=True)
        for at in np.sort(first):
            block, warp = divmod(int(warps[at]), g.warps)
            word = self._word(store, int(places[at]))
            if acquires:
                self._learn(word, np.array([block]))
            mine = self.clocks.known[block, warp].copy()
            mine[warp] += 1
            left = self._known()[block].copy()
            left[block] = mine
            np.maximum(word.left, left, out=word.left)
            word.number += 1
            word.seen[block] = word.number
        self.clocks.after_release(np.unique(warps))

    def unordered(self, moment: Moment, owner: Index, other: Index) -> Mask:
        """Whether accesses of other blocks are not known to be over by the blocks of some lanes of a moment."""
        if self.known is None:
            return np.ones(other.size, np.bool_)
        mine = self.geometry.block_of[moment.lanes[owner]]
        result: Mask = clock_of(other) >= self.known[mine, other >> BLOCK_SHIFT, warp_of(other)]
        return result

    def _known(self) -> Index:
        if self.known is None:
            g = self.geometry
            self.known = np.zeros((g.blocks, g.blocks, g.warps), np.int64)
        return self.known

    def _word(self, store: int, place: int) -> _Word:
        g = self.geometry
        if (store, place) not in self.words:
            self.words[store, place] = _Word(np.zeros((g.blocks, g.warps), np.int64), np.zeros(g.blocks, np.int64))
        return self.words[store, place]

    def _learn(self, word: _Word, blocks: Index) -> None:
        behind = blocks[word.seen[blocks] < word.number]
        if behind.size:
            known = self._known()
            known[behind] = np.maximum(known[behind], word.left)
            word.seen[behind] = word.number
