"""The head of a kernel: parameters, dimensions, and the names that attributes speak of."""

from __future__ import annotations

from collections.abc import Mapping

from phobos_core.analysis import program as pg
from phobos_core.analysis.attributes import Header
from phobos_core.analysis.constraints import Holds
from phobos_core.analysis.context import Context, kind_text, see, shape_text
from phobos_core.analysis.declarations import scalar_type, storage_type
from phobos_core.analysis.names import lookup
from phobos_core.analysis.shapes import constrain, require
from phobos_core.analysis.symbolic import Sym, remainder, sym
from phobos_core.language.types import INDEX, SPELLED
from phobos_core.syntax import ast

MOST_REGISTER_ELEMENTS = 64


def declare_search(cx: Context, header: Header) -> None:
    """Binds the `@autotune` names, which the whole kernel reads as constants."""
    for text, choices in header.search.items():
        name = header.search_names[text]
        cx.search[text] = choices
        symbol = cx.symbol(name, pg.SymbolKind.CONSTANT, INDEX)
        cx.values[symbol] = sym(text)
        cx.bind(name, symbol)
    for name in header.lost:
        if cx.scope.find(name.text) is None:
            cx.bind(name, None)


def declare_params(cx: Context, params: tuple[ast.Param, ...]) -> tuple[pg.Symbol, ...]:
    """Binds dimensions, in order of first appearance, and then the parameters themselves."""
    symbols = []
    types = [_param_type(cx, param) for param in params]
    for param, type_ in zip(params, types, strict=True):
        if type_ is None:
            cx.bind(param.name, None)
            continue
        kind = pg.SymbolKind.TENSOR if isinstance(type_, pg.TensorType) else pg.SymbolKind.SCALAR_PARAM
        symbol = cx.symbol(param.name, kind, type_)
        cx.bind(param.name, symbol)
        symbols.append(symbol)
    return tuple(symbols)


def _param_type(cx: Context, param: ast.Param) -> pg.SymbolType | None:
    if cx.damage.inside(param.span):
        return None
    type_ = param.type
    if isinstance(type_, ast.ScalarTypeExpr):
        return scalar_type(cx, type_.span, SPELLED[type_.name])
    if not isinstance(type_, ast.ShapedTypeExpr):
        return None
    if type_.constructor == "tile":
        cx.error(
            "misplaced-type",
            type_.span,
            "a tile is shared memory of the CTA, and not a parameter",
            help="take a `tensor<T>[dims]`, and copy a slice of it into a tile",
        )
        return None
    extents = [_dimension(cx, dim) for dim in type_.dims]
    stored = storage_type(cx, type_.element)
    known = tuple([extent for extent in extents if extent is not None])
    if stored is None or len(known) != len(extents):
        return None
    names = tuple([dim.text if isinstance(dim, ast.Name) else None for dim in type_.dims])
    return pg.TensorType(stored, known, names)


def _dimension(cx: Context, node: ast.Name | ast.IntLit) -> Sym | None:
    """A literal extent, an `@autotune` name, or a dimension, declared by its first appearance."""
    if isinstance(node, ast.IntLit):
        if node.value < 1:
            cx.error("empty-extent", node.span, f"a dimension has at least one element, and this is {node.value}")
            return None
        return sym(node.value)
    binding = cx.scope.find(node.text)
    if binding is not None:
        symbol = binding.symbol
        if symbol is None:
            return None
        cx.references.append((node.span, symbol))
        return cx.values[symbol]
    if cx.damage.attributes:
        # It may be an `@autotune` name whose declaration is lost.
        cx.bind(node, None)
        return None
    bound = cx.options.dims.get(node.text)
    if bound is not None and bound < 1:
        message = f"a dimension has at least one element, and `-D` binds `{node.text}` to {bound}"
        cx.error("empty-extent", node.span, message)
        bound = 1
    symbol = cx.symbol(node, pg.SymbolKind.DIM, INDEX)
    cx.values[symbol] = sym(node.text) if bound is None else sym(bound)
    if bound is None:
        cx.dims[node.text] = symbol
    cx.bind(node, symbol)
    return cx.values[symbol]


