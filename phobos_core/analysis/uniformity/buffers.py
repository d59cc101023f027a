"""The buffer rule: which operation of the CTA reads memory before per-thread stores to it have landed.

In: the events of a kernel and what was inferred. Out: for each operation that breaks the rule, the read and a store
that it may see too early. The state at a place in the kernel is the buffers with such stores behind them on some path
from a `barrier()`; it grows around each loop until it stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from phobos_core.analysis import program as pg
from phobos_core.analysis.uniformity.collect import Collector
from phobos_core.analysis.uniformity.events import Branch, Declared, Event, Leave, Loop, Operation, Read, Step, Store

# Each buffer with stores that may not have landed, and the first of them that was met.
State: TypeAlias = Mapping[pg.Symbol, Store]


@dataclass(frozen=True, slots=True)
class Early:
    read: Read
    store: Store


@dataclass(slots=True)
class _Flow:
    """`heads` has the state in which each loop begins an iteration; `leaving` the states that jumps carry away."""

    c: Collector
    found: dict[Operation, Early] = field(default_factory=dict)
    heads: dict[Loop, State] = field(default_factory=dict)
    ends: dict[Loop, State | None] = field(default_factory=dict)
    leaving: list[dict[str, State]] = field(default_factory=list)


def early_reads(c: Collector) -> Mapping[Operation, Early]:
    flow = _Flow(c)
    if any(per_thread(c, store) for store in c.stores):
        flow.leaving.append({})
        _block(flow, c.events, {})
    return flow.found


def per_thread(c: Collector, store: Store) -> bool:
    """Whether each thread that comes here stores for itself; else the CTA stores once."""
    if isinstance(store.stmt, pg.StoreRun) or c.graph.levels[store.region]:
        return True
    return c.graph.worst(store.uses) is not None


def _joined(first: State | None, second: State | None) -> State | None:
    """What may be pending where two paths meet; None is a path that nobody takes."""
    if first is None or second is None:
        return second if first is None else first
    return first if second.keys() <= first.keys() else {**second, **first}


def _block(flow: _Flow, events: list[Event], state: State | None) -> State | None:
    for event in events:
        if state is None:
            return None
        match event:
            case Step():
                state = _step(flow, event, state)
            case Declared():
                if event.symbol in state:
                    state = {root: store for root, store in state.items() if root is not event.symbol}
            case Branch():
                state = _joined(_block(flow, event.then, state), _block(flow, event.orelse, state))
            case Loop():
                state = _loop(flow, event, state)
            case Leave():
                leaving = flow.leaving[-1]
                leaving[event.kind] = _joined(leaving.get(event.kind), state) or {}
                return None
    return state


def _step(flow: _Flow, step: Step, state: State) -> State:
    for op in step.operations:
        if state:
            for read in op.reads:
                store = state.get(flow.c.root(read.root))
                if store is not None:
                    flow.found.setdefault(op, Early(read, store))
                    break
        if op.barrier:
            state = {}
    if step.store is not None and per_thread(flow.c, step.store):
        state = {flow.c.root(step.store.stmt.place.root): step.store, **state}
    return state


def _loop(flow: _Flow, loop: Loop, state: State) -> State | None:
    """Around a loop until no more is pending where it begins; from there it goes on as it did before, if it was here
    already with as much."""
    head = flow.heads.get(loop)
    if head is not None and state.keys() <= head.keys():
        return flow.ends[loop]
    head = {**state, **(head or {})}
    while True:
        flow.heads[loop] = head
        flow.leaving.append({})
        tested = head if loop.test is None else _step(flow, loop.test, head)
        end = _block(flow, loop.body, tested)
        left = flow.leaving.pop()
        again = _joined(end, left.get("continue"))
        if again is None or again.keys() <= head.keys():
            break
        head = {**again, **head}
    if loop.endless:
        end = None
    elif loop.test is not None:
        end = tested
    else:
        end = again if loop.sure else head
    flow.ends[loop] = end = _joined(end, left.get("break"))
    return end
