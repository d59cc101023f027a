"""How many outputs of a contraction a thread computes: the patch that costs it the least of those its registers hold.

In: a kernel and the extents of a product. Out: the patch, and what registers it takes beside the sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from phobos_core.ir.module import Kernel, Op, Value
from phobos_core.ir.tree import Node
from phobos_core.ir.types import TileType, element_of
from phobos_core.language.targets import MAX_REGISTERS_PER_THREAD, REGISTERS_PER_SM
from phobos_core.language.types import F64

_SIDES = (8, 4, 2, 1)
# Registers that a contraction needs beside its outputs: per row and column of the patch, and for addresses and loops.
_REGISTERS_PER_SIDE = 2
REGISTERS_BESIDE = 24
# What reading an element of an operand costs, in products; more where the index has to be kept inside the tile.
_READ_COST = 2
_CLAMPED_READ_COST = 3


def thread_tile(kernel: Kernel, dot: Op) -> tuple[int, int]:
    """The patch of a thread, rows and columns."""
    rows, columns = shape_of(dot.result)
    fixed = kernel.config.get("TILE_TM"), kernel.config.get("TILE_TN")
    words = words_of(dot.result)
    room = registers(kernel) - REGISTERS_BESIDE

    def cost(tile: tuple[int, int]) -> tuple[int, int]:
        """Products and elements read for each k, over the turns that it takes; then, the wider the better."""
        tm, tn = tile
        turns = -(-(-(-rows // tm) * -(-columns // tn)) // kernel.threads)
        whole = rows % tm == 0 and columns % tn == 0
        return turns * (tm * tn + (_READ_COST if whole else _CLAMPED_READ_COST) * (tm + tn)), -tn

    tall = [min(fixed[0], rows)] if fixed[0] else [s for s in _SIDES if s <= rows]
    wide = [min(fixed[1], columns)] if fixed[1] else [s for s in _SIDES if s <= columns]
    tiles = [(tm, tn) for tm in tall for tn in wide]
    fit = [(tm, tn) for tm, tn in tiles if words * tm * tn + operand_registers(words, tm, tn) <= room]
    return min(fit or tiles[-1:], key=cost)


def operand_registers(words: int, tm: int, tn: int) -> int:
    """What the operands of a patch take."""
    return words * _REGISTERS_PER_SIDE * (tm + tn)


def registers(kernel: Kernel) -> int:
    """What a thread may use, by the caps of `@launch` and by the register file."""
    blocks = kernel.min_blocks or 1
    return min(
        kernel.max_registers or MAX_REGISTERS_PER_THREAD,
        MAX_REGISTERS_PER_THREAD,
        REGISTERS_PER_SM // (kernel.threads * blocks),
    )


def words_of(tile: Value) -> int:
    """The registers that an element takes."""
    return 2 if element_of(tile.type).bytes == F64.bytes else 1


def shape_of(value: Value) -> tuple[int, int]:
    assert isinstance(value.type, TileType)
    rows, columns = value.type.shape
    return rows, columns


def along(tree: Sequence[Node], axis: int) -> Iterator[Value]:
    """The views whose last axis follows `axis` of the root (or what the anchor folds), so that runs are contiguous."""
    return (n.op.operands[0] for n in tree if n.op.name == "load" and n.axes[-1] == axis)
