"""Contractions: one `dot` where the K extent is static and its operands fit, else a loop over K.

The loop accumulates into a shared tile: the statement's own target where nothing else reads it meanwhile, a
temporary otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd
from typing import TypeAlias

from phobos_core.analysis import program as p
from phobos_core.analysis.symbolic import Sym
from phobos_core.ir.module import Decision, Value
from phobos_core.ir.types import MemType, element_of
from phobos_core.lower import windows
from phobos_core.lower.context import Context
from phobos_core.lower.windows import Window

_DEFAULT_STEP = 16


@dataclass(frozen=True, slots=True)
class Part:
    """The run start :+ extent of an axis of a tile expression."""

    axis: int
    start: Value
    extent: int


# Emits the `dot` of a contraction, of all of K or of a part (on axis 1 of the left operand).
Product: TypeAlias = Callable[[Part | None], Value]


def contract(c: Context, e: p.Contract, product: Product) -> Value:
    """The product as a virtual tile, over a temporary where K is walked."""
    step = _step(c, e)
    if step is None:
        return product(None)
    target = temporary(c, "dot", e.type)
    _accumulate(c, e, target, step, product, from_zero=True)
    return c.emit.build.load(windows.view(c.emit, target), c.state[target.base])


def contract_into(c: Context, e: p.Contract, target: Window, product: Product, *, from_zero: bool) -> bool:
    """Walks K adding into `target` itself; False where K is not walked or `target` has another type or shape."""
    step = _step(c, e)
    shape = tuple(c.emit.facts.constant(axis.extent) for axis in target.axes)
    if step is None or element_of(target.mem.type) != e.type.element or shape != c.shape(e.type.shape):
        return False
    _accumulate(c, e, target, step, product, from_zero=from_zero)
    return True


def temporary(c: Context, name: str, type: p.TileType) -> Window:
    """A new shared tile."""
    shape = c.shape(type.shape)
    mem, token = c.emit.build.alloc(name, type.element, shape)
    c.state[mem] = token
    return windows.root(c.emit, mem, mem, [c.emit.index(n) for n in shape], [1] * len(shape))


def _accumulate(c: Context, e: p.Contract, target: Window, step: int, product: Product, *, from_zero: bool) -> None:
    emit = c.emit
    line = c.at(e.span)
    mem = target.mem.type
    assert isinstance(mem, MemType)
    shape = c.shape(e.type.shape)
    c.decisions.append(Decision(line, e.op, f"K walked {step} at a time", _why_walked(c, e)))
    if from_zero:
        zero = emit.const(0.0 if mem.element.is_float else 0, mem.element)
        store(c, target, emit.shaped(zero, shape))
    lo, hi, by = emit.index(0), c.symbolic(extents(e)[0]), emit.index(step)
    before = c.state[target.base]
    k, token = Value(lo.type), Value(before.type)
    emit.declare_loop(k, lo, hi, by)

    def body() -> list[Value]:
        c.state[target.base] = token
        addend = product(Part(1, k, step))
        total = emit.build.load(windows.view(emit, target), token)
        store(c, target, emit.binary("add", total, addend))
        return [c.state[target.base]]

    region = c.region((k, token), body)
    emit.build.line = line
    c.state[target.base] = emit.build.for_(lo, hi, by, [before], region).results[0]


def store(c: Context, target: Window, tile: Value) -> None:
    c.state[target.base] = c.emit.build.store(windows.view(c.emit, target), tile, c.state[target.base])


def extents(e: p.Contract) -> tuple[Sym, Sym]:
    """K as each of the operands has it; that they are equal may be left for the launch to check."""
    assert isinstance(e.lhs.type, p.TileType)
    assert isinstance(e.rhs.type, p.TileType)
    return e.lhs.type.shape[1], e.rhs.type.shape[0 if e.op == "dot" else 1]


def static_extent(c: Context, e: p.Contract) -> int | None:
    """K where an operand gives it as a number."""
    lhs, rhs = (c.static(extent) for extent in extents(e))
    return rhs if lhs is None else lhs


def _step(c: Context, e: p.Contract) -> int | None:
    """How far K is walked at a time; None for all of it at once."""
    extent = static_extent(c, e)
    per_k = _staged(c, e.lhs, 0) + _staged(c, e.rhs, 1 if e.op == "dot" else 0)
    if extent is not None and (extent * per_k <= c.shared_limit or not (_divisible(e.lhs) and _divisible(e.rhs))):
        return None
    step = c.tile_k or _DEFAULT_STEP
    while step > 1 and step * per_k > c.shared_limit:
        step //= 2
    if extent is not None and not (_plain(e.lhs) and _plain(e.rhs)):
        # Past the end a slice reads 0, of which a computed operand need not be 0.
        step = gcd(step, extent)
    return step


def _why_walked(c: Context, e: p.Contract) -> str:
    if static_extent(c, e) is None:
        return f"{extents(e)[0]} is known at launch only"
    return f"slices of all of it do not fit the {c.shared_limit // 1024} KB of shared memory"


def _staged(c: Context, operand: p.Expr, free: int) -> int:
    """Bytes of shared memory that a unit of K of the operand takes while it is multiplied."""
    assert isinstance(operand.type, p.TileType)
    if isinstance(operand, p.TileRead):
        mem = c.windows[operand.place.root].mem.type
        assert isinstance(mem, MemType)
        if mem.space == "shared":
            return 0
    return c.shape((operand.type.shape[free],))[0] * operand.type.element.bytes


def _plain(e: p.Expr) -> bool:
    """Whether the value of an absent element is 0."""
    match e:
        case p.TileRead():
            return True
        case p.Convert():
            return _plain(e.operand)
        case p.Shape(op="transpose"):
            return _plain(e.operand)
        case _:
            return False


def _divisible(e: p.Expr) -> bool:
    """Whether a run of K of the value can be computed on its own."""
    match e:
        case p.Convert() | p.Unary():
            return _divisible(e.operand)
        case p.Binary() | p.Compare():
            return _divisible(e.lhs) and _divisible(e.rhs)
        case p.Select():
            return _divisible(e.condition) and _divisible(e.then) and _divisible(e.orelse)
        case p.Math():
            return all(_divisible(a) for a in e.args)
        case p.Shape():
            return e.op == "transpose" and _divisible(e.operand)
        case p.Reduce() | p.Iota() | p.Gather() | p.Contract():
            return False
        case _:
            return True
