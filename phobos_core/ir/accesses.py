"""What memory an op touches, and which thread touches which element.

In: a kernel, scheduled and (for physical addresses) placed. Out: for an op the `Access`es it makes where it stands:
those of the virtual tiles that it evaluates included. `conflict` says whether two accesses need a barrier between:
they share bytes, one writes, and the same byte may belong to different threads.

Two accesses of the same buffer by single threads, each its own element, are ordered by the source's barriers alone:
only their indices tell whether they meet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

from phobos_core.ir.module import Kernel, Op, Value
from phobos_core.ir.ops import OPS
from phobos_core.ir.regions import Region, Regions, disjoint
from phobos_core.ir.rewrite import Index
from phobos_core.ir.schedule import (
    ColumnScan,
    Contraction,
    PatchSweep,
    RowFold,
    RowReduction,
    RowSweep,
    Schedule,
    Sweep,
)
from phobos_core.ir.tree import INNER, Node, buffer_of, nodes, stages_of
from phobos_core.ir.types import Cyclic, Layout, MemType, Patches, Rows, RunType, TileType, Type, ViewType, element_of

# Two accesses with equal maps touch each byte from the same thread. None: from several threads, or not known.
ThreadMap: TypeAlias = tuple[object, ...] | None

FIRST_THREAD: ThreadMap = ("first",)


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """`bytes` is the physical range in shared memory, None for a tensor; `copies` marks an unfinished `async_copy`,
    `own` an access that each thread makes to its own element.

    Compared by identity: `Accesses` gives one object for equal ones."""

    region: Region
    write: bool
    threads: ThreadMap
    bytes: tuple[int, int] | None
    copies: bool = False
    own: bool = False


def conflict(a: Access, b: Access) -> bool:
    if not (a.write or b.write) or (a.bytes is None) != (b.bytes is None):
        return False
    if a.threads is not None and a.threads == b.threads:
        return False
    if a.bytes is not None and b.bytes is not None and (a.bytes[1] <= b.bytes[0] or b.bytes[1] <= a.bytes[0]):
        return False
    if a.region.buffer is b.region.buffer:
        if a.own and b.own:
            return False
        return not disjoint(a.region, b.region)
    return a.bytes is not None


@dataclass(frozen=True, slots=True)
class Touch:
    """An op's use of memory: `place` is a view, or a buffer for points; `node` the tree's node that reads it."""

    place: Value
    write: bool
    node: Node | None = None


# Ops that a thread does alone, to single elements, with the number of their operands after the indices.
_OWN = {
    "load_point": 1,
    "store_point": 2,
    "load_run": 1,
    "store_run": 1,
    "atomic_add": 2,
    "atomic_cas": 3,
    "load_acquire": 1,
    "store_release": 2,
    "grid_sync": 2,
}


def touches(index: Index, op: Op) -> Iterator[Touch]:
    """The memory that `op` reads and writes where it stands."""
    match op.name:
        case "hold":
            yield from _evaluated(index, op.operands[0])
        case "store":
            view, tile, _ = op.operands
            yield from _evaluated(index, tile)
            yield Touch(view, write=True)
        case "load" if _layout(op) is not None:
            yield Touch(op.operands[0], write=False)
        case name if name in _OWN:
            yield Touch(op.operands[0], write=OPS[name].effect == "write")
        case "async_copy":
            target, source, *_ = op.operands
            yield Touch(source, write=False)
            yield Touch(target, write=True)
        case _:
            pass


def _evaluated(index: Index, tile: Value) -> Iterator[Touch]:
    """What a virtual tile reads where it is evaluated."""
    for node in nodes(index, tile):
        if node.op.name in ("load", "gather"):
            yield Touch(node.op.operands[0], write=False, node=node)


class Accesses:
    """The accesses of one kernel's ops."""

    def __init__(self, kernel: Kernel, index: Index) -> None:
        self._kernel = kernel
        self._index = index
        self._regions = Regions(kernel, index)
        self._known: dict[tuple[object, ...], Access] = {}

    def of(self, op: Op) -> list[Access]:
        found = []
        for touch in touches(self._index, op):
            region = self._region(op, touch)
            copies = op.name == "async_copy" and touch.write
            own = op.name in _OWN and not (op.name == "store_point" and "each" not in op.attrs)
            threads, bytes = self._threads(op, touch, region), self._bytes(region)
            found.append(self.one(region, touch.write, threads, bytes, copies, own))
        return list(dict.fromkeys(found))

    def one(
        self, region: Region, write: bool, threads: ThreadMap, bytes: tuple[int, int] | None, copies: bool, own: bool
    ) -> Access:
        """The access with these properties."""
        key = (region, write, threads, bytes, copies, own)
        if key not in self._known:
            self._known[key] = Access(*key)
        return self._known[key]

    def _region(self, op: Op, touch: Touch) -> Region:
        if isinstance(touch.place.type, ViewType):
            return self._regions.of_view(touch.place)
        match op.name:
            case "load_run":
                (run,) = op.results
                assert isinstance(run.type, RunType)
                return self._regions.of_run(touch.place, op.operands[1:-1], op.attrs["axis"], run.type.length)
            case "store_run":
                length = op.attrs["length"]
                return self._regions.of_run(touch.place, op.operands[1 : -1 - length], op.attrs["axis"], length)
            case name if name in _OWN and name != "grid_sync":
                return self._regions.of_point(touch.place, op.operands[1 : -_OWN[name]])
            case _:
                return self._regions.whole(touch.place)

    def _threads(self, op: Op, touch: Touch, region: Region) -> ThreadMap:
        match op.name:
            case "store" | "hold" if "schedule" in op.attrs:
                return self._scheduled(op, touch.node, region)
            case "load":
                layout = _layout(op)
                assert isinstance(layout, Cyclic)
                return self._cyclic(region, layout.vector, layout.first)
            case "async_copy":
                return self._cyclic(region, op.attrs["vector"])
            case "store_point" if "each" not in op.attrs:
                return FIRST_THREAD
            case _:
                return None

    def _scheduled(self, op: Op, node: Node | None, region: Region) -> ThreadMap:
        schedule: Schedule = op.attrs["schedule"]
        if node is None or (node.own and node.op.name == "load"):
            return self._own(schedule, region) if op.name == "store" or _covered(op.result.type) else None
        if node.op.name != "load" or node.anchor is None:
            return None
        match schedule:
            case RowFold(layout) if node.axes == (0, INNER) and layout.covers(region.shape):
                return self._patches(layout, region)
            case RowReduction(lanes, vector) if node.axes == (0, INNER):
                return self._grid(self._kernel.threads // lanes, lanes, vector, region)
            case ColumnScan() if node.axes == (INNER, 1):
                return self._columns(region)
            case _:
                return None

    def _own(self, schedule: Schedule, region: Region) -> ThreadMap:
        match schedule:
            case Sweep(vector, first):
                return self._cyclic(region, vector, first)
            case RowReduction(lanes=lanes):
                return self._grid(self._kernel.threads // lanes, lanes, 1, region)
            case PatchSweep(layout):
                return self._patches(layout, region)
            case Contraction():
                return self._patches(schedule.layout(self._kernel.threads), region)
            case ColumnScan():
                return self._columns(region)
            case RowSweep(layout):
                return self._patches(layout.patches, region)
            case RowFold(layout) if region.shape[-1] == 1:
                return self._patches(layout.row_layout.patches, region)
            case RowFold():
                return None

    def _patches(self, layout: Patches, region: Region) -> ThreadMap:
        if (layout.height, layout.across) != (1, 0):
            return ("patches", replace(layout, tm=layout.height, tn=layout.vector), self._where(region))
        return self._grid(layout.rows, layout.columns, layout.vector, region)

    def _grid(self, rows: int, columns: int, vector: int, region: Region) -> ThreadMap:
        """Row i and run j, of `vector` columns, are of thread (i % rows) * columns + j % columns, modulo threads."""
        # The grid's rows do not matter where the region has no more, or where the threads come round as they do.
        wraps = rows < region.shape[0] and rows * columns % self._kernel.threads != 0
        # Nor do the runs where all are of one thread.
        vector = vector if columns > 1 else region.shape[-1]
        if not wraps and columns * vector == region.shape[-1]:
            return self._cyclic(region, vector)
        return ("grid", rows if wraps else None, columns, vector, self._where(region))

    def _cyclic(self, region: Region, vector: int, first: int = 0) -> ThreadMap:
        """Runs of `vector` in row-major order; of a contiguous region, runs of bytes from its first."""
        run = vector * element_of(region.buffer.type).bytes
        start = self._contiguous(region)
        return ("cyclic", run, self._where(region) if start is None else start, first)

    def _columns(self, region: Region) -> ThreadMap:
        """A thread for each column, whichever rows."""
        first = region.starts[-1]
        if first is None or first[0]:
            return ("columns", self._where(region))
        return ("columns", self._placed(region.buffer) or region.buffer, first, region.flat)

    def _where(self, region: Region) -> object:
        """The region; by its physical place where that is fixed, so that tiles that share bytes can be compared."""
        placed = self._placed(region.buffer)
        if placed is None or region.stage is not None or any(start is None or start[0] for start in region.starts):
            return region
        return placed, region.starts, region.shape, region.flat

    def _contiguous(self, region: Region) -> int | None:
        """The first byte, where the region is known to be one run of bytes of shared memory."""
        placed = self._placed(region.buffer)
        if placed is None or region.stage is not None:
            return None
        offset, extents, pitch, element = placed
        if region.flat:
            extents, pitch = (prod(extents),), prod(extents)
            starts, shape = region.starts[1:], region.shape[1:]
        else:
            starts, shape = region.starts, region.shape
        strides = [pitch * prod(extents[k + 1 : -1]) for k in range(len(extents) - 1)] + [1]
        first = 0
        for start, stride in zip(starts, strides, strict=True):
            if start is None or start[0]:
                return None
            first += start[1] * stride
        leading = next((k for k, n in enumerate(shape) if n > 1), len(shape) - 1)
        whole_rows = pitch == extents[-1] or leading == len(shape) - 1
        if not whole_rows or shape[leading + 1 :] != extents[leading + 1 :]:
            return None
        return offset + first * element

    def _bytes(self, region: Region) -> tuple[int, int] | None:
        """Where a shared region lies: exactly where it is contiguous, else all of its buffer."""
        placed = self._placed(region.buffer)
        if placed is None:
            return None
        offset, extents, pitch, element = placed
        start = self._contiguous(region)
        if start is not None:
            return start, start + prod(region.shape) * element
        size = prod(extents[:-1]) * pitch * element
        return offset, offset + size * stages_of(self._index, region.buffer)

    def _placed(self, buffer: Value) -> tuple[int, tuple[int, ...], int, int] | None:
        """(offset, extents, row pitch, element size) of an allocation."""
        op = self._index.defining(buffer_of(self._index, buffer), "alloc")
        if op is None:
            return None
        mem = op.results[0].type
        assert isinstance(mem, MemType)
        extents = tuple(n for n in mem.shape if n is not None)
        return op.attrs["offset"], extents, op.attrs.get("pitch", extents[-1]), mem.element.bytes


def _layout(op: Op) -> Layout | None:
    type = op.result.type
    return type.layout if isinstance(type, TileType) else None


def _covered(type: Type) -> bool:
    """Whether each thread makes its own elements of a tile only: past the extents it makes copies of another's."""
    assert isinstance(type, TileType)
    match type.layout:
        case Patches() as layout:
            return layout.covers(type.shape)
        case Rows() as layout:
            return layout.patches.covers(type.shape)
        case _:
            return False
