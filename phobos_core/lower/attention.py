"""`warp_partial`: one decode step of attention, each warp on its share of the keys, by an online softmax.

The lanes of a warp work in groups, each on a key of its own: a lane has some of the D columns, in runs that one load
takes, of the queries and of the sums. A group's lanes add up their parts of a score by a butterfly. Each group keeps a
maximum, a sum and accumulators; the groups are merged at the end:

    for base in range(first, last, keys of a turn):
        scores of the group's keys, -3.0e38 past the last
        m' = max(m, scores); p = exp(score - m'); l = l * exp(m - m') + sum p; acc = acc * exp(m - m') + sum p * V

Queries are held in registers where they fit beside the accumulators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd

from phobos_core.analysis import program as p
from phobos_core.ir.module import Decision, Value
from phobos_core.ir.types import MemType
from phobos_core.language.targets import LANES
from phobos_core.language.types import F32, I32
from phobos_core.lower.context import Context
from phobos_core.lower.synchronization import fence, only_where
from phobos_core.lower.windows import Window

# What a group without keys has as its largest score.
_NONE = -3.0e38
# Elements of an access of 16 bytes, and the accumulators that a lane may have.
_RUN = 8
_MOST = 64
# Keys of a group in one turn, whose loads are under way together.
_KEYS = 2


@dataclass(frozen=True, slots=True)
class _Plan:
    """`lanes` work on a key together, each on `chunks` runs of `run` columns of the `queries` rows."""

    queries: int
    depth: int
    lanes: int
    run: int

    @property
    def columns(self) -> int:
        return self.depth // self.lanes

    @property
    def chunks(self) -> int:
        return self.columns // self.run

    @property
    def groups(self) -> int:
        return LANES // self.lanes

    @property
    def holds_queries(self) -> bool:
        return self.queries * self.columns <= _MOST


@dataclass(frozen=True, slots=True)
class _State:
    """Of one query row: the largest score so far, the sum of the exponentials, and the lane's accumulators."""

    largest: Value
    total: Value
    sums: tuple[Value, ...]

    @property
    def values(self) -> tuple[Value, ...]:
        return (self.largest, self.total, *self.sums)

    @staticmethod
    def of(values: Sequence[Value]) -> _State:
        return _State(values[0], values[1], tuple(values[2:]))


def warp_partial(c: Context, e: p.WarpPartial) -> Value:
    q, keys, values, maxima, sums, accumulators = (
        c.window(place.root, place.span) for place in (e.q, e.keys, e.values, e.maxima, e.sums, e.accumulators)
    )
    lo, hi, col, scale = (c.lower(c, operand) for operand in (e.lo, e.hi, e.col, e.scale))
    line = c.at(e.span)
    queries, depth = _shape(q)
    plan = _plan(queries, depth)
    c.decisions.append(_decision(line, plan))
    fence(c, c.effects.fenced(e))
    work = _Work(c, plan, q, keys, values, col, scale)
    states = work.merged(work.share(lo, hi))
    work.write(states, maxima, sums, accumulators)
    c.emit.build.line = line
    fence(c, c.effects.fenced(e))
    return c.emit.index(0)


def _shape(window: Window) -> tuple[int, int]:
    mem = window.mem.type
    assert isinstance(mem, MemType)
    rows, columns = mem.shape
    assert rows is not None
    assert columns is not None
    return rows, columns


