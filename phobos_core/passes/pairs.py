"""Copies so small that half of the threads can make all of one in wide accesses: two of them go side by side.

In: copies one after the other, of as many elements in runs as wide. Out: in which thread each begins. The first
threads then have a run of the one and the next a run of the other, which codegen makes one load and one store of,
where all threads would take part in both with narrower ones. Only what contractions read with large patches, which
all threads wait for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod

from phobos_core.ir.divisors import Vectors, Width
from phobos_core.ir.module import Block, Kernel, Op
from phobos_core.ir.ops import OPS
from phobos_core.ir.rewrite import Index
from phobos_core.ir.tree import buffer_of
from phobos_core.ir.types import MemType, TileType, ViewType
from phobos_core.language.targets import LANES
from phobos_core.passes.thread_tiles import contractions_of, covers


@dataclass(frozen=True, slots=True)
class Small:
    """A copy to a tile of this type in runs of `width`, the widest that there are."""

    mem: MemType
    width: Width

    @property
    def runs(self) -> int:
        return prod(n or 1 for n in self.mem.shape) // self.width.vector


def firsts(kernel: Kernel, copies: Sequence[Small | None]) -> list[int | None]:
    """The thread that has the first run of each copy, None for one that goes by itself."""
    found: list[int | None] = [None] * len(copies)
    for n, (a, b) in enumerate(pairwise(copies)):
        if a is not None and b is not None and found[n] is None and _fit(kernel, a, b):
            found[n], found[n + 1] = 0, a.runs
    return found


def _fit(kernel: Kernel, a: Small, b: Small) -> bool:
    """Whether whole warps of a block make each, and fewer elements a run would be needed for all threads."""
    size = a.mem.element.bytes
    narrower = a.width.for_all(a.runs * a.width.vector, size, kernel.threads).vector < a.width.vector
    same = (a.runs, a.width.vector, a.mem.element) == (b.runs, b.width.vector, b.mem.element)
    return same and narrower and 2 * a.runs <= kernel.threads and a.runs % LANES == 0


def stores(kernel: Kernel, index: Index, vectors: Vectors) -> dict[Op, tuple[Width, int]]:
    """Of the stores that are such copies, the widths, and the threads where they begin."""
    found: dict[Op, tuple[Width, int]] = {}
    for block in _blocks(kernel.body):
        ops = [op for op in block.ops if op.regions or OPS[op.name].effect in ("write", "sync", "fence")]
        targets = [_target(index, op) for op in ops]
        if not any(a is not None and b is not None for a, b in pairwise(targets)):
            continue
        copies = [
            None if t is None else _small(kernel, index, vectors, op, t) for op, t in zip(ops, targets, strict=True)
        ]
        for op, copy, first in zip(ops, copies, firsts(kernel, copies), strict=True):
            if copy is not None and first is not None:
                found[op] = copy.width, first
    return found


def _blocks(block: Block) -> Iterator[Block]:
    yield block
    for op in block.ops:
        for region in op.regions:
            yield from _blocks(region)


def _target(index: Index, op: Op) -> Op | None:
    """The allocation that a copy of a slice of a tensor fills, without gaps."""
    load = index.defining(op.operands[1], "load") if op.name == "store" else None
    if load is None or len(load.operands) > 2 or buffer_of(index, load.operands[0]) in index.definition:
        return None
    alloc = index.defining(buffer_of(index, op.operands[0]), "alloc")
    if alloc is None or "pitch" in alloc.attrs:
        return None
    filled, mem, tile = op.operands[0].type, alloc.results[0].type, load.result.type
    assert isinstance(filled, ViewType)
    assert isinstance(mem, MemType)
    assert isinstance(tile, TileType)
    return alloc if filled.shape == mem.shape and tile.layout is None else None


def _small(kernel: Kernel, index: Index, vectors: Vectors, op: Op, alloc: Op) -> Small | None:
    if not any(covers(kernel, dot) for dot in contractions_of(index, alloc)):
        return None
    load, mem = index.definition[op.operands[1]], alloc.results[0].type
    assert isinstance(mem, MemType)
    return Small(mem, vectors.widest([op.operands[0], load.operands[0]], mem.shape[-1] or 1))
