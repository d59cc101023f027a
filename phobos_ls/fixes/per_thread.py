"""Fixes of per-thread code, collectives and functions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from phobos_core.analysis.program import TensorType, TileType
from phobos_core.language.targets import LANES
from phobos_core.syntax import ast
from phobos_ls.fixes.problem import Change, Fix, Problem, fix
from phobos_ls.syntax_tree import EXPRESSIONS

_GIVEN = re.compile(r"and this is (\d+)$")


def missing_barrier(problem: Problem) -> Iterator[Fix]:
    """`barrier()` before the statement that reads, or before the nearest statement around it that every thread
    reaches."""
    for statement in problem.statements:
        yield from fix("Insert `barrier()`", problem.before(statement, "barrier()"), preferred=True, group="barrier")
    if problem.placed is not None and isinstance(problem.placed.item, ast.Function):
        yield from _at_calls(problem, problem.placed.item.name.text)


def _at_calls(problem: Problem, name: str) -> Iterator[Fix]:
    """An expression function has no room for a statement: before the statements that call it."""
    for kernel in problem.snapshot.kernels():
        for span, called in kernel.calls:
            if called == name and span.frame is None:
                caller = _at(problem, kernel.offset + span.start)
                if caller.statements:
                    change = caller.before(caller.statements[0], "barrier()")
                    yield from fix(f"Insert `barrier()` before the call of `{name}`", change, group="barrier")


def _at(problem: Problem, offset: int) -> Problem:
    from dataclasses import replace

    return Problem(problem.snapshot, replace(problem.diagnostic, start=offset, end=offset))


def once_per_cta(problem: Problem) -> Iterator[Fix]:
    """An operation at the edge of the block that not every thread enters, moved out of it."""
    statement = problem.statements[0] if problem.statements else None
    if not isinstance(statement, ast.ExprStmt):
        return
    text = problem.spelled(statement)
    inner = problem.without(statement)
    for outer in problem.statements[1:]:
        match outer:
            case ast.If(then=ast.Block(body=body), orelse=orelse):
                if body and body[-1] is statement and orelse is None:
                    yield from fix(
                        f"Move `{text}` after the `if`",
                        inner,
                        problem.after(outer, text),
                        preferred=True,
                        group="move",
                        guess=True,
                    )
                if body and body[0] is statement:
                    yield from fix(f"Move `{text}` before the `if`", problem.before(outer, text), inner, group="move")
            case ast.While(body=ast.Block(body=body)) | ast.For(body=ast.Block(body=body)):
                if body and body[-1] is statement:
                    yield from fix(f"Move `{text}` after the loop", inner, problem.after(outer, text), group="move")


def group_width(problem: Problem) -> Iterator[Fix]:
    given = _GIVEN.search(problem.message)
    collective = problem.node(ast.Collective)
    if given is not None and "power of two" in problem.message:
        value = int(given[1])
        up = 1 << max(value - 1, 0).bit_length()
        for width in dict.fromkeys((min(up, LANES), min(max(up // 2, 1), LANES))):
            yield from fix(f"Use the width {width}", problem.instead(str(width)))
    if collective is not None and collective.width is not None:
        yield from fix("Leave the width out: the whole group", _without_width(problem, collective))


def _without_width(problem: Problem, node: ast.Collective) -> Change | None:
    assert node.width is not None
    return Change(problem.place(node.operand)[1], problem.place(node.width)[1], "")


def collective_form(problem: Problem) -> Iterator[Fix]:
    node = problem.node(ast.Collective)
    call = problem.node(ast.Call)
    if node is None:
        named = re.search(r"`\w+(<[^`]*>)\(\.\.\)`", problem.message)
        if named is not None and call is not None:
            _, end = problem.place(call.callee)
            for brackets in ("<over ctx.lane>", "<over ctx.thread>", "<xor 1>"):
                title = f"Say across what: `{problem.spelled(call.callee)}{brackets}`"
                yield from fix(title, Change(end, end, brackets), group="")
        return
    start, low = problem.place(node.op)
    text = problem.snapshot.text
    high = text.find(b">", problem.place(node.width or node.operand)[1]) + 1
    if node.op.text == "shfl":
        for brackets in ("<xor 1>", "<from 0>"):
            yield from fix(f"Shuffle with `shfl{brackets}`", Change(low, high, brackets))
    else:
        for brackets in ("<over ctx.lane>", "<over ctx.thread>"):
            yield from fix(f"Fold with `{node.op.text}{brackets}`", Change(low, high, brackets))
    if node.op.text not in ("shfl",) and node.mode in ("xor", "from", "down", "up"):
        yield from fix("Shuffle with `shfl`", Change(start, low, "shfl"))


def run_operand(problem: Problem) -> Iterator[Fix]:
    """The whole of an axis as a span of its length; a value across threads as a collective."""
    index = problem.node(ast.Index)
    if index is not None and isinstance(index.base, ast.Name):
        symbol = problem.symbol(index.base)
        shape: tuple[object, ...] = ()
        match symbol.type if symbol is not None else None:
            case TensorType(dims=dims):
                shape = dims
            case TileType(shape=extents):
                shape = extents
        changes = []
        for subscript, extent in zip(index.subscripts, shape, strict=False):
            if isinstance(subscript, ast.RangeSub) and subscript.start is None and subscript.end is None:
                changes.append(problem.replace(subscript, f"0 :+ {extent}"))
        if changes:
            yield from fix("Say how long the run is", *changes, preferred=True)
        for subscript in index.subscripts:
            if isinstance(subscript, ast.RangeSub) and subscript.end is not None:
                low = "0" if subscript.start is None else problem.spelled(subscript.start)
                match subscript.start, subscript.end:
                    case None, high:
                        length = problem.spelled(high)
                    case ast.IntLit(value=first), ast.IntLit(value=last):
                        length = str(last - first)
                    case _, high:
                        length = f"{problem.spelled(high)} - {low}"
                yield from fix("Write it as a span", problem.replace(subscript, f"{low} :+ {length}"), preferred=True)
    sums = (c for c in problem.around(ast.Call) if isinstance(c.callee, ast.Name) and c.callee.text == "sum")
    call = next(sums, None)
    if call is not None and "across threads" in problem.help:
        _, end = problem.place(call.callee)
        for group in ("ctx.lane", "ctx.thread"):
            yield from fix(f"Sum across threads: `sum<over {group}>`", Change(end, end, f"<over {group}>"))


def function_argument(problem: Problem) -> Iterator[Fix]:
    """The argument bound to a name first: a slice as a view of the same bytes, a number as a variable."""
    node = problem.exactly(EXPRESSIONS)
    statement = problem.statements[0] if problem.statements else None
    if node is None or statement is None:
        return
    name = problem.fresh("argument")
    keyword = "let" if isinstance(node, ast.Index) else "var"
    text = f"{keyword} {name} = {problem.written}"
    what = "a view of the same bytes" if keyword == "let" else "the copy is what changes"
    yield from fix(f"Bind it to a name first, {what}: `{text}`", problem.before(statement, text), problem.instead(name))


def function_form(problem: Problem) -> Iterator[Fix]:
    call = problem.exactly(ast.Call) or problem.node(ast.Call)
    statement = problem.statements[0] if problem.statements else None
    if call is None or statement is None:
        return
    if isinstance(statement, (ast.Let, ast.Var, ast.Assign)) and statement.value is call:
        yield from fix("Call it as a statement", problem.replace(statement, problem.spelled(call)))
    if isinstance(statement, ast.ExprStmt) and statement.value is call:
        start, _ = problem.place(statement)
        yield from fix("Bind the value to a name", Change(start, start, f"let {problem.fresh('value')} = "))
        yield from fix("Remove the call, which has no effect", problem.without(statement))


def return_in_function(problem: Problem) -> Iterator[Fix]:
    """At the end of the body a `return` says nothing."""
    jump = problem.node(ast.Jump)
    block = problem.node(ast.Block)
    function = problem.placed.item if problem.placed is not None else None
    if jump is None or block is None or function is None or block is not function.body:
        return
    if block.body and block.body[-1] is jump:
        yield from fix("Remove the `return` at the end", problem.without(jump), preferred=True)
