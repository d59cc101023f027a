"""Whether a kernel will fit shared memory: asked before it is known which of its tiles registers will hold.

In: a kernel, and the passes that are to come up to the one that holds tiles in registers. Out: what placing will find
after them. They are run only where the tiles do not fit as they are: holding some takes no more memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from phobos_core.ir.module import Kernel
from phobos_core.passes import place_shared

Pass: TypeAlias = Callable[[Kernel], Kernel]


def fits_after(kernel: Kernel, passes: Sequence[Pass]) -> bool:
    if place_shared.fits(kernel):
        return True
    for step in passes:
        kernel = step(kernel)
    return place_shared.fits(kernel)
