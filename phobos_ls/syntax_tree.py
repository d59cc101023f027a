"""Walking the syntax tree of an item: what is around a place, and what is inside a node."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, TypeAlias, get_args

from phobos_core.syntax import ast

Node: TypeAlias = Any  # any of the syntax tree's classes, which share no base

STATEMENTS = get_args(ast.Stmt)
EXPRESSIONS = get_args(ast.Expr)
_NODES = (
    *STATEMENTS,
    *EXPRESSIONS,
    *get_args(ast.Subscript),
    *get_args(ast.TypeExpr),
    *get_args(ast.AttrArg),
    ast.Attribute,
    ast.Param,
    ast.Block,
)


def children(node: Node) -> Iterator[Node]:
    for field in fields(node):
        value = getattr(node, field.name)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, _NODES):
                yield item


def walk(node: Node) -> Iterator[Node]:
    """The node and those inside it, each before what it holds."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        pending += reversed(list(children(current)))


def path(root: Node, start: int, end: int) -> tuple[Node, ...]:
    """From the root to the innermost node that covers the place, offsets as in the tree."""
    found = [root]
    while True:
        inner = next((n for n in children(found[-1]) if n.span.start <= start and end <= n.span.end), None)
        if inner is None:
            return tuple(found)
        found.append(inner)


def targets(block: ast.Block, name: str) -> Iterator[ast.Assign]:
    """The assignments below a block whose target is the name, whole or in part."""
    for node in walk(block):
        if isinstance(node, ast.Assign):
            base = node.target.base if isinstance(node.target, ast.Index) else node.target
            if isinstance(base, ast.Name) and base.text == name:
                yield node


def inferior(node: Node, kind: type | tuple[type, ...]) -> Iterator[Node]:
    return (each for each in walk(node) if isinstance(each, kind))
