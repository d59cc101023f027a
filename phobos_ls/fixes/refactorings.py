"""Rewritings of code that is right: a mask for a ragged reduction, a promise about a dimension, a part with a name.

In: a snapshot and the part of it that is selected. Out: what can be done there. Each was tried: it makes no mistake
that was not there.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from phobos_core.analysis.program import Symbol, SymbolKind, TensorType
from phobos_core.language.builtins import BUILTINS, Section
from phobos_core.language.diagnostic import Diagnostic
from phobos_core.syntax import ast
from phobos_ls.fixes.problem import Change, Fix, Problem, fix
from phobos_ls.fixes.trial import harmless
from phobos_ls.fixes.values import value_of
from phobos_ls.snapshot import Snapshot
from phobos_ls.syntax_tree import EXPRESSIONS, Node, inferior, path

MASKED = ("rowmax", "rowargmax")
# Below every value that counts, by element type.
_LOWEST = {"i8": "-128", "i32": "-2147483648", "i64": "-9223372036854775807", "f16": "-6.0e4"}


class Refactoring(NamedTuple):
    kind: str
    fix: Fix


def refactorings(snapshot: Snapshot, start: int, end: int) -> Iterator[Refactoring]:
    place = Problem(snapshot, Diagnostic("", "note", start, end, ""))
    for kind, found in (("rewrite", _masks(place)), ("rewrite", _promises(place)), ("extract", _extracted(place))):
        yield from (Refactoring(kind, each) for each in found if harmless(snapshot, each))


# A mask for a maximum over columns of which the last are past the end of the tensor, where 0 is read.


def _masks(place: Problem) -> Iterator[Fix]:
    call = next((c for c in place.around(ast.Call) if _name(c.callee) in MASKED and len(c.args) == 1), None)
    statement = _own_line(place)
    if call is None or statement is None:
        return
    argument = call.args[0]
    limit = _limit(place, argument, statement)
    value = value_of(place, argument)
    if limit is None or value is None or _masked(place, argument):
        return
    lowest = _LOWEST.get(value.element, "-1.0e30")
    title = f"Mask what is past the end: `where(iota(1) < {limit}, .., {lowest})`"
    symbol = place.symbol(argument) if isinstance(argument, ast.Name) else None
    if symbol is not None and symbol.kind is SymbolKind.TILE and symbol.mutable:
        name = symbol.name
        yield from fix(title, place.before(statement, f"{name} = where(iota(1) < {limit}, {name}, {lowest})"))
        return
    name = place.fresh("masked")
    gap = f"{place.newline}{place.indent(place.place(statement)[0])}"
    text = f"var {name} = {place.spelled(argument)}{gap}{name} = where(iota(1) < {limit}, {name}, {lowest})"
    yield from fix(title, place.before(statement, text), place.replace(argument, name))


def _name(node: ast.Expr) -> str:
    return node.text if isinstance(node, ast.Name) else ""


def _own_line(place: Problem) -> Node | None:
    """The statement around, where another can stand before it."""
    for outer, inner in zip(place.nodes[-2::-1], place.nodes[:0:-1], strict=True):
        if isinstance(outer, ast.Block):
            return inner
    return None


def _limit(place: Problem, argument: ast.Expr, statement: Node) -> str | None:
    """How many columns of the argument are within the tensor, as a source would say it."""
    for index in _slices(place, argument, statement):
        found = _rest(place, index)
        if found is not None:
            return found
    value = value_of(place, argument)
    if value is None or len(value.extents) != 2:
        return None
    for loop in place.around(ast.For):
        # Columns that a loop walks: of a product with the rows that it takes, for one.
        if loop.step is not None and place.spelled(loop.step) == value.extents[1] and _dynamic(place, loop.hi):
            return f"{_operand(place, loop.hi)} - {loop.var.text}"
    return None


def _slices(place: Problem, argument: ast.Expr, statement: Node) -> Iterator[ast.Index]:
    """The slices that the argument's columns are those of: in it, or in what it was declared with."""
    yield from inferior(argument, ast.Index)
    symbol = place.symbol(argument) if isinstance(argument, ast.Name) else None
    if symbol is None or place.kernel is None:
        return
    for node in inferior(place.kernel.body, (ast.Let, ast.Var)):
        if node.name.span.start == symbol.span.start and isinstance(node.value, ast.Index):
            yield node.value


def _rest(place: Problem, index: ast.Index) -> str | None:
    """What is left of the tensor's columns from where the slice starts."""
    symbol = place.symbol(index.base) if isinstance(index.base, ast.Name) else None
    if symbol is None or not isinstance(symbol.type, TensorType) or len(index.subscripts) != 2:
        return None
    extent, subscript = symbol.type.dims[1], index.subscripts[1]
    if not isinstance(subscript, ast.SpanSub) or extent.constant is not None or _promised(place, str(extent)):
        return None
    if isinstance(subscript.start, ast.IntLit) and subscript.start.value == 0:
        return str(extent)
    return f"{extent} - {_operand(place, subscript.start)}"


def _operand(place: Problem, node: ast.Expr) -> str:
    """As an operand of `-`."""
    tight = not isinstance(node, ast.Binary) or node.op in ("*", "/", "%")
    return place.spelled(node) if tight else f"({place.spelled(node)})"


def _dynamic(place: Problem, node: ast.Expr) -> bool:
    """Known only at run time, and not promised to be whole tiles."""
    names = [place.symbol(name) for name in inferior(node, ast.Name)]
    known = [symbol for symbol in names if symbol is not None]
    return any(symbol.kind is not SymbolKind.CONSTANT and not _promised(place, symbol.name) for symbol in known)


