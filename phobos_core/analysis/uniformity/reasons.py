"""Why something differs between threads: the chain from where it matters back to the source of the variation.

In: a use, a region or a store. Out: related places, each with what is to be seen there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TypeAlias

from phobos_core.analysis import program as pg
from phobos_core.analysis.places import see
from phobos_core.analysis.uniformity.graph import Cause, Graph, Link, Source, Use
from phobos_core.language.context import Variation
from phobos_core.language.diagnostic import Related
from phobos_core.syntax.ast import Span

Texts: TypeAlias = Callable[[Span], str]

# A chain through every assignment of a long kernel helps nobody: of one that is longer, its beginning and its end.
MOST_LINKS = 8

COMMENT = re.compile(r"//[^\n]*")
NAMED = re.compile(r"(?:flat\s*\(\s*)*(\w+)\s*(\()?")


def text_in(items: Mapping[str, bytes]) -> Texts:
    """Reads what a span covers, on one line; `items` has the text of the kernel, under the empty name, and those of the
    functions."""

    def text(span: Span) -> str:
        found = items[span.item][span.start : span.end].decode("utf-8", "replace")
        return " ".join(COMMENT.sub("", found).split()) if "\n" in found else found

    return text


def shown(text: Texts, span: Span) -> str:
    """What the source has where an expression stands."""
    return text(span.shown)


def name_of(text: Texts, root: pg.Symbol, span: Span) -> str:
    """The name by which the source speaks of memory: in a function's body, its parameter."""
    found = NAMED.match(text(span.shown))
    if found is not None and found[2]:  # a function that gives a slice
        found = NAMED.match(text(span.own))
    return root.name if found is None else found[1]


def why_used(graph: Graph, text: Texts, use: Use) -> tuple[Related, ...]:
    return _cut(graph, text, _used(graph, text, use), use.node)


def why_controlled(graph: Graph, text: Texts, region: int) -> tuple[Related, ...]:
    return _cut(graph, text, _controlled(graph, text, region), region)


def _cut(graph: Graph, text: Texts, links: Iterator[Related], node: int) -> tuple[Related, ...]:
    found = tuple(islice(links, MOST_LINKS))
    if len(found) < MOST_LINKS:
        return found
    first = graph.firsts[node]
    label = graph.labels[first]
    end = _symbol(graph, text, first, label) if isinstance(label, pg.Symbol) else _controlled(graph, text, first)
    return tuple(dict.fromkeys((*found, *end)))


def _used(graph: Graph, text: Texts, use: Use, *, named: bool = False) -> Iterator[Related]:
    """`named` says that the link before has told what the use is, so that a source is not said twice."""
    if use.load is not None and not named:
        yield see(use.load.own, f"`{text(use.load)}` is read at an address that {_differs(graph, use.node)}")
    label = graph.labels[use.node]
    if isinstance(label, Source):
        if not named or use.load is not None:
            yield see(use.span.own, f"`{label.text}` {label.gives or _differs(graph, use.node)}")
    elif isinstance(label, pg.Symbol):
        yield from _symbol(graph, text, use.node, label)


def _symbol(graph: Graph, text: Texts, node: int, symbol: pg.Symbol) -> Iterator[Related]:
    cause = graph.causes[node]
    assert cause is not None
    what = f"`{symbol.name}` {_differs(graph, node)}"
    if cause.use is None:
        yield see(cause.span.own, f"{what} because it is assigned under control that does")
        yield from _controlled(graph, text, cause.origin)
        return
    use = cause.use
    reads = f"`{text(use.load or use.span)}`"
    if use.load is not None:
        reads += ", read at an address that does"
    if cause.link is Link.BOUND:
        yield see((use.load or use.span).own, f"{what} because a bound of its loop comes from {reads}")
    else:
        yield see((use.load or use.span).own, f"{what} because it comes from {reads}")
    yield from _used(graph, text, use, named=True)


def _controlled(graph: Graph, text: Texts, region: int) -> Iterator[Related]:
    node, cause = graph.decision(region)
    while cause.use is None:
        yield see(cause.span.own, f"only some threads do this `{text(cause.span)}`")
        node, cause = graph.decision(cause.origin)
    yield see(cause.span.own, _parting(graph, text, node, cause))
    yield from _used(graph, text, cause.use, named=cause.use.span == cause.span)


def _parting(graph: Graph, text: Texts, node: int, cause: Cause) -> str:
    what = "a bound of this loop" if cause.link is Link.BOUND else "this condition"
    return f"{what}, `{text(cause.span)}`, {_differs(graph, node)}"


def _differs(graph: Graph, node: int) -> str:
    return "differs between warps" if graph.levels[node] is Variation.WARP_UNIFORM else "differs between lanes"
