"""Slices of tensors that several statements read: each a temporary that registers may hold, to be loaded once.

In: a kernel with loads of tensors. Out: loads of one slice in one state, all of which registers could serve, read a
temporary that is stored where the first of them stands. It is made to be held: one that is not is better left as it was
(`without`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from phobos_core.ir.module import Block, Kernel, Op, Value
from phobos_core.ir.regions import Regions
from phobos_core.ir.rewrite import Index, edit
from phobos_core.ir.tree import buffer_of
from phobos_core.passes.slices import blocks_around, slice_of
from phobos_core.passes.temporaries import temporary
from phobos_core.passes.tile_uses import Statement, serves


@dataclass(frozen=True, slots=True)
class WithSlices:
    """`loads` has the first load of the slice that each new buffer is for."""

    kernel: Kernel
    loads: Mapping[Value, Op]


def with_slices(
    kernel: Kernel, index: Index, statements: Sequence[Statement], without: Collection[Op] = ()
) -> WithSlices:
    after: dict[Op, Sequence[Op]] = {}
    values: dict[Value, Value] = {}
    loads: dict[Value, Op] = {}
    for first, *others in _alike(kernel, index, statements):
        if first not in without:
            made = temporary(f"slice of {buffer_of(index, first.operands[0]).hint}", first.result, first.line)
            after[first] = [*made.write, *made.read]
            values |= dict.fromkeys((load.result for load in (first, *others)), made.tile)
            loads[made.write[0].results[0]] = first
    if not loads:
        return WithSlices(kernel, {})
    return WithSlices(replace(kernel, body=edit(kernel.body, after=after, values=values)), loads)


def _alike(kernel: Kernel, index: Index, statements: Sequence[Statement]) -> Iterator[list[Op]]:
    """Loads of one slice in several statements, the first of which is computed before the others."""
    readers = _readers(index, statements)
    regions = Regions(kernel, index)
    found: dict[tuple[Block, object], list[Op]] = {}
    for load in sorted(readers, key=lambda op: index.position[op]):
        key = slice_of(index, regions, load)
        home = next((block for block in blocks_around(index, load) if (block, key) in found), index.block_of[load])
        found.setdefault((home, key), []).append(load)
    for loads in found.values():
        if len({statement for load in loads for statement in readers[load]}) > 1:
            yield loads


def _readers(index: Index, statements: Sequence[Statement]) -> dict[Op, set[Statement]]:
    """The loads of tensors that registers could serve wherever they are read, with the statements that do."""
    found: dict[Op, set[Statement]] = {}
    otherwise: set[Op] = set()
    for statement in statements:
        for node in statement.tree:
            if node.op.name == "load" and buffer_of(index, node.op.operands[0]) not in index.definition:
                found.setdefault(node.op, set()).add(statement)
                if not serves(index, statement, node):
                    otherwise.add(node.op)
    return {load: readers for load, readers in found.items() if load not in otherwise}
