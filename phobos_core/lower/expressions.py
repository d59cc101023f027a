"""Expressions: a scalar gives a scalar value, a tile expression a virtual tile value.

A `Part` restricts a tile expression to a run of one axis, for a contraction that walks its K.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from phobos_core.analysis import program as p
from phobos_core.analysis.symbolic import Sym
from phobos_core.ir.module import Value
from phobos_core.ir.types import TileType, element_of
from phobos_core.language.types import BOOL, F32, I32, INDEX, ScalarType
from phobos_core.lower import collectives, runs, synchronization, windows
from phobos_core.lower.attention import warp_partial
from phobos_core.lower.bits import bits, dp4a_wrapped
from phobos_core.lower.context import Context
from phobos_core.lower.contraction import Part, contract, extents, static_extent
from phobos_core.lower.places import point_of, window_of
from phobos_core.lower.windows import Window, WindowAxis

BINARY: Mapping[str, str] = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "%": "rem",
    "&": "and",
    "|": "or",
    "^": "xor",
    "<<": "shl",
    ">>": "shr",
    "min": "min",
    "max": "max",
    "&&": "and",
    "||": "or",
}
COMPARE: Mapping[str, str] = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
REDUCE: Mapping[str, str] = {"rowmax": "max", "rowsum": "sum", "rowargmax": "argmax"}


def lower_expr(c: Context, e: p.Expr, part: Part | None = None) -> Value:
    emit = c.emit
    match e:
        case p.Const():
            return emit.index(int(e.value)) if e.type == INDEX else emit.const(e.value, e.type)
        case p.SymConst():
            return c.symbolic(e.value)
        case p.ScalarRead():
            return c.state[e.symbol]
        case p.CtxRead():
            return emit.ctx(e.field)
        case p.Load():
            return _load(c, e)
        case p.TileRead():
            return _tile_read(c, e, part)
        case p.Convert(type=type, operand=p.Bits(op="dp4a") as dp4a) if type == I32:
            return dp4a_wrapped(c, dp4a, [lower_expr(c, a) for a in dp4a.args])
        case p.Convert():
            operand = lower_expr(c, e.operand, part)
            c.at(e.span)
            return emit.convert(operand, element_of_type(e.type))
        case p.Unary():
            return _unary(c, e, part)
        case p.Binary():
            return _elementwise(c, BINARY[e.op], e, e.lhs, e.rhs, part)
        case p.Compare():
            a, b = _operands(c, e.type, (e.lhs, e.rhs), part)
            c.at(e.span)
            return emit.cmp(COMPARE[e.op], a, b)
        case p.Select():
            condition, then, orelse = _operands(c, e.type, (e.condition, e.then, e.orelse), part)
            c.at(e.span)
            return emit.select(condition, then, orelse)
        case p.Math():
            return _math(c, e, part)
        case p.Iota():
            c.at(e.span)
            return emit.build.iota(e.axis, c.shape(e.type.shape))
        case p.Reduce():
            operand = lower_expr(c, e.operand, part)
            c.at(e.span)
            return emit.build.reduce(REDUCE[e.op], operand)
        case p.Shape():
            return _shape(c, e, part)
        case p.Gather():
            return _gather(c, e)
        case p.Contract():
            return contract(c, e, partial(product, c, e))
        case p.RunElement():
            return runs.run_element(c, e)
        case p.RunSum():
            return runs.total(c, e)
        case p.Elem():
            return runs.element(c, e)
        case p.Word():
            return runs.word(c, e)
        case p.Bits():
            return bits(c, e, [lower_expr(c, a) for a in e.args])
        case p.Collective():
            return collectives.collective(c, e)
        case p.Shuffle():
            return collectives.shuffle(c, e)
        case p.Atomic():
            return synchronization.atomic(c, e)
        case p.Sync():
            return synchronization.sync(c, e)
        case p.WarpPartial():
            return warp_partial(c, e)


def element_of_type(type: p.ValueType) -> ScalarType:
    return type.element if isinstance(type, p.TileType) else type


def product(c: Context, e: p.Contract, part: Part | None) -> Value:
    """The `dot` of a contraction; `part` runs along axis 1 of the left operand."""
    lhs, rhs = (
        lower_expr(c, operand, _part_of(c, e, part, axis, extent))
        for operand, axis, extent in zip((e.lhs, e.rhs), (1, 0 if e.op == "dot" else 1), extents(e), strict=True)
    )
    c.at(e.span)
    return c.emit.build.dot(lhs, rhs, transposed=e.op == "dot_t")


def _part_of(c: Context, e: p.Contract, part: Part | None, axis: int, extent: Sym) -> Part | None:
    """What of an operand a product takes. Where only the other operand says how long K is, that much of this one."""
    if part is not None:
        return Part(axis, part.start, part.extent)
    whole = static_extent(c, e)
    return None if whole is None or c.static(extent) is not None else Part(axis, c.emit.index(0), whole)


def _load(c: Context, e: p.Load) -> Value:
    window, indices = point_of(c, e.place)
    c.at(e.span)
    return c.emit.convert(c.emit.build.load_point(window.mem, indices, c.state[window.base]), e.type)


def _tile_read(c: Context, e: p.TileRead, part: Part | None) -> Value:
    window = window_of(c, e.place)
    c.at(e.span)
    if part is not None and not _is_one(e.type.shape[part.axis]):
        window = windows.cut_axis(c.emit, window, part.axis, part.start, c.emit.index(part.extent))
    return c.emit.build.load(windows.view(c.emit, window), c.state[window.base])


def _is_one(extent: Sym) -> bool:
    return extent.constant == 1


def _extents(c: Context, type: p.TileType, part: Part | None) -> tuple[int, ...]:
    if part is None:
        return c.shape(type.shape)
    dims = type.shape
    return tuple(
        part.extent if axis == part.axis and not _is_one(d) else c.shape((d,))[0] for axis, d in enumerate(dims)
    )


def _operands(c: Context, type: p.ValueType, operands: tuple[p.Expr, ...], part: Part | None) -> list[Value]:
    """The operands of an element-wise node, brought to its shape."""
    values = [lower_expr(c, e, part) for e in operands]
    if not isinstance(type, p.TileType):
        return values
    shape = _extents(c, type, part)
    return [c.emit.shaped(v, shape) for v in values]


def _elementwise(c: Context, name: str, node: p.Binary, lhs: p.Expr, rhs: p.Expr, part: Part | None) -> Value:
    a, b = _operands(c, node.type, (lhs, rhs), part)
    c.at(node.span)
    return c.emit.binary(name, a, b)


def _unary(c: Context, e: p.Unary, part: Part | None) -> Value:
    operand = lower_expr(c, e.operand, part)
    c.at(e.span)
    if e.op != "-":
        return c.emit.unary("not", operand)
    if isinstance(operand.type, TileType):
        # On a tile, - is 0 - t: the sign of a zero differs from a flipped one.
        zero = c.emit.const(0.0 if operand.type.element.is_float else 0, operand.type.element)
        return c.emit.binary("sub", c.emit.shaped(zero, operand.type.shape), operand)
    return c.emit.unary("neg", operand)


def _math(c: Context, e: p.Math, part: Part | None) -> Value:
    emit = c.emit
    args = _operands(c, e.type, e.args, part)
    c.at(e.span)
    if e.op == "abs":
        return emit.build.math("abs", args[0])
    wide = [emit.convert(a, F32) for a in args]
    if e.op == "pow":
        base, exponent = wide
        result = emit.build.math("exp", emit.build.binary("mul", exponent, emit.build.math("log", base)))
    else:
        result = emit.build.math(e.op, wide[0])
    return emit.convert(result, element_of_type(e.type))


def _shape(c: Context, e: p.Shape, part: Part | None) -> Value:
    if e.op == "transpose":
        turned = Part(1 - part.axis, part.start, part.extent) if part else None
        operand = lower_expr(c, e.operand, turned)
        c.at(e.span)
        return c.emit.build.transpose(operand)
    operand = lower_expr(c, e.operand)
    c.at(e.span)
    return c.emit.build.tril(operand) if e.op == "tril" else c.emit.build.cumsum(operand)


def _gather(c: Context, e: p.Gather) -> Value:
    window = window_of(c, e.table)
    indices = lower_expr(c, e.indices)
    c.at(e.span)
    indices = c.emit.shaped(indices, c.shape(e.type.shape))
    assert element_of(indices.type).is_integer
    offsets = [axis.offset for axis in window.axes]
    if all(windows.bounds(c.emit, axis) == (None, None) for axis in window.axes):
        return c.emit.build.gather(window.mem, offsets, indices, c.state[window.base])
    return _masked_gather(c, window, indices)


def _masked_gather(c: Context, window: Window, indices: Value) -> Value:
    """From a table that may lie outside its tensor in part, or wholly where it is empty: elements that do not exist
    read as 0, by an index that reads nothing."""
    emit = c.emit
    assert isinstance(indices.type, TileType)
    shape = indices.type.shape
    zero, nowhere = emit.index(0), emit.shaped(emit.index(-1), shape)
    *rows, last = window.axes
    whole = emit.const(True, BOOL)
    for axis in rows:
        whole = emit.binary("and", whole, _exists(c, axis, axis.offset, ()))
    position = emit.add(emit.convert(indices, INDEX), emit.shaped(last.offset, shape))
    exists = emit.binary("and", emit.shaped(whole, shape), _exists(c, last, position, shape))
    offsets = [*(emit.select(whole, axis.offset, zero) for axis in rows), zero]
    found = emit.select(exists, position, nowhere)
    return emit.build.gather(window.mem, offsets, found, c.state[window.base], partial=True)


def _exists(c: Context, axis: WindowAxis, position: Value, shape: tuple[int, ...]) -> Value:
    """Whether the buffer has a position of the axis, of each element of a tile of a shape or, of (), of a scalar."""
    emit = c.emit

    def shaped(value: Value) -> Value:
        return emit.shaped(value, shape) if shape else value

    lower, upper = windows.bounds(emit, axis)
    if upper is None:
        return shaped(emit.const(True, BOOL))
    above = emit.cmp("ge", position, shaped(emit.index(0) if lower is None else lower))
    return emit.binary("and", above, emit.cmp("lt", position, shaped(upper)))
