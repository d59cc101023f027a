"""Reads a tile before an effect that stands after it in the same expression.

In: `O[..] = A[..] + atomic_add(A, 0, 1.0)`: a load whose buffer has another state where the store stands that evaluates
it. Out: such a load goes to a temporary where it stands. Statements without effects in their expressions have none.
"""

from __future__ import annotations

from collections.abc import Sequence

from phobos_core.ir.module import Kernel, Op, Value
from phobos_core.ir.ops import OPS
from phobos_core.ir.rewrite import Index, edit, with_body
from phobos_core.ir.tree import nodes
from phobos_core.passes.temporaries import temporary


def early_reads(kernel: Kernel, index: Index) -> Kernel:
    if not any(op.name == "sync" for op in index.ops):
        return kernel
    after: dict[Op, Sequence[Op]] = {}
    values: dict[Value, Value] = {}
    for store in index.ops:
        if store.name == "store":
            for read in dict.fromkeys(n.op for n in nodes(index, store.operands[1]) if OPS[n.op.name].effect == "read"):
                if read not in after and _superseded(index, read, store):
                    made = temporary(read.operands[0].hint or read.name, read.result, read.line)
                    after[read] = [*made.write, *made.read]
                    values[read.result] = made.tile
    return with_body(kernel, edit(kernel.body, after=after, values=values).ops) if after else kernel


def _superseded(index: Index, read: Op, store: Op) -> bool:
    """Whether what stands between a read and the store that evaluates it ends the state that it reads."""
    first, last = index.position[read], index.position[store]
    return any(
        first < index.position[user] < last and OPS[user.name].effect in ("write", "fence", "control")
        for user in index.used_by(read.operands[-1])
    )
