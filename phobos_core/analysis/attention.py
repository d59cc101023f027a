"""`warp_partial`: one decode step of attention. Its operands are named tiles, named tensors and uniform scalars."""

from __future__ import annotations

from phobos_core.analysis import program as pg
from phobos_core.analysis.arguments import match_checked
from phobos_core.analysis.context import PLAIN, Context, Site, infer, kind_text, see
from phobos_core.analysis.convert import convert
from phobos_core.analysis.names import lookup
from phobos_core.analysis.runs import outside_sum
from phobos_core.analysis.shapes import agree
from phobos_core.analysis.subscripts import whole, writable
from phobos_core.analysis.symbolic import sym
from phobos_core.analysis.synchronization import tensor
from phobos_core.language.builtins import Builtin, OperandKind, Param
from phobos_core.language.targets import LANES
from phobos_core.language.types import F32, INDEX
from phobos_core.syntax import ast

# The names, in the entry of the table, of the tiles that it writes.
WRITTEN = ("WM", "WL", "WACC")


def warp_partial(cx: Context, node: ast.Call, builtin: Builtin, at: Site) -> pg.Expr | None:
    [form] = builtin.forms
    operands = [_operand(cx, builtin, param, arg) for param, arg in zip(form.params, node.args, strict=True)]
    args = tuple(arg for arg in operands if arg is not None)
    if len(args) < len(operands) or not outside_sum(cx, node, builtin.name, at) or not _whole_warps(cx, node):
        return None
    matched = match_checked(cx, node, builtin, args)
    if matched is None:
        return None
    warps, given = sym(cx.threads // LANES), matched.extents["W"]
    message = f"`W` is the number of warps of the CTA, which is {warps}, and the tile has `{given}`"
    by_name = dict(zip((param.name for param in form.params), args, strict=True))
    agree(cx, by_name["WM"].span, given, warps, message)
    places = {name: arg.place for name, arg in by_name.items() if isinstance(arg, pg.TileRead)}
    if not all(writable(cx, places[name].span, places[name].root) for name in WRITTEN):
        return None
    lo, hi, col = (convert(cx, by_name[name], INDEX) for name in ("lo", "hi", "col"))
    return pg.WarpPartial(
        node.span,
        INDEX,
        q=places["q"],
        keys=places["K"],
        values=places["V"],
        lo=lo,
        hi=hi,
        col=col,
        maxima=places["WM"],
        sums=places["WL"],
        accumulators=places["WACC"],
        scale=convert(cx, by_name["scale"], F32),
    )


def _operand(cx: Context, builtin: Builtin, param: Param, node: ast.Expr) -> pg.Expr | None:
    """An argument; what is named, a tile or a tensor, is read whole."""
    if OperandKind.TENSOR in param.accepts:
        symbol = tensor(cx, builtin, param, node)
    elif OperandKind.NAMED_TILE in param.accepts:
        symbol = _named_tile(cx, builtin, node)
    else:
        return infer(cx, node, PLAIN)
    if symbol is None:
        return None
    place = whole(symbol, node.span)
    return pg.TileRead(node.span, pg.TileType(place.element, place.shape), place)


def _named_tile(cx: Context, builtin: Builtin, node: ast.Expr) -> pg.Symbol | None:
    symbol = lookup(cx, node) if isinstance(node, ast.Name) else None
    if symbol is None:
        if isinstance(node, ast.Name) or infer(cx, node, PLAIN) is None:
            return None
        what = "this is an expression"
    elif symbol.kind is pg.SymbolKind.TILE:
        return symbol
    elif symbol in cx.aliases and not cx.aliases[symbol].flat:
        return cx.aliases[symbol].root
    else:
        what = f"`{symbol.name}` is {kind_text(symbol.kind)}"
    cx.error(
        "not-a-named-tile",
        node.span,
        f"`{builtin.name}` takes a declared tile by its name, and {what}",
        related=(see(symbol.span, "declared here"),) if symbol else (),
        help="copy it into a tile first: `var t = ..`",
    )
    return None


def _whole_warps(cx: Context, node: ast.Call) -> bool:
    if cx.threads % LANES == 0:
        return True
    cx.error(
        "not-whole-warps",
        node.span,
        f"`warp_partial` gives each warp a share, and {cx.threads} threads are no whole number of warps of {LANES}",
        help=f"`@launch({-(-cx.threads // LANES) * LANES})`",
    )
    return False
