"""How many times shared memory must be visited for one load of a warp, and what order of K makes that least.

The banks are those of `layouts.memory`. In a `dot_t`, neighbouring lanes
read neighbouring rows, and rows a multiple of 128 bytes long have all their words in the same banks. If each lane
walks along K in an order of its own (step number n becomes n xor a number that differs between lanes), they read
different chunks of their rows instead; the sums are the same but for the order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from phobos_core.layouts.memory import BANKS, WORD, phase_visits

# The bytes of one row of all banks.
BANK_ROW = BANKS * WORD


@dataclass(frozen=True, slots=True)
class Walk:
    """One operand: the row that each lane of a warp reads at a time, and the bytes of a row and of one load."""

    rows: tuple[int, ...]
    pitch: int
    size: int


def visits(addresses: list[int], size: int) -> int:
    """For one load of `size` bytes a lane, by the lanes' addresses."""
    return sum(phase_visits(addresses, size))


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
