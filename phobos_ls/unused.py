"""Names that a file binds and nothing reads: those of `let`, `var` and parameters, of kernels and functions.

Out: where each is. Assigning is no reading, but storing to a tensor or through a view is what it is for. A name that
starts with `_` is meant to be unused. In an item with an error, where the checker may not have come to a read, a name
that is written anywhere else is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from phobos_core.analysis import PlacedFunction, PlacedKernel
from phobos_core.analysis.program import Symbol, SymbolKind
from phobos_ls.names import assigned_names
from phobos_ls.snapshot import Snapshot

UNUSED = "unused-name"

# What a symbol is called, for the kinds that can be left unused. A loop may count without its variable being read, and
# an `@autotune` name may choose how the compiler works.
_KINDS: Mapping[SymbolKind, str] = {
    SymbolKind.TENSOR: "the parameter",
    SymbolKind.SCALAR_PARAM: "the parameter",
    SymbolKind.SCALAR: "the name",
    SymbolKind.TILE: "the tile",
    SymbolKind.VIEW: "the view",
}
_DEFINITIONS: Mapping[str, str] = {"parameter": "the parameter", "let": "the name", "var": "the name"}


class UnusedName(NamedTuple):
    """`start` and `end` are offsets in the file, or in the item while only that is looked at."""

    start: int
    end: int
    text: str
    what: str


def unused_names(snapshot: Snapshot) -> list[UnusedName]:
    """By their places in the file."""
    found: list[UnusedName] = []
    for kernel in snapshot.kernels():
        of: tuple[object, ...] = (kernel.ast, kernel.references, kernel.kernel)
        names = snapshot.memo.get(UNUSED, of, partial(_of_kernel, snapshot, kernel))
        if names:
            found += _placed(kernel.offset, names)
    for function in snapshot.checked.library.placed:
        of = (function.facts, function.broken)
        found += _placed(function.offset, snapshot.memo.get(UNUSED, of, partial(_of_function, function)))
    return sorted(found)


def _placed(offset: int, names: list[UnusedName]) -> Iterator[UnusedName]:
    return (name._replace(start=name.start + offset, end=name.end + offset) for name in names)


def _of_kernel(snapshot: Snapshot, placed: PlacedKernel) -> list[UnusedName]:
    targets = {name.span for name in assigned_names(placed.ast.body)}
    read = {
        symbol for span, symbol in placed.references if span != symbol.span and not (symbol.mutable and span in targets)
    }
    unread = [s for s in placed.symbols if s not in read and _is_meant_to_be_read(s)]
    if unread and placed.kernel is None:
        text = snapshot.text[placed.offset : placed.offset + placed.ast.span.end]
        unread = [symbol for symbol in unread if not _written_often(symbol.name, text)]
    return [UnusedName(s.span.start, s.span.end, s.name, _KINDS[s.kind]) for s in unread]


def _is_meant_to_be_read(symbol: Symbol) -> bool:
    return symbol.kind in _KINDS and symbol.span.frame is None and not symbol.name.startswith("_")


def _of_function(placed: PlacedFunction) -> list[UnusedName]:
    body = placed.ast.body
    targets = {name.span for name in assigned_names(body)}
    read = set()
    for span, definition in placed.facts.references:
        assigned = definition.kind == "var" and span in targets
        if span != definition.span and not assigned:
            read.add(definition)
    return [
        UnusedName(definition.span.start, definition.span.end, definition.name, what)
        for definition in placed.facts.definitions
        if (what := _DEFINITIONS.get(definition.kind)) is not None
        and definition not in read
        and not definition.name.startswith("_")
        and not (placed.broken and _written_often(definition.name, placed.text))
    ]


def _written_often(name: str, text: bytes) -> bool:
    return len(re.findall(rb"\b" + name.encode() + rb"\b", text)) > 1
