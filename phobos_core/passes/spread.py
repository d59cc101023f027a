"""Spreads the tiles that statements use together over the threads: one grid of patches for all of them.

In: tiles to hold, with the statements that use them. Out: components, the tiles that some statement uses together, and
for each one grid of `rows` x `columns` patches of `tm` rows: an [R, 1] tile is held in its rows (`Rows`), a tile of C
columns in patches of as many columns as it takes to cover C (`Patches`).

Contractions decide where there are some: the grid at which all of them together cost least. Else the accesses do:
neighbouring threads take neighbouring runs of 16 bytes of a row. Where rows are reduced the columns of the grid are a
power of two that divides the threads, at most a warp unless a row has runs enough for more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import gcd

from phobos_core.ir.divisors import Vectors
from phobos_core.ir.module import Kernel, Op
from phobos_core.ir.rewrite import Index
from phobos_core.ir.tree import INNER
from phobos_core.ir.types import Layout, Patches, Rows, element_of
from phobos_core.language.targets import LANES
from phobos_core.passes.thread_tiles import (
    ACCESS_BYTES,
    NoGrid,
    along,
    patches_of,
    row_run,
    shape_of,
    shared_grid,
    warp_columns,
)
from phobos_core.passes.tile_uses import SharedTile, Statement

# A row goes to more than a warp where each thread of one would have so many runs of it.
_RUNS_FOR_MORE = 4
# How often a loop runs, where that has to be guessed.
_TURNS_OF_A_LOOP = 8
# What neighbouring threads should access of a row together.
_SEGMENT_BYTES = 128


@dataclass(frozen=True)
class Component:
    """Tiles that statements use together, and these statements."""

    tiles: tuple[SharedTile, ...]
    statements: tuple[Statement, ...]

    @property
    def rows(self) -> int:
        return self.tiles[0].shape[0]

    @cached_property
    def dots(self) -> list[Op]:
        return list(dict.fromkeys(s.dot for s in self.statements if s.dot))

    @cached_property
    def folds(self) -> list[Op]:
        return list(dict.fromkeys(s.fold for s in self.statements if s.fold))

    @cached_property
    def register_loads(self) -> set[Op]:
        return {read.op for tile in self.tiles for read in tile.in_registers}


@dataclass(frozen=True, slots=True)
class Spread:
    """The grid of a component, and the patches of its tiles by their columns."""

    grid: Rows
    patches: Mapping[int, Patches]

    def layout(self, tile: SharedTile) -> Layout:
        return self.grid if tile.by_rows else self.patches[tile.shape[1]]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why there is no grid for a component, and the tiles without which there may be one."""

    reason: str
    tiles: tuple[SharedTile, ...]


def components(tiles: Sequence[SharedTile]) -> list[Component]:
    """The tiles grouped by the statements that use several of them in registers."""
    group: dict[SharedTile, list[SharedTile]] = {tile: [tile] for tile in tiles}
    uses: dict[Statement, list[SharedTile]] = {}
    for tile in tiles:
        for statement in tile.written:
            uses.setdefault(statement, []).append(tile)
        for read in tile.in_registers:
            if read.statement is not None:
                uses.setdefault(read.statement, []).append(tile)
    for first, *others in uses.values():
        for other in others:
            if group[other] is not group[first]:
                group[first].extend(group[other])
                for tile in group[other]:
                    group[tile] = group[first]
    statements: dict[SharedTile, list[Statement]] = {}
    for statement, (first, *_) in uses.items():
        statements.setdefault(group[first][0], []).append(statement)
    order = {tile: number for number, tile in enumerate(tiles)}
    found = {id(g): g for g in group.values()}.values()
    return [Component(tuple(sorted(g, key=lambda t: order[t])), tuple(statements[g[0]])) for g in found]


