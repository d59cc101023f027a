"""`let` and `var`: what a binding is (a scalar, a tile of its own, or a view), and the types that declare it."""

from __future__ import annotations

from phobos_core.analysis import program as pg
from phobos_core.analysis.constants import is_static, value_of
from phobos_core.analysis.context import (
    LOST,
    PLAIN,
    Context,
    Shape,
    Site,
    declared_as,
    element_of,
    infer,
    kind_text,
    see,
    shape_text,
    type_text,
)
from phobos_core.analysis.convert import assigned, convert
from phobos_core.analysis.names import lookup
from phobos_core.analysis.shapes import static, stores_into
from phobos_core.analysis.subscripts import positive, whole
from phobos_core.analysis.symbolic import Sym, sym
from phobos_core.language.types import BOOL, SPELLED, Kind, ScalarType
from phobos_core.syntax import ast


def let(cx: Context, stmt: ast.Let) -> None:
    if stmt.type is not None:
        _typed(cx, stmt, stmt.type, mutable=False)
        return
    bind_value(cx, stmt, infer(cx, stmt.value, PLAIN))


def bind_value(cx: Context, stmt: ast.Let, value: pg.Expr | None) -> None:
    """What `let` without a type makes of its value: a view of a slice, or a scalar or tile of the value's type."""
    if value is None:
        cx.bind(stmt.name, None)
    elif isinstance(value, pg.TileRead):
        symbol = cx.symbol(stmt.name, pg.SymbolKind.VIEW, value.type)
        cx.roots[symbol] = cx.roots.get(value.place.root, value.place.root)
        whole_place = cx.aliases.get(value.place.root, value.place)
        if value.place.axes is None and whole_place.root.kind is pg.SymbolKind.TILE:
            cx.aliases[symbol] = whole_place
        cx.bind(stmt.name, symbol)
        cx.out.append(pg.BindView(stmt.span, symbol, value.place))
    else:
        _inferred(cx, stmt, value, mutable=False)


def var(cx: Context, stmt: ast.Var) -> None:
    if stmt.type is not None:
        _typed(cx, stmt, stmt.type, mutable=True)
        return
    if stmt.value is None:
        cx.error("missing-initializer", stmt.name.span, f"`var {stmt.name.text}` needs a value, or the type of a tile")
        cx.bind(stmt.name, None)
        return
    value = _shaped_by_value(cx, stmt.value)
    if value is None or not _typed_by_branch(cx, value):
        cx.bind(stmt.name, None)
    else:
        _inferred(cx, stmt, value, mutable=True)


def _shaped_by_value(cx: Context, node: ast.Expr) -> pg.Expr | None:
    """The value of a tile that takes its shape from it. Where `iota` needs that shape, the rest of the value gives it
    first."""
    reported, emitted = len(cx.diagnostics), len(cx.out)
    read, met, pending = len(cx.references), set(cx.unknown), len(cx.constraints)
    called, declared = len(cx.calls), len(cx.symbols)
    cx.iota_met = False
    value = infer(cx, node, Site(whole=True, inferred=True))
    if not cx.iota_met or value is None:
        return value
    del cx.diagnostics[reported:], cx.out[emitted:], cx.references[read:], cx.constraints[pending:]
    del cx.calls[called:], cx.symbols[declared:]
    cx.unknown = met
    if not isinstance(value.type, pg.TileType):
        return infer(cx, node, PLAIN)
    return infer(cx, node, Site(shape=value.type.shape, whole=True))


def _typed_by_branch(cx: Context, value: pg.Expr) -> bool:
    """Whether a `where` on tiles gives its tile a type: one of its branches reads a tile."""
    if not isinstance(value, pg.Select) or not isinstance(value.type, pg.TileType) or _reads_tile(value):
        return True
    cx.error(
        "where-placement",
        value.span,
        "a `var` without a type takes it from a branch of `where` that reads a tile, and both branches are scalars",
        help="declare the type: `var t: tile<f32>[..] = where(..)`",
    )
    return False


def _reads_tile(value: pg.Expr) -> bool:
    if isinstance(value, pg.Select):
        return _reads_tile(value.then) or _reads_tile(value.orelse)
    return isinstance(value.type, pg.TileType)


