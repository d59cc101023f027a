"""Copies of a function's body, one for each call, quickly: most of what inlining costs is making nodes.

In: a part of the body, once for each function. Out: a function from the frame of a call, and the arguments in place of
parameters, to a copy of the part. It is built as the part is: a node's copier calls those of its fields.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeAlias, TypeVar, get_args

from phobos_core.analysis import program as pg
from phobos_core.language.builtins import BUILTINS
from phobos_core.syntax import ast

Arguments: TypeAlias = Mapping[str, ast.Expr]
Copier: TypeAlias = Callable[[ast.Frame, Arguments], Any]
T = TypeVar("T")

FIELDS: Mapping[type, tuple[str, ...]] = {
    kind: tuple(each.name for each in fields(kind))
    for kind in (*get_args(ast.Expr), *get_args(ast.Stmt), *get_args(ast.Subscript), *get_args(ast.TypeExpr), ast.Block)
}
# The fields of an expression after its span.
_AFTER_SPAN: Mapping[type, tuple[str, ...]] = {
    kind: tuple(each.name for each in fields(kind)[1:]) for kind in (*get_args(ast.Expr), *get_args(pg.Expr))
}
NOTHING: frozenset[str] = frozenset()

_new_span = tuple.__new__


def copier(node: Any, params: frozenset[str]) -> Copier:
    """`params` are the names that arguments take the place of."""
    kind = type(node)
    if kind is ast.Span:
        return _span_copier(node)
    if kind is tuple:
        return _tuple_copier([copier(each, params) for each in node])
    if kind is ast.Name and node.text in params:
        return _argument(node)
    names = FIELDS.get(kind)
    if names is None:
        return lambda frame, given: node
    parts = [copier(getattr(node, name), params) for name in names]
    if kind is ast.Call and isinstance(node.callee, ast.Name) and node.callee.text in BUILTINS:
        parts[names.index("callee")] = copier(node.callee, NOTHING)  # means the built-in, whatever the parameters are
    elif kind is ast.Collective:
        parts[names.index("op")] = copier(node.op, NOTHING)
    return lambda frame, given: kind(*[part(frame, given) for part in parts])


def _span_copier(span: ast.Span) -> Copier:
    start, end, *_ = span
    return lambda frame, given: _new_span(ast.Span, (start, end, frame, None))


def _tuple_copier(parts: list[Copier]) -> Copier:
    if not parts:
        return lambda frame, given: ()
    return lambda frame, given: tuple([part(frame, given) for part in parts])


def _argument(node: ast.Name) -> Copier:
    start, end, *_ = node.span
    name = node.text

    def copy(frame: ast.Frame, given: Arguments) -> Any:
        return standing(given[name], _new_span(ast.Span, (start, end, frame, None)))

    return copy


def standing(node: T, stands: ast.Span) -> T:
    """The same expression, of the syntax or of the checked program, standing elsewhere."""
    start, end, frame, _ = node.span  # type: ignore[attr-defined]
    return at_span(node, _new_span(ast.Span, (start, end, frame, stands)))


def at_span(node: T, span: ast.Span) -> T:
    kind: Any = type(node)
    made: T = kind(span, *[getattr(node, name) for name in _AFTER_SPAN[kind]])
    return made
