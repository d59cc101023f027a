"""Emits the kernels in `ir/*.ir` and checks the text.

A file holds cases with `// -----` lines between. In a case, `// EMIT: ptx` or `// EMIT: llvm` says which text,
`// CHECK` lines are FileCheck's, and the rest is the IR.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options
from filecheck.parser import Parser

from phobos_core import codegen
from phobos_core.ir.parser import parse_kernel


def cases() -> Iterator[object]:
    for path in sorted(Path(__file__).parent.glob("ir/*.ir")):
        for text in path.read_text().split("// -----\n"):
            title = re.search(r"// (\w.*)", text)
            assert title is not None
            yield pytest.param(text, id=f"{path.stem}: {title.group(1)}")


@pytest.mark.parametrize("text", list(cases()))
def test_emitted_text(text: str, tmp_path: Path) -> None:
    kind = re.search(r"// EMIT: (ptx|llvm)", text)
    assert kind is not None
    emit = codegen.emit if kind.group(1) == "ptx" else codegen.emit_llvm
    check = tmp_path / "check"
    check.write_text(text)
    options = Options(str(check))
    output = emit(parse_kernel(text))
    assert Matcher(options, FInput("output", output), Parser.from_opts(options)).run() == 0, output
