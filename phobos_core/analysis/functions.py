"""What a function's text says by itself: its names, what it calls, and mistakes that no call changes.

In: a function's syntax tree. Out: `Facts`, remembered by the function's text. What its names mean beyond itself, and
the types of everything, only a call knows: see `inlining`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from phobos_core.analysis.copying import FIELDS, NOTHING, Copier, copier
from phobos_core.analysis.places import diagnostic, see
from phobos_core.language.builtins import BUILTIN_NAMES
from phobos_core.language.diagnostic import Diagnostic
from phobos_core.syntax import ast

NESTING = (ast.Block, ast.If, *get_args(ast.Expr))

DefinitionKind: TypeAlias = Literal["parameter", "let", "var", "loop variable"]


@dataclass(frozen=True, slots=True)
class Definition:
    """A name that a function binds itself. `span` is relative to the function."""

    name: str
    kind: DefinitionKind
    span: ast.Span


@dataclass(frozen=True, slots=True)
class Facts:
    """`references` has each name that the function itself binds, `calls` each call of another function; any other name
    is resolved at the call. `named` has the parameters that must be passed a name, each with where it is indexed or
    assigned, and `unused` those that the body does not mention. `size` counts the nodes of the body, `height` its
    levels. `copy` makes the body of a call."""

    references: tuple[tuple[ast.Span, Definition], ...]
    definitions: tuple[Definition, ...]
    calls: tuple[ast.Name, ...]
    named: Mapping[str, ast.Span]
    unused: tuple[str, ...]
    size: int
    height: int
    copy: Copier
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class KnownFunction:
    """A function that can be called. `broken` says that its text has a syntax error, already reported."""

    ast: ast.Function
    facts: Facts
    broken: bool = False

    @property
    def statement(self) -> bool:
        return isinstance(self.ast.body, ast.Block)


def facts_of(function: ast.Function) -> Facts:
    reader = _Reader()
    scope: dict[str, Definition] = {}
    for param in function.params:
        earlier = scope.get(param.text)
        if earlier is None:
            reader.define(scope, param, "parameter")
            continue
        message = f"`{param.text}` is already a parameter of `{function.name.text}`"
        reader.error("duplicate-name", param.span, message, see(earlier.span, "declared here"))
    if isinstance(function.body, ast.Block):
        reader.block(function.body, _Scope(scope), loops=0, depth=1)
        replaced = NOTHING
    else:
        reader.expression(function.body, _Scope(scope), depth=1)
        replaced = frozenset(scope)
    if function.name.text in BUILTIN_NAMES:
        message = f"`{function.name.text}` is a built-in, and every call of that name means it"
        reader.error("builtin-redefined", function.name.span, message, help="choose another name")
    return Facts(
        tuple(reader.references),
        tuple(reader.definitions),
        tuple(reader.calls),
        reader.named,
        tuple(name for name in scope if name not in reader.used),
        reader.size,
        reader.height,
        copier(function.body, replaced),
        tuple(reader.diagnostics),
    )


@dataclass(frozen=True, slots=True)
class _Scope:
    names: dict[str, Definition]
    parent: _Scope | None = None

    def find(self, name: str) -> Definition | None:
        scope: _Scope | None = self
        while scope is not None:
            found = scope.names.get(name)
            if found is not None:
                return found
            scope = scope.parent
        return None


@dataclass(slots=True)
class _Reader:
    """What grows while one function is read."""

    references: list[tuple[ast.Span, Definition]] = field(default_factory=list)
    definitions: list[Definition] = field(default_factory=list)
    calls: list[ast.Name] = field(default_factory=list)
    named: dict[str, ast.Span] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    size: int = 0
    height: int = 0

    def error(self, code: str, span: ast.Span, message: str, *related: Any, help: str | None = None) -> None:
        self.diagnostics.append(diagnostic(code, "error", span, message, related, help))

    def define(self, names: dict[str, Definition], name: ast.Name, kind: DefinitionKind) -> None:
        definition = Definition(name.text, kind, name.span)
        names[name.text] = definition
        self.definitions.append(definition)
        self.references.append((name.span, definition))

    def name(self, node: ast.Name, scope: _Scope) -> Definition | None:
        found = scope.find(node.text)
        if found is not None:
            self.references.append((node.span, found))
            if found.kind == "parameter":
                self.used.add(found.name)
        return found

    def needs_name(self, node: ast.Expr, scope: _Scope, where: ast.Span) -> None:
        """Notes a parameter that is indexed or assigned."""
        found = scope.find(node.text) if isinstance(node, ast.Name) else None
        if found is not None and found.kind == "parameter":
            self.named.setdefault(found.name, where)

    # Expressions.

    def expression(self, node: Any, scope: _Scope, depth: int) -> None:
        """Any part of an expression: a node, a tuple of them, or a leaf."""
        kind = type(node)
        if kind is tuple:
            for each in node:
                self.expression(each, scope, depth)
            return
        names = FIELDS.get(kind)
        if names is None:
            return
        self._count(node, depth)
        depth += 1
        match node:
            case ast.Name():
                self.name(node, scope)
            case ast.Call(_, ast.Name() as callee, args):
                if callee.text not in BUILTIN_NAMES and self.name(callee, scope) is None:
                    self.calls.append(callee)
                self.expression(args, scope, depth)
            case ast.Collective(_, op, _, operand, width, args):
                self.expression((operand, width, *args[:1]), scope, depth)
                for function in args[1:]:
                    if op.text != "reduce" or not isinstance(function, ast.Name):
                        self.expression(function, scope, depth)
                    elif self.name(function, scope) is None:
                        self.calls.append(function)
            case _:
                if kind is ast.Index:
                    self.needs_name(node.base, scope, node.span)
                for name in names:
                    self.expression(getattr(node, name), scope, depth)

    def _count(self, node: Any, depth: int) -> None:
        self.size += 1
        self.height = max(self.height, depth)

    # Statements.

    def block(self, node: ast.Block, outer: _Scope, loops: int, depth: int) -> None:
        self._count(node, depth)
        scope = _Scope({}, outer)
        for stmt in node.body:
            self._statement(stmt, scope, loops, depth + 1)

    def _statement(self, stmt: ast.Stmt, scope: _Scope, loops: int, depth: int) -> None:
        self._count(stmt, depth)
        match stmt:
            case ast.Let(_, name, type_, value) | ast.Var(_, name, type_, value):
                self.expression(value, scope, depth)
                self.expression(_extents(type_), scope, depth)
                self.define(scope.names, name, "let" if isinstance(stmt, ast.Let) else "var")
            case ast.Assign(_, target, _, value):
                if isinstance(target, ast.Name):
                    self.needs_name(target, scope, stmt.span)
                self.expression((target, value), scope, depth)
            case ast.For(_, unroll, var, lo, hi, step, body):
                self.expression((unroll, lo, hi, step), scope, depth)
                inner = _Scope({}, scope)
                self.define(inner.names, var, "loop variable")
                self.block(body, inner, loops + 1, depth)
            case ast.While(_, condition, body):
                self.expression(condition, scope, depth)
                self.block(body, scope, loops + 1, depth)
            case ast.If(_, condition, then, orelse):
                self.expression(condition, scope, depth)
                self.block(then, scope, loops, depth)
                if isinstance(orelse, ast.If):
                    self._statement(orelse, scope, loops, depth + 1)
                elif orelse is not None:
                    self.block(orelse, scope, loops, depth)
            case ast.ExprStmt(_, value):
                self.expression(value, scope, depth)
            case ast.Jump(span, kind):
                self._jump(span, kind, loops)

    def _jump(self, span: ast.Span, kind: str, loops: int) -> None:
        if kind == "return":
            message = "a function is spliced into the kernel that calls it, so it may not `return`"
            self.error("return-in-function", span, message, help="put the rest of the body under an `if`")
        elif not loops:
            message = f"`{kind}` acts on the innermost loop of the function itself, and there is none here"
            self.error("jump-outside-loop", span, message)


def _extents(type_: ast.TypeExpr | None) -> tuple[ast.Expr, ...]:
    return type_.dims if isinstance(type_, ast.ShapedTypeExpr) else ()


# Rules between functions.


def cycles(functions: Mapping[str, KnownFunction]) -> Iterator[tuple[ast.Name, ...]]:
    """Each way in which functions call themselves: the calls around, each by the callee's name in its caller.

    A search in depth, in the order of the text; every call back to a function that is being followed closes a cycle."""
    callees = {name: _callees(known, functions) for name, known in functions.items()}
    done: set[str] = set()
    for start in functions:
        path: list[str] = []
        steps: list[Iterator[ast.Name]] = []
        taken: list[ast.Name] = []
        entered: str | None = start if start not in done else None
        while entered is not None or path:
            if entered is not None:
                path.append(entered)
                done.add(entered)
                steps.append(iter(callees[entered]))
                entered = None
            step = next(steps[-1], None)
            if step is None:
                path.pop()
                steps.pop()
                if taken:
                    taken.pop()
            elif step.text in path:
                yield (*taken[path.index(step.text) :], step)
            elif step.text not in done:
                taken.append(step)
                entered = step.text


def _callees(known: KnownFunction, functions: Mapping[str, KnownFunction]) -> list[ast.Name]:
    """The functions that one calls, each by its first call."""
    called: dict[str, ast.Name] = {}
    for name in known.facts.calls:
        if name.text in functions:
            called.setdefault(name.text, name)
    return list(called.values())