def resolve_aligned(cx: Context, header: Header, params: tuple[ast.Param, ...]) -> Mapping[str, Sym]:
    """The promises of `@aligned`: checked now where both sides are known, else at launch."""
    aligned: dict[str, Sym] = {}
    first: dict[str, ast.Span] = {}
    names = dimension_names(params) if header.promises else {}
    for promise in header.promises:
        dim, unit = _promised_dimension(cx, promise, names), _unit(cx, promise)
        if dim is None or unit is None:
            continue
        name = promise.name.text
        if name in first:
            cx.error(
                "attribute-argument",
                promise.span,
                f"`@aligned` promises `{name}` twice",
                related=(see(first[name], "promised here"),),
            )
            continue
        first[name] = promise.span
        aligned[name] = unit
        if name in cx.dims:
            require(cx, pg.Requirement(dim, "multiple of", unit, f"{name} % {unit} == 0"))
        else:
            found = "it is not" if dim.names else f"it is {dim}"
            message = f"`@aligned` promises that `{name}` is a whole number of `{unit}`, and {found}"
            whole = _is_zero(remainder(dim, unit))
            constrain(cx, "aligned-mismatch", promise.span, message, (dim, unit), whole)
    return aligned


def _is_zero(value: Sym) -> Holds:
    return lambda env: value.evaluate(env) == 0


def dimension_names(params: tuple[ast.Param, ...]) -> dict[str, None]:
    """The names in the dimensions of tensor parameters, in order of first appearance."""
    shaped = [param.type for param in params if isinstance(param.type, ast.ShapedTypeExpr)]
    return dict.fromkeys(dim.text for type_ in shaped for dim in type_.dims if isinstance(dim, ast.Name))


def _promised_dimension(cx: Context, promise: ast.KeywordArg, names: Mapping[str, None]) -> Sym | None:
    name = promise.name
    if name.text not in names:
        cx.error(
            "unknown-dimension",
            name.span,
            f"`{name.text}` is not a dimension of a tensor parameter of this kernel",
            help=f"its dimensions are {', '.join(f'`{dim}`' for dim in names)}" if names else None,
        )
        return None
    binding = cx.scope.find(name.text)
    symbol = None if binding is None else binding.symbol
    if symbol is None or symbol not in cx.values:
        return None
    cx.references.append((name.span, symbol))
    return cx.values[symbol]


def _unit(cx: Context, promise: ast.KeywordArg) -> Sym | None:
    match promise.value:
        case ast.IntLit(_, value):
            return sym(value)
        case ast.Name() as name:
            symbol = lookup(cx, name)
            if symbol is not None and symbol.kind is pg.SymbolKind.CONSTANT:
                return cx.values[symbol]
            if symbol is not None:
                cx.error(
                    "attribute-argument",
                    name.span,
                    f"`@aligned` takes a literal or an `@autotune` name, and `{name.text}` is {kind_text(symbol.kind)}",
                    related=(see(symbol.span, "declared here"),),
                )
    return None


def resolve_registers(cx: Context, header: Header) -> tuple[pg.Symbol, ...]:
    """The tiles that `@registers` names, each shared out evenly and not too large for a thread. It names those of the
    kernel's own text: what a function binds is hidden from it."""
    kept: list[pg.Symbol] = []
    for name in header.registers:
        named = [symbol for symbol in cx.symbols if symbol.name == name.text and symbol.span.frame is None]
        tiles = [symbol for symbol in named if symbol in cx.register_candidates]
        if not tiles:
            related = (see(named[0].span, f"`{name.text}` is declared here"),) if named else ()
            cx.error(
                "registers-tile",
                name.span,
                f"`@registers` names a `var t: tile<T>[dims] = e` of this kernel, and `{name.text}` is not one",
                related=related,
            )
        for symbol in tiles:
            cx.references.append((name.span, symbol))
            _shared_out(cx, name, symbol)
            if symbol not in kept:
                kept.append(symbol)
    return tuple(kept)


def _shared_out(cx: Context, name: ast.Name, symbol: pg.Symbol) -> None:
    type_ = symbol.type
    assert isinstance(type_, pg.TileType)
    elements = sym(1)
    for extent in type_.shape:
        elements = elements * extent
    threads = cx.threads
    related = (see(symbol.span, f"`{symbol.name}` is {shape_text(type_.shape)}"),)
    constrain(
        cx,
        "registers-tile",
        name.span,
        f"the {elements} elements of `{symbol.name}` are not shared out evenly by {threads} threads",
        (elements,),
        lambda env: elements.evaluate(env) % threads == 0,
        related,
    )
    constrain(
        cx,
        "registers-tile",
        name.span,
        f"`{symbol.name}` has more than {MOST_REGISTER_ELEMENTS} elements per thread",
        (elements,),
        lambda env: elements.evaluate(env) <= threads * MOST_REGISTER_ELEMENTS,
        related,
    )
    update = cx.conditional_updates.get(symbol)
    if update is not None:
        cx.error(
            "registers-tile",
            update,
            f"`{symbol.name}` is kept in registers by `@registers`, and is updated inside an `if` or `while` here",
            related=(see(name.span, "named here"), see(symbol.span, "declared here")),
        )