def _plan(queries: int, depth: int) -> _Plan:
    """The fewest lanes a key, which shuffle least, whose registers fit and whose loads are wide."""
    lanes = [n for n in (4, 8, 16, 32) if depth % n == 0]
    plans = [_Plan(queries, depth, n, gcd(_RUN, depth // n)) for n in lanes]

    def badness(plan: _Plan) -> tuple[bool, int, int]:
        return not plan.holds_queries, -plan.run, plan.lanes

    return min(plans, key=badness)


def _decision(line: int, plan: _Plan) -> Decision:
    choice = f"{plan.lanes} lanes a key, {plan.columns} columns a lane in runs of {plan.run}"
    held = f"{plan.queries} x {plan.columns} accumulators"
    reason = f"registers hold {held}" + (" and as many elements of q" if plan.holds_queries else "; q is read again")
    return Decision(line, "warp_partial", choice, reason)


class _Work:
    """What one warp does; `place` is the lane's place in its group, `group` the group's number."""

    def __init__(
        self, c: Context, plan: _Plan, q: Window, keys: Window, values: Window, col: Value, scale: Value
    ) -> None:
        self.c, self.plan, self.q, self.keys, self.values, self.col = c, plan, q, keys, values, col
        self.scale = scale
        emit = c.emit
        self.warps = c.threads // LANES
        self.warp, self.lane = emit.ctx("warp"), emit.ctx("lane")
        self.place = emit.binary("and", self.lane, emit.index(plan.lanes - 1))
        self.group = emit.binary("div", self.lane, emit.index(plan.lanes))
        run = emit.index(plan.run)
        first = emit.binary("mul", self.place, run)
        self.columns = [emit.add(first, emit.index(n * plan.lanes * plan.run)) for n in range(plan.chunks)]
        self.held = self.query() if plan.holds_queries else None

    # The keys of the warp

    def share(self, lo: Value, hi: Value) -> list[_State]:
        emit, plan = self.c.emit, self.plan
        count = emit.binary("sub", hi, lo)
        share = emit.binary("div", emit.add(count, emit.index(self.warps - 1)), emit.index(self.warps))
        first = emit.minimum([emit.add(lo, emit.binary("mul", self.warp, share)), hi])
        last = emit.minimum([emit.add(first, share), hi])
        zero = emit.const(0.0, F32)
        start = _State(emit.const(_NONE, F32), zero, (zero,) * plan.columns)
        return self.loop(first, last, _KEYS * plan.groups, [start] * plan.queries, self.turn)

    def loop(
        self,
        first: Value,
        last: Value,
        by: int,
        states: list[_State],
        turn: Callable[[Value, Value, list[_State]], list[_State]],
    ) -> list[_State]:
        emit, line = self.c.emit, self.c.emit.build.line
        step = emit.index(by)
        base = Value(first.type, "base")
        carried = [value for state in states for value in state.values]
        args = [Value(value.type) for value in carried]
        emit.declare_loop(base, first, last, step)

        def body() -> list[Value]:
            return [value for state in turn(base, last, self.states(args)) for value in state.values]

        region = self.c.region((base, *args), body)
        emit.build.line = line
        return self.states(emit.build.for_(first, last, step, carried, region).results)

    def states(self, values: Sequence[Value]) -> list[_State]:
        size = 2 + self.plan.columns
        return [_State.of(values[n : n + size]) for n in range(0, len(values), size)]

    def turn(self, base: Value, last: Value, states: list[_State]) -> list[_State]:
        """The next keys of each group, `_KEYS` of them."""
        emit = self.c.emit
        queries = self.held or self.query()
        scores: list[list[Value]] = []
        inside: list[Value] = []
        rows: list[Value] = []
        for n in range(_KEYS):
            key = emit.add(emit.add(base, emit.index(n * self.plan.groups)), self.group)
            exists = emit.cmp("lt", key, last)
            # A group past the last key reads the turn's first, which exists.
            rows.append(emit.select(exists, key, base))
            inside.append(exists)
        loaded = [self.row(self.keys, row) for row in rows]
        for key_row, exists in zip(loaded, inside, strict=True):
            scores.append([self.score(query, key_row, exists) for query in queries])
        weighted = [self.row(self.values, row) for row in rows]
        return [self.updated(state, [score[i] for score in scores], inside, weighted) for i, state in enumerate(states)]

    def query(self) -> list[list[Value]]:
        """The lane's columns of each query, times the scale."""
        emit = self.c.emit
        return [
            [emit.binary("mul", v, self.scale) for v in self.row(self.q, emit.index(i), offset=False)]
            for i in range(self.plan.queries)
        ]

    def row(self, window: Window, row: Value, *, offset: bool = True) -> list[Value]:
        """The lane's columns of a row, from the head's first column on."""
        emit, found = self.c.emit, []
        for column in self.columns:
            at = emit.add(self.col, column) if offset else column
            token = self.c.state[window.base]
            run = emit.build.load_run(window.mem, [row, at], self.plan.run, 1, token)
            found += [emit.convert(emit.build.run_element(run, n), F32) for n in range(self.plan.run)]
        return found

    def score(self, query: Sequence[Value], key: Sequence[Value], exists: Value) -> Value:
        emit = self.c.emit
        total = emit.const(0.0, F32)
        for a, b in zip(query, key, strict=True):
            total = emit.binary("add", total, emit.binary("mul", a, b))
        distance = self.plan.lanes // 2
        while distance:
            other = emit.build.shuffle("xor", total, emit.const(distance, I32), self.plan.lanes)
            total = emit.binary("add", total, other)
            distance //= 2
        return emit.select(exists, total, emit.const(_NONE, F32))

    def updated(
        self, state: _State, scores: Sequence[Value], inside: Sequence[Value], rows: Sequence[Sequence[Value]]
    ) -> _State:
        emit = self.c.emit
        largest = state.largest
        for score in scores:
            largest = emit.binary("max", largest, score)
        kept = self.exp(state.largest, largest)
        zero = emit.const(0.0, F32)
        weights = [
            emit.select(exists, self.exp(score, largest), zero) for score, exists in zip(scores, inside, strict=True)
        ]
        total = emit.binary("mul", state.total, kept)
        for weight in weights:
            total = emit.binary("add", total, weight)
        sums = []
        for n, old in enumerate(state.sums):
            new = emit.binary("mul", old, kept)
            for weight, row in zip(weights, rows, strict=True):
                new = emit.binary("add", new, emit.binary("mul", weight, row[n]))
            sums.append(new)
        return _State(largest, total, tuple(sums))

    def exp(self, value: Value, largest: Value) -> Value:
        emit = self.c.emit
        return emit.build.math("exp", emit.binary("sub", value, largest))

    # The groups of the warp

    def merged(self, states: list[_State]) -> list[_State]:
        """What all groups have, in each."""
        emit, distance = self.c.emit, self.plan.lanes
        while distance < LANES:
            lanes = emit.const(distance, I32)
            merged = []
            for state in states:
                other = _State.of([emit.build.shuffle("xor", v, lanes, LANES) for v in state.values])
                largest = emit.binary("max", state.largest, other.largest)
                mine, its = self.exp(state.largest, largest), self.exp(other.largest, largest)
                both = [
                    emit.binary("add", emit.binary("mul", a, mine), emit.binary("mul", b, its))
                    for a, b in zip(state.values[1:], other.values[1:], strict=True)
                ]
                merged.append(_State.of([largest, *both]))
            states, distance = merged, distance * 2
        return states

    def write(self, states: list[_State], maxima: Window, sums: Window, accumulators: Window) -> None:
        """By the first group, of each row the first lane."""
        c, emit = self.c, self.c.emit
        warps = emit.index(self.warps)
        bases = [maxima.base, sums.base, accumulators.base]

        def rows() -> None:
            for i, state in enumerate(states):
                row = emit.add(emit.binary("mul", emit.index(i), warps), self.warp)
                for n, column in enumerate(self.columns):
                    part = state.sums[n * self.plan.run : (n + 1) * self.plan.run]
                    token = c.state[accumulators.base]
                    c.state[accumulators.base] = emit.build.store_run(accumulators.mem, [row, column], part, 1, token)

        def scalars() -> None:
            for i, state in enumerate(states):
                at = [emit.index(i), self.warp]
                for window, value in ((maxima, state.largest), (sums, state.total)):
                    token = c.state[window.base]
                    c.state[window.base] = emit.build.store_point(window.mem, at, value, token, each=True)

        only_where(c, emit.cmp("lt", self.lane, emit.index(self.plan.lanes)), bases[2:], rows)
        only_where(c, emit.cmp("eq", self.lane, emit.index(0)), bases[:2], scalars)
