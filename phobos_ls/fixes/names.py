"""Fixes of names and calls: unknown ones, taken ones, and those used as what they are not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from phobos_core.analysis.program import SymbolKind, TensorType
from phobos_core.language.builtins import BUILTINS, Use
from phobos_core.language.context import CTX_FIELDS
from phobos_core.syntax import ast
from phobos_ls.fixes import elsewhere
from phobos_ls.fixes.problem import Change, Fix, Problem, fix
from phobos_ls.fixes.values import value_of
from phobos_ls.scopes import names_at
from phobos_ls.syntax_tree import STATEMENTS, walk

CLOSE = 3  # how many names that are close are offered
_AXES = "xyz"


def close(text: str, known: Iterable[str]) -> list[str]:
    """Known names that a text may be a slip of, the closest first."""
    names = list(dict.fromkeys(known))
    by_lower = {name.lower(): name for name in reversed(names)}
    same = [by_lower[text.lower()]] if text.lower() in by_lower else []
    return list(dict.fromkeys([*same, *get_close_matches(text, names, CLOSE)]))[:CLOSE]


def similar(problem: Problem, known: Iterable[str], before: str = "") -> Iterator[Fix]:
    """`before` is what a name is written with, as `@`."""
    found = close(problem.written, known)
    for number, name in enumerate(found):
        yield from fix(f"Change to `{before}{name}`", problem.instead(name), preferred=number == 0, guess=True)


def unknown_name(problem: Problem) -> Iterator[Fix]:
    name = problem.written
    call = next((c for c in problem.around(ast.Call) if problem.place(c.callee) == (problem.start, problem.end)), None)
    if call is not None:
        yield from _unknown_call(problem, name, call)
        return
    if name in elsewhere.NAMES:
        yield from fix(f"Change to `{elsewhere.NAMES[name]}`", problem.instead(elsewhere.NAMES[name]), preferred=True)
    yield from similar(problem, names_at(problem.snapshot, problem.start))
    yield from _declared(problem, name)


def _unknown_call(problem: Problem, name: str, call: ast.Call) -> Iterator[Fix]:
    if name in elsewhere.AXES:
        for number, axis in enumerate(_AXES):
            if [arg.value for arg in call.args if isinstance(arg, ast.IntLit)] == [number]:
                field = f"{elsewhere.AXES[name]}.{axis}"
                yield from fix(f"Change to `{field}`", problem.replace(call, field), preferred=True)
    if name in elsewhere.FUNCTIONS:
        known = elsewhere.FUNCTIONS[name]
        yield from fix(f"Change to `{known}`", problem.instead(known), preferred=True)
    if name in elsewhere.TYPES:
        known = elsewhere.TYPES[name]
        yield from fix(f"Change to `{known}`", problem.instead(known), preferred=True)
    functions = [f.ast.name.text for f in problem.snapshot.checked.library.placed]
    yield from similar(problem, [*BUILTINS, *functions])
    if name in elsewhere.NAMES and call.args == ():
        yield from fix(f"Change to `{elsewhere.NAMES[name]}`", problem.replace(call, elsewhere.NAMES[name]))
    yield from _declared_function(problem, name, call)


def _declared_function(problem: Problem, name: str, call: ast.Call) -> Iterator[Fix]:
    """A function with a parameter for each argument, which gives the first: its author says what it shall give."""
    if problem.placed is None or not call.args:
        return
    params = [chr(ord("a") + number % 26) for number in range(len(call.args))]
    statement = any(isinstance(s, ast.ExprStmt) and s.value is call for s in problem.statements)
    listed, nl = ", ".join(params), problem.newline
    text = f"fn {name}({listed}) {{{nl}}}" if statement else f"fn {name}({listed}) = {params[0]}"
    at = _above(problem)
    yield from fix(f"Declare the function `{name}`", Change(at, at, f"{text}{nl}{nl}"))


def _above(problem: Problem) -> int:
    """Where an item before this one goes: above the comments that belong to it."""
    assert problem.placed is not None
    lines = problem.snapshot.lines
    line = lines.position(problem.placed.offset).line
    while line > 0 and lines.line(line - 1).lstrip().startswith(b"//"):
        line -= 1
    return lines.starts[line]


def _declared(problem: Problem, name: str) -> Iterator[Fix]:
    """A declaration of the name, of the kind that its use asks for."""
    statement = problem.statements[0] if problem.statements else None
    index = next((i for i in problem.around(ast.Index) if problem.place(i.base) == (problem.start, problem.end)), None)
    if index is not None:
        yield from _parameter(problem, name, index, statement)
        return
    if problem.node(ast.ShapedTypeExpr) is not None:
        change = problem.attribute(f"@autotune({name} in [16, 32, 64])")
        yield from fix(f"Search for it: `@autotune({name} in [16, 32, 64])`", change)
        return
    if statement is None:
        return
    if isinstance(statement, ast.Assign) and problem.place(statement.target) == (problem.start, problem.end):
        if statement.op == "=":
            start, _ = problem.place(statement)
            yield from fix(f"Declare it here: `var {name}`", Change(start, start, "var "), preferred=True, guess=True)
            return
        zero = _zero(problem, statement.value)
        yield from fix(f"Declare `var {name}` before", problem.before(_outermost_loop(problem), f"var {name} = {zero}"))
        return
    zero = "0.0" if _beside_float(problem) else "0"
    yield from fix(f"Declare `let {name} = {zero}`", problem.before(statement, f"let {name} = {zero}"))
    yield from _parameter_scalar(problem, name, zero)


def _outermost_loop(problem: Problem) -> ast.Stmt:
    """A sum is declared before the loops that it is summed in."""
    loops = [s for s in problem.statements if isinstance(s, (ast.For, ast.While))]
    found: ast.Stmt = (loops or list(problem.statements))[-1 if loops else 0]
    return found


def _zero(problem: Problem, node: ast.Expr) -> str:
    value = value_of(problem, node)
    return "0.0" if value is not None and value.is_float else "0"


def _beside_float(problem: Problem) -> bool:
    around = problem.node(ast.Binary)
    return around is not None and any(_zero(problem, side) == "0.0" for side in (around.lhs, around.rhs))


def _parameter_scalar(problem: Problem, name: str, zero: str) -> Iterator[Fix]:
    type_ = "f32" if zero == "0.0" else "i32"
    yield from fix(f"Add the parameter `{name}: {type_}`", _param_change(problem, f"{name}: {type_}"))


def _param_change(problem: Problem, text: str) -> Change | None:
    kernel = problem.kernel
    if kernel is None:
        return None
    if kernel.params:
        _, end = problem.place(kernel.params[-1])
        return Change(end, end, f", {text}")
    _, end = problem.place(kernel.name)
    at = problem.snapshot.text.find(b"(", end) + 1
    return Change(at, at, text) if at else None


def _parameter(problem: Problem, name: str, index: ast.Index, statement: ast.Stmt | None) -> Iterator[Fix]:
    """A tensor parameter: of the type that the tensor on the other side has, or with dimensions of its own."""
    for type_ in dict.fromkeys([*_beside(problem, index, statement), _own_type(problem, index)]):
        yield from fix(
            f"Add the parameter `{name}: {type_}`", _param_change(problem, f"{name}: {type_}"), group="parameter"
        )


def _beside(problem: Problem, index: ast.Index, statement: ast.Stmt | None) -> Iterator[str]:
    for node in walk(statement) if statement is not None else ():
        if isinstance(node, ast.Index) and node is not index and isinstance(node.base, ast.Name):
            symbol = problem.symbol(node.base)
            type_ = symbol.type if symbol is not None else None
            if isinstance(type_, TensorType) and len(type_.dims) == len(index.subscripts):
                yield f"tensor<{type_.element}>[{', '.join(map(str, type_.dims))}]"


def _own_type(problem: Problem, index: ast.Index) -> str:
    first = "MNKPQRSTUVWXYZ"
    dims = [problem.fresh(first[min(number, len(first) - 1)]) for number in range(len(index.subscripts))]
    return f"tensor<f32>[{', '.join(dims)}]"


def unknown_ctx_field(problem: Problem) -> Iterator[Fix]:
    field = problem.written.removeprefix("ctx.").strip()
    exact = elsewhere.FIELDS.get(field)
    axes = [f"{field}.{axis}" for axis in _AXES if f"{field}.{axis}" in CTX_FIELDS]
    names = dict.fromkeys([*([exact] if exact else []), *axes, *close(field, CTX_FIELDS)])
    for number, name in enumerate(names):
        guess = name != exact
        yield from fix(f"Change to `ctx.{name}`", problem.instead(f"ctx.{name}"), preferred=number == 0, guess=guess)


def duplicate_name(problem: Problem) -> Iterator[Fix]:
    name = problem.written
    statement = problem.node(STATEMENTS)
    bound = isinstance(statement, (ast.Let, ast.Var)) and problem.place(statement.name) == (problem.start, problem.end)
    if bound and statement.value is not None:
        start, _ = problem.place(statement)
        low, _ = problem.place(statement.value)
        yield from fix(f"Assign to the `{name}` there is", Change(start, low, f"{name} = "))
    new = problem.fresh(f"{name}2")
    places = [(problem.start, problem.end), *_meant(problem)]
    yield from fix(
        f"Rename this one to `{new}`",
        *(Change(*place, new) for place in sorted(set(places))),
        preferred=True,
        guess=True,
    )


def _meant(problem: Problem) -> Iterator[tuple[int, int]]:
    """Where the checker took the name for this declaration."""
    kernel = problem.checked
    if kernel is None:
        return
    for span, symbol in kernel.references:
        if span.frame is None and symbol.span.frame is None and symbol.span.start + kernel.offset == problem.start:
            yield span.start + kernel.offset, span.end + kernel.offset


def builtin_redefined(problem: Problem) -> Iterator[Fix]:
    new = problem.fresh(f"my_{problem.written}")
    yield from fix(
        f"Rename the function to `{new}`; calls of `{problem.written}` mean the built-in",
        problem.instead(new),
        preferred=True,
        guess=True,
    )


def immutable_assignment(problem: Problem) -> Iterator[Fix]:
    name = problem.exactly(ast.Name)
    kernel = problem.checked
    if name is None or kernel is None:
        return
    symbol = problem.symbol(name) or next((s for s in kernel.symbols if s.name == name.text), None)
    if symbol is None or symbol.span.frame is not None:
        return
    if symbol.kind in (SymbolKind.SCALAR, SymbolKind.TILE, SymbolKind.VIEW):
        declared = next(
            (n for n in walk(kernel.ast) if isinstance(n, ast.Let) and n.name.span.start == symbol.span.start), None
        )
        if declared is not None:
            start, _ = problem.place(declared)
            copied = "; it becomes a copy" if symbol.kind is SymbolKind.VIEW else ""
            title = f"Declare `{name.text}` with `var`{copied}"
            yield from fix(title, Change(start, start + len("let"), "var"), preferred=not copied)
        return
    loops = (s for s in problem.statements if isinstance(s, ast.For))
    block = next((loop.body for loop in loops if loop.var.span.start == symbol.span.start), kernel.ast.body)
    what = symbol.kind.value
    yield from fix(
        f"Copy the {what}: `var {name.text} = {name.text}`",
        problem.at_start(block, f"var {name.text} = {name.text}"),
        preferred=True,
    )


def not_assignable(problem: Problem) -> Iterator[Fix]:
    assign = problem.node(ast.Assign)
    if assign is not None and assign.op == "=":
        start, _ = problem.place(assign)
        title = f"Declare a variable of the name: `var {problem.written}`"
        yield from fix(title, Change(start, start, "var "))


def not_callable(problem: Problem) -> Iterator[Fix]:
    call = problem.node(ast.Call)
    name = problem.exactly(ast.Name)
    if call is None or name is None:
        return
    symbol = problem.symbol(name)
    if symbol is not None and symbol.kind in (SymbolKind.TENSOR, SymbolKind.TILE, SymbolKind.VIEW):
        listed = ", ".join(problem.spelled(arg) for arg in call.args)
        yield from fix(
            f"Index it: `{name.text}[{listed}]`", problem.replace(call, f"{name.text}[{listed}]"), preferred=True
        )
    functions = [f.ast.name.text for f in problem.snapshot.checked.library.placed]
    yield from similar(problem, [*(b for b in BUILTINS if len(b) > 2), *functions])
    yield from fix(f"Read `{name.text}` without the arguments", problem.replace(call, name.text))


def not_a_value(problem: Problem) -> Iterator[Fix]:
    whole = re.search(r"`([^`]+)` is all of it", problem.help)
    if whole is not None:
        yield from fix(f"Take all of it: `{whole[1]}`", problem.instead(whole[1]), preferred=True)
        return
    builtin = BUILTINS.get(problem.written)
    if builtin is not None and builtin.use is not Use.VALUE and not builtin.forms[0].params:
        yield from fix(f"Call it: `{problem.written}()`", problem.instead(f"{problem.written}()"))
    yield from similar(problem, (n for n in names_at(problem.snapshot, problem.start) if n != problem.written))


def argument_count(problem: Problem) -> Iterator[Fix]:
    """Surplus arguments taken away. What a missing one should be, nobody but the author knows."""
    call = problem.node(ast.Call)
    for count in range(len(call.args) - 1, 0, -1) if call is not None else ():
        assert call is not None
        surplus = call.args[count:]
        low = problem.place(call.args[count - 1])[1]
        yield from fix(
            f"Remove `{', '.join(problem.spelled(arg) for arg in surplus)}`",
            Change(low, problem.place(surplus[-1])[1], ""),
        )


def jump_outside_loop(problem: Problem) -> Iterator[Fix]:
    jump = problem.node(ast.Jump)
    if jump is None:
        return
    if problem.kernel is not None:
        yield from fix("Leave the kernel: `return`", problem.replace(jump, "return"))
    yield from fix(f"Remove `{jump.kind}`, which leaves no loop", problem.without(jump))


def no_effect(problem: Problem) -> Iterator[Fix]:
    statement = problem.node(ast.ExprStmt)
    if statement is None:
        return
    value = statement.value
    if isinstance(value, ast.Binary) and value.op == "==" and isinstance(value.lhs, (ast.Name, ast.Index)):
        low, high = problem.place(value.lhs)[1], problem.place(value.rhs)[0]
        yield from fix("Assign with `=`", Change(low, high, " = "), preferred=True)
    start, _ = problem.place(statement)
    shaped = value_of(problem, value)
    word = "var" if shaped is not None and shaped.extents else "let"
    yield from fix("Bind the value to a name", Change(start, start, f"{word} {problem.fresh('value')} = "))
    yield from fix("Remove the statement", problem.without(statement))
