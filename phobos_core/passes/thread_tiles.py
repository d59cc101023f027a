"""How many outputs of a contraction a thread computes: the patch that costs it the least of those its registers hold.

In: a kernel and its contractions. Out: the patch of one of them, or the grid of patches that several share, and what
registers a patch takes beside the sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod

from phobos_core.ir.module import Kernel, Op, Value
from phobos_core.ir.rewrite import Index
from phobos_core.ir.tree import Node, views_along
from phobos_core.ir.types import MemType, Patches, Rows, TileType, element_of
from phobos_core.language.targets import LANES, MAX_REGISTERS_PER_THREAD, REGISTERS_PER_SM
from phobos_core.language.types import F64, I32

# The widest access of a thread.
ACCESS_BYTES = 16
_SIDES = (8, 4, 2, 1)
# Registers of a thread for what it fetches ahead, and the sums that are work enough while it is under way.
MOST_FETCHED = 8
_COVERING = 16
# Registers that a contraction needs beside its outputs: per row and column of the patch, and for addresses and loops.
_REGISTERS_PER_SIDE = 2
REGISTERS_BESIDE = 24
# What reading an element of an operand costs, in products; more where the index has to be kept inside the tile.
_READ_COST = 2
_CLAMPED_READ_COST = 3
# What it costs, in products, to fold rows through parts of them in shared memory.
_PARTS_COST = 200


def thread_tile(kernel: Kernel, dot: Op) -> tuple[int, int]:
    """The patch of a thread, rows and columns."""
    rows, columns = shape_of(dot.result)

    def cost(tile: tuple[int, int]) -> tuple[int, int]:
        tm, tn = tile
        grid = Rows(kernel.threads, tm, -(-rows // tm), -(-columns // tn))
        return _cost(grid, dot, tn), -tn

    tiles = _tiles(kernel, dot)
    return min([tile for tile in tiles if _fits(kernel, dot, *tile)] or tiles[-1:], key=cost)


@dataclass(frozen=True, slots=True)
class NoGrid:
    """Why TILE_TN leaves no grid that suits all; `for_folds` if it leaves none across which rows can be folded."""

    reason: str
    for_folds: bool


def shared_grid(
    kernel: Kernel, dots: Mapping[Op, int], folds: int, most_columns: int | None = None
) -> tuple[Rows, Mapping[int, int]] | NoGrid:
    """The grid of patches at which `dots`, which have as many rows, together cost the least, with the columns of a
    patch for each number of columns of theirs. The numbers tell how often each runs compared with the others.

    With `most_columns` rows are folded, `folds` times: the columns of the grid are a power of two, at most that.
    """
    widest = max(dots, key=lambda dot: (words_of(dot.result), shape_of(dot.result)[1]))
    rows, width = shape_of(widest.result)
    found: list[tuple[Rows, dict[int, int]]] = []
    for tm, tn in _tiles(kernel, widest):
        across = -(-width // tn)
        if most_columns is not None:
            across = 1 << (across - 1).bit_length()
        within = [across] if most_columns is None else [min(across, most_columns, LANES), min(across, most_columns)]
        for columns in dict.fromkeys(within):
            widths = {n: -(-n // columns) for n in sorted(shape_of(dot.result)[1] for dot in dots)}
            if most_columns is None:
                widths[width] = tn
            found.append((Rows(kernel.threads, tm, -(-rows // tm), columns), widths))
    fixed = kernel.config.get("TILE_TN")
    if fixed:
        allowed = [(g, w) for g, w in found if all(tn == min(fixed, n) for n, tn in w.items())]
        if not allowed:
            return _no_grid(fixed, found[0][1], most_columns)
        found = allowed

    def cost(choice: tuple[Rows, Mapping[int, int]]) -> tuple[int, int]:
        grid, widths = choice
        products = sum(
            times * shape_of(dot.operands[0])[1] * _cost(grid, dot, widths[shape_of(dot.result)[1]])
            for dot, times in dots.items()
        )
        parts = most_columns is not None and grid.columns > LANES
        return products + (folds * _PARTS_COST if parts else 0), -widths[width]

    def fits(choice: tuple[Rows, Mapping[int, int]]) -> bool:
        grid, widths = choice
        return all(_fits(kernel, d, grid.tm, widths[shape_of(d.result)[1]]) for d in dots)

    return min([choice for choice in found if fits(choice)] or found[-1:], key=cost)


def _no_grid(fixed: int, widths: Mapping[int, int], most_columns: int | None) -> NoGrid:
    across = {n: -(-n // min(fixed, n)) for n in widths}
    if len(set(across.values())) > 1:
        shown = " and ".join(f"{patches} patches across {n} columns" for n, patches in across.items())
        return NoGrid(
            f"TILE_TN = {fixed} makes {shown}, and what a statement combines is spread alike", for_folds=False
        )
    (patches,) = set(across.values())
    needed = f"a power of two that divides the threads, at most {most_columns}"
    return NoGrid(
        f"TILE_TN = {fixed} spreads a row over {patches} threads, and reducing one takes {needed}", for_folds=True
    )


def patches_of(grid: Rows, columns: int, vector: int) -> Patches:
    """How a tile of so many columns is spread over a grid, in runs of at most `vector`."""
    while vector > 1 and vector * grid.columns > columns:
        vector //= 2
    tn = -(-columns // (vector * grid.columns)) * vector
    return Patches(grid.threads, grid.tm, tn, grid.rows, grid.columns, vector, grid.height, grid.across)


def row_run(index: Index, dots: Sequence[Op], tm: int) -> int:
    """How many neighbouring rows of a patch to compute, so that left operands that lie column by column can be read so
    many at a time."""
    run = 1
    for dot in dots:
        lhs = dot.operands[0]
        if views_along(index, lhs, 0):
            most = ACCESS_BYTES // element_of(lhs.type).bytes
            run = max(run, gcd(tm, shape_of(lhs)[0], most))
    return run


def warp_columns(kernel: Kernel, patch: tuple[int, int], shape: tuple[int, ...]) -> int:
    """How many patches a warp has side by side, as WARP_M and WARP_N say; 0 where they do not, or where warps so large
    are no 32 patches each, or do not make up the tile."""
    (tm, tn), (rows, columns) = patch, shape
    warp_m, warp_n = asked_warp(kernel)
    if warp_m is None and warp_n is None:
        return 0
    across = warp_n // tn if warp_n is not None else LANES * tm // (warp_m or 1)
    if not across or LANES % across or kernel.threads % LANES:
        return 0
    warp = LANES // across * tm, across * tn
    meant = warp_m in (None, warp[0]) and warp_n in (None, warp[1])
    return across if meant and rows % warp[0] == 0 and columns % warp[1] == 0 else 0


def asked_warp(kernel: Kernel) -> tuple[int | None, int | None]:
    return kernel.config.get("WARP_M"), kernel.config.get("WARP_N")


def _tiles(kernel: Kernel, dot: Op) -> list[tuple[int, int]]:
    """The patches to choose from: those that make up the warps asked for, if some do."""
    rows, columns = shape_of(dot.result)
    fixed = kernel.config.get("TILE_TM"), kernel.config.get("TILE_TN")
    tall = [min(fixed[0], rows)] if fixed[0] else [s for s in _SIDES if s <= rows]
    wide = [min(fixed[1], columns)] if fixed[1] else [s for s in _SIDES if s <= columns]
    found = [(tm, tn) for tm in tall for tn in wide]
    return [patch for patch in found if warp_columns(kernel, patch, (rows, columns))] or found


def _cost(grid: Rows, dot: Op, tn: int) -> int:
    """Products and elements read for each k, over the turns that it takes."""
    rows, columns = shape_of(dot.result)
    whole = rows % grid.tm == 0 and columns % tn == 0
    return grid.turns * (grid.tm * tn + (_READ_COST if whole else _CLAMPED_READ_COST) * (grid.tm + tn))


def _fits(kernel: Kernel, dot: Op, tm: int, tn: int) -> bool:
    words = words_of(dot.result)
    return words * tm * tn + operand_registers(words, tm, tn) <= registers(kernel) - REGISTERS_BESIDE


def operand_registers(words: int, tm: int, tn: int) -> int:
    """What the operands of a patch take."""
    return words * _REGISTERS_PER_SIDE * (tm + tn)


def registers(kernel: Kernel) -> int:
    """What a thread may use, by the caps of `@launch` and by the register file."""
    blocks = kernel.min_blocks or 1
    return min(
        kernel.max_registers or MAX_REGISTERS_PER_THREAD,
        MAX_REGISTERS_PER_THREAD,
        REGISTERS_PER_SM // (kernel.threads * blocks),
    )


def covers(kernel: Kernel, dot: Op) -> bool:
    """Whether a contraction gives a thread so much to do that copies for the next one arrive meanwhile."""
    return prod(thread_tile(kernel, dot)) >= _COVERING


def contractions_of(index: Index, alloc: Op) -> Iterator[Op]:
    """Those that read a buffer as it is, transposed, or as another type."""
    for view in index.used_by(alloc.results[0]):
        for load in index.used_by(view.result) if view.name == "view" else ():
            if load.name == "load":
                yield from _contractions_of(index, load.result)


def _contractions_of(index: Index, value: Value) -> Iterator[Op]:
    for user in index.used_by(value):
        if user.name == "dot":
            yield user
        elif user.name in ("convert", "transpose"):
            yield from _contractions_of(index, user.result)


def words_a_thread(kernel: Kernel, mem: MemType) -> int:
    """The registers for a thread's part of what is copied to a buffer."""
    bytes = prod(n or 1 for n in mem.shape) * mem.element.bytes
    return -(-bytes // (I32.bytes * kernel.threads))


def words_of(tile: Value) -> int:
    """The registers that an element takes."""
    return 2 if element_of(tile.type).bytes == F64.bytes else 1


def shape_of(value: Value) -> tuple[int, int]:
    assert isinstance(value.type, TileType)
    rows, columns = value.type.shape
    return rows, columns


def along(tree: Sequence[Node], axis: int) -> Iterator[Value]:
    """The views whose last axis follows `axis` of the root (or what the anchor folds), so that runs are contiguous."""
    return (n.op.operands[0] for n in tree if n.op.name == "load" and n.axes[-1] == axis)
