"""Gives each allocation its bytes of shared memory; those with disjoint lifetimes share them.

In: allocations without offsets. Out: each `alloc` has an `offset`, under `@padstage` perhaps a `pitch`, and the kernel
its totals and the placement of each tile for the report. More than a block may have is an error that lists the tiles.

A lifetime runs from the first use to the last in program order. A use in a loop that the allocation stands outside of
counts for the whole loop, since the next iteration may find it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import prod

from phobos_core.ir.accesses import Touch, touches
from phobos_core.ir.divisors import Vectors
from phobos_core.ir.module import Kernel, Op, Placement, Value
from phobos_core.ir.rewrite import Index, indexed, rewrite, with_attrs
from phobos_core.ir.schedule import Contraction
from phobos_core.ir.tree import INNER, Node, buffer_of, nodes
from phobos_core.ir.types import MemType, TileType, element_of
from phobos_core.language.targets import LANES, STATIC_SHARED_LIMIT, TARGETS
from phobos_core.layouts.memory import WIDEST, WORD
from phobos_core.passes.errors import PassError

# The widest access needs this; it is a multiple of every element's size.
_ALIGNMENT = 16
# Rows that start this far apart meet the same banks.
_BANK_ROW = 128


@dataclass(frozen=True, slots=True, eq=False)
class Tile:
    """An allocation and when it is in use: positions of ops and source lines, both inclusive."""

    alloc: Op
    mem: MemType
    shape: tuple[int, ...]
    pitch: int | None
    bytes: int
    first: int
    last: int
    lines: tuple[int, int]

    @property
    def name(self) -> str:
        return str(self.alloc.attrs["name"])

    @property
    def shown(self) -> tuple[int, ...]:
        """The shape that the source gives it."""
        return self.shape[::-1] if self.alloc.attrs.get("turned") else self.shape


def place_shared(kernel: Kernel) -> Kernel:
    tiles = lifetimes(kernel, pad_temporaries=True)
    if not _within(tiles, limit(kernel)):
        tiles = lifetimes(kernel)
    offsets = pack(tiles)
    used = _peak(tiles, offsets)
    if used > limit(kernel):
        raise over_limit(kernel)
    placed = {tile.alloc: (offset, tile.pitch) for tile, offset in zip(tiles, offsets, strict=True)}

    def visit(op: Op) -> Sequence[Op] | None:
        if op not in placed:
            return None
        offset, pitch = placed[op]
        return [with_attrs(op, offset=offset, **({"pitch": pitch} if pitch else {}))]

    copies = _copies(tiles)
    return replace(
        kernel,
        body=rewrite(kernel.body, visit),
        shared_bytes=used,
        shared_bytes_without_reuse=sum(max(t.bytes for t in group) for group in copies),
        tiles=tuple(sorted((*kernel.tiles, *_placements(copies, placed)), key=lambda p: p.line)),
    )


def _copies(tiles: Sequence[Tile]) -> list[list[Tile]]:
    """The tiles of the source, each with the copies of it that splitting and unrolling loops made."""
    found: dict[tuple[object, ...], list[list[Tile]]] = {}
    for tile in tiles:
        alike = found.setdefault((tile.name, tile.alloc.line, tile.shape, tile.mem), [])
        # Copies stand one after the other; what is in use at the same time is another tile of that name.
        group = next((g for g in alike if not any(_meet(tile, other) for other in g)), None)
        if group is None:
            alike.append([tile])
        else:
            group.append(tile)
    return [group for alike in found.values() for group in alike]


def _placements(copies: Sequence[Sequence[Tile]], placed: Mapping[Op, tuple[int, int | None]]) -> Iterator[Placement]:
    """A row for each place that a tile of the source has."""
    for group in copies:
        rows: dict[int, Placement] = {}
        for t in group:
            offset = placed[t.alloc][0]
            live, size = t.lines, t.bytes
            if (known := rows.get(offset)) is not None:
                # That of a remainder has one stage, where that of the whole tiles may have two.
                live, size = (min(live[0], known.live[0]), max(live[1], known.live[1])), max(size, known.bytes)
            rows[offset] = Placement(t.name, t.alloc.line, t.shown, t.mem.element, "shared", size, offset, live)
        yield from rows.values()


def limit(kernel: Kernel) -> int:
    """The bytes that a block of this kernel may have."""
    return TARGETS[kernel.target].shared_per_block if kernel.dynamic_shared else STATIC_SHARED_LIMIT


def fits(kernel: Kernel) -> bool:
    """Whether placing will keep to the limit."""
    return _within(lifetimes(kernel), limit(kernel))


def _within(tiles: Sequence[Tile], most: int) -> bool:
    if sum(t.bytes for t in tiles) <= most:
        return True
    return _most_at_once(tiles) <= most and _peak(tiles, pack(tiles)) <= most


# Lifetimes


def lifetimes(kernel: Kernel, *, pad_temporaries: bool = False) -> list[Tile]:
    """The allocations in program order; one that nothing touches lives where it stands."""
    index = indexed(kernel.body)
    vectors = Vectors(kernel, index)
    uses: dict[Value, list[tuple[Op, Touch]]] = {op.results[0]: [] for op in index.ops if op.name == "alloc"}
    for op in index.ops:
        for touch in touches(index, op):
            buffer = buffer_of(index, touch.place)
            if buffer in uses:
                uses[buffer].append((op, touch))
    found = []
    for buffer, touched in uses.items():
        alloc = index.definition[buffer]
        padded = alloc.attrs.get("temporary") is not None and pad_temporaries and _crossed(index, vectors, touched)
        padded = padded or (kernel.padstage and _holds_slices(index, touched))
        found.append(_tile(index, alloc, [op for op, _ in touched], padded=padded))
    return found


def _tile(index: Index, alloc: Op, uses: Sequence[Op], *, padded: bool) -> Tile:
    home = index.block_of[alloc]
    spans = list(dict.fromkeys(_outermost(index, use, home) for use in uses))
    first = min((index.position[op] for op in spans), default=index.position[alloc])
    last = max((index.end[op] for op in spans), default=index.position[alloc])
    lines = [op.line for op in (alloc, *uses) if op.line]
    lines += [line for span in spans for line in _loop_lines(index, span)]
    mem = alloc.results[0].type
    assert isinstance(mem, MemType)
    shape = tuple(n for n in mem.shape if n is not None)
    pitch = alloc.attrs.get("pitch") or (_pitch(index, alloc, shape, mem.element.bytes) if padded else None)
    elements = prod(shape[:-1]) * (pitch or shape[-1]) * int(alloc.attrs["stages"])
    size = _aligned(elements * mem.element.bytes)
    return Tile(alloc, mem, shape, pitch, size, first, last, (min(lines, default=0), max(lines, default=0)))


def _outermost(index: Index, use: Op, home: object) -> Op:
    """The op of block `home` that holds `use`: itself or the loop or branch around it."""
    while index.block_of[use] is not home:
        around = index.parent[use]
        assert around is not None
        use = around
    return use


def _loop_lines(index: Index, op: Op) -> Iterable[int]:
    """The lines of the ops in a loop: a tile from outside is kept until the last of them."""
    if op.name not in ("for", "while"):
        return ()
    return (inner.line for inner in index.ops[index.position[op] : index.end[op] + 1] if inner.line)


def _pitch(index: Index, alloc: Op, shape: Sequence[int], element: int) -> int | None:
    """The row length that puts the rows of a tile into different banks, where they share them."""
    flat = any(user.name == "flat" for user in index.used_by(alloc.results[0]))
    if flat or prod(shape[:-1]) == 1 or shape[-1] * element % _BANK_ROW:
        return None
    return shape[-1] + _ALIGNMENT // element


def _crossed(index: Index, vectors: Vectors, touched: Sequence[tuple[Op, Touch]]) -> bool:
    """Whether threads that access the banks together read down the rows: as an operand that is walked along its own, or
    transposed."""
    return any(
        touch.node is not None
        and touch.node.axes[-1:] in ((0,), (INNER,))
        and not _in_one_row(index, vectors, op, touch.node)
        for op, touch in touched
    )


def _in_one_row(index: Index, vectors: Vectors, op: Op, node: Node) -> bool:
    """Whether the threads that access the banks together read the left operand of a `dot` in the same row."""
    schedule = op.attrs.get("schedule")
    if not isinstance(schedule, Contraction) or node.axes != (0, INNER) or node.anchor is None:
        return False
    walked = [n for n in nodes(index, op.operands[1 if op.name == "store" else 0]) if n.axes[-1:] == (INNER,)]
    views = [n.op.operands[0] for n in walked if n.op.name == "load"]
    columns = node.anchor.operands[0].type
    assert isinstance(columns, TileType)
    bytes = vectors.widest(views, columns.shape[1]).vector * element_of(node.op.result.type).bytes
    return (schedule.across or schedule.columns) % (LANES * WORD // max(WORD, min(WIDEST, bytes))) == 0


def _holds_slices(index: Index, touched: Sequence[tuple[Op, Touch]]) -> bool:
    """Whether all that is written is copies of slices of tensors."""
    writes = [op for op, touch in touched if touch.write]
    return bool(writes) and all(_copies_slice(index, op) for op in writes)


def _copies_slice(index: Index, op: Op) -> bool:
    if op.name == "async_copy":
        return True
    load = index.defining(op.operands[1], "load") if op.name == "store" else None
    return load is not None and buffer_of(index, load.operands[0]) not in index.definition


# Packing


def pack(tiles: Sequence[Tile]) -> list[int]:
    """Offsets such that tiles in use at one time do not overlap: the best of a few orders of best fit."""
    orders: list[Callable[[Tile], tuple[int, ...]]] = [
        lambda t: (-t.bytes, t.first),
        lambda t: (t.first, -t.bytes),
        lambda t: (t.first - t.last, -t.bytes),
        lambda t: ((t.first - t.last) * t.bytes,),
        lambda t: (-t.last, -t.bytes),
    ]
    least = _most_at_once(tiles)
    best: list[int] = []
    for order in orders:
        offsets = _best_fit(sorted(tiles, key=order))
        found = [offsets[tile] for tile in tiles]
        if not best or _peak(tiles, found) < _peak(tiles, best):
            best = found
        if _peak(tiles, best) == least:
            break
    return best


def _most_at_once(tiles: Sequence[Tile]) -> int:
    """The bytes of the tiles in use at the time when those are most: no placement takes less."""
    changes = sorted([(t.first, 0, t.bytes) for t in tiles] + [(t.last, 1, -t.bytes) for t in tiles])
    return max(accumulate(change for *_, change in changes), default=0)


def _best_fit(tiles: Sequence[Tile]) -> dict[Tile, int]:
    """Each tile in turn into the smallest gap that holds it, among the tiles that it meets."""
    offsets: dict[Tile, int] = {}
    for tile in tiles:
        taken = sorted((offsets[t], t.bytes) for t in offsets if _meet(t, tile))
        gaps, end = [], 0
        for offset, size in taken:
            if offset - end >= tile.bytes:
                gaps.append((offset - end, end))
            end = max(end, offset + size)
        offsets[tile] = min(gaps)[1] if gaps else end
    return offsets


def _meet(a: Tile, b: Tile) -> bool:
    """Whether both are in use at some time."""
    return a.first <= b.last and b.first <= a.last


def _peak(tiles: Sequence[Tile], offsets: Sequence[int]) -> int:
    return max((t.bytes + offset for t, offset in zip(tiles, offsets, strict=True)), default=0)


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


# The error


def over_limit(kernel: Kernel) -> PassError:
    """The error of a kernel whose tiles do not fit, with the tiles and what each takes."""
    tiles = lifetimes(kernel)
    used = _peak(tiles, pack(tiles))
    config = ", ".join(f"{name} = {value}" for name, value in kernel.config.items())
    most = limit(kernel)
    limit_text = (
        f"the {most // 1024} KB that a block of {kernel.target} may have"
        if kernel.dynamic_shared
        else f"the {most // 1024} KB of static shared memory"
    )
    groups = sorted(_copies(tiles), key=lambda group: -group[0].bytes)
    rows = [
        (
            group[0].name,
            "x".join(map(str, group[0].shown)),
            str(group[0].mem.element),
            f"{group[0].bytes:,} bytes",
            _lines(min(t.lines[0] for t in group), max(t.lines[1] for t in group)),
        )
        for group in groups
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = "\n".join(
        f"  {name:<{widths[0]}}  {shape:<{widths[1]}}  {element:<{widths[2]}}  {size:>{widths[3]}}  {live}"
        for name, shape, element, size, live in rows
    )
    total = sum(group[0].bytes for group in groups)
    reuse = f"; its tiles, which take {total:,} bytes without reuse:" if total > used else "; its tiles:"
    per_block = TARGETS[kernel.target].shared_per_block
    help = "make the tiles smaller"
    if any(t.alloc.attrs["stages"] > 1 for t in tiles):
        help += ", or remove @pipeline, which keeps two copies of the tiles that a loop fetches ahead"
    if not kernel.dynamic_shared and used <= per_block:
        help += f", or add @dynshared: a block of {kernel.target} may have {per_block // 1024} KB"
    return PassError(
        "over-shared-limit",
        kernel.line,
        f"`{kernel.name}`{f' with {config}' if config else ''} needs {used:,} bytes of shared memory, more than "
        f"{limit_text}{reuse}\n{table}",
        help,
    )


def _lines(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first}-{last}"
