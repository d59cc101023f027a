"""The names that a place in a file sees: what completion offers there, and what an unknown name may be a slip of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from phobos_core.analysis import PlacedFunction, PlacedKernel
from phobos_core.analysis.functions import Definition
from phobos_core.analysis.program import Symbol, SymbolKind
from phobos_core.syntax import ast
from phobos_ls.snapshot import Snapshot

# Names of the kernel as a whole, which no block ends.
OF_THE_KERNEL = (SymbolKind.DIM, SymbolKind.CONSTANT)


def item_at(snapshot: Snapshot, offset: int) -> PlacedKernel | PlacedFunction | None:
    """The item around an offset. One that is not closed yet goes on behind its last word."""
    items: list[PlacedKernel | PlacedFunction] = [*snapshot.kernels(), *snapshot.checked.library.placed]
    before = (item for item in items if item.offset <= offset)
    last = max(before, key=lambda item: item.offset, default=None)
    if last is None or offset <= last.offset + last.ast.span.end:
        return last
    end = last.offset + last.ast.span.end
    gap = snapshot.text[end:offset]
    open_ = isinstance(last.ast.body, ast.Block) and not snapshot.text[:end].endswith(b"}")
    goes_on = open_ or (not isinstance(last.ast.body, ast.Block) and b"\n" not in gap)
    return last if goes_on and not gap.strip() else None


def names_at(snapshot: Snapshot, offset: int) -> Iterator[str]:
    """The values in scope: not functions, nor words of the language."""
    match item_at(snapshot, offset):
        case PlacedKernel() as kernel:
            known = [symbol.name for symbol in symbols_in_scope(kernel, offset - kernel.offset)]
            yield from dict.fromkeys((*known, *names_written(snapshot, kernel, offset)))
        case PlacedFunction() as function:
            yield from definitions_before(snapshot, function, offset)


def definitions_before(snapshot: Snapshot, function: PlacedFunction, offset: int) -> dict[str, Definition]:
    """What a function binds before an offset, its own parameters too. A name is bound behind its statement."""
    at = offset - function.offset
    blocks = list(blocks_around(function.ast.body, at)) if isinstance(function.ast.body, ast.Block) else []
    found = {}
    for definition in function.facts.definitions:
        span = definition.span
        if definition.kind == "parameter":
            seen = span.end < at
        else:
            ended = span.end < at and _ended(snapshot, function.offset + span.end, offset)
            seen = ended and any(_declares(block, span) for block in blocks)
        if seen:
            found[definition.name] = definition
    return found


def symbols_in_scope(kernel: PlacedKernel, offset: int) -> Iterator[Symbol]:
    """The symbols that a name before the offset may mean: the innermost of a name, those declared in a block that has
    ended left out."""
    visible: dict[str, Symbol] = {}
    blocks = list(blocks_around(kernel.ast.body, offset))
    for symbol in kernel.symbols:
        span = symbol.span
        if span.frame is not None or symbol.kind in OF_THE_KERNEL:
            continue
        inside_body = span.start > kernel.ast.body.span.start
        if inside_body and (span.end >= offset or not any(_declares(block, span) for block in blocks)):
            continue
        visible[symbol.name] = symbol
    names = {s.name: s for s in kernel.symbols if s.kind in OF_THE_KERNEL}
    yield from {**names, **visible}.values()


def names_written(snapshot: Snapshot, kernel: PlacedKernel, offset: int) -> Iterator[str]:
    """What the text of a kernel binds before an offset, also where the checker could not come to it."""
    yield from (param.name.text for param in kernel.ast.params if param.name.text)
    yield from dimensions_written(kernel.ast)
    for block in blocks_around(kernel.ast.body, offset - kernel.offset):
        for name in (each.name for each in block.body if isinstance(each, (ast.Let, ast.Var))):
            end = kernel.offset + name.span.end
            if end < offset and _ended(snapshot, end, offset):
                yield name.text


def _ended(snapshot: Snapshot, start: int, offset: int) -> bool:
    """Whether a statement that binds a name at `start` has an end before the offset: its value is written there."""
    return re.search(rb"[\r\n;{]", snapshot.text[start:offset]) is not None


def dimensions_written(kernel: ast.Kernel) -> Iterator[str]:
    """The dynamic dimensions that the parameters name."""
    searched = {
        argument.name.text
        for attribute in kernel.attributes
        for argument in attribute.args
        if isinstance(argument, ast.SearchArg)
    }
    types = (param.type for param in kernel.params if isinstance(param.type, ast.ShapedTypeExpr))
    dims = dict.fromkeys(dim.text for type_ in types for dim in type_.dims if isinstance(dim, ast.Name))
    yield from (name for name in dims if name not in searched)


def blocks_around(block: ast.Block, offset: int) -> Iterator[ast.Block]:
    """The blocks around an offset, and the loops' heads with them."""
    yield block
    for statement in block.body:
        if not statement.span.start <= offset <= statement.span.end:
            continue
        match statement:
            case ast.For(span, body=body) | ast.While(span, body=body):
                yield replace(body, span=span)
                yield from blocks_around(body, offset)
            case ast.If():
                branch: ast.If | ast.Block | None = statement
                while isinstance(branch, ast.If):
                    if branch.then.span.start <= offset <= branch.then.span.end:
                        yield from blocks_around(branch.then, offset)
                    branch = branch.orelse
                if branch is not None and branch.span.start <= offset <= branch.span.end:
                    yield from blocks_around(branch, offset)


def _declares(block: ast.Block, span: ast.Span) -> bool:
    """Whether a name is bound by a statement of the block itself, or is the variable of its loop."""
    for statement in block.body:
        match statement:
            case ast.Let(name=name) | ast.Var(name=name) if name.span.start == span.start:
                return True
    return block.span.start < span.start < min((s.span.start for s in block.body), default=block.span.end)
