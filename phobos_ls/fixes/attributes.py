"""Fixes of attributes: names, arguments, and those that are missing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from phobos_core.language.attributes import ATTRIBUTES, MAX_THREADS, Status
from phobos_core.language.targets import LANES
from phobos_core.syntax import ast
from phobos_ls.fixes.names import close
from phobos_ls.fixes.problem import Change, Fix, Problem, fix

_BOUNDS = re.compile(r"is (\d+) to (\d+), and this is (-?\d+)")
_LEAST = re.compile(r"is at least (\d+), and this is (-?\d+)")
_DIMENSIONS = re.compile(r"`([^`]+)`")


def unknown_attribute(problem: Problem) -> Iterator[Fix]:
    known = [name for name, entry in ATTRIBUTES.items() if entry.status is not Status.PLANNED]
    for number, name in enumerate(close(problem.written, known)):
        yield from fix(f"Change to `@{name}`", problem.instead(name), preferred=number == 0, guess=True)
    yield from remove_attribute(problem)


def remove_attribute(problem: Problem) -> Iterator[Fix]:
    node = problem.node(ast.Attribute)
    if node is not None:
        yield from fix(f"Remove `@{node.name.text}`", problem.without(node))


def duplicate_attribute(problem: Problem) -> Iterator[Fix]:
    node = problem.node(ast.Attribute)
    if node is None or problem.kernel is None:
        return
    yield from fix(f"Remove `{problem.spelled(node)}`", problem.without(node), preferred=True)
    for other in problem.kernel.attributes:
        if other.name.text == node.name.text and other is not node:
            yield from fix(f"Remove `{problem.spelled(other)}`", problem.without(other))


def attribute_argument(problem: Problem) -> Iterator[Fix]:
    node = problem.node(ast.Attribute)
    if node is None:
        return
    for bounds in (_BOUNDS.search(problem.message), _LEAST.search(problem.message)):
        if bounds is not None:
            least, *most, value = map(int, bounds.groups())
            nearest = max(least, min([value, *most]))
            yield from fix(f"Use {nearest}, the nearest that is allowed", problem.instead(str(nearest)))
    entry = ATTRIBUTES.get(node.name.text)
    argument = problem.node((ast.PositionalArg, ast.KeywordArg, ast.SearchArg))
    if entry is not None:
        for word in (word for slot in entry.slots for word in slot.words):
            yield from fix(f"Use `{word}`", problem.instead(word))
        if not entry.slots and node.args:
            start, end = problem.place(node)
            yield from fix(f"Write `@{entry.name}`", Change(start, end, f"@{entry.name}"), preferred=True)
    if argument is not None and len(node.args) > 1:
        yield from fix(f"Remove `{problem.spelled(argument)}`", problem.from_list(node.args, argument))
    if entry is not None and entry.most_arguments is not None and len(node.args) > entry.most_arguments > 0:
        low, high = problem.place(node.args[entry.most_arguments - 1])[1], problem.place(node.args[-1])[1]
        yield from fix("Remove the surplus arguments", Change(low, high, ""))
    yield from remove_attribute(problem)


def autotune_range(problem: Problem) -> Iterator[Fix]:
    node = problem.node(ast.SearchArg)
    if node is None:
        return
    values = [choice.value for choice in node.choices]
    positive = [value for value in values if value > 0]
    name = node.name.text
    if len(positive) == 2 and positive[0] >= positive[1]:
        texts = [sorted(set(positive))]
    else:
        texts = [positive]
    for choices in texts:
        if choices and choices != values:
            text = f"{name} in [{', '.join(map(str, choices))}]"
            yield from fix(f"Write `{text}`", problem.replace(node, text), preferred=True)


def unknown_dimension(problem: Problem) -> Iterator[Fix]:
    dims = _DIMENSIONS.findall(problem.help)
    names = dims if len(dims) == 1 else close(problem.written, dims)
    for number, name in enumerate(names):
        yield from fix(f"Change to `{name}`", problem.instead(name), preferred=number == 0, guess=True)
    yield from remove_promise(problem)


def remove_promise(problem: Problem) -> Iterator[Fix]:
    node, argument = problem.node(ast.Attribute), problem.node(ast.KeywordArg)
    if node is None or argument is None:
        return
    change = problem.without(node) if len(node.args) == 1 else problem.from_list(node.args, argument)
    yield from fix(f"Remove the promise `{problem.spelled(argument)}`", change)


def registers_tile(problem: Problem) -> Iterator[Fix]:
    kernel, node = problem.kernel, problem.node(ast.Attribute)
    argument = problem.node(ast.PositionalArg)
    if kernel is None:
        return
    for threads in (64, 128, 256, 512, MAX_THREADS):
        yield from fix(
            f"Launch {threads} threads", launch(problem, threads), preferred=True, group="threads", guess=True
        )
    if node is not None and argument is not None:
        change = problem.without(node) if len(node.args) == 1 else problem.from_list(node.args, argument)
        yield from fix(f"Do not ask for `{problem.spelled(argument)}` in registers", change)


def launch(problem: Problem, threads: int) -> Change | None:
    """`@launch` with so many threads, what else it says kept."""
    kernel = problem.kernel
    node = next((a for a in kernel.attributes if a.name.text == "launch"), None) if kernel is not None else None
    if node is None:
        return problem.attribute(f"@launch({threads})")
    return problem.replace(node.args[0], str(threads)) if node.args else problem.replace(node, f"@launch({threads})")


def whole_warps(problem: Problem) -> Iterator[Fix]:
    node = next((a for a in problem.kernel.attributes if a.name.text == "launch"), None) if problem.kernel else None
    given = node.args[0] if node is not None and node.args else None
    if isinstance(given, ast.PositionalArg) and isinstance(given.value, ast.IntLit):
        up = -(-given.value.value // LANES) * LANES
        for threads in dict.fromkeys((up, max(LANES, up - LANES))):
            yield from fix(f"Launch {threads} threads", launch(problem, threads), preferred=threads == up)


def needs_launch(problem: Problem) -> Iterator[Fix]:
    wanted = re.search(r"@launch\((\d+)\)", f"{problem.help} {problem.message}")
    if wanted is not None:
        yield from fix(f"Launch {wanted[1]} threads", launch(problem, int(wanted[1])), preferred=True)


def needs_persistent(problem: Problem) -> Iterator[Fix]:
    yield from fix("Add `@persistent`", problem.attribute("@persistent"), preferred=True)
