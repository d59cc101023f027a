"""Every code that the package gives is in the table, so that `phobos explain` knows it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from phobos_core.language.codes import CODES

PACKAGE = Path(__file__).resolve().parents[2] / "phobos_core"
KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")
# Calls that take a code: the constructor, and the helpers that stages report with.
REPORTERS = {"Diagnostic", "error", "warning", "note", "constrain", "PassError", "CodegenError"}


def called(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def codes_given(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and called(node) in REPORTERS:
            for argument in (*node.args, *(k.value for k in node.keywords if k.arg == "code")):
                text = argument.value if isinstance(argument, ast.Constant) else None
                if isinstance(text, str) and KEBAB.fullmatch(text):
                    yield text, node.lineno


def test_every_code_given_is_in_the_table() -> None:
    given = [
        (code, f"{path.relative_to(PACKAGE)}:{line}")
        for path in sorted(PACKAGE.rglob("*.py"))
        for code, line in codes_given(path)
    ]
    assert [place for place in given if place[0] not in CODES] == []
