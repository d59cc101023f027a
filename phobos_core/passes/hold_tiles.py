"""Rewrites a kernel so that tiles are values in registers.

In: the layouts of the tiles to hold, and the loads that registers serve. Out: a store of a held tile is a `hold`, such
a load is that value, and loops and branches carry the value. The memory of a tile is gone, unless something reads it
there: then each store that such a read may see is made as well, from the registers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from phobos_core.ir.module import Block, Op, Value
from phobos_core.ir.rewrite import Index, indexed, with_attrs, without_unused
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
    index = indexed(body)
    held = _reaching(index, (index.definition[load].operands[1] for load in plan.loads))
    stored = _reaching(index, (token for tokens in plan.read.values() for token in tokens))
    return without_unused(_Rewriter(index, plan, held, stored).block(body))


def _reaching(index: Index, tokens: Iterable[Value]) -> set[Value]:
    """The tokens that may stand for the same state of a tile as one of `tokens`, back to the stores that made it."""
    pending = list(tokens)
    known = set(pending)
    while pending:
        more = [v for v in _carried_as(index, pending.pop()) if v not in known]
        known.update(more)
        pending += more
    return known


def _carried_as(index: Index, token: Value) -> Iterable[Value]:
    """All that is carried in the place of `token` by a loop or a branch: what comes in, stands inside and goes out.
    What a barrier makes of a token is the same state too."""
    op = index.definition.get(token) or index.owner.get(token)
    if op is not None and op.name == "sync":
        return (op.operands[op.results.index(token)],)
    if op is None or not op.regions:
        return ()
    carried = op.operands[_FIRST_CARRIED[op.name] :]
    columns = [carried, op.results] if op.name != "if" else [op.results]
    for region in op.regions:
        columns.append(_yielded(op, region))
        if op.name != "if":
            columns.append(_arguments(op, region))
    return next((place for place in zip(*columns, strict=True) if token in place), ())


def _yielded(op: Op, region: Block) -> tuple[Value, ...]:
    """What a region yields of what the op carries: the condition of a `while` yields itself before that."""
    operands = region.ops[-1].operands
    return operands[1:] if op.name == "while" and region is op.regions[0] else operands


def _arguments(op: Op, region: Block) -> tuple[Value, ...]:
    """What stands for what the op carries in a region: that of a `for` has its variable before that."""
    return region.args[1:] if op.name == "for" else region.args


class _Rewriter:
    """`at` has the tile that stands for each token, `renamed` what stands for values that are gone.

    `held` and `stored` are the tokens of states that are read from registers, and from memory."""

    def __init__(self, index: Index, plan: Plan, held: set[Value], stored: set[Value]) -> None:
        self._index = index
        self._plan = plan
        self._held = held
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
            case "view" | "flat":
                mem = buffer_of(self._index, op.result)
                return () if mem in self._plan.layouts and mem not in self._plan.read else (self._with_operands(op),)
            case "load" if op.result in self._plan.loads:
                self._renamed[op.result] = self._at[op.operands[1]]
                return ()
            case "store" if buffer_of(self._index, op.operands[0]) in self._plan.layouts:
                return self._store(op)
            case "sync":
                return (self._sync(op),)
            case "for" | "while" | "if":
                return (self._control(op),)
            case "yield":
                around = self._index.parent[op]
                assert around is not None
                return (self._with_carried(op, len(op.operands) - len(around.results), around.results),)
            case _:
                return (self._with_operands(op),)

    def _with_operands(self, op: Op) -> Op:
        operands = tuple(self._renamed.get(v, v) for v in op.operands)
        return op if operands == op.operands else replace(op, operands=operands)

    def _store(self, store: Op) -> Sequence[Op]:
        view, tile, token = store.operands
        mem = self._buffers[store.result] = buffer_of(self._index, view)
        value = self._renamed.get(tile, tile)
        ops = []
        if store.result in self._held:
            if value is tile:
                value = self._tile(store.result, mem)
                ops.append(Op("hold", (tile,), (value,), {}, (), store.line))
            # Else it is a copy of another tile that registers hold.
            self._at[store.result] = value
        if store.result in self._stored:
            ops.append(replace(store, operands=(view, value, self._renamed.get(token, token))))
        elif mem in self._plan.read:
            self._renamed[store.result] = self._renamed.get(token, token)
        return ops

    def _sync(self, op: Op) -> Op:
        """A barrier changes nothing of what registers hold."""
        self._follow(op.operands, op.results)
        for before, after in zip(op.operands, op.results, strict=True):
            if before in self._at:
                self._at[after] = self._at[before]
        kept = [self._renamed.get(v, v) for v in op.operands if self._kept(v)]
        return replace(op, operands=tuple(kept), results=tuple(v for v in op.results if self._kept(v)))

    def _control(self, op: Op) -> Op:
        carried = op.operands[_FIRST_CARRIED[op.name] :]
        for region in op.regions:
            self._follow(carried, _arguments(op, region))
        with_operands = self._with_carried(op, _FIRST_CARRIED[op.name], op.results)
        regions = tuple(self.block(region) for region in op.regions)
        self._follow(carried or _yielded(op, op.regions[0]), op.results)
        done = replace(with_operands, results=self._defined(op.results), regions=regions)
        if "until" not in op.attrs:
            return done
        # What is carried has moved up to the places of tokens that are gone.
        places = [n for n, value in enumerate(carried) if self._kept(value)]
        return with_attrs(done, until=tuple(places.index(n) for n in op.attrs["until"]))

    def _with_carried(self, op: Op, first: int, results: Sequence[Value]) -> Op:
        """`op` with what it carries or yields as `results`, from the operand `first` on: of a tile in memory its token,
        and after all else each tile that is read from registers."""
        fixed = [self._renamed.get(v, v) for v in op.operands[:first]]
        # A branch carries nothing in.
        carried = list(zip(op.operands[first:], results, strict=bool(op.operands[first:])))
        kept = [self._renamed.get(v, v) for v, _ in carried if self._kept(v)]
        tiles = [self._at[v] for v, result in carried if v in self._buffers and result in self._held]
        return replace(op, operands=(*fixed, *kept, *tiles))

    def _follow(self, tokens: Sequence[Value], followers: Sequence[Value]) -> None:
        """Notes that `followers` are tokens of the same buffers."""
        for token, follower in zip(tokens, followers, strict=False):
            if token in self._buffers:
                self._buffers[follower] = self._buffers[token]

    def _defined(self, values: Sequence[Value]) -> tuple[Value, ...]:
        """The same where the values are defined: by a region's head, or by an op that carries them."""
        kept = [v for v in values if self._kept(v)]
        return (*kept, *(self._tile(v, self._buffers[v]) for v in values if v in self._buffers and v in self._held))

    def _kept(self, value: Value) -> bool:
        mem = self._buffers.get(value)
        return mem is None or mem in self._plan.read

    def _tile(self, token: Value, mem: Value) -> Value:
        """A tile value to stand for a token."""
        assert isinstance(mem.type, MemType)
        shape = tuple(n for n in mem.type.shape if n is not None)
        self._at[token] = held = Value(TileType(mem.type.element, shape, self._plan.layouts[mem]), mem.hint)
        return held
