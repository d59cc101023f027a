"""Shapes: NumPy-style broadcasting and the agreement of extents, over symbolic sizes.

Two extents that a configuration decides become a constraint; two that only the launch decides become a requirement
of the kernel; anything else that cannot be shown equal is an error.
"""

from __future__ import annotations

from collections.abc import Mapping

from phobos_core.analysis import program as pg
from phobos_core.analysis.constants import ONE, is_static
from phobos_core.analysis.constraints import Constraint, Holds
from phobos_core.analysis.context import Context, Shape, declared_as, see, shape_text
from phobos_core.analysis.symbolic import Sym, maximum
from phobos_core.language.diagnostic import Related
from phobos_core.syntax.ast import Span


def static(cx: Context, expr: pg.Expr, span: Span) -> bool:
    """Whether a tile value may be computed: its extents are known for every configuration. Reports where not."""
    # Only memory can have other extents: what is computed was checked where it was computed.
    if not isinstance(expr, (pg.TileRead, pg.Convert)):
        return True
    type_ = expr.type
    return not isinstance(type_, pg.TileType) or static_shape(cx, type_.shape, span)


def static_shape(cx: Context, shape: Shape, span: Span) -> bool:
    for axis, extent in enumerate(shape):
        if not is_static(cx, extent):
            cx.error(
                "dynamic-extent",
                span,
                f"a tile value needs static extents, and axis {axis} of {shape_text(shape)} is `{extent}`,"
                " known only at run time",
                help="walk it in a loop over spans of a constant length, `for k in range(0, n, TILE)` with"
                " `A[.., k :+ TILE]`, or bind the dimension with `@autotune`",
            )
            return False
    return True


def broadcast(cx: Context, span: Span, lhs: pg.Expr, rhs: pg.Expr) -> Shape | None:
    """The shape of an element-wise operation of two operands, of which at least one is a tile."""
    a, b = lhs.type, rhs.type
    if not isinstance(a, pg.TileType):
        assert isinstance(b, pg.TileType)
        return b.shape if static(cx, rhs, rhs.span) else None
    if not static(cx, lhs, lhs.span):
        return None
    if not isinstance(b, pg.TileType):
        return a.shape
    if not static(cx, rhs, rhs.span):
        return None
    return _joined(cx, span, a.shape, b.shape, (lhs, rhs))


def broadcast_all(cx: Context, span: Span, operands: tuple[pg.Expr, ...]) -> Shape | None:
    """The shape of an element-wise operation of any number of operands, of which at least one is a tile."""
    shape: Shape | None = None
    for operand in operands:
        if isinstance(operand.type, pg.TileType):
            if not static(cx, operand, operand.span):
                return None
            other = operand.type.shape
            shape = other if shape is None else _joined(cx, span, shape, other, (operands[0], operand))
            if shape is None:
                return None
    return shape


def _joined(cx: Context, span: Span, a: Shape, b: Shape, sides: tuple[pg.Expr, pg.Expr]) -> Shape | None:
    if a is b or a == b:
        return a
    if len(a) != len(b):
        message = f"{shape_text(a)} and {shape_text(b)} do not broadcast: the ranks differ, {len(a)} and {len(b)}"
        cx.error("rank-mismatch", span, message, related=_sides(*sides))
        return None
    return tuple(_stretch(cx, span, a, b, axis, sides) for axis in range(len(a)))


def _stretch(cx: Context, span: Span, lhs: Shape, rhs: Shape, axis: int, sides: tuple[pg.Expr, pg.Expr]) -> Sym:
    a, b = lhs[axis], rhs[axis]
    if a is b or a == b or b == ONE:
        return a
    if a == ONE:
        return b

    def holds(env: Mapping[str, int]) -> bool:
        x, y = a.evaluate(env), b.evaluate(env)
        return x == y or x == 1 or y == 1

    shapes = f"{shape_text(lhs)} and {shape_text(rhs)}"
    message = f"{shapes} do not broadcast: axis {axis} is `{a}` on one side and `{b}` on the other"
    constrain(cx, "shape-mismatch", span, message, (a, b), holds, related=_sides(*sides))
    return maximum(a, b) if _may_be_one(cx, a) or _may_be_one(cx, b) else a


def stores_into(cx: Context, span: Span, value: pg.Expr, target: Shape, name: str, symbol: pg.Symbol | None) -> bool:
    """Whether a value fits the place it is stored to, broadcasting a scalar and axes of extent 1."""
    type_ = value.type
    if not isinstance(type_, pg.TileType):
        return True
    if not static(cx, value, value.span):
        return False
    if type_.shape is target or type_.shape == target:
        return True
    text = f"the value is {shape_text(type_.shape)} and {name} is {shape_text(target)}"
    if len(type_.shape) != len(target):
        cx.error("rank-mismatch", span, f"{text}: the ranks differ", related=declared_as(symbol))
        return False
    for axis, (extent, room) in enumerate(zip(type_.shape, target, strict=True)):
        if extent not in (room, ONE):
            message = f"{text}: axis {axis} does not fit"
            fits = _fits(extent, room)
            constrain(cx, "shape-mismatch", span, message, (extent, room), fits, declared_as(symbol))
    return True


def _fits(extent: Sym, room: Sym) -> Holds:
    return lambda env: extent.evaluate(env) in (1, room.evaluate(env))


def agree(cx: Context, span: Span, a: Sym, b: Sym, message: str, *, related: tuple[Related, ...] = ()) -> None:
    """Requires two extents to be equal: now, for each configuration, or at launch."""
    if a is b or a == b:
        return
    if is_static(cx, a) and is_static(cx, b):
        constrain(cx, "shape-mismatch", span, message, (a, b), lambda env: a.evaluate(env) == b.evaluate(env), related)
    elif _launch_knows(cx, a) and _launch_knows(cx, b):
        left, right = (a, b) if len(str(a)) <= len(str(b)) else (b, a)
        require(cx, pg.Requirement(left, "==", right, f"{left} == {right}"))
    else:
        cx.error("shape-mismatch", span, message, related=related)


def require(cx: Context, requirement: pg.Requirement) -> None:
    cx.requires.setdefault(requirement.text, requirement)


def constrain(
    cx: Context,
    code: str,
    span: Span,
    message: str,
    values: tuple[Sym, ...],
    holds: Holds,
    related: tuple[Related, ...] = (),
    help: str | None = None,
) -> None:
    """A rule over extents: decided at the end, for every choice of the names that the values mention."""
    names = frozenset().union(*(value.names for value in values))
    ordered = tuple(name for name in cx.search if name in names)
    cx.constraints.append(Constraint(code, span.shown, message, ordered, holds, related, help))


def shape_of(expr: pg.Expr) -> Shape:
    type_ = expr.type
    return type_.shape if isinstance(type_, pg.TileType) else ()


def _launch_knows(cx: Context, value: Sym) -> bool:
    return all(name in cx.search or name in cx.dims for name in value.names)


def _may_be_one(cx: Context, value: Sym) -> bool:
    return any(1 in cx.search.get(name, ()) for name in value.names)


def _sides(lhs: pg.Expr, rhs: pg.Expr) -> tuple[Related, ...]:
    """Both shapes, and where the named tiles among them were declared."""
    places = []
    for side in (lhs, rhs):
        if not isinstance(side.type, pg.TileType):
            continue
        places.append(see(side.span, f"this is {shape_text(shape_of(side))}"))
        if isinstance(side, pg.TileRead) and side.place.axes is None:
            root = side.place.root
            places.append(see(root.span, f"`{root.name}` is declared here"))
    return tuple(places)
