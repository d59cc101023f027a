"""Fixes of names that nothing reads."""

from __future__ import annotations

from collections.abc import Iterator

from phobos_core.language.builtins import BUILTINS, Section, Use
from phobos_core.syntax import ast
from phobos_ls.fixes.problem import Change, Fix, Problem, fix
from phobos_ls.syntax_tree import inferior, targets


def unused_name(problem: Problem) -> Iterator[Fix]:
    name = problem.written
    declaration = problem.node((ast.Let, ast.Var))
    if declaration is not None and problem.place(declaration.name) == (problem.start, problem.end):
        yield from _dropped(problem, declaration)
    kept = "; its name in the PTX changes" if problem.node(ast.Param) is not None else ""
    new = problem.fresh(f"_{name}")
    places = {(problem.start, problem.end), *_mentions(problem, name, declaration)}
    yield from fix(f"Rename to `{new}`: it is meant so{kept}", *(Change(*place, new) for place in sorted(places)))


def _dropped(problem: Problem, declaration: ast.Let | ast.Var) -> Iterator[Fix]:
    name = declaration.name.text
    written = _writers(problem, declaration)
    if any(_acts(each.value) for each in written):
        return
    changes = [problem.without(each) for each in written]
    more = " and the assignments to it" if written else ""
    value = declaration.value
    if value is not None and _acts(value):
        changes.append(problem.replace(declaration, problem.spelled(value)))
        yield from fix(f"Drop `{name}`{more}, and keep the call", *changes, preferred=True)
        return
    yield from fix(f"Remove `{name}`{more}", *changes, problem.without(declaration), preferred=True)


def _acts(node: ast.Expr) -> bool:
    """Whether it does something besides giving a value. A function of the file may, for all that is known here."""
    return any(
        isinstance(call.callee, ast.Name) and (call.callee.text not in BUILTINS or _in_step(call.callee.text))
        for call in inferior(node, ast.Call)
    )


def _in_step(name: str) -> bool:
    """Atomics, barriers, flags, stores: what is called for its effect."""
    builtin = BUILTINS[name]
    return builtin.section is Section.SYNCHRONIZATION or builtin.use is Use.STATEMENT


def _writers(problem: Problem, declaration: ast.Let | ast.Var) -> list[ast.Assign]:
    body = problem.placed.item.body if problem.placed is not None else None
    if not isinstance(body, ast.Block):
        return []
    meant = set(_mentions(problem, declaration.name.text, declaration))
    found = []
    for assign in targets(body, declaration.name.text):
        base = assign.target.base if isinstance(assign.target, ast.Index) else assign.target
        if problem.place(base) in meant:
            found.append(assign)
    return found


def _mentions(problem: Problem, name: str, declaration: ast.Let | ast.Var | None) -> list[tuple[int, int]]:
    """Where the name is meant: as the checker of a kernel, or the facts of a function, has it."""
    kernel, placed = problem.checked, problem.placed
    if kernel is not None:
        return [
            (span.start + kernel.offset, span.end + kernel.offset)
            for span, symbol in kernel.references
            if span.frame is None
            and symbol.name == name
            and symbol.span.frame is None
            and symbol.span.start + kernel.offset == problem.start
        ]
    functions = problem.snapshot.checked.library.placed
    function = next((f for f in functions if placed is not None and f.ast is placed.item), None)
    if function is None:
        return []
    return [
        (span.start + function.offset, span.end + function.offset)
        for span, definition in function.facts.references
        if definition.name == name and definition.span.start + function.offset == problem.start
    ]