def _inferred(cx: Context, stmt: ast.Let | ast.Var, value: pg.Expr, *, mutable: bool) -> None:
    """A scalar or a tile of the value's own type; a product that nothing else is made of has that of its operands."""
    if isinstance(value, pg.Contract) and value.type.element.is_float:
        value = convert(cx, value, element_of(value.lhs.type))
    if isinstance(value.type, pg.TileType):
        if static(cx, value, value.span):
            declare_tile(cx, stmt, value.type, value, mutable=mutable)
        else:
            cx.bind(stmt.name, None)
        return
    _declare_scalar(cx, stmt, value.type, value, mutable=mutable)


def _typed(cx: Context, stmt: ast.Let | ast.Var, annotation: ast.TypeExpr, *, mutable: bool) -> None:
    type_ = declared_type(cx, annotation)
    if isinstance(type_, pg.TileType):
        value = None
        if stmt.value is not None:
            value = infer(cx, stmt.value, Site(shape=type_.shape, whole=True))
            if value is not None:
                value = fitted(cx, stmt.value, value, type_, f"`{stmt.name.text}`")
                if value is None:
                    # The value or the type is wrong, and nothing says which.
                    cx.bind(stmt.name, None)
                    return
        symbol = declare_tile(cx, stmt, type_, value, mutable=mutable)
        if mutable and stmt.value is not None:
            cx.register_candidates.add(symbol)
        return
    if stmt.value is None:
        if type_ is not None:
            cx.error(
                "missing-initializer",
                stmt.span,
                f"`{stmt.name.text}` is a scalar, and only a tile may be declared without a value",
                help=f"`var {stmt.name.text}: {type_} = ..`",
            )
        cx.bind(stmt.name, None)
        return
    value = infer(cx, stmt.value, PLAIN if type_ is not None else LOST)
    if type_ is None:
        cx.bind(stmt.name, None)
        return
    if value is not None:
        value = fitted_scalar(cx, stmt.value, value, type_, f"`{stmt.name.text}`")
    _declare_scalar(cx, stmt, type_, value, mutable=mutable)


def _declare_scalar(
    cx: Context, stmt: ast.Let | ast.Var, type_: ScalarType, value: pg.Expr | None, *, mutable: bool
) -> None:
    symbol = cx.symbol(stmt.name, pg.SymbolKind.SCALAR, type_, mutable=mutable)
    cx.bind(stmt.name, symbol)
    if value is not None:
        if not mutable:
            cx.definitions[symbol] = value
        cx.out.append(pg.BindScalar(stmt.span, symbol, value))


def declare_tile(
    cx: Context, stmt: ast.Let | ast.Var, type_: pg.TileType, value: pg.Expr | None, *, mutable: bool
) -> pg.Symbol:
    symbol = cx.symbol(stmt.name, pg.SymbolKind.TILE, type_, mutable=mutable)
    cx.bind(stmt.name, symbol)
    cx.declared_at[symbol] = cx.branches
    if value is not None and isinstance(value.type, pg.TileType) and value.type.shape != type_.shape:
        # A row or column stretches: that is a store.
        cx.out.append(pg.DeclareTile(stmt.span, symbol, None))
        cx.out.append(pg.StoreTile(stmt.span, whole(symbol, stmt.name.span), value))
    else:
        cx.out.append(pg.DeclareTile(stmt.span, symbol, value))
    return symbol


def fitted(
    cx: Context, node: ast.Expr, value: pg.Expr, type_: pg.TileType, name: str, symbol: pg.Symbol | None = None
) -> pg.Expr | None:
    """A value as it is stored to a tile or slice: in its element type, and of a shape that broadcasts to it."""
    if not product_fits(cx, node, value, type_.element, name) or not stores_into(
        cx, value.span, value, type_.shape, name, symbol
    ):
        return None
    return assigned(cx, value, type_.element, value.span, name, symbol, in_tile=True)


def product_fits(cx: Context, node: ast.Expr, value: pg.Expr, element: ScalarType, name: str) -> bool:
    """Whether a contraction may have this destination: an integer one into a float tile is an error."""
    if not isinstance(value, pg.Contract) or not element.is_float or value.type.element.is_float:
        return True
    cx.error(
        "contraction-destination",
        node.span,
        f"an `i8` product is `{value.type.element}`, and {name} holds `{element}`",
        help="store it to a tile of `i32`, and convert that with `f32(..)`",
    )
    return False


