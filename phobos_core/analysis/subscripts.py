"""Subscripts: `A[i]`, `A[s : e]`, `A[s :+ n]`, `A[s :]`, `A[: e]`, `A[:]` on tensors, tiles and views.

Out: a `Place`, whose extents are decided symbolically through immutable scalars, and the `Load` or `TileRead` of it.
An extent that only a value at run time gives (through a `var`, a load or `ctx`) is bound to a hidden scalar first, so
that the checked program holds names only.
"""

from __future__ import annotations

from dataclasses import replace

from phobos_core.analysis import program as pg
from phobos_core.analysis.constants import ONE, expressible, is_static, surely_positive, value_of
from phobos_core.analysis.context import PLAIN, Context, Site, infer, kind_text, see, type_text
from phobos_core.analysis.convert import convert
from phobos_core.analysis.names import lookup, spoken
from phobos_core.analysis.shapes import constrain
from phobos_core.analysis.symbolic import Sym, sym
from phobos_core.analysis.walk import has_effects
from phobos_core.language.types import INDEX, ScalarType
from phobos_core.syntax import ast

# What may be a constant index.
_FOLLOWED = (pg.Const, pg.SymConst, pg.Unary, pg.Binary, pg.ScalarRead)
MEMORY = (pg.SymbolKind.TENSOR, pg.SymbolKind.TILE, pg.SymbolKind.VIEW)


def read(cx: Context, node: ast.Index, at: Site) -> pg.Expr | None:
    """A subscripted name as a value: one element, or a tile of them."""
    place = place_of(cx, node)
    if place is None:
        return None
    if is_point(place):
        return pg.Load(node.span, loaded(place.element), place)
    return pg.TileRead(node.span, pg.TileType(place.element, place.shape), place)


def loaded(element: ScalarType) -> ScalarType:
    """The type of one element read as a scalar: integers of every width extend to index."""
    return element if element.is_float else INDEX


def is_point(place: pg.Place) -> bool:
    return place.axes is not None and all(axis.point for axis in place.axes)


def place_of(cx: Context, node: ast.Index) -> pg.Place | None:
    """The memory that a subscripted name selects."""
    base = _named(cx, node.base) if isinstance(node.base, ast.Name) else _unnamed(cx, node)
    if base is None:
        for subscript in node.subscripts:
            _check_alone(cx, subscript)
        return None
    if len(node.subscripts) != len(base.shape):
        _wrong_rank(cx, node, base)
        return None
    axes: list[pg.Axis] = []
    for subscript, extent in zip(node.subscripts, base.shape, strict=True):
        axis = _axis(cx, subscript, extent, base)
        if axis is not None:
            axes.append(axis)
    if len(axes) != len(base.shape):
        return None
    if base.axes is not None:
        axes = [_moved(outer, inner) for outer, inner in zip(base.axes, axes, strict=True)]
    return pg.Place(node.span, base.root, base.element, tuple([axis.extent for axis in axes]), tuple(axes), base.flat)


def _moved(outer: pg.Axis, inner: pg.Axis) -> pg.Axis:
    """A point of a slice of memory, as a point of the memory."""
    start = pg.Binary(inner.start.span, INDEX, "+", outer.start, inner.start)
    return pg.Axis(start, inner.extent, inner.point, inner.unmasked)


def whole(symbol: pg.Symbol, span: ast.Span) -> pg.Place:
    """All of a tile, a view or a tensor."""
    type_ = symbol.type
    assert not isinstance(type_, ScalarType)
    shape = type_.shape if isinstance(type_, pg.TileType) else type_.dims
    return pg.Place(span, symbol, type_.element, shape)


def evaluated_once(cx: Context, place: pg.Place) -> pg.Place:
    """The place with each start that has effects bound to a scalar: it may be read and stored then."""
    return replace(place, axes=None if place.axes is None else tuple(_bound(cx, axis) for axis in place.axes))


def _bound(cx: Context, axis: pg.Axis) -> pg.Axis:
    if not has_effects(axis.start):
        return axis
    span = axis.start.span
    symbol = cx.symbol(ast.Name(span, "index"), pg.SymbolKind.SCALAR, INDEX, hidden=True)
    cx.out.append(pg.BindScalar(span, symbol, axis.start))
    return replace(axis, start=pg.ScalarRead(span, INDEX, symbol))


