"""Checked kernels written by hand, for what needs one but no source."""

from phobos_core.analysis import program as p
from phobos_core.analysis.symbolic import Sym, sym
from phobos_core.language.types import F32, INDEX, ScalarType
from phobos_core.syntax.ast import Span

AT = Span(0, 1)


def tensor(name: str, *dims: int | str, element: ScalarType = F32) -> p.Symbol:
    type = p.TensorType(element, tuple(sym(dim) for dim in dims))
    return p.Symbol(name, name, p.SymbolKind.TENSOR, type, AT)


def scalar(name: str, type: ScalarType) -> p.Symbol:
    return p.Symbol(name, name, p.SymbolKind.SCALAR_PARAM, type, AT)


def whole(symbol: p.Symbol) -> p.Place:
    assert isinstance(symbol.type, p.TensorType)
    return p.Place(AT, symbol, symbol.type.element, symbol.type.dims)


def copy(source: p.Symbol, target: p.Symbol) -> p.StoreTile:
    """`target[..] = source[..]`"""
    place = whole(source)
    return p.StoreTile(AT, whole(target), p.TileRead(AT, p.TileType(place.element, place.shape), place))


def block_slice(symbol: p.Symbol, axis: str, step: Sym, *, via: p.Symbol | None = None) -> p.Place:
    """`symbol[ctx.block.axis * step :+ step, ..]`; `via` is a scalar that holds `ctx.block.axis`."""
    assert isinstance(symbol.type, p.TensorType)
    block: p.Expr = p.CtxRead(AT, INDEX, f"block.{axis}") if via is None else p.ScalarRead(AT, INDEX, via)
    start = p.Binary(AT, INDEX, "*", block, p.SymConst(AT, INDEX, step))
    zero = p.Const(AT, INDEX, 0)
    axes = (p.Axis(start, step, False, False), *(p.Axis(zero, d, False, True) for d in symbol.type.dims[1:]))
    return p.Place(AT, symbol, symbol.type.element, (step, *symbol.type.dims[1:]), axes)


def kernel(
    *params: p.Symbol,
    body: tuple[p.Stmt, ...] = (),
    search: dict[str, tuple[int, ...]] | None = None,
    aligned: dict[str, Sym] | None = None,
    requires: tuple[p.Requirement, ...] = (),
) -> p.CheckedKernel:
    """A kernel whose dynamic dimensions are the names in its tensors that are no search names."""
    names = [n for s in params if isinstance(s.type, p.TensorType) for d in s.type.dims for n in sorted(d.names)]
    return p.CheckedKernel(
        name="k",
        span=AT,
        name_span=AT,
        params=params,
        dims=tuple(dict.fromkeys(n for n in names if n not in (search or {}))),
        search=search or {},
        cluster={},
        launch=p.Launch(),
        aligned=aligned or {},
        tensorcore=None,
        pipeline=False,
        padstage=False,
        dynshared=False,
        persistent=False,
        registers=(),
        body=body,
        requires=requires,
    )