def fitted_scalar(
    cx: Context, node: ast.Expr, value: pg.Expr, type_: ScalarType, name: str, symbol: pg.Symbol | None = None
) -> pg.Expr | None:
    """A value as a scalar of a declared type."""
    if isinstance(value.type, pg.TileType):
        cx.error(
            "not-a-scalar",
            node.span,
            f"{name} is a scalar of `{type_}`, and the value is a tile of shape {shape_text(value.type.shape)}",
            related=declared_as(symbol),
            help="read one element of it, as in `t[0, 0]`",
        )
        return None
    return assigned(cx, value, type_, node.span, name, symbol)


def declared_type(cx: Context, node: ast.TypeExpr) -> ScalarType | pg.TileType | None:
    """The type that a declaration spells; a tensor is not one of a local."""
    if isinstance(node, ast.ScalarTypeExpr):
        return scalar_type(cx, node.span, SPELLED[node.name])
    if not isinstance(node, ast.ShapedTypeExpr):
        return None
    if node.constructor == "tensor":
        cx.error(
            "misplaced-type",
            node.span,
            "a tensor is global memory, and only a kernel parameter",
            help="a local is a `tile<T>[dims]` or a slice of a parameter",
        )
        return None
    shape = [_tile_extent(cx, dim) for dim in node.dims]
    stored = storage_type(cx, node.element)
    known: Shape = tuple([extent for extent in shape if extent is not None])
    return pg.TileType(stored, known) if stored is not None and len(known) == len(shape) else None


def scalar_type(cx: Context, span: ast.Span, type_: ScalarType) -> ScalarType | None:
    if type_.kind is Kind.UINT:
        cx.error(
            "unsigned-scalar",
            span,
            f"a scalar of `{type_}`: unsigned types are storage of tensors and tiles, and a scalar read from them is"
            " an index",
            help="declare it `i32` or `i64`",
        )
        return None
    return type_


def storage_type(cx: Context, node: ast.ScalarTypeExpr) -> ScalarType | None:
    element = SPELLED[node.name]
    if element == BOOL:
        cx.error(
            "bool-storage",
            node.span,
            "there are no tiles or tensors of `bool`, which is the result of a comparison",
            help="store 0 and 1 as `i8`, chosen by `where`",
        )
        return None
    return element


def _tile_extent(cx: Context, node: ast.Name | ast.IntLit) -> Sym | None:
    """An extent of a tile: a literal, or a name that folds to a constant."""
    if isinstance(node, ast.IntLit):
        value: Sym | None = sym(node.value)
    else:
        symbol = lookup(cx, node)
        if symbol is None:
            return None
        value = named_value(cx, symbol)
        if value is None or not is_static(cx, value):
            _not_static(cx, node, symbol)
            return None
    assert value is not None
    if not positive(cx, node.span, value, "empty-extent", "a tile has at least one element on each axis"):
        return None
    return value


def named_value(cx: Context, symbol: pg.Symbol) -> Sym | None:
    """The symbolic value of a name that may stand for an extent."""
    if symbol.kind in (pg.SymbolKind.DIM, pg.SymbolKind.CONSTANT):
        return cx.values[symbol]
    if symbol.kind is pg.SymbolKind.SCALAR and not symbol.mutable and symbol in cx.definitions:
        # A symbol of kind SCALAR has a scalar type.
        return value_of(cx, pg.ScalarRead(symbol.span, symbol.type, symbol))  # type: ignore[arg-type]
    return None


def _not_static(cx: Context, node: ast.Name, symbol: pg.Symbol) -> None:
    if symbol.kind is pg.SymbolKind.DIM:
        cx.error(
            "dynamic-extent",
            node.span,
            f"a tile has static extents, and `{node.text}` is a dimension known only at launch",
            help=f"walk `{node.text}` in a loop over spans of a constant length, or bind it with `@autotune` or `-D`",
        )
    else:
        cx.error(
            "not-constant",
            node.span,
            f"an extent of a tile folds to a constant, and `{node.text}` is {kind_text(symbol.kind)} of"
            f" `{type_text(symbol.type)}` that does not",
            related=(see(symbol.span, "declared here"),),
        )
