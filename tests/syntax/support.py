"""Sources for the tests: a kernel around statements, and the parts of what they parse to."""

from dataclasses import fields, is_dataclass
from typing import Any

from phobos_core.syntax import SourceFile, parse
from phobos_core.syntax.ast import Expr, Kernel, Let, Span, Stmt
from tests.syntax.shapes import show

HEAD = "kernel k() {\n"


def body(statements: str) -> tuple[Stmt, ...]:
    """The statements of a kernel, which must have no syntax error."""
    file = parse(f"{HEAD}{statements}\n}}\n")
    assert file.diagnostics == ()
    (placed,) = file.items
    assert isinstance(placed.item, Kernel)
    return placed.item.body.body


def shown(statements: str) -> list[str]:
    return [show(statement) for statement in body(statements)]


def expression(text: str) -> Expr:
    (statement,) = body(f"let x = {text}")
    assert isinstance(statement, Let)
    return statement.value


def spans(file: SourceFile) -> set[tuple[str, str]]:
    """The class of each node with the text that it spans."""
    found = set()

    def visit(node: Any, offset: int) -> None:
        if isinstance(node, tuple) and not isinstance(node, Span):
            for child in node:
                visit(child, offset)
        elif is_dataclass(node):
            start, end, *_ = node.span.shifted(offset)  # type: ignore[attr-defined]
            found.add((type(node).__name__, file.text[start:end].decode()))
            for field in fields(node):
                visit(getattr(node, field.name), offset)

    for placed in file.items:
        visit(placed.item, placed.offset)
    return found
