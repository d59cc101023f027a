"""Collectives and shuffles.

A fold over the lanes of a warp, or of pieces of it, is a butterfly: log2(width) shuffles, after which each lane has the
result. One instruction does it for the whole warp where the target has one for the type. A fold over the CTA goes on
through shared memory, to which each warp brings its result:

    sync; if lane == 0 { scratch[warp] = own }; sync; fold of scratch; sync

An index that is known to fit is folded as an i32, in one word instead of two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from phobos_core.analysis import program as p
from phobos_core.ir.module import Decision, Value
from phobos_core.language.targets import LANES, LEAST_SM, TARGETS
from phobos_core.language.types import BF16, BOOL, F16, F32, I32, I64, INDEX, U32, ScalarType
from phobos_core.lower.context import Context
from phobos_core.lower.synchronization import fence, only_where, temporary

State: TypeAlias = tuple[Value, ...]
# Folds the state of the lanes before with that of the lanes after.
Combine: TypeAlias = Callable[[State, State], State]

_REDUX = {"sum", "min", "max"}


@dataclass(frozen=True, slots=True)
class _Fold:
    """What one value folds as. `ordered`: `combine` may round differently with its operands exchanged, so that every
    lane has to have them in the same order to get the same result."""

    start: State
    combine: Combine
    ordered: bool = False


def collective(c: Context, e: p.Collective) -> Value:
    value = c.lower(c, e.value)
    line = c.at(e.span)
    width = LANES if e.width is None else c.static(e.width)
    assert width is not None
    count = width if e.group == "lane" else c.threads
    value = _narrowed(c, e, value, count)
    fold = _fold(c, e, value, width)
    instruction, choice, reason = _path(c, e, value, width)
    if e.op in ("any", "all"):
        state: State = (_vote(c, e.op, value, width),)
    elif instruction:
        state = (c.emit.build.op("redux", (value,), (I32,), {"kind": e.op}).result,)
    else:
        state = _butterfly(c, fold, width)
    if e.group == "thread" and c.threads > LANES:
        state = _across_warps(c, f"{e.op} over ctx.thread", fold, state)
        choice += ", then shared memory and three barriers"
    elif e.group == "thread":
        # The fold of the only warp. Of several, each thread reads what all have.
        state = (c.emit.build.unary("uniform", state[-1]),)
    c.decisions.append(Decision(line, f"{e.op}<over ctx.{e.group}>", choice, reason))
    return c.emit.convert(state[-1], e.type)


def shuffle(c: Context, e: p.Shuffle) -> Value:
    source, value = c.lower(c, e.source), c.lower(c, e.value)
    c.at(e.span)
    width = LANES if e.width is None else c.static(e.width)
    assert width is not None
    if c.emit.exact.within(source, 0, width - 1):
        return c.emit.build.shuffle(e.mode, value, c.emit.convert(source, I32), width)
    # The source may lie outside the piece: the lane's own value is then read from the lane itself.
    emit, own = c.emit, _place(c, width)
    match e.mode:
        case "from":
            place = source
        case "xor":
            place = emit.binary("xor", own, source)
        case "down":
            place = emit.binary("add", own, source)
        case "up":
            place = emit.binary("sub", own, source)
    above, below = emit.cmp("ge", place, emit.index(0)), emit.cmp("lt", place, emit.index(width))
    place = emit.select(emit.binary("and", above, below), place, own)
    return emit.build.shuffle("from", value, emit.convert(place, I32), width)


def _place(c: Context, width: int) -> Value:
    """The lane's place in its piece."""
    lane = c.emit.ctx("lane")
    return lane if width == LANES else c.emit.binary("and", lane, c.emit.index(width - 1))


# What is folded


def _narrowed(c: Context, e: p.Collective, value: Value, count: int) -> Value:
    """An index as an i32, where it and the fold of `count` of them are known to fit."""
    if value.type != INDEX or e.op == "reduce":
        return value
    lo, hi = c.emit.exact.of(value)
    most = count if e.op == "sum" else 1
    fits = lo * most >= -(1 << 31) and hi * most < 1 << 31
    return c.emit.convert(value, I32) if fits else value


def _fold(c: Context, e: p.Collective, value: Value, width: int) -> _Fold:
    emit = c.emit
    match e.op:
        case "sum":
            wide = emit.convert(value, F32) if value.type in (F16, BF16) else value
            return _Fold((wide,), lambda a, b: (emit.binary("add", a[0], b[0]),))
        case "max" | "min":
            return _Fold((value,), lambda a, b: (emit.binary(e.op, a[0], b[0]),))
        case "any" | "all":
            name = "or" if e.op == "any" else "and"
            return _Fold((value,), lambda a, b: (emit.binary(name, a[0], b[0]),))
        case "argmax":
            place = _place(c, width) if e.group == "lane" else emit.ctx("thread")
            return _Fold((value, emit.convert(place, I32)), lambda a, b: _larger(c, a, b))
        case "reduce":
            assert e.combine is not None
            combine = e.combine
            return _Fold((value,), lambda a, b: (_combined(c, combine, a[0], b[0]),), ordered=True)


