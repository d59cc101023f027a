"""Runs passes on the kernels in `ir/*.ir` and checks what they print.

A file holds cases with `// -----` lines between. In a case, `// RUN: a, b` names the passes, `// CHECK` lines are
FileCheck's, and the rest is the IR. What is checked is the printed kernel and after it what the passes recorded:

    decision 16 dot: FMA, 4x4 outputs a thread -- the reason
    requires N % 4 == 0
    tile acc 64x64 f32 shared bytes=16384 offset=0 lines 12-19
    error 5 over-shared-limit: the message
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from filecheck.finput import FInput
from filecheck.matcher import Matcher
from filecheck.options import Options
from filecheck.parser import Parser

from phobos_core.ir.module import Kernel
from phobos_core.ir.parser import parse_kernel
from phobos_core.ir.printer import print_kernel
from phobos_core.passes import GENERAL_PATH, PassError

BY_NAME = {step.__name__: step for step in GENERAL_PATH}


def cases() -> Iterator[object]:
    for path in sorted(Path(__file__).parent.glob("ir/*.ir")):
        for number, text in enumerate(path.read_text().split("// -----\n"), 1):
            title = re.search(r"// (\w.*)", text)
            assert title is not None
            yield pytest.param(text, id=f"{path.stem}-{number}: {title.group(1)}")


@pytest.mark.parametrize("text", list(cases()))
def test_passes(text: str, tmp_path: Path) -> None:
    names = re.search(r"// RUN: (.*)", text)
    assert names is not None
    kernel = parse_kernel(text)
    try:
        for name in names.group(1).split(", "):
            kernel = BY_NAME[name](kernel)
        output = print_kernel(kernel) + "".join(f"{line}\n" for line in recorded(kernel))
    except PassError as error:
        output = f"error {error.line} {error.code}: {error.message}\nhelp: {error.help}\n"
    check = tmp_path / "check"
    check.write_text(text)
    options = Options(str(check))
    assert Matcher(options, FInput("output", output), Parser.from_opts(options)).run() == 0, output


def recorded(kernel: Kernel) -> Iterator[str]:
    for d in kernel.decisions:
        yield f"decision {d.line} {d.op}: {d.choice} -- {d.reason}"
    for r in kernel.requires:
        yield f"requires {r.text}"
    for t in kernel.tiles:
        shape = "x".join(map(str, t.shape))
        first, last = t.live
        yield f"tile {t.name} {shape} {t.dtype} {t.storage} bytes={t.bytes} offset={t.offset} lines {first}-{last}"