def writable(cx: Context, span: ast.Span, symbol: pg.Symbol) -> bool:
    """Whether the memory behind a place may be written: a tensor, or a tile that is a `var`."""
    root = cx.roots.get(symbol, symbol)
    if root.kind is pg.SymbolKind.TILE and not root.mutable:
        cx.error(
            "immutable-assignment",
            span,
            f"`{root.name}` is a read-only tile: it is bound by `let` with a value of its own",
            related=(see(root.span, "declared here"),),
            help=f"declare it with `var {root.name}`",
        )
        return False
    return True


def _unnamed(cx: Context, outer: ast.Index) -> pg.Place | None:
    """What is subscripted, where it is no name: `flat(t)`, or another slice, which becomes a view of its own unless
    one element is taken of it."""
    node = outer.base
    if isinstance(node, ast.Index):
        place = place_of(cx, node)
        if place is None:
            return None
        if is_point(place):
            cx.error("not-indexable", node.span, "this is one element already, a scalar, which has no subscripts")
            return None
        points = all(isinstance(subscript, ast.PointSub) for subscript in outer.subscripts)
        return place if points else _hidden_view(cx, place)
    value = infer(cx, node)
    if value is None:
        return None
    if isinstance(value, pg.TileRead) and value.place.axes is None:
        return value.place
    cx.error(
        "not-indexable",
        node.span,
        "a subscript selects from memory: a tensor, a tile or a slice of one, and this is a computed value",
        help="bind it to a tile first: `var t = ..`",
    )
    return None


def _named(cx: Context, node: ast.Name) -> pg.Place | None:
    symbol = lookup(cx, node)
    if symbol is None:
        return None
    if symbol.kind not in MEMORY:
        cx.error(
            "not-indexable",
            node.span,
            f"{spoken(node, symbol)} is {kind_text(symbol.kind)} of type `{type_text(symbol.type)}`, which has no"
            " elements to select",
            related=(see(symbol.span, "declared here"),),
        )
        return None
    return whole(symbol, node.span)


def _check_alone(cx: Context, subscript: ast.Subscript) -> None:
    """Reports mistakes inside the subscripts of something that is in error itself."""
    match subscript:
        case ast.PointSub(_, index):
            infer(cx, index)
        case ast.RangeSub(_, start, end):
            for part in (start, end):
                if part is not None:
                    infer(cx, part)
        case ast.SpanSub(_, start, length):
            infer(cx, start)
            infer(cx, length)


def _wrong_rank(cx: Context, node: ast.Index, base: pg.Place) -> None:
    count, rank = len(node.subscripts), len(base.shape)
    subscripts = "1 subscript" if count == 1 else f"{count} subscripts"
    cx.error(
        "wrong-rank",
        node.span.own,
        f"`{base.root.name}` is `{type_text(base.root.type)}`, of rank {rank}, and has {subscripts} here",
        related=(see(base.root.span, "declared here"),),
        help="`:` selects the whole of an axis",
    )


def index_value(cx: Context, node: ast.Expr, what: str) -> pg.Expr | None:
    """An integer expression as an index."""
    value = infer(cx, node, PLAIN)
    if value is None or value.type is INDEX:
        return value
    if not isinstance(value.type, ScalarType):
        cx.error("index-type", node.span, f"{what} is a scalar, and this is `{type_text(value.type)}`")
        return None
    if not value.type.is_integer:
        cx.error(
            "index-type",
            node.span,
            f"{what} is an integer, and this is `{value.type}`",
            help="convert it: `i32(..)`" if value.type.is_float else None,
        )
        return None
    return convert(cx, value, INDEX)


