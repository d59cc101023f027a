"""How a tile that is copied transposed from tensors is spread over the threads, and how far apart its rows lie.

A thread reads runs along the rows of the tensor and stores their elements down a column of the tile. A warp takes
several runs of each of several rows: enough neighbouring runs for whole sectors of memory, and rows enough that the
elements which its lanes store together fall in different banks. By the bank model of `layouts`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from phobos_core.ir.types import Patches
from phobos_core.language.targets import LANES
from phobos_core.layouts.memory import phase_visits
from phobos_core.passes.thread_tiles import ACCESS_BYTES

# What memory transfers at a time.
_SECTOR = 32


@lru_cache(maxsize=256)
def copy_layout(threads: int, shape: tuple[int, int], run: int, pitch: int, size: int) -> Patches:
    """Of a tile of this shape, its rows `pitch` elements of `size` bytes apart; `run` elements of a column are read
    together."""
    return min(_layouts(threads, shape, run), key=lambda layout: _cost(layout, pitch, size))


@lru_cache(maxsize=256)
def pitch_of(threads: int, shape: tuple[int, int], run: int, size: int) -> int:
    """The least pitch at which copies meet the fewest banks twice; a multiple of the widest access, for the readers."""
    granule = max(1, ACCESS_BYTES // size)
    first = -(-shape[1] // granule) * granule
    pitches = range(first, first + LANES * 4 // size + 1, granule)
    return min(pitches, key=lambda p: (min(_cost(x, p, size) for x in _layouts(threads, shape, run)), p))


def _layouts(threads: int, shape: tuple[int, int], run: int) -> Iterator[Patches]:
    rows, columns = shape[0] // run, shape[1]
    yield Patches(threads, run, 1, rows, columns, 1, run)
    across = LANES // 2
    while across and threads % LANES == 0:
        if columns % across == 0 and rows % (LANES // across) == 0:
            yield Patches(threads, run, 1, rows, columns, 1, run, across)
        across //= 2


def _cost(layout: Patches, pitch: int, size: int) -> tuple[int, int]:
    """For one warp: how often it visits shared memory and how many sectors it reads, both together and the former."""
    places = [layout.place(n) for n in range(min(LANES, layout.threads, layout.rows * layout.columns))]
    stored = [((row * layout.height) * pitch + column) * size for row, column in places]
    # The columns of the tile are rows of the tensor, far apart.
    sectors = {(column, row * layout.height * size // _SECTOR) for row, column in places}
    visits = sum(phase_visits(stored, size)) * layout.height
    return visits + len(sectors), visits
