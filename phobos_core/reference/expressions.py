"""Expressions of the checked program on NumPy.

A tile gives an array of its shape. A scalar gives an array of no axes where every thread has the same value, and one
with an axis of the CTA's threads where they may differ; the elements of a run are on an axis before that. Effects (an
atomic, a barrier) are not evaluated here: `synchronization` puts a `Known` in their place first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from phobos_core.analysis import program as p
from phobos_core.language.targets import LANES
from phobos_core.reference import exchange, numerics, points
from phobos_core.reference.frame import Frame, ReferenceFault
from phobos_core.reference.memory import Window
from phobos_core.reference.numerics import Array, dtype_of
from phobos_core.reference.packed import BITS, word


class Known:
    """The value of an expression that was evaluated already, in its place."""

    __slots__ = ("span", "type", "value")

    def __init__(self, expr: p.Expr, value: Array) -> None:
        self.span = expr.span
        self.type = expr.type
        self.value = value


def evaluate(expr: p.Expr | Known, frame: Frame) -> Array:
    match expr:
        case p.Const():
            return _typed(expr.value, expr, frame)
        case p.SymConst():
            return _typed(frame.extent(expr.value), expr, frame)
        case p.ScalarRead():
            return frame.scalars[expr.symbol]
        case p.CtxRead():
            return _ctx(expr, frame)
        case p.Load():
            return _elements(expr.place, expr.type, frame)
        case p.TileRead():
            return window(expr.place, frame).read()
        case p.Convert():
            return numerics.convert(evaluate(expr.operand, frame), _dtype(expr, frame))
        case p.Unary():
            operand = evaluate(expr.operand, frame)
            if expr.op == "-" and isinstance(expr.type, p.TileType):
                return np.subtract(np.zeros_like(operand), operand)  # on tiles 0 - t, which gives no negative zero
            return numerics.UNARY[expr.op](operand)
        case p.Binary():
            return _binary(expr, frame)
        case p.Compare():
            return numerics.COMPARE[expr.op](evaluate(expr.lhs, frame), evaluate(expr.rhs, frame))
        case p.Select():
            condition = evaluate(expr.condition, frame)
            then, orelse = evaluate(expr.then, frame), evaluate(expr.orelse, frame)
            return np.asarray(np.where(condition, then, orelse))
        case p.Math():
            return numerics.math(expr.op, [evaluate(a, frame) for a in expr.args])
        case p.Iota():
            return _iota(expr, frame)
        case p.Reduce():
            operand = np.broadcast_to(evaluate(expr.operand, frame), _shape(expr.operand, frame))
            return _REDUCE[expr.op](operand)
        case p.Shape():
            return _SHAPE[expr.op](evaluate(expr.operand, frame))
        case p.Gather():
            return _gather(expr, frame)
        case p.Contract():
            lhs, rhs = evaluate(expr.lhs, frame), evaluate(expr.rhs, frame)
            return numerics.contract(lhs, rhs.T if expr.op == "dot_t" else rhs, _dtype(expr, frame))
        case p.RunElement():
            return _elements(expr.place, expr.type, frame)
        case p.RunSum():
            return _run_sum(expr, frame)
        case p.Elem():
            return _of_threads(_elements(expr.place, expr.type, frame)[frame.extent(expr.position)])
        case p.Word():
            first = 4 * frame.extent(expr.position)
            octets = _elements(expr.place, expr.type, frame)[first : first + 4]
            return _of_threads(word(octets, _dtype(expr, frame)))
        case p.Bits():
            return BITS[expr.op](*(evaluate(arg, frame) for arg in expr.args))
        case p.Collective():
            combine = None if expr.combine is None else _combine(expr.combine, frame)
            return exchange.collective(expr, evaluate(expr.value, frame), frame, combine)
        case p.Shuffle():
            return exchange.shuffle(expr, evaluate(expr.value, frame), evaluate(expr.source, frame), frame)
        case Known():
            return expr.value
        case _:
            raise AssertionError(f"the reference does not know {type(expr).__name__}")


def window(place: p.Place, frame: Frame) -> Window:
    """The memory that `place` denotes now."""
    base = frame.memory[place.root]
    if place.flat:
        base = base.flat()
    if place.axes is None:
        return base
    return base.sliced([(index(a.start, frame), frame.extent(a.extent)) for a in place.axes])


def index(expr: p.Expr, frame: Frame) -> int:
    return int(frame.uniform(evaluate(expr, frame)))


def located(place: p.Place, frame: Frame) -> tuple[Window, points.Position]:
    """The buffer of a point or a run, and where in it each thread's is."""
    assert place.axes is not None
    base = frame.memory[place.root].flat() if place.flat else frame.memory[place.root]
    starts = [evaluate(axis.start, frame) for axis in place.axes]
    return base, points.position(place, base, starts, frame)


