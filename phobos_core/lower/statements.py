"""Statements to ops and regions.

A loop or branch carries the values that its body assigns and that outlive it: mutable scalars, tokens of stored
buffers, and the flags by which `break`, `continue` and `return` turn what follows into a no-op.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from phobos_core.analysis import program as p
from phobos_core.analysis.walk import walk
from phobos_core.ir.module import Value
from phobos_core.ir.types import MemType, TileType, ViewType, element_of
from phobos_core.language.types import BOOL, INDEX, join
from phobos_core.lower import contraction, runs, windows
from phobos_core.lower.assigned import assigned, jumps
from phobos_core.lower.context import Context, Flag, Key, State
from phobos_core.lower.expressions import lower_expr, product
from phobos_core.lower.places import point_of, window_of
from phobos_core.lower.windows import Window


def lower_block(c: Context, stmts: Sequence[p.Stmt]) -> None:
    for i, stmt in enumerate(stmts):
        lower_stmt(c, stmt)
        if isinstance(stmt, p.Jump):
            return
        if flags := jumps(stmt):
            _unless(c, flags, stmts[i + 1 :])
            return


def lower_stmt(c: Context, s: p.Stmt) -> None:
    c.at(s.span)
    match s:
        case p.BindScalar():
            c.bind(s.symbol, lower_expr(c, s.value))
        case p.AssignScalar():
            c.state[s.symbol] = lower_expr(c, s.value)
        case p.BindView():
            c.windows[s.symbol] = window_of(c, s.place)
            if s.is_named:
                line = c.lines.line(s.span)
                c.views[s.symbol] = (line, line)
        case p.DeclareTile():
            _declare_tile(c, s)
        case p.StoreTile():
            _store_tile(c, s)
        case p.StorePoint():
            _store_point(c, s)
        case p.StoreRun():
            runs.store(c, s)
        case p.If():
            condition = lower_expr(c, s.condition)
            _branch(c, condition, s.then, s.orelse)
        case p.For():
            _for(c, s)
        case p.While():
            _while(c, s)
        case p.Jump():
            c.state[s.kind] = c.emit.const(True, BOOL)
        case p.Eval():
            lower_expr(c, s.value)


def _declare_tile(c: Context, s: p.DeclareTile) -> None:
    assert isinstance(s.symbol.type, p.TileType)
    window = contraction.temporary(c, s.symbol.name, s.symbol.type)
    c.windows[s.symbol] = window
    if isinstance(s.value, p.Contract):
        into = contraction.contract_into(c, s.value, window, partial(product, c, s.value), from_zero=True)
        if into:
            return
    if s.value is not None:
        value = lower_expr(c, s.value)
        c.at(s.span)
        _store(c, window, value)


def _store_tile(c: Context, s: p.StoreTile) -> None:
    window = window_of(c, s.place)
    if s.accumulate and _takes_product(c, s):
        assert isinstance(s.value, p.Contract)
        into = contraction.contract_into(c, s.value, window, partial(product, c, s.value), from_zero=False)
        if into:
            return
    value = lower_expr(c, s.value)
    c.at(s.span)
    if s.accumulate:
        old = c.emit.build.load(windows.view(c.emit, window), c.state[window.base])
        value = _sum(c, old, value)
    _store(c, window, value)


def _takes_product(c: Context, s: p.StoreTile) -> bool:
    """Whether the target can hold the running sum of a walked contraction: a whole tile that the operands skip."""
    target = c.windows[s.place.root].base
    if not isinstance(s.value, p.Contract) or s.place.axes is not None or element_of(target.type) != s.place.element:
        return False
    mem = target.type
    assert isinstance(mem, MemType)
    return mem.space == "shared" and all(c.windows[r].base is not target for r in _read(s.value))


def _read(e: p.Expr) -> set[p.Symbol]:
    """The tensors, tiles and views that an expression reads."""
    return {node.root for node in walk((e,)) if isinstance(node, p.Place)}


def _sum(c: Context, old: Value, value: Value) -> Value:
    """old + value in the type where the two meet, in the shape of `old`."""
    a, b = element_of(old.type), element_of(value.type)
    meet = join(a, b) or (b if b.is_integer else INDEX)
    old, value = c.emit.convert(old, meet), c.emit.convert(value, meet)
    if isinstance(old.type, TileType):
        value = c.emit.shaped(value, old.type.shape)
    return c.emit.binary("add", old, value)


def _store(c: Context, window: Window, value: Value) -> None:
    """Converts and broadcasts to the window."""
    view = windows.view(c.emit, window)
    assert isinstance(view.type, ViewType)
    tile = c.emit.shaped(c.emit.convert(value, view.type.element), view.type.shape)
    c.state[window.base] = c.emit.build.store(view, tile, c.state[window.base])


def _store_point(c: Context, s: p.StorePoint) -> None:
    window, indices = point_of(c, s.place)
    value = lower_expr(c, s.value)
    c.at(s.span)
    element = element_of(window.mem.type)
    if s.accumulate:
        value = _sum(c, c.emit.build.load_point(window.mem, indices, c.state[window.base]), value)
    value = c.emit.convert(value, element)
    token = c.state[window.base]
    c.state[window.base] = c.emit.build.store_point(window.mem, indices, value, token, each=s.per_thread)


# Control


def _args(c: Context, keys: Sequence[Key]) -> list[Value]:
    return [Value(c.state[k].type, k.name if isinstance(k, p.Symbol) else c.state[k].hint) for k in keys]


def _unless(c: Context, flags: Sequence[Flag], stmts: Sequence[p.Stmt]) -> None:
    """The statements, where none of the flags is set."""
    if stmts:
        _branch(c, _none_set(c, flags), stmts, ())


def _none_set(c: Context, flags: Sequence[Flag]) -> Value:
    taken = c.emit.const(False, BOOL)
    for flag in flags:
        taken = c.emit.binary("or", taken, c.state[flag])
    return c.emit.unary("not", taken)


def _branch(c: Context, condition: Value, then: Sequence[p.Stmt], orelse: Sequence[p.Stmt]) -> None:
    known = c.emit.known_bool(condition)
    if known is not None:
        lower_block(c, then if known else orelse)
        return
    keys = c.keys(assigned((*then, *orelse), c.effects))
    line = c.emit.build.line

    def side(stmts: Sequence[p.Stmt]) -> Sequence[Value]:
        lower_block(c, stmts)
        return [c.state[k] for k in keys]

    regions = [c.region((), partial(side, stmts)) for stmts in (then, orelse)]
    c.emit.build.line = line
    results = c.emit.build.if_(condition, [c.state[k].type for k in keys], *regions).results
    c.state.update(zip(keys, results, strict=True))


def _loop_flags(c: Context, body: Sequence[p.Stmt]) -> tuple[State, tuple[p.Symbol | Flag, ...]]:
    """Hides the flags of the loop around and starts this loop's. Gives what to restore, and the body's effects."""
    effects = assigned(body, c.effects)
    flags: tuple[Flag, ...] = ("break", "continue")
    hidden: State = {flag: c.state.pop(flag) for flag in flags if flag in c.state}
    if "break" in effects:
        c.state["break"] = c.emit.const(False, BOOL)
    return hidden, tuple(e for e in effects if e != "continue")


def _end_loop(c: Context, keys: Sequence[Key], results: Sequence[Value], hidden: State) -> None:
    c.state.update(zip(keys, results, strict=True))
    c.state.pop("break", None)
    c.state.update(hidden)


def _body(c: Context, body: Sequence[p.Stmt], keys: Sequence[Key]) -> None:
    """One iteration: nothing once the loop or the kernel has been left."""
    c.state["continue"] = c.emit.const(False, BOOL)
    left: tuple[Flag, ...] = ("break", "return")
    _unless(c, [f for f in left if f in keys], body)


def _for(c: Context, s: p.For) -> None:
    lo, hi, step = (lower_expr(c, e) for e in (s.lo, s.hi, s.step))
    line = c.at(s.span)
    hidden, effects = _loop_flags(c, s.body)
    keys = c.keys(effects)
    variable, args = Value(INDEX, s.symbol.name), _args(c, keys)
    c.emit.declare_loop(variable, lo, hi, step)

    def body() -> Sequence[Value]:
        c.bind(s.symbol, variable)
        c.state.update(zip(keys, args, strict=True))
        _body(c, s.body, keys)
        return [c.state[k] for k in keys]

    region = c.region([variable, *args], body)
    c.emit.build.line = line
    unroll = c.static(s.unroll) or 1
    left: tuple[Key, ...] = ("break", "return")
    until = tuple(number for number, key in enumerate(keys) if key in left)
    attrs = ({"unroll": unroll} if unroll > 1 else {}) | ({"until": until} if until else {})
    loop = c.emit.build.for_(lo, hi, step, [c.state[k] for k in keys], region, **attrs)
    _end_loop(c, keys, loop.results, hidden)


def _while(c: Context, s: p.While) -> None:
    hidden, effects = _loop_flags(c, s.body)
    keys = c.keys((*effects, *c.effects.of_expressions(s)))
    line = c.emit.build.line
    before, inside = _args(c, keys), _args(c, keys)
    left: tuple[Flag, ...] = ("break", "return")
    flags = [f for f in left if f in keys]

    def condition() -> Sequence[Value]:
        c.state.update(zip(keys, before, strict=True))
        return [_while_condition(c, s, flags), *(c.state[k] for k in keys)]

    def body() -> Sequence[Value]:
        c.state.update(zip(keys, inside, strict=True))
        c.state["continue"] = c.emit.const(False, BOOL)
        lower_block(c, s.body)
        return [c.state[k] for k in keys]

    regions = [c.region(before, condition), c.region(inside, body)]
    c.emit.build.line = line
    loop = c.emit.build.while_([c.state[k] for k in keys], *regions)
    _end_loop(c, keys, loop.results, hidden)


def _while_condition(c: Context, s: p.While, flags: Sequence[Flag]) -> Value:
    """The condition, not evaluated (it may load) once the loop has been left."""
    if not flags:
        return lower_expr(c, s.condition)
    keys = c.keys(c.effects.of_expressions(s))

    def evaluated() -> Sequence[Value]:
        return [lower_expr(c, s.condition), *(c.state[k] for k in keys)]

    def left() -> Sequence[Value]:
        return [c.emit.const(False, BOOL), *(c.state[k] for k in keys)]

    types = [BOOL, *(c.state[k].type for k in keys)]
    regions = [c.region((), side) for side in (evaluated, left)]
    condition, *results = c.emit.build.if_(_none_set(c, flags), types, *regions).results
    c.state.update(zip(keys, results, strict=True))
    return condition
