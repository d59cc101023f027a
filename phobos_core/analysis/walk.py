"""Every node of a checked program, for questions that look at all of it.

In: statements or expressions. Out: their nodes, each before those inside it, in the order of the source.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import TypeAlias, get_args

from phobos_core.analysis import program as p

Node: TypeAlias = p.Stmt | p.Expr | p.Place | p.Axis

_NODES = (*get_args(p.Stmt), *get_args(p.Expr), p.Place, p.Axis)
_FIELDS = {kind: tuple(field.name for field in fields(kind)) for kind in _NODES}


def walk(roots: Sequence[Node]) -> Iterator[Node]:
    pending = list(roots)[::-1]
    while pending:
        node = pending.pop()
        yield node
        pending += list(_children(node))[::-1]


def has_effects(expr: p.Expr) -> bool:
    """Whether it does something besides giving a value: an atomic, a barrier and the like."""
    return any(isinstance(node, (p.Atomic, p.Sync, p.WarpPartial)) for node in walk([expr]))


def _children(node: Node) -> Iterator[Node]:
    for name in _FIELDS[type(node)]:
        value = getattr(node, name)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, _NODES):
                yield item
