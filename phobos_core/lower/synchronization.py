"""Barriers, atomics and flags: what the threads of a CTA do once, together.

An atomic is done by the first thread between two barriers, and its result goes to the others through shared memory:

    sync; if thread == 0 { old = atomic ..; scratch = old }; sync; old = scratch

A barrier of the grid is the same without a result. The barriers take the tokens of all buffers in which others' writes
may be seen afterwards (`effects.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from phobos_core.analysis import program as p
from phobos_core.ir.module import Value
from phobos_core.ir.rewrite import with_attrs
from phobos_core.ir.types import TOKEN, element_of
from phobos_core.language.types import INDEX, ScalarType
from phobos_core.lower.context import Context
from phobos_core.lower.places import point_of


def sync(c: Context, e: p.Sync) -> Value:
    if e.op == "barrier":
        c.at(e.span)
        fence(c, c.effects.fenced(e))
        return c.emit.index(0)
    assert e.bar is not None
    window = c.window(e.bar.root, e.bar.span)
    c.at(e.span)
    blocks = c.emit.ctx("blocks.x")

    def meet() -> None:
        token = c.state[window.base]
        c.state[window.base] = c.emit.build.op("grid_sync", (window.mem, blocks, token), (TOKEN,)).result

    fence(c, c.effects.fenced(e))
    _first_thread(c, [window.base], meet)
    fence(c, c.effects.fenced(e))
    return c.emit.index(0)


def atomic(c: Context, e: p.Atomic) -> Value:
    window, indices = point_of(c, e.place)
    args = [c.lower(c, arg) for arg in e.args]
    c.at(e.span)
    element = element_of(window.mem.type)
    args = [c.emit.convert(arg, element) for arg in args]
    scratch = None if e.op == "store_release" else temporary(c, e.op, element, 1)
    touched = [window.base, *([scratch] if scratch else [])]

    def do() -> None:
        operands = (window.mem, *indices, *args, c.state[window.base])
        gives = (TOKEN,) if scratch is None else (element, TOKEN)
        *old, c.state[window.base] = c.emit.build.op(e.op, operands, gives).results
        if scratch is not None:
            first = [c.emit.index(0)]
            c.state[scratch] = c.emit.build.store_point(scratch, first, old[0], c.state[scratch], each=True)

    fence(c, c.effects.fenced(e))
    _first_thread(c, touched, do)
    fence(c, c.effects.fenced(e), touched[1:])
    if scratch is None:
        return c.emit.index(0)
    value = c.emit.build.load_point(scratch, [c.emit.index(0)], c.state[scratch])
    return c.emit.convert(value, e.type)


def fence(c: Context, symbols: Sequence[p.Symbol], scratch: Sequence[Value] = ()) -> None:
    """A barrier after which others' writes to the buffers may be seen."""
    keys = [*c.keys(symbols), *scratch]
    c.state.update(zip(keys, c.emit.build.sync([c.state[k] for k in keys]), strict=True))


def temporary(c: Context, name: str, element: ScalarType, length: int) -> Value:
    """A buffer of a few scalars that the threads of the CTA exchange."""
    build = c.emit.build
    mem, token = build.alloc(name, element, (length,))
    build.ops[-1] = with_attrs(build.ops[-1], temporary=True)
    c.state[mem] = token
    return mem


def only_where(c: Context, condition: Value, touched: Sequence[Value], do: Callable[[], None]) -> None:
    """What the threads for which the condition holds do to the buffers in `touched`."""
    line = c.emit.build.line

    def done() -> Sequence[Value]:
        do()
        return [c.state[mem] for mem in touched]

    regions = [c.region((), done), c.region((), lambda: [c.state[mem] for mem in touched])]
    c.emit.build.line = line
    results = c.emit.build.if_(condition, [TOKEN] * len(touched), *regions).results
    c.state.update(zip(touched, results, strict=True))


def _first_thread(c: Context, touched: Sequence[Value], do: Callable[[], None]) -> None:
    if c.threads == 1:
        do()
        return
    only_where(c, c.emit.cmp("eq", c.emit.ctx("thread"), c.emit.const(0, INDEX)), touched, do)
