"""Packed words: `dp4a`, `byteperm`, `popcount` and `f16bits`, on integers of any width as indices."""

from __future__ import annotations

from typing import cast

from phobos_core.analysis import program as pg
from phobos_core.analysis.arguments import match
from phobos_core.analysis.context import Context, Site
from phobos_core.analysis.convert import convert
from phobos_core.language.builtins import Builtin
from phobos_core.language.types import INDEX, ScalarType
from phobos_core.syntax import ast


def bits(cx: Context, node: ast.Call, builtin: Builtin, at: Site) -> pg.Expr | None:
    matched = match(cx, node, builtin, at.part)
    if matched is None:
        return None
    result = matched.form.result.element
    assert isinstance(result, ScalarType)
    args = tuple([convert(cx, arg, INDEX) for arg in matched.args])
    return pg.Bits(node.span, result, cast(pg.BitsOp, builtin.name), args)