def _larger(c: Context, a: State, b: State) -> State:
    """The larger value with its place; of equal ones, and of two NaNs, the one with the smaller place. A NaN is less
    than any number."""
    emit, element = c.emit, a[0].type
    assert isinstance(element, ScalarType)

    def exceeds(x: Value, y: Value) -> Value:
        more = emit.cmp("gt", x, y)
        if not element.is_float:
            return more
        number = emit.binary("and", emit.cmp("eq", x, x), emit.cmp("ne", y, y))
        return emit.binary("or", more, number)

    before = emit.cmp("lt", b[1], a[1])
    tie = emit.binary("and", emit.unary("not", exceeds(a[0], b[0])), before)
    taken = emit.binary("or", exceeds(b[0], a[0]), tie)
    return emit.select(taken, b[0], a[0]), emit.select(taken, b[1], a[1])


def _combined(c: Context, combine: p.Combine, a: Value, b: Value) -> Value:
    line = c.emit.build.line
    c.bind(combine.first, a)
    c.bind(combine.second, b)
    result = c.emit.convert(c.lower(c, combine.value), _scalar(a))
    c.emit.build.line = line
    return result


# How it is folded


def _path(c: Context, e: p.Collective, value: Value, width: int) -> tuple[bool, str, str]:
    """Whether one instruction folds the warp; the choice in words, and its reason."""
    if e.op in ("any", "all"):
        return True, "one vote", "a warp votes in one instruction"
    shuffles = (width.bit_length() - 1) * (2 if e.op == "argmax" else 1)
    butterfly = f"a butterfly of {shuffles} shuffles"
    if e.op not in _REDUX:
        return False, butterfly, f"no instruction folds by `{e.op}`"
    if value.type != I32:
        known = ", and it is not known to fit an i32" if value.type == INDEX else ""
        return False, butterfly, f"redux.sync folds i32, this is {value.type}{known}"
    if width < LANES:
        return False, butterfly, f"redux.sync folds a whole warp, this is {width} lanes"
    if TARGETS[c.target].sm < LEAST_SM["redux"]:
        return False, butterfly, f"{c.target} has no redux.sync"
    return True, "redux.sync", "i32 over a whole warp"


def _vote(c: Context, op: str, value: Value, width: int) -> Value:
    emit = c.emit
    if width == LANES:
        return emit.build.op("vote", (value,), (BOOL,), {"kind": op}).result
    # The votes of the piece among those of the warp. `all` is that no lane votes against.
    votes = emit.build.op("ballot", (value if op == "any" else emit.unary("not", value),), (U32,)).result
    first = emit.convert(emit.binary("sub", emit.ctx("lane"), _place(c, width)), U32)
    piece = emit.binary("shl", emit.const((1 << width) - 1, U32), first)
    some = emit.cmp("ne", emit.binary("and", votes, piece), emit.const(0, U32))
    return some if op == "any" else emit.unary("not", some)


def _butterfly(c: Context, fold: _Fold, width: int) -> State:
    emit, state, distance = c.emit, fold.start, width // 2
    while distance:
        mask = emit.const(distance, I32)
        other = tuple(emit.build.shuffle("xor", value, mask, width) for value in state)
        if fold.ordered:
            bit = emit.binary("and", emit.ctx("lane"), emit.index(distance))
            first = emit.cmp("eq", bit, emit.index(0))
            pairs = list(zip(state, other, strict=True))
            state, other = (
                tuple(emit.select(first, own, their) for own, their in pairs),
                tuple(emit.select(first, their, own) for own, their in pairs),
            )
        state = fold.combine(state, other)
        distance //= 2
    return state


def _across_warps(c: Context, name: str, fold: _Fold, state: State) -> State:
    """The fold of what the warps have, in each thread."""
    emit, warps = c.emit, c.threads // LANES
    types = [_scalar(value) for value in state]
    scratch = [temporary(c, name, _stored(c, type), warps) for type in types]
    fence(c, (), scratch)
    leads = emit.cmp("eq", emit.ctx("lane"), emit.index(0))

    def write() -> None:
        warp = emit.ctx("warp")
        for mem, value in zip(scratch, state, strict=True):
            stored = _as_stored(c, value)
            c.state[mem] = emit.build.store_point(mem, [warp], stored, c.state[mem], each=True)

    only_where(c, leads, scratch, write)
    fence(c, (), scratch)
    runs = [emit.build.load_run(mem, [emit.index(0)], warps, 0, c.state[mem]) for mem in scratch]
    states: list[State] = [
        tuple(_as_value(c, emit.build.run_element(run, i), type) for run, type in zip(runs, types, strict=True))
        for i in range(warps)
    ]
    while len(states) > 1:
        pairs = [states[i : i + 2] for i in range(0, len(states), 2)]
        states = [fold.combine(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    fence(c, (), scratch)
    return states[0]


def _scalar(value: Value) -> ScalarType:
    assert isinstance(value.type, ScalarType)
    return value.type


def _stored(c: Context, type: ScalarType) -> ScalarType:
    """The type in which a scalar lies in memory."""
    if type == INDEX:
        return I64 if c.emit.index_bits == 64 else I32
    return I32 if type == BOOL else type


def _as_stored(c: Context, value: Value) -> Value:
    type = _scalar(value)
    if type == BOOL:
        return c.emit.select(value, c.emit.const(1, I32), c.emit.const(0, I32))
    return c.emit.convert(value, _stored(c, type))


def _as_value(c: Context, stored: Value, type: ScalarType) -> Value:
    return c.emit.cmp("ne", stored, c.emit.const(0, I32)) if type == BOOL else c.emit.convert(stored, type)
