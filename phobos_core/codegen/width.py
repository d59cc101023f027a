"""How wide the accesses of a value tree may be, by what is known of the addresses.

Sweeps and reductions are told by their schedule; a contraction's operands and its epilogue are asked here.
"""

from __future__ import annotations

from math import gcd

from phobos_core.codegen.context import Context
from phobos_core.codegen.tree import loads_of
from phobos_core.ir.module import Value


def width_of_tree(cg: Context, value: Value, most: int) -> int:
    """The largest power of two up to `most` at which every load of the tree may read runs along the last axis that
    start at a multiple of it."""
    return min([most, *(width_of_view(cg, load.operands[0], most) for load in loads_of(cg, value))])


def width_of_view(cg: Context, view: Value, most: int) -> int:
    """The same for accesses of one view. A row that may be cut by its bounds takes single elements."""
    window = cg.windows[view]
    if window.shape[-1] == 1:
        return most
    if window.bounds[-1] is not None:
        return 1
    multiple = window.shape[-1]
    *outer, last = zip(cg.views[view].offsets, window.shape, window.memory.strides, strict=True)
    for offset, extent, stride in outer:
        step = stride if isinstance(stride, int) else 1
        multiple = gcd(multiple, step if extent > 1 else step * cg.facts.range(offset).multiple)
    multiple = gcd(multiple, cg.facts.range(last[0]).multiple)
    width = 1
    while 2 * width <= most and multiple % (2 * width) == 0:
        width *= 2
    return width
