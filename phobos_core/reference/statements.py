"""Statements of the checked program, run as generators: a CTA yields where it must wait for other CTAs.

Control is uniform until a condition or a bound differs between threads: then the statements inside run under a mask,
`Frame.active`. A jump under uniform control is the generator's return value, that an outer loop or the kernel takes up;
under a mask it takes the threads that run out of it, and `Frame.loops` and `Frame.returned` remember where they come
back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

import numpy as np

from phobos_core.analysis import program as p
from phobos_core.analysis.walk import walk
from phobos_core.language.types import ScalarType
from phobos_core.reference import numerics, points
from phobos_core.reference.expressions import evaluate, located, window
from phobos_core.reference.frame import Frame, Loop, ReferenceFault
from phobos_core.reference.memory import Window
from phobos_core.reference.numerics import Array, dtype_of
from phobos_core.reference.synchronization import Steps, Wait, settled

Jump: TypeAlias = Literal["break", "continue", "return"] | None
Run: TypeAlias = Steps[Jump]

# A `while` lets the other blocks go on at least this often, whatever it does.
PATIENCE = 1000


def run_block(body: tuple[p.Stmt, ...], frame: Frame) -> Run:
    for stmt in body:
        if frame.active is not None and not frame.active.any():
            return None
        jump = yield from run(stmt, frame)
        if jump:
            return jump
    return None


def run(stmt: p.Stmt, frame: Frame) -> Run:
    match stmt:
        case p.For():
            return (yield from _run_for(stmt, frame))
        case p.While():
            return (yield from _run_while(stmt, frame))
        case p.If():
            return (yield from _run_if(stmt, frame))
        case p.Jump():
            return _jump(stmt.kind, frame)
    _run_simple((yield from settled(stmt, frame)), frame)
    return None


def _run_simple(stmt: p.Stmt, frame: Frame) -> None:
    match stmt:
        case p.BindScalar():
            _bind(stmt.symbol, evaluate(stmt.value, frame), frame)
        case p.AssignScalar():
            _assign(stmt.symbol, evaluate(stmt.value, frame), frame)
        case p.BindView():
            frame.memory[stmt.symbol] = window(stmt.place, frame)
        case p.DeclareTile():
            _declare(stmt, frame)
        case p.StoreTile():
            _all_threads(stmt, frame)
            _store_tile(window(stmt.place, frame), stmt, frame)
        case p.StorePoint():
            _store_point(stmt, frame)
        case p.StoreRun():
            _store_run(stmt, frame)
        case p.Eval():
            evaluate(stmt.value, frame)
        case _:
            raise AssertionError(f"the reference does not know {type(stmt).__name__}")


# Control.


def _run_if(stmt: p.If, frame: Frame) -> Run:
    condition = evaluate((yield from settled(stmt.condition, frame)), frame)
    if condition.ndim == 0:
        return (yield from run_block(stmt.then if condition else stmt.orelse, frame))
    outer, running = frame.active, frame.running
    rest = np.zeros(frame.threads, np.bool_)
    for mask, body in ((running & condition, stmt.then), (running & ~condition, stmt.orelse)):
        frame.active = mask
        yield from run_block(body, frame)
        rest |= frame.running
    frame.active = outer if (rest == running).all() else rest
    return None


def _jump(kind: Literal["break", "continue", "return"], frame: Frame) -> Jump:
    """Under uniform control it is handed on; else the threads that run leave here."""
    if frame.active is None:
        return kind
    match kind:
        case "break":
            frame.loops[-1].broken |= frame.active
        case "continue":
            frame.loops[-1].continued |= frame.active
        case "return":
            frame.returned = frame.active if frame.returned is None else frame.returned | frame.active
    frame.active = np.zeros(frame.threads, np.bool_)
    return None


@contextmanager
def _loop(frame: Frame) -> Iterator[Loop]:
    """Around a loop. After it, the threads that broke out of it run again; those that returned do not."""
    outer = frame.active
    loop = Loop(np.zeros(frame.threads, np.bool_), np.zeros(frame.threads, np.bool_))
    frame.loops.append(loop)
    yield loop
    frame.loops.pop()
    frame.active = outer
    if frame.returned is not None:
        frame.active = frame.running & ~frame.returned


def _some(condition: Array, frame: Frame) -> bool:
    """Whether a thread runs for which the condition holds."""
    return bool(frame.of_running(condition).any()) and (frame.active is None or bool(frame.active.any()))


def _next_iteration(loop: Loop, frame: Frame) -> None:
    """The threads that left an iteration by `continue` run the next one."""
    if loop.continued.any():
        frame.active = frame.running | loop.continued
        loop.continued[:] = False


def _run_for(stmt: p.For, frame: Frame) -> Run:
    """The loop variable takes lo, lo + step, ... while below hi, and nothing past the largest index."""
    value = evaluate((yield from settled(stmt.lo, frame)), frame)
    hi = evaluate((yield from settled(stmt.hi, frame)), frame)
    step = evaluate((yield from settled(stmt.step, frame)), frame)
    if frame.of_running((step <= 0) & (value < hi)).any():
        message = "the step of `range` is not positive, so the loop does not end"
        raise ReferenceFault(message, stmt.span, "endless-loop")
    past = np.asarray(False)
    with _loop(frame) as loop:
        while True:
            more = np.asarray((value < hi) & ~past)
            if more.ndim:
                frame.active = frame.running & more
            if not _some(more, frame):
                break
            _bind(stmt.symbol, value, frame)
            jump = yield from run_block(stmt.body, frame)
            if jump == "return":
                return "return"
            if jump == "break":
                break
            _next_iteration(loop, frame)
            following = np.add(value, step)
            past, value = past | ((following < value) & (step > 0)), following
    return None


def _run_while(stmt: p.While, frame: Frame) -> Run:
    with _loop(frame) as loop:
        tests = 0
        before = _state(frame)
        while True:
            condition = evaluate((yield from settled(stmt.condition, frame)), frame)
            if condition.ndim:
                frame.active = frame.running & condition
            if not _some(condition, frame):
                break
            jump = yield from run_block(stmt.body, frame)
            if jump == "return":
                return "return"
            if jump == "break":
                break
            _next_iteration(loop, frame)
            tests += 1
            after = _state(frame)
            # Nothing that this block does will end the loop; or it takes very long.
            if same_state(before, after) or tests % PATIENCE == 0:
                yield Wait(stmt.span, "flag" if _has_effects(stmt, frame) else "loop")
            before = after
    return None


def _has_effects(stmt: p.While, frame: Frame) -> bool:
    return any(id(node) in frame.effectful for node in walk([stmt]))


State: TypeAlias = tuple[dict[p.Symbol, Array], int]


def _state(frame: Frame) -> State:
    """What an iteration can change: arrays of scalars are never changed in place."""
    return dict(frame.scalars), frame.grid.changes


def same_state(a: State, b: State) -> bool:
    scalars, changes = a
    others, other_changes = b
    if changes != other_changes or scalars.keys() != others.keys():
        return False
    return all(value is others[symbol] or points.same(value, others[symbol]) for symbol, value in scalars.items())


# Scalars and memory.


def _bind(symbol: p.Symbol, value: Array, frame: Frame) -> None:
    assert isinstance(symbol.type, ScalarType)
    frame.scalars[symbol] = value
    if symbol.type.is_integer and not symbol.mutable:
        frame.integers[symbol.key] = int(frame.uniform(value))


def _assign(symbol: p.Symbol, value: Array, frame: Frame) -> None:
    if frame.active is not None:
        value = np.where(frame.active, value, frame.scalars[symbol])
    frame.scalars[symbol] = value


def _all_threads(stmt: p.StoreTile | p.DeclareTile, frame: Frame) -> None:
    if frame.active is not None and not frame.active.all():
        raise ReferenceFault("a tile operation that some threads do not reach", stmt.span, "divergent-barrier")


def _declare(stmt: p.DeclareTile, frame: Frame) -> None:
    assert isinstance(stmt.symbol.type, p.TileType)
    dtype = dtype_of(stmt.symbol.type.element, frame.index_bits)
    shape = tuple(frame.extent(n) for n in stmt.symbol.type.shape)
    # What an uninitialised tile holds has no meaning: a pattern that stands out, not zeros.
    data = np.full(shape, np.nan if numerics.is_float(dtype) else 0x55, dtype)
    if stmt.value is not None:
        _all_threads(stmt, frame)
        data[...] = numerics.convert(evaluate(stmt.value, frame), dtype)
    frame.memory[stmt.symbol] = Window.whole(data)


def _store_tile(target: Window, stmt: p.StoreTile, frame: Frame) -> None:
    value = numerics.convert(evaluate(stmt.value, frame), target.data.dtype)
    if stmt.accumulate:
        value = np.add(target.read(), value)
    before = target.read()
    target.write(value)
    if not points.same(before, target.read()):
        frame.grid.changes += 1


def _store_point(stmt: p.StorePoint, frame: Frame) -> None:
    base, at = located(stmt.place, frame)
    value = numerics.convert(evaluate(stmt.value, frame), base.data.dtype)
    if stmt.per_thread:
        points.store(base, at, value, stmt, frame)
    else:
        points.store_once(base, at, value, stmt, frame)


def _store_run(stmt: p.StoreRun, frame: Frame) -> None:
    base, at = located(stmt.place, frame)
    values = [numerics.convert(evaluate(value, frame), base.data.dtype) for value in stmt.values]
    points.store(base, at, np.stack([frame.spread(value) for value in values]), stmt, frame)
