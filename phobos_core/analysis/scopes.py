"""Scopes: which binding a name means at a place in a kernel.

One namespace holds dimensions, `@autotune` names, parameters, locals and functions. Two of a name in one scope are an
error; an inner scope, the kernel's own block included, may shadow.
"""

from __future__ import annotations

from collections.abc import Iterator

from phobos_core.analysis.program import Symbol
from phobos_core.syntax.ast import Name, Span


class Scope:
    """One block's names. A name bound to None is a mistake already reported: it is found, and silent."""

    __slots__ = ("names", "parent", "places")

    def __init__(self, parent: Scope | None = None) -> None:
        self.parent = parent
        self.names: dict[str, Symbol | None] = {}
        self.places: dict[str, Span] = {}

    def declare(self, name: Name, symbol: Symbol | None) -> Span | None:
        """Binds `name`; the place of an earlier declaration of it in this very scope is returned."""
        previous = self.places.get(name.text)
        self.names[name.text] = symbol
        self.places[name.text] = name.span
        return previous

    def find(self, name: str) -> tuple[bool, Symbol | None]:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return True, scope.names[name]
            scope = scope.parent
        return False, None

    def visible(self) -> Iterator[str]:
        """Every name that can be read here."""
        scope: Scope | None = self
        while scope is not None:
            yield from scope.names
            scope = scope.parent
