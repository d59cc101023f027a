"""The names that a place in a file sees: what completion offers there, and what an unknown name may be a slip of."""

from __future__ import annotations

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
    items: list[PlacedKernel | PlacedFunction] = [*snapshot.kernels(), *snapshot.checked.library.placed]
    return next((i for i in items if i.offset <= offset <= i.offset + i.ast.span.end), None)


def names_at(snapshot: Snapshot, offset: int) -> Iterator[str]:
    """The values in scope: not functions, nor words of the language."""
    match item_at(snapshot, offset):
        case PlacedKernel() as kernel:
            yield from (symbol.name for symbol in symbols_in_scope(kernel, offset - kernel.offset))
        case PlacedFunction() as function:
            yield from definitions_before(function, offset - function.offset)


def definitions_before(function: PlacedFunction, offset: int) -> dict[str, Definition]:
    """What a function binds before an offset, its own parameters too."""
    blocks = list(blocks_around(function.ast.body, offset)) if isinstance(function.ast.body, ast.Block) else []
    found = {}
    for definition in function.facts.definitions:
        span = definition.span
        if span.end < offset and (definition.kind == "parameter" or any(_declares(b, span) for b in blocks)):
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
