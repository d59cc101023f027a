"""Schedules: which thread writes which element of a store or a hold, and in what order the work goes.

Set on each of them by the pass `schedule`, read by the pass that places barriers (two accesses with one thread map
need no barrier between) and by codegen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from phobos_core.ir.types import Patches, Rows


@dataclass(frozen=True, slots=True)
class Sweep:
    """Element-wise, spread as `Cyclic(threads, vector, first)` over the row-major elements of the stored view.

    `vector` divides the last extent, and every access in the value tree that walks the last axis with stride 1 may use
    it: its addresses are multiples of the access (or of 16 bytes, for a longer one), and where the last axis is masked
    a run lies wholly inside or wholly outside the bounds. Of two such stores one after the other, `first` of the later
    one being the runs of the other, codegen makes one where it can."""

    vector: int
    first: int = 0

    def __str__(self) -> str:
        return f"Sweep(vector={self.vector}{f', first={self.first}' if self.first else ''})"


@dataclass(frozen=True, slots=True)
class Contraction:
    """A `dot` anchor on CUDA cores: a grid of `rows` x `columns` thread patches, each `tm` x `tn` outputs.

    The elements are spread as `Patches`: neighbouring threads work on neighbouring elements, so that their accesses
    meet different banks. `run` is a power of two that divides tn and the extent of the columns; the epilogue and an
    operand whose last axis is the columns are accessed `run` elements at a time where alignment allows, and a left
    operand that lies column by column `height` rows at a time.
    Elements past the extents are computed on clamped indices and not stored.
    `use_dp4a` takes four k a step (i8, `transposed`, K a multiple of 4).
    """

    tm: int
    tn: int
    rows: int
    columns: int
    use_dp4a: bool
    run: int = 1
    height: int = 1
    across: int = 0

    def layout(self, threads: int) -> Patches:
        """How the products lie in registers."""
        return Patches(threads, self.tm, self.tn, self.rows, self.columns, self.run, self.height, self.across)


@dataclass(frozen=True, slots=True)
class PatchSweep:
    """Element-wise, spread as `layout`, which is also that of the tiles in registers that the tree reads.

    `vector` divides the layout's, and every access in the value tree along the last axis may use it, as in `Sweep`.
    `down`: a thread's runs of `height` rows are accesses of their own in the value tree, which walks the first axis
    with stride 1; they are stored one by one, and `vector` is 1. Elements past the extents are not stored."""

    layout: Patches
    vector: int
    down: bool = False


@dataclass(frozen=True, slots=True)
class RowSweep:
    """Of an [R, 1] tile, spread as `layout`: each thread makes the elements of its rows itself, those in one row of
    patches the same ones; the first of them stores. A `reduce` anchor in the tree is folded by each thread alone, over
    all the columns of its operand."""

    layout: Rows


@dataclass(frozen=True, slots=True)
class RowFold:
    """A `reduce` anchor whose operand is spread as `layout`: each thread folds its part of each row, an xor butterfly
    folds the neighbouring lanes that share a row of patches, so that all of them know the result. What is held is
    spread as `layout.row_layout`; what is stored, the first of the lanes evaluates and stores.

    The columns of the grid of patches are a power of two that divides the threads. Where a row of patches is wider than
    a warp the butterfly folds those of a warp, and the `reduce` has a part for each warp of the row (`parts`), which
    can be stored only. `vector` divides the layout's: the width of the accesses in the operand's tree."""

    layout: Patches
    vector: int


@dataclass(frozen=True, slots=True)
class RowReduction:
    """A `reduce` anchor: `lanes` (a power of two, at most 32) neighbouring threads share a row.

    Thread t serves row t / lanes (and that plus threads / lanes, ...); lane t % lanes takes the runs of `vector`
    elements number lane, lane + lanes, ... of the row; an xor butterfly folds them; lane 0 writes.
    """

    lanes: int
    vector: int


@dataclass(frozen=True, slots=True)
class ColumnScan:
    """A `cumsum` anchor: thread t walks down column t, t + threads, ... ."""


Schedule: TypeAlias = Sweep | PatchSweep | Contraction | RowSweep | RowFold | RowReduction | ColumnScan
