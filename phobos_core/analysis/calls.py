"""Calls: the built-in or function that a name in call position means.

A supported built-in has a builder (`BUILDERS`), which checks the arguments against its entry in the table and makes
the node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, get_args

from phobos_core.analysis import program as pg
from phobos_core.analysis.arguments import count_fits
from phobos_core.analysis.attention import warp_partial
from phobos_core.analysis.bits import bits
from phobos_core.analysis.context import PLAIN, Context, Rule, Site, kind_text, see
from phobos_core.analysis.elementwise import argsel, conversion, extremum, iota, math, tmax, where
from phobos_core.analysis.functions import KnownFunction
from phobos_core.analysis.inlining import check_alone, expression_call, meant, note_call
from phobos_core.analysis.names import first_unknown, suggestion_for
from phobos_core.analysis.places import declared_function
from phobos_core.analysis.runs import elem, run_sum, store_value, word
from phobos_core.analysis.synchronization import atomic, barrier, grid_barrier
from phobos_core.analysis.tile_operations import contraction, flat, gather, rearrangement, reduction
from phobos_core.language.builtins import BUILTINS, COLLECTIVES, Builtin
from phobos_core.language.targets import TARGETS
from phobos_core.language.types import CONVERSIONS, SPELLED
from phobos_core.syntax import ast

Builder: TypeAlias = Callable[[Context, ast.Call, Builtin, Site], pg.Expr | None]


def call(cx: Context, node: ast.Call, at: Site) -> pg.Expr | None:
    callee = node.callee
    if not isinstance(callee, ast.Name):
        if not isinstance(callee, ast.ErrorExpr):
            cx.error("not-callable", callee.span, "only built-ins and functions are called, by name")
        return None
    builtin = BUILTINS.get(callee.text) or BUILTINS.get(meant(cx, callee))
    if builtin is None:
        return _other_call(cx, node, callee, at)
    if not _available(cx, node, builtin) or not count_fits(cx, node, builtin):
        return None
    return BUILDERS[builtin.name](cx, node, builtin, at)


def function_of(cx: Context, node: ast.Expr) -> KnownFunction | None:
    """The function that an expression calls, if it is a call of one."""
    if not isinstance(node, ast.Call) or not isinstance(node.callee, ast.Name) or node.callee.text in BUILTINS:
        return None
    binding = cx.scope.find(node.callee.text)
    if binding is None:
        return cx.function(node.callee.text)
    return None if binding.function is None else cx.function(binding.function)


def _other_call(cx: Context, node: ast.Call, callee: ast.Name, at: Site) -> pg.Expr | None:
    """A call of something that is not a built-in."""
    known = function_of(cx, node)
    if known is not None:
        return _value_call(cx, node, callee, known, at)
    binding = cx.scope.find(callee.text)
    symbol = None if binding is None else binding.symbol
    if symbol is not None:
        cx.error(
            "not-callable",
            callee.span,
            f"`{callee.text}` is {kind_text(symbol.kind)}, and only built-ins and functions are called",
            related=(see(symbol.span, "declared here"),),
        )
    elif binding is not None:
        pass
    elif callee.text in COLLECTIVES:
        bracket = COLLECTIVES[callee.text].brackets[0]
        cx.error(
            "collective-form",
            node.span,
            f"`{callee.text}` works across threads, and says how in brackets:"
            f" `{callee.text}<{bracket.word} {bracket.operand}>(..)`",
        )
    elif callee.text in SPELLED:
        cx.error("no-conversion", node.span, f"nothing converts to `{callee.text}`", help=_storage_help(callee.text))
    elif not cx.lost_function(callee.text) and first_unknown(cx, callee):
        cx.error(
            "unknown-name",
            callee.span.own,
            f"`{callee.text}` is not a built-in, and no function of this file has the name",
            help=suggestion_for(cx, callee.text, [*BUILTINS, *cx.function_names()]),
        )
    return None


def _value_call(cx: Context, node: ast.Call, callee: ast.Name, known: KnownFunction, at: Site) -> pg.Expr | None:
    if not known.statement and not known.broken:
        return expression_call(cx, node, known, at)
    name = known.ast.name.text
    check_alone(cx, node.args, PLAIN)
    if known.broken:
        note_call(cx, callee, known)
        return None
    cx.error(
        "function-form",
        node.span.own,
        f"`{name}` is a function of statements, and has no value",
        related=(declared_function(known.ast),),
        help=f"call it as a statement of its own, or write it as an expression: `fn {name}(..) = ..`",
    )
    return None


def _storage_help(name: str) -> str | None:
    if name == "bool":
        return "compare to get a `bool`, as in `x != 0`"
    return f"an integer stored to a tile or tensor of `{name}` wraps to it by itself"


def _available(cx: Context, node: ast.Call, builtin: Builtin) -> bool:
    """Whether this compilation has the built-in at all; reports where not."""
    if not builtin.supported:
        cx.error("not-supported-yet", node.span, f"`{builtin.name}` is not supported yet")
    elif builtin.min_target and TARGETS[cx.options.target].sm < builtin.min_target:
        cx.error(
            "needs-target",
            node.span,
            f"`{builtin.name}` needs sm_{builtin.min_target} or later, and the target is {cx.options.target}",
            help=f"`--target sm_{builtin.min_target}`",
        )
    else:
        return True
    return False


BUILDERS: Mapping[str, Builder] = {
    **dict.fromkeys(get_args(pg.MathOp), math),
    **dict.fromkeys(CONVERSIONS, conversion),
    "min": extremum,
    "max": extremum,
    "tmax": tmax,
    "argsel": argsel,
    "where": where,
    "iota": iota,
    "rowmax": reduction,
    "rowsum": reduction,
    "rowargmax": reduction,
    "cumsum": rearrangement,
    "tril": rearrangement,
    "transpose": rearrangement,
    "flat": flat,
    "gather": gather,
    "dot": contraction,
    "dot_t": contraction,
    "sum": run_sum,
    "elem": elem,
    "word": word,
    "store": store_value,
    **dict.fromkeys(get_args(pg.BitsOp), bits),
    "barrier": barrier,
    "grid_barrier": grid_barrier,
    **dict.fromkeys(get_args(pg.AtomicOp), atomic),
    "warp_partial": warp_partial,
}

RULES: Mapping[type, Rule] = {ast.Call: call}
