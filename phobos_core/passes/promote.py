"""Holds tiles in registers: whatever statements use whole, each thread the elements that it computes.

In: allocations with stores and loads. Out: a tile that registers can serve is a value with a layout: a store of it is a
`hold`, a load is that value, and loops and branches carry the value where they carried the token. It takes no shared
memory, unless something reads it otherwise: then it is stored there too. A row reduction that more than a warp shares
goes through shared parts.

A tile that nothing would read from registers, that is written in parts, or that does not fit the registers beside the
others stays in memory. Each outcome is a decision.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from phobos_core.ir.module import Decision, Kernel, Op, Placement, Value
from phobos_core.ir.rewrite import Index, indexed
from phobos_core.ir.types import Cyclic, Layout, Patches, Rows, element_of
from phobos_core.language.targets import LANES
from phobos_core.passes.held_slices import with_slices
from phobos_core.passes.hold_tiles import Plan, hold_tiles
from phobos_core.passes.part_folds import part_folds
from phobos_core.passes.place_shared import fits
from phobos_core.passes.register_budget import one_too_many, registers_of
from phobos_core.passes.spread import Component, Conflict, Spread, Spreading, components
from phobos_core.passes.thread_tiles import shape_of
from phobos_core.passes.tile_uses import SharedTile, Uses, tile_uses

# Each patch of a thread is code of its own where registers hold it.
_MOST_TURNS = 4


@dataclass(frozen=True, slots=True)
class _Choice:
    """What is held, and why the other tiles are not; of the kernel with the slices that may be held."""

    kernel: Kernel
    index: Index
    tiles: Sequence[SharedTile]
    layouts: Mapping[SharedTile, Layout]
    parts: Mapping[Op, int]
    refused: Mapping[SharedTile, str]


def promote(kernel: Kernel) -> Kernel:
    if not kernel.in_registers:
        return kernel
    choice = _chosen(kernel, kernel.threads)
    held = _held(choice)
    if choice.parts and not fits(held):
        # Rows within a warp need no shared memory.
        choice = _chosen(kernel, LANES)
        held = _held(choice)
    decisions = [d for tile in choice.tiles if (d := _decision(tile, choice)) is not None]
    placements = _placements(choice.layouts)
    return replace(held, decisions=(*kernel.decisions, *decisions), tiles=(*kernel.tiles, *placements))


def _held(choice: _Choice) -> Kernel:
    if not choice.layouts:
        return choice.kernel
    plan = Plan(
        {tile.mem: layout for tile, layout in choice.layouts.items()},
        frozenset(read.op.result for tile in choice.layouts for read in tile.in_registers),
        {t.mem: frozenset(r.op.operands[-1] for r in t.in_memory) for t in choice.layouts if t.in_memory},
    )
    kernel = part_folds(choice.kernel, choice.parts)
    return replace(kernel, body=hold_tiles(kernel.body, plan))


def _chosen(kernel: Kernel, most_lanes: int) -> _Choice:
    """With the slices that several statements read, less those that are not held then. A row is reduced by at most so
    many threads."""
    index = indexed(kernel.body)
    uses = tile_uses(kernel, index)
    without: set[Op] = set()
    while True:
        tried = with_slices(kernel, index, uses.statements, without)
        if not tried.loads:
            return _choice(kernel, index, uses, Spreading(kernel, index, most_lanes), ())
        anew = indexed(tried.kernel.body)
        spreading = Spreading(tried.kernel, anew, most_lanes)
        choice = _choice(tried.kernel, anew, tile_uses(tried.kernel, anew), spreading, tried.loads)
        held = {tile.mem for tile in choice.layouts}
        lost = {load for mem, load in tried.loads.items() if mem not in held}
        if not lost:
            return choice
        without |= lost


def _choice(kernel: Kernel, index: Index, uses: Uses, spreading: Spreading, slices: Collection[Value]) -> _Choice:
    refused = {tile: why for tile in uses.tiles if (why := _no_use(tile))}
    while True:
        layouts: dict[SharedTile, Layout] = {}
        parts: dict[Op, int] = {}
        conflicts: dict[SharedTile, str] = {}
        for component in components([tile for tile in uses.tiles if tile not in refused]):
            found = spreading.spread(component)
            if isinstance(found, Spread) and found.grid.turns > _MOST_TURNS:
                found = Conflict(f"each thread would hold {found.grid.turns} patches of it", component.tiles)
            if isinstance(found, Conflict):
                conflicts |= dict.fromkeys(found.tiles, found.reason)
            else:
                layouts |= {tile: found.layout(tile) for tile in component.tiles}
                parts |= dict(_parts(component, found))
        if conflicts:
            refused |= conflicts
            continue
        over = one_too_many(kernel, index, uses.statements, layouts, slices)
        if over is None:
            return _Choice(kernel, index, uses.tiles, layouts, parts, refused)
        need = registers_of(over, layouts[over])
        reason = f"its {need} registers a thread do not fit beside what the statements need"
        refused |= {tile: reason for tile in layouts if _source(tile) == _source(over)}


def _no_use(tile: SharedTile) -> str | None:
    """Why registers would not serve a tile."""
    if tile.barred:
        return tile.barred
    if not tile.in_registers:
        return tile.in_memory[0].why if tile.in_memory else "nothing reads it"
    return None


def _parts(component: Component, spread: Spread) -> Iterator[tuple[Op, int]]:
    """The reductions of rows that more than a warp shares. Few columns in memory each thread folds alone."""
    if spread.grid.columns <= LANES:
        return
    held = {read.statement for tile in component.tiles for read in tile.in_registers if read.mode == "fold"}
    for statement in component.statements:
        fold = statement.fold
        if fold is not None and (statement in held or shape_of(fold.operands[0])[1] > LANES):
            yield fold, spread.grid.columns // LANES


# What is recorded


def _decision(tile: SharedTile, choice: _Choice) -> Decision | None:
    layout = choice.layouts.get(tile)
    if layout is not None:
        chosen = f"held in registers: {_share(layout)}"
        loops = sorted({loop.line for loop in _carrying(choice.index, tile)})
        if loops:
            chosen += f", carried by the loop{'s' if len(loops) > 1 else ''} on line {', '.join(map(str, loops))}"
        if tile.in_memory:
            return Decision(tile.alloc.line, tile.name, f"{chosen}; copied to shared memory", tile.in_memory[0].why)
        return Decision(tile.alloc.line, tile.name, chosen, "each thread uses the elements that it computes")
    if tile.alloc.attrs.get("temporary"):
        return None
    return Decision(tile.alloc.line, tile.name, "held in shared memory", choice.refused[tile])


def _share(layout: Layout) -> str:
    match layout:
        case Rows(tm=tm, columns=columns):
            by = f", the same in {columns} threads" if columns > 1 else ""
            return f"{tm} row{'s' if tm > 1 else ''} a thread{by}"
        case Cyclic():
            raise AssertionError("a loaded slice is held until it is stored")
        case Patches():
            times = "" if layout.turns == 1 else f"{layout.turns} times "
            return f"{times}{layout.tm}x{layout.tn} elements a thread"


def _carrying(index: Index, tile: SharedTile) -> Iterator[Op]:
    """The loops around a store of the tile that the tile is declared outside of."""
    for statement in tile.written:
        for around in index.ancestors(statement.store):
            if around.name in ("for", "while") and not index.inside(tile.mem, around):
                yield around


def _source(tile: SharedTile) -> object:
    """Equal for the copies of a tile of the source that splitting and unrolling loops made."""
    return tile.name, tile.alloc.line, tile.shape, element_of(tile.mem.type)


def _placements(layouts: Mapping[SharedTile, Layout]) -> list[Placement]:
    """A row for each tile of the source, however many copies of it splitting and unrolling loops made."""
    rows: dict[object, Placement] = {}
    for tile in layouts:
        element = element_of(tile.mem.type)
        key = _source(tile)
        live = tile.place.lines
        if key in rows:
            live = min(live[0], rows[key].live[0]), max(live[1], rows[key].live[1])
        size = prod(tile.shape) * element.bytes
        rows[key] = Placement(tile.name, tile.alloc.line, tile.shape, element, "registers", size, None, live)
    return list(rows.values())
