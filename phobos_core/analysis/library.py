"""The functions of a file: those that can be called, what is wrong with them by themselves, and what may be lost.

In: the items of a file and the places of its syntax errors. Out: a `Library`, in which the checker of a kernel looks
functions up.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from phobos_core.analysis.damage import NONE_LOST, LostFunctions, line_at, lost_functions
from phobos_core.analysis.functions import Facts, KnownFunction, cycles
from phobos_core.language.diagnostic import Diagnostic, Related
from phobos_core.syntax.ast import Function, Name, PlacedItem

# A function's text, and whether it has a syntax error.
Text: TypeAlias = tuple[bytes, bool]
FactsOf: TypeAlias = Callable[[bytes, Function], Facts]

# Stands among the functions that a kernel asked for where it asked for all of them.
EVERY_NAME = ""


@dataclass(frozen=True, slots=True)
class PlacedFunction:
    """`facts` is what the function's text says by itself. `broken` tells of a syntax error in it, and `callable` is
    false for the second function of a name."""

    offset: int
    ast: Function
    text: bytes
    facts: Facts
    broken: bool
    callable: bool


@dataclass(frozen=True, slots=True)
class Library:
    """`texts` has, for each function, what a kernel that calls it depends on, and under `EVERY_NAME` what one depends
    on that looked for a function in vain."""

    placed: tuple[PlacedFunction, ...] = ()
    known: Mapping[str, KnownFunction] = field(default_factory=dict)
    texts: Mapping[str, Text] = field(default_factory=dict)
    offsets: Mapping[str, int] = field(default_factory=dict)
    lost: LostFunctions = NONE_LOST

    def wrong(self, errors: Sequence[int]) -> frozenset[str]:
        """What a kernel that is to be compiled may not have asked for: a function with one of the sorted errors of a
        file in it, or one that may be lost."""
        names = {
            each.ast.name.text
            for each in self.placed
            if each.callable and (each.broken or any_within(errors, each.offset, each.offset + len(each.text)))
        }
        return frozenset(names if self.lost == NONE_LOST else names | {EVERY_NAME})


def library_of(text: bytes, items: Sequence[PlacedItem], errors: Sequence[int], facts: FactsOf) -> Library:
    """`errors` are the sorted places of syntax errors in the text."""
    functions = tuple(_placed(text, items, errors, facts))
    callable_ = {placed.ast.name.text: placed for placed in functions if placed.callable}
    lost = lost_functions(text, errors, items)
    texts = {name: (placed.text, placed.broken) for name, placed in callable_.items()}
    texts[EVERY_NAME] = ("\0".join((*sorted(callable_), str(lost.any), *sorted(lost.words))).encode(), False)
    return Library(
        functions,
        {name: KnownFunction(placed.ast, placed.facts, placed.broken) for name, placed in callable_.items()},
        texts,
        {name: placed.offset for name, placed in callable_.items()},
        lost,
    )


def _placed(
    text: bytes, items: Sequence[PlacedItem], errors: Sequence[int], facts: FactsOf
) -> Iterator[PlacedFunction]:
    names: set[str] = set()
    for offset, function in ((placed.offset, placed.item) for placed in items):
        if isinstance(function, Function):
            own, name = text[offset : offset + function.span.end], function.name.text
            _, end = line_at(text, offset + len(own))  # where a body too broken to be one stands
            broken = any_within(errors, offset, end)
            yield PlacedFunction(offset, function, own, facts(own, function), broken, name not in names)
            names.add(name)


def any_within(places: Sequence[int], start: int, end: int) -> bool:
    """Whether one of the sorted places is from start to end."""
    first = bisect_left(places, start)
    return first < len(places) and places[first] <= end


def function_rules(library: Library) -> Iterator[Diagnostic]:
    """What is wrong with functions whether or not they are called; the rest of a body is checked at each call."""
    for placed in library.placed:
        if not placed.broken:
            yield from (found.shifted(placed.offset) for found in placed.facts.diagnostics)
    for cycle in cycles(library.known):
        yield _recursive(cycle).placed(library.offsets.__getitem__)


def _recursive(cycle: Sequence[Name]) -> Diagnostic:
    """`cycle` has the calls around, each by the callee's name in its caller; the last one calls the first's caller."""
    span, callers = cycle[0].span, [cycle[-1].text, *(name.text for name in cycle[:-1])]
    shown = " -> ".join(f"`{name}`" for name in (*callers, callers[0]))
    related = tuple(
        Related(name.span.start, name.span.end, f"`{caller}` calls `{name.text}` here", caller)
        for caller, name in zip(callers[1:], cycle[1:], strict=True)
    )
    message = f"`{callers[0]}` calls itself: {shown}; a function is inlined at every call, so it may not"
    return Diagnostic("recursive-function", "error", span.start, span.end, message, related, item=callers[0])
