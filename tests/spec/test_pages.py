"""Every page of the executable spec beside this file: diagnostics, results, PTX and report of each kernel in it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import phobos_core as phobos
from phobos_core.report.source import Source
from phobos_core.runtime import frontend
from phobos_core.runtime.arguments import LaunchError
from phobos_core.runtime.devices import KernelFault
from phobos_core.runtime.module import Kernel
from phobos_core.runtime.options import Options
from tests.spec.harness import Block, Case, read_page

PAGES = sorted(p for p in Path(__file__).parent.glob("*.md") if p.name != "README.md")
NAMED = [(page.stem, case) for page in PAGES for case in read_page(page)]
CASES = [pytest.param(case, id=f"{page}:{case.name}") for page, case in NAMED]
RUNS = [
    pytest.param(case, block, device, id=f"{page}:{case.name}:{device}:{block.line}")
    for page, case in NAMED
    for block in case.runs
    for device in ("reference", "emulator")
]
PATTERNS = [
    pytest.param(case, block, id=f"{page}:{case.name}:ptx:{block.line}")
    for page, case in NAMED
    for block in case.patterns
]
REPORTS = [
    pytest.param(case, block, id=f"{page}:{case.name}:report:{block.line}")
    for page, case in NAMED
    for block in case.reports
]
DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64, "bool": np.bool_} | {
    name: np.dtype(name.replace("i", "int").replace("u", "uint")) for name in ("i8", "i32", "i64", "u8", "u16", "u32")
}
EXPECT = re.compile(r"^expect (\w+)(?:\[([\d.e-]+)\])? ([=~]) (.*)$")
FAILURE = re.compile(r"^(fails|warns) (.*)$")


def as_type(dtype: Any, value: Any) -> np.ndarray[Any, Any]:
    return np.asarray(value).astype(dtype)


CONVERSIONS: dict[str, Callable[[Any], Any]] = {name: partial(as_type, dtype) for name, dtype in DTYPES.items()}
NAMES: dict[str, Any] = {**vars(np), "np": np, **CONVERSIONS}


@cache
def compiled(source: str, target: str, dims: tuple[tuple[str, int], ...]) -> phobos.Module:
    return phobos.compile_text(source, name="page.ph", target=target, dims=dict(dims))


def the_kernel(case: Case, target: str | None = None) -> Kernel:
    (kernel,) = compiled(case.source, target or case.target, tuple(case.dims.items())).values()
    return kernel


def diagnostics_of(case: Case) -> list[Any]:
    """Those of the check, or, where it finds no error, those of the build as well."""
    options = Options(target=case.target, bindings=case.dims)
    checked = frontend.check(Source("page.ph", case.source.encode()), options)
    if checked.failed:
        return [finding.diagnostic for finding in checked.findings]
    try:
        return compiled(case.source, case.target, tuple(case.dims.items())).diagnostics
    except phobos.CompileError as error:
        return error.diagnostics


@pytest.mark.parametrize("case", CASES)
def test_diagnostics(case: Case) -> None:
    found = diagnostics_of(case)
    lines = [case.source.encode()[: d.start].count(b"\n") for d in found]
    left = list(zip(lines, found, strict=True))
    for expected in case.expectations:
        for line, diagnostic in left:
            if (line, diagnostic.severity, diagnostic.code) == (expected.line, expected.severity, expected.code):
                assert expected.message in f"{diagnostic.message}; {diagnostic.help}"
                left.remove((line, diagnostic))
                break
        else:
            pytest.fail(f"page line {case.line + expected.line + 1}: no {expected}; found {left}")
    assert not left, f"page line {case.line + left[0][0] + 1}: not expected: {left[0][1]}"


@pytest.mark.parametrize(("case", "block", "device"), RUNS)
@np.errstate(all="ignore")
def test_runs(case: Case, block: Block, device: str) -> None:
    kernel = the_kernel(case)
    words = dict(word.split("=") for word in block.options.split())
    grid = tuple(int(n) for n in words.get("grid", "1").split(","))
    namespace = dict(NAMES)
    checks: list[tuple[str, str | None, str, str]] = []
    outcome = ("", "")
    for line in block.lines:
        if match := EXPECT.match(line):
            checks.append(match.groups())  # type: ignore[arg-type]  # as many groups as the tuple has parts
        elif match := FAILURE.match(line):
            outcome = match.groups()  # type: ignore[assignment]  # likewise
        else:
            name, value = line.split("=", 1)
            namespace[name.strip()] = eval(value, namespace)
    given = {
        p.name: as_type(DTYPES[p.dtype], namespace[p.name]).copy() if p.kind == "tensor" else namespace[p.name]
        for p in kernel.report.params
        if p.kind != "dim"
    }
    launch = partial(kernel.launch, grid, *given.values(), device=device)
    if outcome[0] == "fails":
        with pytest.raises((LaunchError, KernelFault), match=re.escape(outcome[1])):
            launch()
        return
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        launch()
    if outcome[0] == "warns" and device == "reference":
        assert any(outcome[1] in str(warning.message) for warning in warned)
    else:
        assert not warned
    assert checks or outcome[0], "a run that expects nothing"
    for name, tolerance, relation, text in checks:
        found = given[name]
        expected = np.broadcast_to(as_type(found.dtype, eval(text, namespace)), found.shape)
        if found.dtype.kind not in "iu":  # NumPy knows NaN and the sign of a zero in its own types only
            found, expected = found.astype(np.float64), expected.astype(np.float64)
        if relation == "=":
            np.testing.assert_array_equal(found, expected)
            signs = (np.signbit(np.where(a == 0, a, 0)) for a in (found, expected))
            np.testing.assert_array_equal(*signs, "the sign of a zero")
        else:
            bound = float(tolerance or 2e-5)
            np.testing.assert_allclose(found, expected, bound, bound)


@pytest.mark.parametrize(("case", "block"), PATTERNS)
def test_ptx(case: Case, block: Block) -> None:
    ptx = the_kernel(case, block.options).ptx
    position = 0
    for line in block.lines:
        if line.startswith("! "):
            assert line[2:] not in ptx
            continue
        at = ptx.find(line, position)
        assert at >= 0, f"`{line}` is not in the PTX after offset {position}"
        position = at + len(line)


@pytest.mark.parametrize(("case", "block"), REPORTS)
def test_report(case: Case, block: Block) -> None:
    report = the_kernel(case, block.options).report
    choices = [f"{d.op}: {d.choice} ({d.reason})" for d in report.decisions]
    for line in block.lines:
        assert eval(line, {**report, "choices": choices}), f"`{line}` does not hold; the decisions are {choices}"
