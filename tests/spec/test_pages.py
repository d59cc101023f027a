"""Every page of the executable spec beside this file: diagnostics, results and PTX of each kernel in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import phobos_core as phobos
from phobos_core.report.source import Source
from phobos_core.runtime import frontend
from phobos_core.runtime.options import Options
from tests.spec.harness import Case, read_page

PAGES = sorted(p for p in Path(__file__).parent.glob("*.md") if p.name != "README.md")
CASES = [pytest.param(case, id=f"{page.stem}:{case.name}") for page in PAGES for case in read_page(page)]
RUNS = [
    pytest.param(case, run, device, id=f"{page.stem}:{case.name}:{device}:{run[0]}")
    for page in PAGES
    for case in read_page(page)
    for run in case.runs
    for device in ("reference", "emulator")
]
PATTERNS = [
    pytest.param(case, pattern, id=f"{page.stem}:{case.name}:ptx:{pattern[0]}")
    for page in PAGES
    for case in read_page(page)
    for pattern in case.patterns
]
DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64, "bool": np.bool_} | {
    name: np.dtype(name.replace("i", "int").replace("u", "uint")) for name in ("i8", "i32", "i64", "u8", "u16", "u32")
}
EXPECT = re.compile(r"^expect (\w+)(?:\[([\d.e-]+)\])? ([=~]) (.*)$")


@pytest.mark.parametrize("case", CASES)
def test_diagnostics(case: Case) -> None:
    options = Options(target=case.target, bindings=case.dims)
    found = [f.diagnostic for f in frontend.check(Source("page.ph", case.source.encode()), options).findings]
    lines = [case.source.encode()[: d.start].count(b"\n") for d in found]
    left = list(zip(lines, found, strict=True))
    for expected in case.expectations:
        for line, diagnostic in left:
            if (line, diagnostic.severity, diagnostic.code) == (expected.line, expected.severity, expected.code):
                assert expected.message in diagnostic.message
                left.remove((line, diagnostic))
                break
        else:
            pytest.fail(f"page line {case.line + expected.line + 1}: no {expected}; found {left}")
    assert not left, f"page line {case.line + left[0][0] + 1}: not expected: {left[0][1]}"


@pytest.mark.parametrize(("case", "run", "device"), RUNS)
def test_runs(case: Case, run: tuple[int, str, str], device: str) -> None:
    _, options, body = run
    (kernel,) = phobos.compile_text(case.source, name="page.ph", target=case.target, dims=case.dims).values()
    words = dict(word.split("=") for word in options.split())
    grid = tuple(int(n) for n in words.get("grid", "1").split(","))
    namespace: dict[str, Any] = {**vars(np), "np": np}
    given: dict[str, Any] = {}
    checks = []
    for line in body.split("\n"):
        if match := EXPECT.match(line):
            checks.append(match.groups())
        elif line.strip():
            name, value = line.split("=", 1)
            given[name.strip()] = namespace[name.strip()] = eval(value, namespace)
    args = []
    for param in kernel.report.params:
        if param.kind == "tensor":
            given[param.name] = np.array(given[param.name], DTYPES[param.dtype])
        if param.kind != "dim":
            args.append(given[param.name])
    kernel.launch(grid, *args, device=device)
    assert checks, "a run that expects nothing"
    for name, tolerance, relation, text in checks:
        expected = np.broadcast_to(eval(text, {**namespace}), given[name].shape)
        if relation == "=":
            np.testing.assert_array_equal(given[name], expected.astype(given[name].dtype))
        else:
            bound = float(tolerance or 2e-5)
            np.testing.assert_allclose(given[name].astype(np.float64), expected.astype(np.float64), bound, bound)


@pytest.mark.parametrize(("case", "pattern"), PATTERNS)
def test_ptx(case: Case, pattern: tuple[int, str, str]) -> None:
    _, target, body = pattern
    (kernel,) = phobos.compile_text(case.source, name="page.ph", target=target, dims=case.dims).values()
    ptx = kernel.ptx
    position = 0
    for line in filter(None, (line.strip() for line in body.split("\n"))):
        if line.startswith("! "):
            assert line[2:] not in ptx
            continue
        at = ptx.find(line, position)
        assert at >= 0, f"`{line}` is not in the PTX after offset {position}"
        position = at + len(line)
