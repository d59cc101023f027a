"""The names that a place in a file sees: what completion offers there, and what an unknown name may be a slip of."""

from __future__ import annotations

import re
from collections.abc import Iterator

from phobos_core.analysis import PlacedFunction, PlacedKernel
from phobos_core.analysis.functions import Definition
from phobos_core.analysis.program import Symbol, SymbolKind, SymbolType, TensorType, TileType
from phobos_core.syntax import ast
from phobos_ls.snapshot import Snapshot

# The end of a statement that is whole: no line that ends in an operator, a comma or an open bracket.
_END = re.compile(rb"[;{]|//[^\r\n]*[\r\n]|[^\s\-+*/%&|^<>=!,(\[][ \t]*[\r\n]")
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
            known = [symbol.name for symbol in symbols_in_scope(snapshot, kernel, offset)]
            yield from dict.fromkeys((*known, *names_written(snapshot, kernel, offset)))
        case PlacedFunction() as function:
            yield from definitions_before(snapshot, function, offset)


def definitions_before(snapshot: Snapshot, function: PlacedFunction, offset: int) -> dict[str, Definition]:
    """What a function binds before an offset, its own parameters too. A name is bound behind its statement."""
    body = function.ast.body
    bound = _bound(snapshot, function.offset, body, offset) if isinstance(body, ast.Block) else frozenset()
    found = {}
    for definition in function.facts.definitions:
        span = definition.span
        if span.start in bound or (definition.kind == "parameter" and function.offset + span.end < offset):
            found[definition.name] = definition
    return found


def symbols_in_scope(snapshot: Snapshot, kernel: PlacedKernel, offset: int) -> Iterator[Symbol]:
    """The symbols that a name before the offset may mean: the innermost of a name, those declared in a block that has
    ended left out."""
    visible: dict[str, Symbol] = {}
    bound = _bound(snapshot, kernel.offset, kernel.ast.body, offset)
    for symbol in kernel.symbols:
        span = symbol.span
        if span.frame is not None or symbol.kind in OF_THE_KERNEL:
            continue
        inside_body = span.start > kernel.ast.body.span.start
        if inside_body and span.start not in bound:
            continue
        visible[symbol.name] = symbol
    names = {s.name: s for s in kernel.symbols if s.kind in OF_THE_KERNEL}
    yield from {**names, **visible}.values()


def names_written(snapshot: Snapshot, kernel: PlacedKernel, offset: int) -> Iterator[str]:
    """What the text of a kernel binds before an offset, also where the checker could not come to it."""
    yield from (param.name.text for param in kernel.ast.params if param.name.text)
    yield from dimensions_written(kernel.ast)
    yield from (name.text for name in _names_bound(snapshot, kernel.offset, kernel.ast.body, offset) if name.text)


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
            case ast.For(body=body) | ast.While(body=body) if body.span.start < offset:
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


def written_type(type_: SymbolType) -> str:
    """As the source would say it."""
    match type_:
        case TensorType(element, dims):
            return f"tensor<{element}>[{', '.join(map(str, dims))}]"
        case TileType(element, shape):
            return f"tile<{element}>[{', '.join(map(str, shape))}]"
    return str(type_)


def _bound(snapshot: Snapshot, start: int, body: ast.Block, offset: int) -> frozenset[int]:
    """Where the names begin that are bound before an offset, in an item that begins at `start`."""
    return frozenset(name.span.start for name in _names_bound(snapshot, start, body, offset))


def _names_bound(snapshot: Snapshot, start: int, body: ast.Block, offset: int) -> Iterator[ast.Name]:
    """What the statements of the blocks around an offset bind, and the loops around it. A name is bound behind its
    statement."""
    for block in blocks_around(body, offset - start):
        if isinstance(block, ast.For):
            yield block.var
            continue
        for each in block.body:
            if not isinstance(each, (ast.Let, ast.Var)) or each.span.end >= offset - start:
                continue
            if _ended(snapshot, start + each.name.span.end, offset):
                yield each.name