def _elements(place: p.Place, type: Any, frame: Frame) -> Array:
    base, at = located(place, frame)
    return points.read(base, at, type, frame)


def _run_sum(expr: p.RunSum, frame: Frame) -> Array:
    """Floats in f64, rounded once; integers wrap."""
    values = evaluate(expr.operand, frame)
    if values.ndim < 2:  # no run takes part in what is added, only its length
        values = np.broadcast_to(values, (frame.extent(expr.length), *(values.shape or (1,))))
    wide = values.astype(np.float64) if numerics.is_float(values.dtype) else values
    return _of_threads(numerics.convert(wide.sum(axis=0, dtype=wide.dtype), _dtype(expr, frame)))


def _of_threads(value: Array) -> Array:
    """Without the axis of threads where it stands for all of them."""
    return value.reshape(()) if value.shape == (1,) else value


def _combine(combine: p.Combine, frame: Frame) -> exchange.Combine:
    def apply(first: Array, second: Array) -> Array:
        frame.scalars[combine.first], frame.scalars[combine.second] = first, second
        return evaluate(combine.value, frame)

    return apply


def _ctx(expr: p.CtxRead, frame: Frame) -> Array:
    threads = np.arange(frame.threads, dtype=_dtype(expr, frame))
    match expr.field:
        case "thread":
            return threads
        case "warp":
            return threads // LANES
        case "lane":
            return threads % LANES
    return _typed(frame.ctx[expr.field], expr, frame)


def _binary(expr: p.Binary, frame: Frame) -> Array:
    lhs, rhs = evaluate(expr.lhs, frame), evaluate(expr.rhs, frame)
    if expr.op in ("/", "%") and not numerics.is_float(np.asarray(rhs).dtype):
        zero = np.asarray(rhs) == 0
        if np.any(zero if isinstance(expr.type, p.TileType) else frame.of_running(zero)):
            frame.remark(f"integer `{expr.op}` by zero: its value is unspecified", expr.span)
    return numerics.BINARY[expr.op](lhs, rhs)


def _iota(expr: p.Iota, frame: Frame) -> Array:
    shape = _shape(expr, frame)
    along = [1] * len(shape)
    along[expr.axis] = shape[expr.axis]
    return np.broadcast_to(np.arange(shape[expr.axis], dtype=np.int32).reshape(along), shape)


def _gather(expr: p.Gather, frame: Frame) -> Array:
    table = window(expr.table, frame).read().reshape(-1)
    indices = evaluate(expr.indices, frame).astype(np.int64)
    outside = (indices < 0) | (indices >= table.size)
    if outside.any():
        worst = int(indices[outside][0])
        raise ReferenceFault(
            f"`gather` index {worst} is outside the {table.size} elements of `{expr.table.root.name}`", expr.span
        )
    return table[indices]


def _tril(value: Array) -> Array:
    return np.tril(value).astype(value.dtype)


_REDUCE: Mapping[str, Callable[[Array], Array]] = {
    "rowmax": numerics.row_max,
    "rowsum": numerics.row_sum,
    "rowargmax": numerics.row_argmax,
}
_SHAPE: Mapping[str, Callable[[Array], Array]] = {"cumsum": numerics.cumsum, "tril": _tril, "transpose": np.transpose}


def _typed(value: int | float | bool, expr: p.Expr, frame: Frame) -> Array:
    dtype = _dtype(expr, frame)
    if numerics.is_float(dtype):
        return numerics.convert(np.asarray(value, np.float64), dtype)
    if dtype == np.bool_:
        return np.asarray(value, np.bool_)
    # Literals wrap in their type, as conversions of index values do.
    return np.asarray(int(value) & (2**64 - 1), np.uint64).astype(dtype)


def _dtype(expr: p.Expr, frame: Frame) -> np.dtype[Any]:
    element = expr.type.element if isinstance(expr.type, p.TileType) else expr.type
    return dtype_of(element, frame.index_bits)


def _shape(expr: p.Expr, frame: Frame) -> tuple[int, ...]:
    assert isinstance(expr.type, p.TileType)
    return tuple(frame.extent(n) for n in expr.type.shape)
