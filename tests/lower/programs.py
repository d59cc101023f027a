"""Checked programs by hand, for tests that want one node and no parser."""

from __future__ import annotations

from phobos_core.analysis import program as p
from phobos_core.analysis.symbolic import Sym, sym
from phobos_core.ir.module import Kernel
from phobos_core.ir.printer import print_kernel
from phobos_core.language.types import F32, INDEX, ScalarType
from phobos_core.lower import LineTable, lower
from phobos_core.syntax.ast import Span

AT = Span(0, 1)


def tensor(name: str, *dims: int | str, element: ScalarType = F32) -> p.Symbol:
    return p.Symbol(name, name, p.SymbolKind.TENSOR, p.TensorType(element, tuple(sym(d) for d in dims)), AT)


def scalar(name: str, type: ScalarType = INDEX, *, mutable: bool = False) -> p.Symbol:
    return p.Symbol(name, name, p.SymbolKind.SCALAR, type, AT, mutable)


def tile(name: str, *dims: int | str, element: ScalarType = F32) -> p.Symbol:
    type = p.TileType(element, tuple(sym(d) for d in dims))
    return p.Symbol(name, name, p.SymbolKind.TILE, type, AT, mutable=True)


def index(value: int | str) -> p.Expr:
    return p.SymConst(AT, INDEX, sym(value))


def read(symbol: p.Symbol) -> p.ScalarRead:
    assert isinstance(symbol.type, ScalarType)
    return p.ScalarRead(AT, symbol.type, symbol)


def axis(start: p.Expr, extent: int | str | Sym, *, point: bool = False, unmasked: bool = False) -> p.Axis:
    return p.Axis(start, sym(extent), point, unmasked)


def place(root: p.Symbol, *axes: p.Axis) -> p.Place:
    assert not isinstance(root.type, ScalarType)
    if axes:
        return p.Place(AT, root, root.type.element, tuple(a.extent for a in axes), axes)
    dims = root.type.shape if isinstance(root.type, p.TileType) else root.type.dims
    return p.Place(AT, root, root.type.element, dims)


def elements(at: p.Place) -> p.TileRead:
    return p.TileRead(AT, p.TileType(at.element, at.shape), at)


def kernel(params: tuple[p.Symbol, ...], body: tuple[p.Stmt, ...], **fields: object) -> p.CheckedKernel:
    dims: dict[str, None] = {}
    search = fields.get("search", {})
    assert isinstance(search, dict)
    for symbol in params:
        if isinstance(symbol.type, p.TensorType):
            for d in symbol.type.dims:
                dims |= dict.fromkeys(n for n in sorted(d.names) if n not in search)
    defaults: dict[str, object] = {
        "search": {},
        "cluster": {},
        "launch": p.Launch(),
        "aligned": {},
        "tensorcore": None,
        "pipeline": False,
        "padstage": False,
        "dynshared": False,
        "persistent": False,
        "registers": (),
    }
    values = defaults | fields
    return p.CheckedKernel("k", AT, AT, params, tuple(dims), body=body, **values)  # type: ignore[arg-type]


def lowered(k: p.CheckedKernel, **options: object) -> Kernel:
    return lower(k, LineTable(b"x\n"), target="sm_80", **options)  # type: ignore[arg-type]


def text(k: p.CheckedKernel, **options: object) -> str:
    return print_kernel(lowered(k, **options))