def _promised(place: Problem, dim: str) -> bool:
    return any(
        isinstance(argument, ast.KeywordArg) and argument.name.text == dim
        for attribute in (place.kernel.attributes if place.kernel is not None else ())
        if attribute.name.text == "aligned"
        for argument in attribute.args
    )


def _masked(place: Problem, argument: ast.Expr) -> bool:
    """Whether the tile was assigned a `where` over `iota` already."""
    body = place.kernel.body if place.kernel is not None else None
    return body is not None and any(
        _name(assign.target) == _name(argument) != "" and any(_name(c.callee) == "iota" for c in _calls(assign.value))
        for assign in inferior(body, ast.Assign)
    )


def _calls(node: ast.Expr) -> Iterator[ast.Call]:
    return inferior(node, ast.Call)


# A promise that a dimension is whole tiles.


def _promises(place: Problem) -> Iterator[Fix]:
    if place.kernel is None or place.checked is None:
        return
    for dim, tile in dict.fromkeys(_walked(place)):
        if _promised(place, dim):
            continue
        promise = f"{dim} = {tile}"
        given = next((a for a in place.kernel.attributes if a.name.text == "aligned" and a.args), None)
        if given is None:
            change = place.attribute(f"@aligned({promise})")
        else:
            _, end = place.place(given.args[-1])
            change = Change(end, end, f", {promise}")
        yield from fix(f"Promise whole tiles: `@aligned({promise})`, checked at launch", change)


def _walked(place: Problem) -> Iterator[tuple[str, str]]:
    """The dimensions that what is selected takes in tiles, each with its tile."""
    for loop in place.around(ast.For):
        if isinstance(loop.hi, ast.Name) and loop.step is not None and _heads(place, loop):
            symbol = place.symbol(loop.hi)
            if symbol is not None and symbol.kind is SymbolKind.DIM and _tile(place, loop.step):
                yield symbol.name, place.spelled(loop.step)
    for index in place.around(ast.Index):
        symbol = place.symbol(index.base) if isinstance(index.base, ast.Name) else None
        if symbol is None or not isinstance(symbol.type, TensorType):
            continue
        for name, subscript in zip(symbol.type.names, index.subscripts, strict=False):
            dynamic = name is not None and name in _dimensions(place)
            if dynamic and isinstance(subscript, ast.SpanSub) and _tile(place, subscript.length):
                assert name is not None
                yield name, place.spelled(subscript.length)


def _heads(place: Problem, loop: ast.For) -> bool:
    """Whether the loop's head is selected, not a statement of its body."""
    return place.end <= place.place(loop.body)[0]


def _dimensions(place: Problem) -> set[str]:
    symbols: tuple[Symbol, ...] = place.checked.symbols if place.checked is not None else ()
    return {symbol.name for symbol in symbols if symbol.kind is SymbolKind.DIM}


def _tile(place: Problem, node: ast.Expr) -> bool:
    """What a promise may name: a literal or an `@autotune` name."""
    if isinstance(node, ast.IntLit):
        return node.value > 1
    symbol = place.symbol(node) if isinstance(node, ast.Name) else None
    return symbol is not None and symbol.kind is SymbolKind.CONSTANT


# A name for an expression that is selected.


def _extracted(place: Problem) -> Iterator[Fix]:
    text = place.snapshot.text[place.start : place.end]
    if not text.strip() or place.placed is None:
        return
    start = place.start + len(text) - len(text.lstrip())
    end = start + len(text.strip())
    nodes = path(place.placed.item, start - place.placed.offset, end - place.placed.offset)
    node = nodes[-1]
    statement = next((i for o, i in zip(nodes[-2::-1], nodes[:0:-1], strict=True) if isinstance(o, ast.Block)), None)
    if not isinstance(node, EXPRESSIONS) or place.place(node) != (start, end) or statement is None:
        return
    if isinstance(node, (ast.Name, ast.IntLit)) or _bound(node, nodes) or _acts(node):
        return
    name = place.fresh("value")
    value = value_of(place, node)
    keyword = "var" if value is not None and value.extents and not isinstance(node, ast.Index) else "let"
    declaration = f"{keyword} {name} = {place.spelled(node)}"
    yield from fix(f"Extract into `{keyword} {name}`", place.before(statement, declaration), place.replace(node, name))


def _bound(node: ast.Expr, nodes: tuple[Node, ...]) -> bool:
    """Where a name would be another thing: evaluated again each time, assigned to, or a call as a statement."""
    for outer, inner in pairwise(nodes):
        match outer:
            case ast.While(condition=condition) if condition is inner:
                return True
            case ast.Assign(target=target) if target is node:
                return True
            case ast.ExprStmt():
                return True
            case ast.Let(value=value) | ast.Var(value=value) if value is node:
                return True
            case ast.If(orelse=orelse) if orelse is inner and isinstance(orelse, ast.If):
                return True
            case ast.Call(callee=callee) if callee is inner:
                return True
            case ast.For(unroll=unroll) if unroll is inner:
                return True
    return False


def _acts(node: ast.Expr) -> bool:
    """Whether an operation of the whole CTA would move to before others of its statement."""
    builtins = (BUILTINS.get(_name(call.callee)) for call in _calls(node))
    return any(builtin is not None and builtin.section is Section.SYNCHRONIZATION for builtin in builtins)
