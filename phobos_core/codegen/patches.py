"""Tiles spread in patches: where the runs of a thread's patch lie, and sweeps and holds over them.

In: a `Patches` layout, and what is known already of each run: the products of a contraction, tiles held in registers.
Out: the value tree evaluated at the patch's runs, and stored or kept in registers. `Rows` are patches one element wide,
whose column is outside for all but the first of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TypeAlias

from phobos_core.codegen import index
from phobos_core.codegen.context import Context, Window
from phobos_core.codegen.evaluate import Evaluation, Place
from phobos_core.codegen.index import Coord
from phobos_core.codegen.sweep import group_of, store_run
from phobos_core.ir.module import Op, Value
from phobos_core.ir.tree import held
from phobos_core.ir.types import Patches, Rows, TileType, element_of
from phobos_core.language.targets import LANES

# Values whose elements are known, with the operand of each run of a patch, or of each row of one in `Rows`.
Given: TypeAlias = Mapping[Value, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Patch:
    """One thread's patch, its `turn`-th, in column `column` of the grid of patches. `rows` and `columns` are where the
    rows and the runs of columns begin, clamped to the tile; `row_inside` and `column_inside` are the conditions under
    which they were inside already."""

    layout: Patches
    turn: int
    column: Coord
    rows: tuple[Coord, ...]
    columns: tuple[Coord, ...]
    row_inside: tuple[str, ...]
    column_inside: tuple[str, ...]

    def places(self, cg: Context) -> Iterator[tuple[Place, str]]:
        """Where each run begins, row by row, and whether that was inside."""
        for row, row_inside in zip(self.rows, self.row_inside, strict=True):
            for column, column_inside in zip(self.columns, self.column_inside, strict=True):
                yield (row, column), index.both(cg, row_inside, column_inside)

    @property
    def whole(self) -> bool:
        return set(self.row_inside) | set(self.column_inside) == {"true"}


def patch_of(cg: Context, layout: Patches, shape: tuple[int, ...], number: Coord, turn: int = 0) -> Patch:
    """The patch with this number of a tile."""
    r, c = _in_grid(cg, layout, number)
    rows: list[tuple[Coord, str]] = []
    for i in range(layout.tm // layout.height):
        run, inside = index.clamped(cg, r.plus(i * layout.rows), shape[0] // layout.height)
        first = index.scaled(cg, run, layout.height)
        rows += [(first.plus(j), inside) for j in range(layout.height)]
    runs = range(layout.tn // layout.vector)
    columns = [index.clamped(cg, c.plus(j * layout.columns), shape[1] // layout.vector) for j in runs]
    return Patch(
        layout,
        turn,
        c,
        tuple(x for x, _ in rows),
        tuple(index.scaled(cg, x, layout.vector) for x, _ in columns),
        tuple(inside for _, inside in rows),
        tuple(inside for _, inside in columns),
    )


def _in_grid(cg: Context, layout: Patches, number: Coord) -> tuple[Coord, Coord]:
    """The row and the column in the grid of patches."""
    if not layout.across:
        return index.divided(cg, number, layout.columns)
    block, lane = index.divided(cg, number, LANES)
    block_row, block_column = index.divided(cg, block, layout.columns // layout.across)
    row, column = index.divided(cg, lane, layout.across)
    return (
        index.total(cg, index.scaled(cg, block_row, LANES // layout.across), row),
        index.total(cg, index.scaled(cg, block_column, layout.across), column),
    )


def turns(cg: Context, layout: Patches | Rows) -> Iterator[tuple[int, Coord, str]]:
    """Each patch of the thread: its turn, its number, and the condition under which there is one."""
    patches, threads = layout.rows * layout.columns, layout.threads
    thread = index.thread(cg)
    for turn in range(layout.turns):
        left = patches - turn * threads
        if left >= threads:
            yield turn, thread.plus(turn * threads), "true"
        else:
            yield turn, thread._replace(limit=left).plus(turn * threads), index.less(cg, cg.thread, left)


def sweep(cg: Context, store: Op, layout: Patches, vector: int, *, down: bool = False) -> None:
    """A store without a contraction of what registers hold."""
    view, value, _ = store.operands
    target = cg.windows[view]
    if down:
        _sweep_down(cg, target, value, layout)
        return
    group = group_of(cg, value, vector)
    for turn, number, condition in turns(cg, layout):
        with cg.writer.guarded(condition):
            patch = patch_of(cg, layout, target.shape, number, turn)
            store_patch(cg, target, value, patch, vector, in_registers(cg, value, patch), group)


def _sweep_down(cg: Context, target: Window, value: Value, layout: Patches) -> None:
    """All that every thread has is read before any of it is stored; what only some have comes after that."""
    ready: list[tuple[Place, str]] = []
    for turn, number, condition in turns(cg, layout):
        if condition != "true":
            _store_all(cg, target, ready)
        with cg.writer.guarded(condition):
            patch = patch_of(cg, layout, target.shape, number, turn)
            places = [place for place, _ in patch.places(cg)]
            read = list(zip(places, _down(cg, value, patch), strict=True))
            if condition == "true":
                ready += read
            else:
                _store_all(cg, target, read)
    _store_all(cg, target, ready)


def _store_all(cg: Context, target: Window, ready: Sequence[tuple[Place, str]]) -> None:
    for place, element in ready:
        store_run(cg, target, place, element, 1)


def _down(cg: Context, value: Value, patch: Patch) -> list[str]:
    """The elements of a patch row by row, read in its runs of rows."""
    layout, evaluation = patch.layout, Evaluation(cg)
    type = cg.type(element_of(value.type))
    rows: list[tuple[str, ...]] = []
    for first in patch.rows[:: layout.height]:
        runs = [evaluation.at(value, (first, column), layout.height, down=True) for column in patch.columns]
        rows += zip(*(cg.lanes(run, type, layout.height) for run in runs), strict=True)
    return [element for row in rows for element in row]


def hold(cg: Context, op: Op, layout: Patches, vector: int, *, down: bool = False) -> None:
    """A hold without a contraction."""
    (value,) = op.operands

    def runs(number: Coord, turn: int) -> list[str]:
        patch = patch_of(cg, layout, _tile(value).shape, number, turn)
        if down:
            return _down(cg, value, patch)
        return runs_of(cg, value, patch, vector, in_registers(cg, value, patch))

    keep(cg, op.result, runs)


def keep(cg: Context, result: Value, runs: Callable[[Coord, int], list[str]]) -> None:
    """Keeps in registers what `runs` gives for each patch of the thread, by its number and turn."""
    found: list[str] = []
    for turn, number, condition in turns(cg, _layout(result)):
        found += runs_if(cg, result, condition, partial(runs, number, turn))
    cg.registers[result] = found


def runs_if(cg: Context, result: Value, condition: str, runs: Callable[[], list[str]]) -> list[str]:
    """What `runs` gives of a patch of `result`, in the threads that have it: those for which `condition` holds."""
    layout = _layout(result)
    count = _tile(result).runs // layout.turns
    # The others may have anything: what is stored or folded is theirs only where the condition holds.
    types = [cg.type(_tile(result).element, layout.vector)] * count
    return cg.writer.either(condition, types, ["undef"] * count, runs)


def in_registers(cg: Context, value: Value, patch: Patch, but_below: Value | None = None) -> Given:
    """The runs of a patch that the tiles in registers have which the tree of `value` reads."""
    found: dict[Value, Sequence[str]] = {}
    for tile in held(cg.ir, value, but_below=but_below):
        count = _tile(tile).runs // patch.layout.turns
        found[tile] = cg.registers[tile][patch.turn * count : (patch.turn + 1) * count]
    return found


def runs_of(cg: Context, value: Value, patch: Patch, vector: int, given: Given) -> list[str]:
    """The runs of a patch, those past the extents evaluated at the last element inside."""
    evaluation = Evaluation(cg)
    type, found = cg.type(element_of(value.type)), []
    for number, (place, _) in enumerate(patch.places(cg)):
        pieces = [operand for _, operand in pieces_of(cg, evaluation, value, patch, place, number, vector, given)]
        width = vector
        while len(pieces) > 1:
            pairs = zip(pieces[::2], pieces[1::2], strict=True)
            pieces = [cg.concatenated(low, high, type, width) for low, high in pairs]
            width *= 2
        found += pieces
    return found


def store_patch(
    cg: Context, target: Window, value: Value, patch: Patch, vector: int, given: Given, group: int | None = None
) -> None:
    """Evaluates and stores a patch, `group` accesses at a time, so that their loads are under way together."""
    together = Evaluation(cg)
    inside: list[tuple[Place, str]] = []

    def store(ready: list[tuple[Place, str]]) -> None:
        for place, operand in ready:
            store_run(cg, target, place, operand, vector)
        ready.clear()

    for condition, runs in groupby(enumerate(list(patch.places(cg))), key=lambda run: run[1][1]):
        # Clamped elements are another thread's: neither read nor written.
        with cg.writer.guarded(condition):
            evaluation, ready = (together, inside) if condition == "true" else (Evaluation(cg), [])
            for number, (place, _) in runs:
                ready += pieces_of(cg, evaluation, value, patch, place, number, vector, given)
                if group is not None and len(ready) >= group:
                    store(ready)
            if ready is not inside:
                store(ready)
    store(inside)


def pieces_of(
    cg: Context,
    evaluation: Evaluation,
    value: Value,
    patch: Patch,
    place: Place,
    number: int,
    vector: int,
    given: Given,
) -> list[tuple[Place, str]]:
    """Run `number` of a patch in pieces of `vector` elements: where each begins, and its operand."""
    row, column = place
    found: list[tuple[Place, str]] = []
    for known, runs in given.items():
        if isinstance(_tile(known).layout, Rows):
            evaluation.give(known, (row, index.ZERO), 1, runs[number // len(patch.columns)])
    for first in range(0, patch.layout.vector, vector):
        at: Place = (row, column.plus(first))
        for known, runs in given.items():
            if not isinstance(_tile(known).layout, Rows):
                piece = cg.part(runs[number], cg.type(element_of(known.type)), patch.layout.vector, first, vector)
                evaluation.give(known, at, vector, piece)
        found.append((at, evaluation.at(value, at, vector)))
    return found


def _tile(value: Value) -> TileType:
    assert isinstance(value.type, TileType)
    return value.type


def _layout(value: Value) -> Patches | Rows:
    layout = _tile(value).layout
    assert isinstance(layout, Patches | Rows)
    return layout
