"""Scopes: which binding a name means at a place in a kernel.

One namespace holds dimensions, `@autotune` names, parameters, locals and functions. Two of a name in one scope are an
error; an inner scope, the kernel's own block included, may shadow.
"""

from __future__ import annotations

from collections.abc import Iterator

from phobos_core.analysis.program import Symbol
from phobos_core.language.records import dataclass
from phobos_core.syntax.ast import Name, Span


@dataclass(frozen=True, slots=True)
class Binding:
    """`symbol` is None for a name whose declaration is in error: it is found, and silent. A parameter of a function may
    stand for a function or built-in, whose name is `function`."""

    symbol: Symbol | None
    span: Span
    function: str | None = None


class Scope:
    """One block's names. `found` are all that can be read: those of the blocks around it too, as they are where it
    begins."""

    __slots__ = ("found", "names", "parent")

    def __init__(self, parent: Scope | None = None) -> None:
        self.parent = parent
        self.names: dict[str, Binding] = {}
        self.found: dict[str, Binding] = {} if parent is None else parent.found.copy()

    def declare(self, name: Name, symbol: Symbol | None) -> Binding | None:
        """Binds `name`; an earlier binding of it in this very scope is returned."""
        text = name.text
        previous = self.names.get(text)
        self.names[text] = self.found[text] = Binding(symbol, name.span)
        return previous

    def bind(self, name: str, binding: Binding) -> None:
        self.names[name] = self.found[name] = binding

    def find(self, name: str) -> Binding | None:
        return self.found.get(name)

    def visible(self) -> Iterator[str]:
        """Every name that can be read here."""
        scope: Scope | None = self
        while scope is not None:
            yield from scope.names
            scope = scope.parent