class Spreading:
    """Finds the grids of one kernel's components; at most `most_lanes` threads reduce a row."""

    def __init__(self, kernel: Kernel, index: Index, most_lanes: int) -> None:
        self._kernel = kernel
        self._index = index
        self._index = index
        self._most_lanes = most_lanes
        self._vectors = Vectors(kernel, index)

    def spread(self, component: Component) -> Spread | Conflict:
        if component.dots:
            return self._of_contractions(component)
        return self._of_accesses(component)

    def _of_contractions(self, component: Component) -> Spread | Conflict:
        most = self._most_columns(component) if component.folds else None
        dots = {s.dot: self._times(s) for s in component.statements if s.dot}
        folds = sum(self._times(s) for s in component.statements if s.fold)
        found = shared_grid(self._kernel, dots, folds, most)
        if isinstance(found, NoGrid):
            return Conflict(found.reason, _beside(component, folds=found.for_folds))
        grid, widths = found
        height = row_run(self._index, component.dots, grid.tm)
        # The threads that reduce a row are neighbours, so that patches then go row by row.
        width = max(widths)
        shape = (component.rows, width)
        across = 0 if component.folds else warp_columns(self._kernel, (grid.tm, widths[width]), shape)
        grid = replace(grid, height=height, across=across)
        patches = {}
        for columns, statements in self._by_width(component).items():
            if columns in widths:
                vector = self._of_products(component, statements, columns, widths[columns])
                tn, tall = widths[columns], (grid.height, grid.across)
                patches[columns] = Patches(grid.threads, grid.tm, tn, grid.rows, grid.columns, vector, *tall)
            else:
                patches[columns] = patches_of(grid, columns, self._usual(component, statements, columns))
        return Spread(grid, patches)

    def _times(self, statement: Statement) -> int:
        """How often a statement runs, as a guess to compare by."""
        loops = sum(around.name in ("for", "while") for around in self._index.ancestors(statement.store))
        return int(_TURNS_OF_A_LOOP**loops)

    def _of_accesses(self, component: Component) -> Spread:
        widths = {
            columns: self._usual(component, statements, columns)
            for columns, statements in self._by_width(component).items()
        }
        grid = self._grid(component, widths)
        return Spread(grid, {columns: patches_of(grid, columns, vector) for columns, vector in widths.items()})

    def _grid(self, component: Component, widths: Mapping[int, int]) -> Rows:
        threads, rows = self._kernel.threads, component.rows
        columns = 1
        if widths:
            most = self._most_columns(component) if component.folds else threads
            width = max(widths)
            runs = -(-width // widths[width])
            segment = max(1, _SEGMENT_BYTES // (widths[width] * _element_bytes(component, width)))
            while 2 * columns <= most and columns < runs:
                more = 2 * columns
                if rows * more > threads and more > segment:
                    break
                if component.folds and more > LANES and runs < _RUNS_FOR_MORE * columns:
                    break
                columns = more
        tm = -(-rows * columns // threads)
        return Rows(threads, tm, -(-rows // tm), columns)

    def _most_columns(self, component: Component) -> int:
        """The largest power of two that divides the threads; a warp where the folds have no parts."""
        most = min(self._kernel.threads & -self._kernel.threads, self._most_lanes)
        parts = all(fold.attrs["kind"] in ("max", "sum") for fold in component.folds)
        return most if parts else min(most, LANES)

    def _by_width(self, component: Component) -> dict[int, list[Statement]]:
        """The statements by the columns of what they compute in patches, or fold."""
        found: dict[int, list[Statement]] = {}
        for statement in component.statements:
            columns = _width(statement)
            if columns is not None:
                found.setdefault(columns, []).append(statement)
        return found

    def _of_products(self, component: Component, statements: Sequence[Statement], columns: int, tn: int) -> int:
        """The widest runs that all contractions can access."""
        vector = tn
        for statement in statements:
            if statement.dot:
                most = gcd(vector, columns, ACCESS_BYTES // element_of(statement.dot.result.type).bytes)
                vector = self._widest(component, statement, columns, most) or most
        return vector

    def _usual(self, component: Component, statements: Sequence[Statement], columns: int) -> int:
        """The widest runs that some of the statements can access."""
        most = gcd(columns, ACCESS_BYTES // _element_bytes(component, columns))
        found = [self._widest(component, s, columns, most) for s in statements]
        return max((width for width in found if width is not None), default=most)

    def _widest(self, component: Component, statement: Statement, columns: int, most: int) -> int | None:
        """The widest runs that divide `most` and suit all accesses of a statement along its rows, if there are some."""
        tree = [node for node in statement.tree if node.op not in component.register_loads]
        views = list(along(tree, INNER if statement.fold else 1))
        if not statement.fold and all(statement.buffer is not tile.mem for tile in component.tiles):
            views.append(statement.store.operands[0])
        return self._vectors.widest(views, gcd(most, columns)).vector if views else None


def _width(statement: Statement) -> int | None:
    """The columns of what a statement computes in patches, or folds."""
    if statement.fold:
        return shape_of(statement.fold.operands[0])[1]
    return None if statement.by_rows else statement.shape[1]


def _element_bytes(component: Component, columns: int) -> int:
    sizes = [element_of(t.mem.type).bytes for t in component.tiles if not t.by_rows and t.shape[1] == columns]
    return max(sizes, default=4)


def _beside(component: Component, *, folds: bool) -> tuple[SharedTile, ...]:
    """The tiles to let go of where TILE_TN does not suit all of a component: those reduced or held by rows, else those
    that are not as wide as the widest contraction."""
    if folds:
        found = [t for t in component.tiles if t.by_rows or any(r.mode == "fold" for r in t.reads)]
    else:
        widest = max(shape_of(dot.result)[1] for dot in component.dots)
        found = [t for t in component.tiles if not t.by_rows and t.shape[1] != widest]
    return tuple(found) or component.tiles
