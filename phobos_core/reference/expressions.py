"""Expressions of the checked program on NumPy: a scalar gives a NumPy scalar, a tile an array of its shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from phobos_core.analysis import program as p
from phobos_core.reference import numerics
from phobos_core.reference.frame import Frame, ReferenceFault, Remark
from phobos_core.reference.memory import Window
from phobos_core.reference.numerics import Array, dtype_of


def evaluate(expr: p.Expr, frame: Frame) -> Array:
    match expr:
        case p.Const():
            return _typed(expr.value, expr, frame)
        case p.SymConst():
            return _typed(frame.extent(expr.value), expr, frame)
        case p.ScalarRead():
            return frame.scalars[expr.symbol]
        case p.CtxRead():
            return _typed(frame.ctx[expr.field], expr, frame)
        case p.Load():
            return numerics.convert(_element(expr.place, frame), dtype_of(expr.type, frame.index_bits))
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
    return int(evaluate(expr, frame))


def point(place: p.Place, frame: Frame) -> Window:
    """The window of one element. Raises ReferenceFault outside the tensor or tile, where a point is not masked."""
    selected = window(place, frame)
    if not selected.is_inside:
        at = ", ".join(str(a.start) for a in selected.axes)
        extents = ", ".join(str(n) for n in selected.data.shape)
        raise ReferenceFault(f"`{place.root.name}[{at}]` is outside [{extents}]; a point is not masked", place.span)
    return selected


def _element(place: p.Place, frame: Frame) -> Array:
    return point(place, frame).read().reshape(())


def _binary(expr: p.Binary, frame: Frame) -> Array:
    lhs, rhs = evaluate(expr.lhs, frame), evaluate(expr.rhs, frame)
    if expr.op in ("/", "%") and not numerics.is_float(np.asarray(rhs).dtype) and np.any(rhs == 0):
        frame.remarks[Remark(f"integer `{expr.op}` by zero: its value is unspecified", expr.span)] = None
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
