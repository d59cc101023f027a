"""Runs a checked kernel over a grid: the language's meaning, one CTA at a time until it must wait.

In: the checked kernel, a configuration, the dimensions' values and the arguments in the order of the parameters (NumPy
arrays, changed in place, and scalars). Out: remarks on what the spec leaves unspecified. The caller has checked the
arguments.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from phobos_core.analysis.program import CheckedKernel, SymbolKind, TensorType
from phobos_core.language.targets import LANES
from phobos_core.language.types import ScalarType
from phobos_core.reference import numerics
from phobos_core.reference.frame import Frame, Remark
from phobos_core.reference.memory import Window
from phobos_core.reference.statements import run_block


def run(
    kernel: CheckedKernel,
    grid: tuple[int, int, int],
    args: Sequence[object],
    *,
    config: Mapping[str, int],
    dims: Mapping[str, int],
    index_bits: int = 64,
) -> tuple[Remark, ...]:
    """Raises ReferenceFault where the program does something without a meaning, such as a point outside a tensor."""
    remarks: dict[Remark, None] = {}
    with np.errstate(all="ignore"):
        waiting = deque(
            run_block(kernel.body, _frame(kernel, grid, (x, y, z), args, {**dims, **config}, index_bits, remarks))
            for z, y, x in product(*(range(n) for n in reversed(grid)))
        )
        while waiting:
            cta = waiting.popleft()
            try:
                next(cta)
            except StopIteration:
                continue
            waiting.append(cta)
    return tuple(remarks)


def _frame(
    kernel: CheckedKernel,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    args: Sequence[object],
    names: Mapping[str, int],
    index_bits: int,
    remarks: dict[Remark, None],
) -> Frame:
    threads = kernel.launch.threads
    ctx = {"threads": threads, "lanes": LANES, "warps": threads // LANES}
    for axis, here, extent in zip("xyz", block, grid, strict=True):
        ctx[f"block.{axis}"] = here
        ctx[f"blocks.{axis}"] = extent
    frame = Frame(index_bits, ctx, dict(names), remarks=remarks)
    for symbol, value in zip(kernel.params, args, strict=True):
        match symbol.type:
            case TensorType():
                assert isinstance(value, np.ndarray)
                frame.memory[symbol] = Window.whole(value)
            case ScalarType():
                scalar = numerics.convert(np.asarray(value), numerics.dtype_of(symbol.type, index_bits))
                frame.scalars[symbol] = scalar
                if symbol.kind is SymbolKind.SCALAR_PARAM and symbol.type.is_integer:
                    frame.integers[symbol.key] = int(scalar)
    return frame
