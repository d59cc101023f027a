"""Runs a checked kernel over a grid: the language's meaning, one CTA at a time until it must wait.

In: the checked kernel, a configuration, the dimensions' values and the arguments in the order of the parameters (NumPy
arrays, changed in place, and scalars). Out: remarks on what the spec leaves unspecified. The caller has checked the
arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from phobos_core.analysis.program import CheckedKernel, Symbol, SymbolKind, TensorType
from phobos_core.language.types import ScalarType
from phobos_core.reference import numerics, points
from phobos_core.reference.frame import Frame, Grid, ReferenceFault, Remark
from phobos_core.reference.memory import Window
from phobos_core.reference.numerics import Array
from phobos_core.reference.statements import Run, run_block
from phobos_core.reference.synchronization import Wait, nodes_with_effects
from phobos_core.syntax.ast import Span


def run(
    kernel: CheckedKernel,
    grid: tuple[int, int, int],
    args: Sequence[object],
    *,
    config: Mapping[str, int],
    dims: Mapping[str, int],
    index_bits: int = 64,
) -> tuple[Remark, ...]:
    """Raises ReferenceFault where the program does something without a meaning, such as a point outside a tensor, and
    where it can never go on."""
    remarks: dict[Remark, None] = {}
    shared = Grid(int(np.prod(grid)))
    effectful = nodes_with_effects(kernel.body)
    names = {**dims, **config}

    def block(x: int, y: int, z: int) -> Block:
        frame = Frame(index_bits, _ctx(kernel, grid, (x, y, z)), dict(names), shared, kernel.launch.threads, effectful)
        frame.remarks = remarks
        _pass(kernel, args, frame)
        return Block(frame, run_block(kernel.body, frame))

    with np.errstate(all="ignore"):
        left = _round((block(x, y, z) for z, y, x in product(*(range(n) for n in reversed(grid)))), shared)
        while left:
            left = _round(left, shared)
    return tuple(remarks)


@dataclass(slots=True)
class Block:
    """A CTA under way. `places` has where it waited since one of its scalars changed last."""

    frame: Frame
    run: Run
    wait: Wait | None = None
    scalars: dict[Symbol, Array] = field(default_factory=dict)
    places: set[Span] = field(default_factory=set)

    def go_on(self) -> bool:
        """Runs until it waits or ends. False where it came back to where it waited before, and nothing is different."""
        self.wait = next(self.run, None)
        if self.wait is None:
            return True
        scalars = self.frame.scalars
        if scalars.keys() != self.scalars.keys() or any(
            value is not self.scalars[symbol] and not points.same(value, self.scalars[symbol])
            for symbol, value in scalars.items()
        ):
            self.places.clear()
        self.scalars = dict(scalars)
        moved = self.wait.span not in self.places
        self.places.add(self.wait.span)
        return moved


def _round(blocks: Iterable[Block], grid: Grid) -> list[Block]:
    """Each block once; the blocks that are left. The order is fixed: a round that changes nothing repeats for good."""
    changes, moved = grid.changes, False
    left = []
    for block in blocks:
        moved |= block.go_on()
        if block.wait is not None:
            left.append(block)
    if not moved and grid.changes == changes:
        raise _never_ends(left, grid)
    return left


def _never_ends(blocks: list[Block], grid: Grid) -> ReferenceFault:
    waits = [block.wait for block in blocks if block.wait is not None]
    for wait in waits:
        if wait.reason == "grid barrier":
            here = sum(other == wait for other in waits)
            message = f"{here} of {grid.blocks} blocks wait here for the others, which never come"
            return ReferenceFault(message, wait.span, "deadlock")
    for wait in waits:
        if wait.reason == "flag":
            return ReferenceFault("this waits for a value that nothing stores any more", wait.span, "deadlock")
    return ReferenceFault("this loop never ends: an iteration changes nothing", waits[0].span, "endless-loop")


def _ctx(kernel: CheckedKernel, grid: tuple[int, int, int], block: tuple[int, int, int]) -> dict[str, int]:
    ctx = {}
    for axis, here, extent in zip("xyz", block, grid, strict=True):
        ctx[f"block.{axis}"] = here
        ctx[f"blocks.{axis}"] = extent
    return ctx


def _pass(kernel: CheckedKernel, args: Sequence[object], frame: Frame) -> None:
    """Binds the parameters."""
    for symbol, value in zip(kernel.params, args, strict=True):
        match symbol.type:
            case TensorType():
                assert isinstance(value, np.ndarray)
                frame.memory[symbol] = Window.whole(value)
            case ScalarType():
                scalar = numerics.convert(np.asarray(value), numerics.dtype_of(symbol.type, frame.index_bits))
                frame.scalars[symbol] = scalar
                if symbol.kind is SymbolKind.SCALAR_PARAM and symbol.type.is_integer:
                    frame.integers[symbol.key] = int(scalar)
