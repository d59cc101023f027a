"""When two loads of tensors are of the same slice, and where one may stand for the other."""

from __future__ import annotations

from collections.abc import Iterator

from phobos_core.ir.module import Block, Op
from phobos_core.ir.regions import Regions
from phobos_core.ir.rewrite import Index
from phobos_core.ir.tree import view_of


def slice_of(index: Index, regions: Regions, load: Op) -> object:
    """Equal for loads that read the same elements in the same state."""
    view, token = load.operands
    bounds = tuple(
        tuple(regions.form(b) if b is not None else None for b in pair) for pair in view_of(index, view).bounds
    )
    return regions.of_view(view), bounds, token


def blocks_around(index: Index, op: Op) -> Iterator[Block]:
    """The blocks in which a value is known where `op` stands, innermost first."""
    yield index.block_of[op]
    for around in index.ancestors(op):
        yield index.block_of[around]
