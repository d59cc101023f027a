"""The slices that a loop copies into tiles, and which of them can be fetched an iteration ahead.

In: a loop. Out: its copies, or why there are none. A copy is a store of a slice of a tensor, unchanged, to all of a
tile that the loop's body declares. It can be fetched ahead where its address is known then, the tensor is not stored to
in the loop, and nothing else writes the tile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from phobos_core.ir.module import Kernel, Op, Value
from phobos_core.ir.ops import OPS
from phobos_core.ir.rewrite import Index, walk
from phobos_core.ir.tree import buffer_of
from phobos_core.ir.types import MemType, TileType


@dataclass(frozen=True, slots=True)
class Copy:
    """`store` fills all of the buffer of `alloc` with what `load` reads, transposed if the allocation is `turned`;
    `address` are the ops of the loop's body that compute the view of that load, in order, the view last."""

    alloc: Op
    load: Op
    store: Op
    address: tuple[Op, ...]

    @property
    def source(self) -> Value:
        """The view of the tensor."""
        return self.load.operands[0]

    @property
    def turned(self) -> bool:
        return self.load.result is not self.store.operands[1]

    @property
    def mem(self) -> MemType:
        type = self.alloc.results[0].type
        assert isinstance(type, MemType)
        return type


def copies_of(index: Index, loop: Op) -> tuple[list[Copy], list[str]]:
    """The copies that can be fetched ahead, and for each other one why it cannot."""
    found, refused = [], []
    for store in walk(loop.regions[0]):
        load = _copied(index, store)
        if load is None or _innermost(index, store) is not loop:
            continue
        alloc = index.definition.get(buffer_of(index, store.operands[0]))
        source = index.definition.get(buffer_of(index, load.operands[0]))
        if alloc is None or source is not None or not _fills(store, alloc):
            continue
        result = _copy(index, loop, alloc, load, store)
        if isinstance(result, Copy):
            found.append(result)
        else:
            refused.append(result)
    return found, refused


def _changes(index: Index, loop: Op, load: Op) -> str:
    """What of the loop ends the state of the tensor that `load` reads."""
    tensor = buffer_of(index, load.operands[0])
    writes = (op for op in walk(loop.regions[0]) if OPS[op.name].effect == "write")
    if any(buffer_of(index, op.operands[0]) is tensor for op in writes):
        return "it stores to"
    return "others may have written to after a barrier or a flag in it"


def _copied(index: Index, op: Op) -> Op | None:
    """The load whose value a store writes as it is, or transposed."""
    if op.name != "store":
        return None
    value = op.operands[1]
    turned = index.defining(value, "transpose")
    return index.defining(turned.operands[0] if turned else value, "load")


def _innermost(index: Index, op: Op) -> Op | None:
    return next((around for around in index.ancestors(op) if around.name in ("for", "while")), None)


def _fills(store: Op, alloc: Op) -> bool:
    mem, tile = alloc.results[0].type, store.operands[1].type
    assert isinstance(mem, MemType)
    return isinstance(tile, TileType) and tile.shape == mem.shape and tile.layout is None


def _copy(index: Index, loop: Op, alloc: Op, load: Op, store: Op) -> Copy | str:
    tile, tensor = alloc.attrs["name"], buffer_of(index, load.operands[0]).hint
    body = loop.regions[0]
    if index.inside(load.operands[1], loop):
        return f"it loads `{tensor}`, which {_changes(index, loop, load)}"
    if index.block_of[store] is not body:
        return f"`{tile}` is copied under a condition"
    if index.block_of[alloc] is not body:
        return f"`{tile}` is declared outside the loop"
    uses = list(_uses(index, alloc.results[0]))
    if any(use is not store and OPS[use.name].effect == "write" for use in uses):
        return f"`{tile}` is changed after it is copied"
    if any(use.name == "gather" for use in uses):
        return f"`{tile}` is a table"
    address = _address(index, loop, load.operands[0])
    if address is None:
        return f"where `{tile}` is copied from is known only in the iteration itself"
    return Copy(alloc, load, store, tuple(address))


def _uses(index: Index, mem: Value) -> Iterator[Op]:
    """The ops that read or write a buffer, through its views or not."""
    for user in index.used_by(mem):
        if user.name in ("view", "flat"):
            yield from _uses(index, user.result)
        else:
            yield user


def _address(index: Index, loop: Op, view: Value) -> list[Op] | None:
    """The ops of the loop's body that `view` is computed by; None where some cannot be computed ahead."""
    body = loop.regions[0]
    carried = body.args[1:]
    needed: dict[Op, None] = {}
    pending = [view]
    while pending:
        value = pending.pop()
        if value in carried:
            return None
        op = index.definition.get(value)
        if op is None or not index.inside(value, loop):
            continue
        # A scalar load with a token from outside the loop reads the same whenever it is done.
        if index.block_of[op] is not body or OPS[op.name].effect not in ("none", "read") or op.name == "alloc":
            return None
        needed[op] = None
        pending += op.operands
    return sorted(needed, key=lambda op: index.position[op])


def can_be_pipelined(kernel: Kernel, loop: Op) -> bool:
    """Of the whole tiles of a ragged loop, only where the source asks for it."""
    return kernel.pipeline or not loop.attrs.get("whole")


def reasons(refused: Sequence[str]) -> str:
    if not refused:
        return "it copies no slice of a tensor to shared memory"
    return "; ".join(dict.fromkeys(refused))


def name_of(loop: Op) -> str:
    """The loop as the source names it; a contraction's walk over K has no name there."""
    variable = loop.regions[0].args[0].hint
    return f"for {variable}" if variable else "loop over K"
