"""Fixes of what a build or a run finds. Whether the finding is gone afterwards, only the next build or run can tell;
that the text is still right is tried here."""

from __future__ import annotations

import re
from collections.abc import Iterator

from phobos_core.syntax import ast
from phobos_ls.fixes.problem import Change, Fix, Problem, fix
from phobos_ls.syntax_tree import inferior, walk

# More copies of a body than this seldom make it faster, and always make it slower to compile.
SENSIBLE = 16
_MOST = re.compile(r"unroll at most (\d+) times")
_NAMED = re.compile(r"`([A-Za-z_]\w*)`")


def dynamic_shared(problem: Problem) -> Iterator[Fix]:
    """Where the help says that the chip has room for it."""
    if "@dynshared" in problem.help:
        change = problem.attribute("@dynshared")
        yield from fix("Use dynamic shared memory: `@dynshared`; the launch supplies it", change, preferred=True)


def remove_pipeline(problem: Problem) -> Iterator[Fix]:
    for attribute in problem.kernel.attributes if problem.kernel is not None else ():
        if attribute.name.text == "pipeline":
            yield from fix("Remove `@pipeline`", problem.without(attribute))


def lift_cap(problem: Problem) -> Iterator[Fix]:
    """The cap on registers taken off a kernel that spills."""
    for attribute in problem.kernel.attributes if problem.kernel is not None else ():
        if attribute.name.text == "launch" and len(attribute.args) == 3:
            low, high = problem.place(attribute.args[1])[1], problem.place(attribute.args[2])[1]
            yield from fix("Remove the cap on registers", Change(low, high, ""), preferred=True)


def unroll_less(problem: Problem) -> Iterator[Fix]:
    most = _MOST.search(problem.help)
    loops = [n for n in problem.around(ast.For) if n.unroll is not None]
    if not loops and problem.kernel is not None:
        loops = [n for n in inferior(problem.kernel, ast.For) if n.unroll is not None]
    for loop in loops:
        assert loop.unroll is not None
        _, high = problem.place(loop.unroll)
        if most is not None and isinstance(loop.unroll, ast.IntLit):
            fewer = str(min(1 << (int(most[1]).bit_length() - 1), SENSIBLE))
            yield from fix(f"Unroll {fewer} times", problem.replace(loop.unroll, fewer), preferred=True)
        start, _ = problem.place(loop)
        end = problem.snapshot.text.find(b">", high) + 1
        yield from fix(f"Do not unroll the loop over `{loop.var.text}`", Change(start + len("for"), end, ""))


def initialise(problem: Problem) -> Iterator[Fix]:
    """A tile that is read before anything is stored to it: filled with 0."""
    body = problem.placed.item.body if problem.placed is not None else None
    named = set(_NAMED.findall(problem.message)) | set(_NAMED.findall(problem.help))
    read = {n.text for s in problem.statements[:1] for n in walk(s) if isinstance(n, ast.Name)}
    for node in walk(body) if body is not None else ():
        if not isinstance(node, ast.Var) or node.value is not None or node.name.text not in named | read:
            continue
        if isinstance(node.type, ast.ShapedTypeExpr):
            _, end = problem.place(node)
            zero = "0.0" if node.type.element.name in ("f16", "bf16", "f32", "f64") else "0"
            yield from fix(f"Fill `{node.name.text}` with {zero}", Change(end, end, f" = {zero}"), preferred=True)


def barrier_before(problem: Problem) -> Iterator[Fix]:
    for statement in problem.statements:
        yield from fix("Insert `barrier()`", problem.before(statement, "barrier()"), group="barrier")


def drop_promises(problem: Problem) -> Iterator[Fix]:
    """A launch that broke a promise: the kernel without it, masked."""
    for attribute in problem.kernel.attributes if problem.kernel is not None else ():
        if attribute.name.text == "aligned":
            yield from fix(f"Remove `{problem.spelled(attribute)}`, and mask", problem.without(attribute))
