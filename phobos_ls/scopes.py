"""The names that a place in a file sees: what completion offers there, and what an unknown name may be a slip of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from phobos_core.analysis import PlacedFunction, PlacedKernel
from phobos_core.analysis.functions import Definition
from phobos_core.analysis.program import Symbol, SymbolKind
from phobos_core.syntax import ast
from phobos_ls.snapshot import Snapshot

_END = re.compile(rb"[\r\n;{]")
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
    bound = _bound(blocks_around(function.ast.body, at)) if isinstance(function.ast.body, ast.Block) else frozenset()
    found = {}
    for definition in function.facts.definitions:
        span = definition.span
        if definition.kind == "parameter":
            seen = span.end < at
        else:
            ended = span.end < at and _ended(snapshot, function.offset + span.end, offset)
            seen = ended and span.start in bound
        if seen:
            found[definition.name] = definition
    return found


def symbols_in_scope(kernel: PlacedKernel, offset: int) -> Iterator[Symbol]:
    """The symbols that a name before the offset may mean: the innermost of a name, those declared in a block that has
    ended left out."""
    visible: dict[str, Symbol] = {}
    bound = _bound(blocks_around(kernel.ast.body, offset))
    for symbol in kernel.symbols:
        span = symbol.span
        if span.frame is not None or symbol.kind in OF_THE_KERNEL:
            continue
        inside_body = span.start > kernel.ast.body.span.start
        if inside_body and (span.end >= offset or span.start not in bound):
            continue
        visible[symbol.name] = symbol
    names = {s.name: s for s in kernel.symbols if s.kind in OF_THE_KERNEL}
    yield from {**names, **visible}.values()


def names_written(snapshot: Snapshot, kernel: PlacedKernel, offset: int) -> Iterator[str]:
    """What the text of a kernel binds before an offset, also where the checker could not come to it."""
    yield from (param.name.text for param in kernel.ast.params if param.name.text)
    yield from dimensions_written(kernel.ast)
    for block in blocks_around(kernel.ast.body, offset - kernel.offset):
        if isinstance(block, ast.For):
            yield from filter(None, [block.var.text])
            continue
        for name in (each.name for each in block.body if isinstance(each, (ast.Let, ast.Var))):
            end = kernel.offset + name.span.end
            if end < offset and _ended(snapshot, end, offset):
                yield name.text


def _ended(snapshot: Snapshot, start: int, offset: int) -> bool:
    """Whether a statement that binds a name at `start` has an end before the offset: its value is written there."""
    return _END.search(snapshot.text, start, offset) is not None


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


def blocks_around(block: ast.Block, offset: int) -> Iterator[ast.Block | ast.For]:
    """The blocks around an offset, and before that of a loop the loop, whose variable its head does not see."""
    yield block
    for statement in block.body:
        if not statement.span.start <= offset <= statement.span.end:
            continue
        match statement:
            case ast.For(body=body) | ast.While(body=body) if body.span.start <= offset:
                if isinstance(statement, ast.For):
                    yield statement
                yield from blocks_around(body, offset)
            case ast.If():
                branch: ast.If | ast.Block | None = statement
                while isinstance(branch, ast.If):
                    if branch.then.span.start <= offset <= branch.then.span.end:
                        yield from blocks_around(branch.then, offset)
                    branch = branch.orelse
                if branch is not None and branch.span.start <= offset <= branch.span.end:
                    yield from blocks_around(branch, offset)


def _bound(blocks: Iterable[ast.Block | ast.For]) -> frozenset[int]:
    """Where the names begin that statements of the blocks themselves bind, and loops."""
    found: set[int] = set()
    for block in blocks:
        if isinstance(block, ast.For):
            found.add(block.var.span.start)
        else:
            found |= {each.name.span.start for each in block.body if isinstance(each, (ast.Let, ast.Var))}
    return frozenset(found)
