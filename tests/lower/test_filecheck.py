"""Lowers the kernels in `ph/*.ph` and checks the tile IR, and what was recorded beside it.

A file holds cases with `// -----` lines between. In a case the comments `// CHECK` are FileCheck's; a first line
`// WITH: NAME=INT, ...` binds `@autotune` names and dimensions. Every kernel must pass the verifier.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options
from filecheck.parser import Parser

from phobos_core.analysis import check
from phobos_core.ir.module import Kernel
from phobos_core.ir.printer import print_kernel
from phobos_core.ir.verifier import verify
from phobos_core.lower import LineTable, LowerError, lower
from phobos_core.syntax import parse


def cases() -> Iterator[object]:
    for path in sorted(Path(__file__).parent.glob("ph/*.ph")):
        for number, text in enumerate(path.read_text().split("// -----\n"), 1):
            title = re.search(r"// (?!WITH|CHECK)(.*)", text)
            assert title is not None
            yield pytest.param(text, id=f"{path.stem}-{number}: {title.group(1)}")


@pytest.mark.parametrize("text", list(cases()))
def test_lowering(text: str, tmp_path: Path) -> None:
    given = re.search(r"// WITH: (.*)", text)
    names = dict(item.split("=") for item in given.group(1).split(", ")) if given else {}
    output = lowered(text, {name: int(value) for name, value in names.items()})
    expected = tmp_path / "check"
    expected.write_text(text)
    options = Options(str(expected))
    assert Matcher(options, FInput("output", output), Parser.from_opts(options)).run() == 0, output


def lowered(text: str, names: dict[str, int]) -> str:
    source = text.encode()
    file = check(parse(source))
    assert not [d for d in file.diagnostics if d.severity == "error"], file.diagnostics
    (placed,) = file.kernels
    assert placed.kernel is not None
    config = {name: value for name, value in names.items() if name in placed.kernel.search}
    dims = {name: value for name, value in names.items() if name not in config}
    try:
        lines = LineTable(source, placed.offset, file.library.offsets)
        kernel = lower(placed.kernel, lines, target="sm_80", config=config, dims=dims)
    except LowerError as error:
        return f"error {error.code}: {error.message}\n"
    verify(kernel)
    return print_kernel(kernel) + "".join(f"{line}\n" for line in recorded(kernel))


def recorded(kernel: Kernel) -> Iterator[str]:
    for d in kernel.decisions:
        yield f"decision {d.op}: {d.choice} -- {d.reason}"
    for r in kernel.requires:
        yield f"requires {r.text}"
