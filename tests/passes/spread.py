"""Scheduled kernels spread otherwise: in patches and in rows of patches, at random, stored at once or held before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from phobos_core.ir.builder import Builder
from phobos_core.ir.module import Kernel, Op, Value
from phobos_core.ir.rewrite import Index, edit, with_attrs, with_body
from phobos_core.ir.schedule import PatchSweep, RowFold, RowSweep, Schedule
from phobos_core.ir.tree import nodes
from phobos_core.ir.types import Layout, Patches, TileType
from phobos_core.language.targets import LANES
from phobos_core.language.types import F32
from tests.passes.programs import SIDE


def spread(kernel: Kernel, random: Random) -> Kernel:
    """Most of the stores that sweep or reduce. Before shared memory is placed."""
    index = Index(kernel.body)
    # Few, so that statements share them. No thread has whole rows of a wide tile, which it may then read by itself.
    rows_of = [_patches(random, kernel.threads, random.choice([1, 2, 4, 8, 16])) for _ in range(2)]
    others = [*(p for p in rows_of if p.columns > 1), _patches(random, kernel.threads, 3)]
    after: dict[Op, Sequence[Op]] = {}
    values: dict[Value, Value] = {}
    replaced: dict[Op, Sequence[Op]] = {}
    for store in (op for op in index.ops if op.name == "store"):
        tile = store.operands[1]
        assert isinstance(tile.type, TileType)
        anchor = next((n.op for n in nodes(index, tile) if n.op.name in ("dot", "cumsum", "reduce")), None)
        layout = random.choice(rows_of)
        rows = layout.row_layout
        if random.random() < 0.2 or (anchor is not None and anchor.name != "reduce"):
            continue
        if anchor is not None and kernel.threads % (2 * LANES) == 0 and random.random() < 0.5:
            after[anchor] = _parts(anchor, _patches(random, kernel.threads, 2 * LANES))
            values[anchor.result] = after[anchor][-1].result
            replaced[store] = _stored(random, store, RowSweep(rows), RowSweep(rows), rows)
        elif anchor is not None:
            replaced[store] = _stored(random, store, RowFold(layout, 1), RowSweep(rows), rows)
        elif tile.type.shape[1] == 1:
            replaced[store] = _stored(random, store, RowSweep(rows), RowSweep(rows), rows)
        else:
            layout = random.choice(others)
            replaced[store] = _stored(random, store, PatchSweep(layout, 1), PatchSweep(layout, 1), layout)
    # Operands are renamed in what is put in, too.
    body = edit(edit(kernel.body, after=after, replaced=replaced), values=values)
    return with_body(kernel, body.ops)


def _patches(random: Random, threads: int, columns: int) -> Patches:
    """More of them than threads, or fewer, or past the extents."""
    tm, vector = random.choice([1, 2, 3]), random.choice([1, 2, 4])
    tn = -(-SIDE // (columns * vector)) * vector
    return Patches(threads, tm, tn, -(-SIDE // tm), columns, vector)


def _stored(random: Random, store: Op, made: Schedule, kept: Schedule, layout: Layout) -> Sequence[Op]:
    """The store as it is made, or a hold so and the store of what is held."""
    view, tile, token = store.operands
    if random.random() < 0.5:
        return [with_attrs(store, schedule=made)]
    assert isinstance(tile.type, TileType)
    held = Value(replace(tile.type, layout=layout))
    return [
        Op("hold", (tile,), (held,), {"schedule": made}, (), store.line),
        replace(store, operands=(view, held, token), attrs={"schedule": kept}),
    ]


def _parts(reduce: Op, layout: Patches) -> Sequence[Op]:
    """The folds of each warp in scratch memory, and the `reduce` of those."""
    build, kind, count = Builder(reduce.line), reduce.attrs["kind"], layout.columns // LANES
    type = TileType(F32, (SIDE, count))
    folds = build.op("reduce", reduce.operands, (type,), {"kind": kind, "parts": count}).result
    mem, token = build.alloc("parts", F32, type.shape)
    written = build.store(build.whole(mem), folds, token)
    build.ops[-1] = with_attrs(build.ops[-1], schedule=RowFold(layout, 1))
    build.reduce(kind, build.load(build.whole(mem), written))
    return build.ops