def _axis(cx: Context, subscript: ast.Subscript, below: Sym, base: pg.Place) -> pg.Axis | None:
    span = subscript.span
    if isinstance(subscript, ast.PointSub):
        start = index_value(cx, subscript.index, "an index")
        if start is None:
            return None
        if not isinstance(start, pg.Load):
            _in_bounds(cx, span, start, below, base)
        return pg.Axis(start, ONE, True, False)
    if isinstance(subscript, ast.SpanSub):
        start = index_value(cx, subscript.start, "the start of a span")
        count = index_value(cx, subscript.length, "the length of a span")
        if start is None or count is None:
            return None
        return _sliced(cx, span, start, count, count)
    if subscript.start is None and subscript.end is None:
        return pg.Axis(pg.Const(span, INDEX, 0), below, False, True)
    return _range(cx, span, subscript.start, subscript.end, below)


def _range(cx: Context, span: ast.Span, first: ast.Expr | None, end: ast.Expr | None, below: Sym) -> pg.Axis | None:
    if first is None:
        assert end is not None
        stop = index_value(cx, end, "the end of a range")
        return None if stop is None else _sliced(cx, span, pg.Const(span, INDEX, 0), stop, stop)
    start = index_value(cx, first, "the start of a range")
    if end is None:
        return None if start is None else _to_the_end(cx, span, start, below)
    stop = index_value(cx, end, "the end of a range")
    if start is None or stop is None:
        return None
    return _sliced(cx, span, start, pg.Binary(span, INDEX, "-", stop, start), stop)


def _to_the_end(cx: Context, span: ast.Span, start: pg.Expr, below: Sym) -> pg.Axis | None:
    size = pg.SymConst(span, INDEX, below)
    return _sliced(cx, span, start, pg.Binary(span, INDEX, "-", size, start), None, unmasked=True)


def _sliced(
    cx: Context, span: ast.Span, start: pg.Expr, length: pg.Expr, given: pg.Expr | None, *, unmasked: bool = False
) -> pg.Axis | None:
    """`given` is the length or the end, as the source has it."""
    extent = _extent(cx, span, length)
    if extent is None:
        return None
    return pg.Axis(start, extent, False, unmasked, None if is_static(cx, extent) else given)


def _extent(cx: Context, span: ast.Span, length: pg.Expr) -> Sym | None:
    """The extent of a slice; one that no name can express is computed into a hidden scalar."""
    value = value_of(cx, length)
    if value is not None and is_static(cx, value):
        return value if positive(cx, span, value, "empty-slice", "a slice selects at least one element") else None
    if value is None or not expressible(value):
        name = ast.Name(span, "extent")
        symbol = cx.symbol(name, pg.SymbolKind.SCALAR, INDEX, hidden=True)
        cx.out.append(pg.BindScalar(span, symbol, length))
        return sym(symbol.key)
    return value


def positive(cx: Context, span: ast.Span, value: Sym, code: str, rule: str) -> bool:
    """Whether a static extent is at least 1; one that a configuration decides is checked for each."""
    if surely_positive(value):
        return True
    constant = value.constant
    if constant is not None:
        cx.error(code, span, f"{rule}, and this extent is {constant}")
        return False
    message = f"{rule}, and this extent, `{value}`, is not positive"
    constrain(cx, code, span, message, (value,), lambda env: value.evaluate(env) > 0)
    return True


def _in_bounds(cx: Context, span: ast.Span, start: pg.Expr, below: Sym, base: pg.Place) -> None:
    """A constant point outside a constant extent: points are not masked."""
    extent = below.constant
    if extent is None or not isinstance(start, _FOLLOWED):
        return
    value = value_of(cx, start)
    index = value.constant if value is not None else None
    if index is not None and not 0 <= index < extent:
        cx.error(
            "out-of-bounds",
            span,
            f"index {index} is outside the axis, whose extent is {extent}: a single element is never masked",
            related=(see(base.root.span, f"`{base.root.name}` is `{type_text(base.root.type)}`"),),
        )


def _hidden_view(cx: Context, place: pg.Place) -> pg.Place:
    """A slice of a slice: the inner one is bound to a view, whose end masks the outer one."""
    name = ast.Name(place.span, "view")
    symbol = cx.symbol(name, pg.SymbolKind.VIEW, pg.TileType(place.element, place.shape), hidden=True)
    cx.roots[symbol] = cx.roots.get(place.root, place.root)
    cx.out.append(pg.BindView(place.span, symbol, place))
    return whole(symbol, place.span)
