"""How many times shared memory must be visited for one load of a warp, and what order of K makes that least.

Shared memory has 32 banks of 4 bytes. A load of 4, 8 or 16 bytes a lane goes in phases of 32, 16 or 8 lanes, and a
phase takes as many visits as the most different words that it wants of one bank. In a `dot_t`, neighbouring lanes
read neighbouring rows, and rows a multiple of 128 bytes long have all their words in the same banks. If each lane
walks along K in an order of its own (step number n becomes n xor a number that differs between lanes), they read
different chunks of their rows instead; the sums are the same but for the order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from phobos_core.language.targets import LANES

_BANKS = 32
_WORD = 4
# One row of all banks.
BANK_ROW = _BANKS * _WORD


@dataclass(frozen=True, slots=True)
class Walk:
    """One operand: the row that each lane of a warp reads at a time, and the bytes of a row and of one load."""

    rows: tuple[int, ...]
    pitch: int
    size: int


def visits(addresses: list[int], size: int) -> int:
    """For one load of `size` bytes a lane, by the lanes' addresses."""
    lanes = LANES * _WORD // max(size, _WORD)
    total = 0
    for start in range(0, len(addresses), lanes):
        words = {(a + w) // _WORD for a in addresses[start : start + lanes] for w in range(0, size, _WORD)}
        wanted = [0] * _BANKS
        for word in words:
            wanted[word % _BANKS] += 1
        total += max(wanted)
    return total


@lru_cache(maxsize=256)
def best_shift(walks: tuple[Walk, ...], columns: tuple[int, ...], chunks: int) -> int | None:
    """The lane whose patch is in column c shall xor its step with (c >> shift) modulo `chunks`, the number of loads
    that the steps are taken in groups of. None where that saves nothing."""

    def cost(order: Callable[[int], int]) -> int:
        return sum(
            visits([r * w.pitch + order(c) * w.size for r, c in zip(w.rows, columns, strict=True)], w.size)
            for w in walks
        )

    # mypy does not infer a lambda with a default argument.
    costs = {shift: cost(lambda c, shift=shift: (c >> shift) % chunks) for shift in range(4)}  # type: ignore[misc]
    best = min(costs, key=lambda shift: costs[shift])
    return best if costs[best] < cost(lambda c: 0) else None
