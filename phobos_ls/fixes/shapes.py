"""Fixes of shapes, subscripts and contractions, and of where `where` may stand."""

from __future__ import annotations

import re
from collections.abc import Iterator

from phobos_core.analysis.program import SymbolKind, TensorType, TileType
from phobos_core.syntax import ast
from phobos_ls.fixes.problem import Change, Fix, Problem, fix
from phobos_ls.fixes.values import Value, value_of
from phobos_ls.syntax_tree import EXPRESSIONS, inferior

_EXTENT = re.compile(r"whose extent is (\d+)")
_TRANSPOSED = {"dot": "dot_t", "dot_t": "dot"}
SPAN = 32  # rows at a time, where nothing says how many


def shape_mismatch(problem: Problem) -> Iterator[Fix]:
    """The other contraction, where that is the one whose operands these are; a slice as long as its place."""
    call = problem.node(ast.Call)
    if call is not None and isinstance(call.callee, ast.Name) and call.callee.text in _TRANSPOSED:
        other = _TRANSPOSED[call.callee.text]
        sides = {"dot_t": "a @ b^T", "dot": "a @ b"}[other]
        yield from fix(f"Contract with `{other}`: {sides}", problem.replace(call.callee, other))
    for node in problem.exactly(EXPRESSIONS), *_operands(problem):
        if isinstance(node, ast.Index):
            value = value_of(problem, node)
            if value is not None and len(value.extents) == 2:
                yield from fix(f"Transpose `{problem.spelled(node)}`", problem.wrap(node, "transpose("))


def _operands(problem: Problem) -> Iterator[ast.Expr]:
    match problem.exactly(EXPRESSIONS):
        case ast.Binary(lhs=lhs, rhs=rhs):
            yield lhs
            yield rhs


def dynamic_extent(problem: Problem) -> Iterator[Fix]:
    """The assignment walked in spans of a dimension that only the launch knows."""
    assign = problem.node(ast.Assign)
    if assign is None or problem.checked is None:
        return
    sliced = [n for n in inferior(assign, ast.Index) if isinstance(n.base, ast.Name)]
    dims: dict[str, list[ast.Subscript]] = {}
    for node in sliced:
        symbol = problem.symbol(node.base)
        if symbol is None or not isinstance(symbol.type, TensorType):
            continue
        for extent, subscript in zip(symbol.type.dims, node.subscripts, strict=False):
            whole = isinstance(subscript, ast.RangeSub) and subscript.start is None and subscript.end is None
            if whole and extent.constant is None:
                dims.setdefault(str(extent), []).append(subscript)
    search = {s.name for s in problem.checked.symbols if s.kind is SymbolKind.CONSTANT}
    variables = [problem.fresh(name) for name in "ij"]
    walked = list(zip(dims.items(), variables, strict=False))
    if not walked or len(walked) < len(dims) or dims.keys() & search:
        return
    start, end = problem.place(assign)
    indent, nl = problem.indent(start), problem.newline
    changes = [problem.replace(s, f"{var} :+ {SPAN}") for (_, subs), var in walked for s in subs]
    heads = "".join(
        f"for {var} in range(0, {dim}, {SPAN}) {{{nl}{indent}{'  ' * (depth + 1)}"
        for depth, ((dim, _), var) in enumerate(walked)
    )
    tails = "".join(f"{nl}{indent}{'  ' * depth}}}" for depth in reversed(range(len(walked))))
    names = " and ".join(f"`{dim}`" for (dim, _), _ in walked)
    yield from fix(
        f"Walk {names} in spans of {SPAN}",
        Change(start, start, heads),
        *changes,
        Change(end, end, tails),
        preferred=True,
        guess=True,
    )


def empty_extent(problem: Problem) -> Iterator[Fix]:
    yield from fix("Make the extent 1", problem.instead("1"))


def wrong_rank(problem: Problem) -> Iterator[Fix]:
    index = problem.node(ast.Index)
    if index is None or not isinstance(index.base, ast.Name):
        return
    symbol = problem.symbol(index.base)
    if symbol is None or not isinstance(symbol.type, (TensorType, TileType)):
        return
    rank = len(symbol.type.dims if isinstance(symbol.type, TensorType) else symbol.type.shape)
    given = index.subscripts
    if len(given) < rank:
        _, end = problem.place(given[-1])
        point = all(isinstance(s, ast.PointSub) for s in given)
        for rest in (", 0", ", :") if point else (", :",):
            text = rest * (rank - len(given))
            shown = f"{problem.spelled(index.base)}[{', '.join(problem.spelled(s) for s in given)}{text}]"
            yield from fix(
                f"Subscript every axis: `{shown}`", Change(end, end, text), preferred=rest == ", :", group="rank"
            )
    else:
        low, high = problem.place(given[rank - 1])[1], problem.place(given[-1])[1]
        surplus = ", ".join(problem.spelled(s) for s in given[rank:])
        yield from fix(f"Remove the subscript `{surplus}`", Change(low, high, ""))


