"""Reading and rebuilding a kernel: walks, an index of definitions and uses, and functional rewrites.

The IR is immutable, so a pass makes new ops and blocks. An op keeps its result values when it is replaced by another
version of itself, so that nothing that uses them changes; only `clone` makes new values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from operator import is_
from typing import Any

from phobos_core.ir.module import Block, Kernel, Op, Value
from phobos_core.ir.ops import OPS


def walk(block: Block) -> Iterator[Op]:
    """Every op in program order, an op before those of its regions."""
    for op in block.ops:
        yield op
        for region in op.regions:
            yield from walk(region)


class Index:
    """Who defines, uses and encloses what in a kernel. Stale after a rewrite.

    `position` numbers ops as `walk` meets them, and `end` is the number of the last op inside an op, itself if it has
    no regions: an op's span is position..end. `trees` has what `tree` found below a value.
    """

    __slots__ = ("_users", "block_of", "definition", "end", "ops", "owner", "parent", "position", "trees")

    def __init__(self, body: Block) -> None:
        self.ops: list[Op] = []
        self.definition: dict[Value, Op] = {}
        self.owner: dict[Value, Op] = {}  # of a region's argument
        self.parent: dict[Op, Op | None] = {}
        self.block_of: dict[Op, Block] = {}
        self.position: dict[Op, int] = {}
        self.end: dict[Op, int] = {}
        self.trees: dict[Value, Sequence[object]] = {}
        self._users: dict[Value, list[Op]] | None = None
        self._visit(body, None)

    def _visit(self, block: Block, parent: Op | None) -> None:
        ops, definition, end = self.ops, self.definition, self.end
        for op in block.ops:
            self.position[op] = end[op] = len(ops)
            ops.append(op)
            self.parent[op] = parent
            self.block_of[op] = block
            for value in op.results:
                definition[value] = op
            if op.regions:
                for region in op.regions:
                    for argument in region.args:
                        self.owner[argument] = op
                    self._visit(region, op)
                end[op] = len(ops) - 1

    def used_by(self, value: Value) -> Sequence[Op]:
        if self._users is None:
            self._users = {}
            for op in self.ops:
                for operand in op.operands:
                    self._users.setdefault(operand, []).append(op)
        return self._users.get(value, ())

    def defining(self, value: Value, name: str) -> Op | None:
        """The op that defines `value` if it is a `name`."""
        op = self.definition.get(value)
        return op if op is not None and op.name == name else None

    def ancestors(self, op: Op) -> Iterator[Op]:
        """The ops around `op`, innermost first."""
        around = self.parent[op]
        while around is not None:
            yield around
            around = self.parent[around]

    def scope(self, value: Value) -> Op | None:
        """The op in whose region `value` is defined, None for the kernel's own block."""
        op = self.definition.get(value)
        return self.parent[op] if op is not None else self.owner.get(value)

    def inside(self, value: Value, op: Op) -> bool:
        """Whether `value` is defined in a region of `op`."""
        scope = self.scope(value)
        return scope is not None and (scope is op or op in self.ancestors(scope))


@lru_cache(maxsize=2)
def indexed(body: Block) -> Index:
    """The index of a body, once for the passes one after the other that read it and leave it as it is."""
    return Index(body)


def with_attrs(op: Op, **attrs: Any) -> Op:
    return replace(op, attrs={**op.attrs, **attrs})


def with_body(kernel: Kernel, ops: Iterable[Op]) -> Kernel:
    """With the same ops it stays the same."""
    ops = tuple(ops)
    return kernel if ops is kernel.body.ops else replace(kernel, body=replace(kernel.body, ops=ops))


def rewrite(block: Block, visit: Callable[[Op], Sequence[Op] | None]) -> Block:
    """`block` with each op, those in regions first, replaced by what `visit` gives; None keeps it.

    `visit` sees an op after its regions were rebuilt. A block in which nothing changes stays the same object.
    """
    ops: list[Op] = []
    changed = False
    for old in block.ops:
        op = old
        if op.regions:
            regions = tuple(rewrite(region, visit) for region in op.regions)
            if any(new is not was for new, was in zip(regions, op.regions, strict=True)):
                op = replace(op, regions=regions)
        given = visit(op)
        if given is None:
            ops.append(op)
            changed |= op is not old
        else:
            ops.extend(given)
            changed = True
    return Block(block.args, tuple(ops)) if changed else block


def edit(
    block: Block,
    *,
    before: Mapping[Op, Sequence[Op]] | None = None,
    after: Mapping[Op, Sequence[Op]] | None = None,
    replaced: Mapping[Op, Sequence[Op]] | None = None,
    values: Mapping[Value, Value] | None = None,
) -> Block:
    """`block` with ops put before and after given ones, ops replaced (by nothing, to remove them) and operands renamed.

    The keys are ops of `block` as it is. `values` applies to its ops, not to those put in; its chains are followed.
    """
    before, after, replaced = before or {}, after or {}, replaced or {}
    renamed = _ends(values) if values else {}

    def rebuilt(op: Op) -> Op:
        operands = tuple(renamed.get(v, v) for v in op.operands) if renamed else op.operands
        regions = tuple(blocks(region) for region in op.regions) if op.regions else ()
        if operands == op.operands and all(map(is_, regions, op.regions)):
            return op
        return replace(op, operands=operands, regions=regions)

    def blocks(block: Block) -> Block:
        ops: list[Op] = []
        for op in block.ops:
            ops += before.get(op, ())
            ops += replaced[op] if op in replaced else (rebuilt(op),)
            ops += after.get(op, ())
        if len(ops) == len(block.ops) and all(new is was for new, was in zip(ops, block.ops, strict=True)):
            return block
        return Block(block.args, tuple(ops))

    return blocks(block)


def _ends(values: Mapping[Value, Value]) -> dict[Value, Value]:
    """Where the chain that starts at each value ends."""
    ends: dict[Value, Value] = {}
    for value in values:
        chain = []
        while value in values and value not in ends:
            chain.append(value)
            value = values[value]
        end = ends.get(value, value)
        ends.update(dict.fromkeys(chain, end))
    return ends


def without_unused(block: Block) -> Block:
    """`block` without the ops that have no effect and whose results nothing uses."""
    used: set[Value] = set()

    def kept(block: Block) -> Block:
        ops: list[Op] = []
        for op in reversed(block.ops):
            if OPS[op.name].effect in ("none", "read") and used.isdisjoint(op.results):
                continue
            if op.regions:
                regions = tuple(kept(region) for region in reversed(op.regions))[::-1]
                if not all(map(is_, regions, op.regions)):
                    op = replace(op, regions=regions)
            used.update(op.operands)
            ops.append(op)
        return (
            block
            if len(ops) == len(block.ops) and all(map(is_, reversed(ops), block.ops))
            else Block(block.args, tuple(reversed(ops)))
        )

    return kept(block)


def clone(block: Block, values: Mapping[Value, Value]) -> Block:
    """A copy with new values for all that `block` defines; `values` gives those for others, its arguments included."""
    known = dict(values)

    def fresh(value: Value) -> Value:
        return known.setdefault(value, Value(value.type, value.hint))

    def copied(block: Block) -> Block:
        args = tuple(map(fresh, block.args))
        return Block(args, tuple(map(copied_op, block.ops)))

    def copied_op(op: Op) -> Op:
        operands = tuple(known.get(v, v) for v in op.operands)
        regions = tuple(map(copied, op.regions))
        return replace(op, operands=operands, regions=regions, results=tuple(map(fresh, op.results)))

    return copied(block)
