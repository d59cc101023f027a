"""What the names of a file mean, and where each is written: what navigation, highlighting and renaming share.

In: a snapshot and an offset. Out: the meanings of the name there, each with the place that declares it and all places
that mention it, as offsets in the file. A name in the body of a function that the function does not bind means, at
each call, what the caller's scope says, so it may have several meanings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from phobos_core.analysis import PlacedFunction, PlacedKernel
from phobos_core.analysis.functions import Definition
from phobos_core.analysis.program import Symbol
from phobos_core.syntax import ast
from phobos_ls.scopes import symbols_in_scope
from phobos_ls.snapshot import Snapshot

# Not a field of `ctx`, nor an attribute.
_NAME = re.compile(rb"(?<![.@\w])[A-Za-z_]\w*")

Place: TypeAlias = tuple[int, int]
Item: TypeAlias = PlacedKernel | PlacedFunction


@dataclass(frozen=True, slots=True)
class Local:
    """A name that a kernel binds, or that a function binds itself."""

    item: Item
    symbol: Symbol | Definition

    @property
    def name(self) -> str:
        return self.symbol.name


@dataclass(frozen=True, slots=True)
class Global:
    """A kernel or a function."""

    item: Item

    @property
    def name(self) -> str:
        return self.item.ast.name.text


Meaning: TypeAlias = Local | Global


@dataclass(frozen=True, slots=True)
class Mention:
    """`kind` says whether the name is declared, assigned or read there."""

    start: int
    end: int
    kind: Literal["declaration", "write", "read"]


def meanings_at(snapshot: Snapshot, offset: int) -> list[Meaning]:
    """What the name that touches the offset may mean; nothing where there is no name of the file."""
    for kernel in snapshot.kernels():
        if _holds(kernel, offset):
            return _in_kernel(snapshot, kernel, offset - kernel.offset)
    for function in snapshot.checked.library.placed:
        if _holds(function, offset):
            return _in_function(snapshot, function, offset - function.offset)
    return []


def declaration(meaning: Meaning, snapshot: Snapshot) -> Place:
    match meaning:
        case Global(item):
            return _placed(item.ast.name.span, item.offset)
        case Local(item, symbol):
            return _placed(symbol.span, _start_of(snapshot, item, symbol.span))


def mentions(snapshot: Snapshot, meaning: Meaning) -> list[Mention]:
    """Every place that means it, in the order of the file."""
    declared = declaration(meaning, snapshot)
    places = {declared}
    match meaning:
        case Global(item) if isinstance(item.ast, ast.Function):
            places.update(_calls_of(snapshot, meaning.name))
        case Global():
            pass
        case Local(PlacedKernel() as kernel, symbol):
            for span, named in kernel.references:
                if named is symbol:
                    places.add(_placed(span, _start_of(snapshot, kernel, span)))
        case Local(PlacedFunction() as function, definition):
            places.update(_placed(s, function.offset) for s, named in function.facts.references if named is definition)
    return [Mention(start, end, _kind(snapshot, (start, end), declared)) for start, end in sorted(places)]


def _kind(snapshot: Snapshot, place: Place, declared: Place) -> Literal["declaration", "write", "read"]:
    if place == declared:
        return "declaration"
    return "write" if place in _targets(snapshot) else "read"


def _targets(snapshot: Snapshot) -> set[Place]:
    """The names that assignments assign to, whole or in part."""

    def compute() -> set[Place]:
        found: set[Place] = set()
        for placed in snapshot.source.items:
            for name in assigned_names(placed.item.body):
                found.add(_placed(name.span, placed.offset))
        return found

    return snapshot.memo.get("targets", (snapshot.source,), compute)


def assigned_names(node: ast.Block | ast.If | ast.Expr | None) -> Iterator[ast.Name]:
    """The names to the left of the assignments in a block."""
    if isinstance(node, ast.Block):
        for statement in node.body:
            if isinstance(statement, ast.Assign):
                target = statement.target
                name = target.base if isinstance(target, ast.Index) else target
                if isinstance(name, ast.Name):
                    yield name
            elif isinstance(statement, (ast.For, ast.While)):
                yield from assigned_names(statement.body)
            elif isinstance(statement, ast.If):
                yield from assigned_names(statement)
    elif isinstance(node, ast.If):
        yield from assigned_names(node.then)
        yield from assigned_names(node.orelse)


def _in_kernel(snapshot: Snapshot, kernel: PlacedKernel, offset: int) -> list[Meaning]:
    if _touches(kernel.ast.name.span, offset):
        return [Global(kernel)]
    for span, symbol in kernel.references:
        if span.frame is None and _touches(span, offset):
            return [Local(kernel, symbol)]
    called = _called(snapshot, ((span, name) for span, name in kernel.calls if span.frame is None), offset)
    return called or _half_written(snapshot, kernel, offset)


def _half_written(snapshot: Snapshot, kernel: PlacedKernel, offset: int) -> list[Meaning]:
    """What a name will mean that stands in a statement which cannot be read yet: what is in scope there."""
    if kernel.kernel is not None:
        return []
    at = kernel.offset + offset
    line = snapshot.lines.position(at).line
    start = snapshot.lines.starts[line]
    for found in _NAME.finditer(snapshot.lines.line(line).partition(b"//")[0]):
        if start + found.start() <= at <= start + found.end():
            symbols = (s for s in symbols_in_scope(snapshot, kernel, at) if s.name == found[0].decode())
            return [Local(kernel, symbol) for symbol in symbols]
    return []


def _in_function(snapshot: Snapshot, function: PlacedFunction, offset: int) -> list[Meaning]:
    if _touches(function.ast.name.span, offset):
        return [Global(function)]
    for span, definition in function.facts.references:
        if _touches(span, offset):
            return [Local(function, definition)]
    found = _called(snapshot, ((name.span, name.text) for name in function.facts.calls), offset)
    name = function.ast.name.text
    free = {
        symbol: kernel
        for kernel in snapshot.kernels()
        for span, symbol in kernel.references
        if span.item == name and _touches(span, offset)
    }
    return found or [Local(kernel, symbol) for symbol, kernel in free.items()]


def _called(snapshot: Snapshot, calls: Iterator[tuple[ast.Span, str]], offset: int) -> list[Meaning]:
    """The function whose call touches the offset."""
    for span, name in calls:
        if _touches(span, offset):
            functions = (f for f in snapshot.checked.library.placed if f.ast.name.text == name)
            found: list[Meaning] = [Global(function) for function in functions]
            return found[:1]
    return []


def _calls_of(snapshot: Snapshot, name: str) -> Iterator[Place]:
    for kernel in snapshot.kernels():
        for span, called in kernel.calls:
            if called == name:
                yield _placed(span, _start_of(snapshot, kernel, span))
    for function in snapshot.checked.library.placed:
        for call in function.facts.calls:
            if call.text == name:
                yield _placed(call.span, function.offset)


def _start_of(snapshot: Snapshot, item: Item, span: ast.Span) -> int:
    """Where the text begins that a span counts in."""
    return item.offset if span.frame is None else snapshot.checked.library.offsets[span.item]


def _holds(item: Item, offset: int) -> bool:
    return item.offset <= offset <= item.offset + item.ast.span.end


def _touches(span: ast.Span, offset: int) -> bool:
    return span.start <= offset <= span.end


def _placed(span: ast.Span, offset: int) -> Place:
    return span.start + offset, span.end + offset