def not_indexable(problem: Problem) -> Iterator[Fix]:
    index = problem.node(ast.Index)
    if index is None:
        return
    base = problem.spelled(index.base)
    if isinstance(index.base, ast.Name):
        yield from fix(f"Read `{base}` itself", problem.replace(index, base), preferred=True)
    elif problem.statements:
        name = problem.fresh("tile1")
        text = f"var {name} = {base}"
        yield from fix(
            f"Store it to a tile first: `{text}`",
            problem.before(problem.statements[0], text),
            problem.replace(index.base, name),
        )


def out_of_bounds(problem: Problem) -> Iterator[Fix]:
    found = _EXTENT.search(problem.message)
    if found is not None:
        last = str(int(found[1]) - 1)
        yield from fix(f"Use the last index, {last}", problem.instead(last))


def empty_slice(problem: Problem) -> Iterator[Fix]:
    subscript = problem.node((ast.SpanSub, ast.RangeSub))
    match subscript:
        case ast.SpanSub(length=length):
            yield from fix("Take one element: `:+ 1`", problem.replace(length, "1"))
        case ast.RangeSub(start=start, end=end) if end is not None:
            low, high = ("0" if start is None else problem.spelled(start)), problem.spelled(end)
            if isinstance(start, ast.IntLit) and isinstance(end, ast.IntLit) and start.value > end.value:
                yield from fix(f"Swap the ends: `{high} : {low}`", problem.replace(subscript, f"{high} : {low}"))
            yield from fix(f"Take one element: `{low} :+ 1`", problem.replace(subscript, f"{low} :+ 1"))


def bad_step(problem: Problem) -> Iterator[Fix]:
    yield from fix("Count up by 1", problem.instead("1"))


def where_placement(problem: Problem) -> Iterator[Fix]:
    """The `where` in a statement of its own, with its type where nothing else says it."""
    node = problem.exactly(ast.Call)
    statement = problem.statements[0] if problem.statements else None
    if node is None or statement is None:
        return
    if isinstance(statement, (ast.Let, ast.Var)) and statement.value is node:
        yield from _typed_where(problem, statement, node)
        return
    name = problem.fresh("chosen")
    texts = [f"var {name} = {problem.written}"]
    value = value_of(problem, node)
    if value is not None and value.extents:
        texts.append(f"var {name}: {value.tile} = {problem.written}")
    for number, text in enumerate(texts):
        yield from fix(
            f"Assign it to a tile first: `{text}`",
            problem.before(statement, text),
            problem.instead(name),
            preferred=number == 0,
            group="assign",
        )


def _typed_where(problem: Problem, statement: ast.Let | ast.Var, node: ast.Call) -> Iterator[Fix]:
    condition = value_of(problem, node.args[0]) if node.args else None
    branch = value_of(problem, node.args[1]) if len(node.args) > 1 else None
    if condition is not None and condition.extents and statement.type is None:
        element = "f32" if branch is None or (branch.element == "index" and condition.is_float) else branch.element
        tile = Value("i32" if element == "index" else element, condition.extents).tile
        start, _ = problem.place(statement)
        low, _ = problem.place(node)
        text = f"var {statement.name.text}: {tile} = "
        yield from fix(f"Declare the type: `{tile}`", Change(start, low, text), preferred=True)


def iota_axis(problem: Problem) -> Iterator[Fix]:
    rank = re.search(r"has rank (\d+)", problem.message)
    for axis in range(int(rank[1])) if rank is not None else ():
        yield from fix(f"Use axis {axis}", problem.instead(str(axis)))


def contraction_destination(problem: Problem) -> Iterator[Fix]:
    """The integer product in a tile of its own, converted in the next statement."""
    statement = problem.statements[0] if problem.statements else None
    node = problem.exactly(EXPRESSIONS)
    value = None if node is None else value_of(problem, node)
    if statement is None or value is None or len(value.extents) != 2:
        return
    name = problem.fresh("product")
    tile = Value("i32", value.extents).tile
    element = re.search(r"holds `(\w+)`", problem.message)
    converted = f"{element[1] if element else 'f32'}({name})"
    yield from fix(
        f"Store the product to a `{tile}` and convert that",
        problem.before(statement, f"var {name}: {tile} = {problem.written}"),
        problem.instead(converted),
        preferred=True,
    )
