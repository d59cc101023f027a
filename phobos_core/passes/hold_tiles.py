"""Rewrites a kernel so that tiles are values in registers.

In: the layouts of the tiles to hold, and the loads that registers serve. Out: a store of a held tile is a `hold`, such
a load is that value, and loops and branches carry the value. The memory of a tile is gone, unless something reads it
there: then each store that such a read may see is made as well, from the registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from phobos_core.ir.module import Block, Op, Value
from phobos_core.ir.rewrite import Index, with_attrs, without_unused
from phobos_core.ir.tree import buffer_of
from phobos_core.ir.types import Layout, MemType, TileType

# Where what an op carries begins among its operands.
_FIRST_CARRIED = {"for": 3, "while": 0, "if": 1}


@dataclass(frozen=True, slots=True)
class Plan:
    """`layouts` by buffer; `loads` are the results of the loads that registers serve; `read` has, for each buffer that
    stays in memory beside, the tokens with which it is read there."""

    layouts: Mapping[Value, Layout]
    loads: frozenset[Value]
    read: Mapping[Value, frozenset[Value]]


def hold_tiles(body: Block, plan: Plan) -> Block:
    index = Index(body)
    seen = {token for tokens in plan.read.values() for token in tokens}
    return without_unused(_Rewriter(index, plan, frozenset(_stores_seen(index, seen))).block(body))


def _stores_seen(index: Index, tokens: set[Value]) -> Iterator[Value]:
    """The tokens of the stores that gave, on some path, one of `tokens`."""
    pending, known = list(tokens), set(tokens)
    while pending:
        token = pending.pop()
        op = index.definition.get(token)
        if op is not None and op.name == "store":
            yield token
            continue
        more = [v for v in _before(index, token) if v not in known]
        known.update(more)
        pending += more


def _before(index: Index, token: Value) -> Iterator[Value]:
    """Whatever a token stands for that a loop or a branch carries."""
    op = index.definition.get(token)
    if op is not None:
        if op.regions:
            position = op.results.index(token)
            regions = op.regions if op.name == "if" else op.regions[:1]
            for region in regions:
                yield _yielded(op, region)[position]
            if op.name == "for":
                yield op.operands[_FIRST_CARRIED["for"] + position]
        return
    op = index.owner.get(token)
    if op is None:
        return
    for number, region in enumerate(op.regions):
        arguments = region.args[1:] if op.name == "for" else region.args
        if token in arguments:
            position = arguments.index(token)
            yield _yielded(op, op.regions[number - 1])[position]
            if number == 0:
                yield op.operands[_FIRST_CARRIED[op.name] + position]


def _yielded(op: Op, region: Block) -> tuple[Value, ...]:
    """What a region yields of what the op carries: the condition of a `while` yields itself before that."""
    operands = region.ops[-1].operands
    return operands[1:] if op.name == "while" and region is op.regions[0] else operands


class _Rewriter:
    """`at` has the tile that stands for each token, `renamed` what stands for values that are gone."""

    def __init__(self, index: Index, plan: Plan, stored: frozenset[Value]) -> None:
        self._index = index
        self._plan = plan
        self._stored = stored
        self._at: dict[Value, Value] = {}
        self._buffers: dict[Value, Value] = {}
        self._renamed: dict[Value, Value] = {}

    def block(self, block: Block) -> Block:
        args = self._defined(block.args)
        ops: list[Op] = []
        for op in block.ops:
            ops += self._op(op)
        return Block(args, tuple(ops))

    def _op(self, op: Op) -> Sequence[Op]:
        match op.name:
            case "alloc" if op.results[0] in self._plan.layouts:
                mem, token = op.results
                self._buffers[token] = mem
                if mem not in self._plan.read:
                    return ()
                return (with_attrs(op, name=f"copy of {op.attrs['name']}", temporary=True),)
            case "view" | "flat" if self._held(op.result) and not self._in_memory(op.result):
                return ()
            case "load" if op.result in self._plan.loads:
                self._renamed[op.result] = self._at[op.operands[1]]
                return ()
            case "store" if self._held(op.operands[0]):
                return self._store(op)
            case "for" | "while" | "if":
                return (self._control(op),)
            case "yield":
                return (replace(op, operands=self._carried(op.operands)),)
            case _:
                operands = tuple(self._renamed.get(v, v) for v in op.operands)
                return (op if operands == op.operands else replace(op, operands=operands),)

    def _held(self, memory: Value) -> bool:
        return buffer_of(self._index, memory) in self._plan.layouts

    def _in_memory(self, memory: Value) -> bool:
        return buffer_of(self._index, memory) in self._plan.read

    def _store(self, store: Op) -> Sequence[Op]:
        view, tile, token = store.operands
        value = self._renamed.get(tile, tile)
        mem = buffer_of(self._index, view)
        ops = []
        if value is not tile:
            # A copy of another tile that registers hold.
            held = self._at[store.result] = value
            self._buffers[store.result] = mem
        else:
            held = self._tile(store.result, mem)
            ops.append(Op("hold", (value,), (held,), {}, (), store.line))
        if mem not in self._plan.read:
            self._renamed[store.result] = held
        elif store.result in self._stored:
            ops.append(replace(store, operands=(view, held, self._renamed.get(token, token))))
        else:
            self._renamed[store.result] = self._renamed.get(token, token)
        return ops

    def _control(self, op: Op) -> Op:
        first = _FIRST_CARRIED[op.name]
        fixed, carried = op.operands[:first], op.operands[first:]
        for region in op.regions:
            arguments = region.args[1:] if op.name == "for" else region.args
            self._follow(carried, arguments)
        self._follow(carried, op.results)
        operands = (*(self._renamed.get(v, v) for v in fixed), *self._carried(carried))
        regions = tuple(self.block(region) for region in op.regions)
        if op.name == "if":
            self._follow(_yielded(op, op.regions[0]), op.results)
        return replace(op, operands=operands, results=self._defined(op.results), regions=regions)

    def _follow(self, tokens: Sequence[Value], followers: Sequence[Value]) -> None:
        """Notes that `followers` are tokens of the same buffers."""
        for token, follower in zip(tokens, followers, strict=False):
            if token in self._buffers:
                self._buffers[follower] = self._buffers[token]

    def _carried(self, values: Sequence[Value]) -> tuple[Value, ...]:
        """What is carried in place of `values`: a tile for the token of one held; where it is in memory too, both."""
        beside = [self._at[v] for v in values if v in self._at and self._buffers[v] in self._plan.read]
        return (*(self._renamed.get(v, v) for v in values), *beside)

    def _defined(self, values: Sequence[Value]) -> tuple[Value, ...]:
        """The same where the values are defined: by a region's head, or by an op that carries them."""
        found, beside = [], []
        for value in values:
            mem = self._buffers.get(value)
            if mem is None:
                found.append(value)
            elif mem in self._plan.read:
                found.append(value)
                beside.append(self._tile(value, mem))
            else:
                self._renamed[value] = self._tile(value, mem)
                found.append(self._renamed[value])
        return (*found, *beside)

    def _tile(self, token: Value, mem: Value) -> Value:
        """A tile value to stand for a token."""
        assert isinstance(mem.type, MemType)
        shape = tuple(n for n in mem.type.shape if n is not None)
        self._buffers[token] = mem
        self._at[token] = held = Value(TileType(mem.type.element, shape, self._plan.layouts[mem]), mem.hint)
        return held
