"""What a statement list may change that outlives it: the scalars, buffers and flags that its region carries."""

from __future__ import annotations

from collections.abc import Sequence

from phobos_core.analysis.program import (
    AssignScalar,
    BindView,
    For,
    If,
    Jump,
    Stmt,
    StorePoint,
    StoreRun,
    StoreTile,
    Symbol,
    While,
)
from phobos_core.lower.context import Flag
from phobos_core.lower.effects import NO_EFFECTS, Effects


def view_roots(body: Sequence[Stmt]) -> dict[Symbol, Symbol]:
    """The tensor or tile below each view."""
    roots: dict[Symbol, Symbol] = {}
    pending = list(reversed(body))
    while pending:
        match stmt := pending.pop():
            case BindView():
                roots[stmt.symbol] = roots.get(stmt.place.root, stmt.place.root)
            case If():
                pending += reversed((*stmt.then, *stmt.orelse))
            case For() | While():
                pending += reversed(stmt.body)
            case _:
                pass
    return roots


def assigned(body: Sequence[Stmt], effects: Effects) -> tuple[Symbol | Flag, ...]:
    """In the order of the first assignment; a buffer by its root symbol."""
    found: dict[Symbol | Flag, None] = {}
    for stmt in body:
        found |= dict.fromkeys(effects.of_expressions(stmt))
        match stmt:
            case AssignScalar():
                found[stmt.symbol] = None
            case StoreTile() | StorePoint() | StoreRun():
                found[effects.root(stmt.place.root)] = None
            case Jump():
                found[stmt.kind] = None
            case If():
                found |= dict.fromkeys(assigned((*stmt.then, *stmt.orelse), effects))
            case For() | While():
                inner = assigned(stmt.body, effects)
                found |= dict.fromkeys(k for k in inner if k not in ("break", "continue"))
            case _:
                pass
    return tuple(found)


def jumps(stmt: Stmt) -> tuple[Flag, ...]:
    """The flags that the statement may set for the statements after it."""
    return tuple(k for k in assigned((stmt,), NO_EFFECTS) if not isinstance(k, Symbol))
