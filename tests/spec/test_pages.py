"""Every page of the executable spec beside this file: diagnostics, results, PTX and report of each kernel in it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, Literal

import ml_dtypes
import numpy as np
import pytest

import phobos_core as phobos
from phobos_core.analysis.program import TensorType
from phobos_core.report.source import Source
from phobos_core.runtime import frontend
from phobos_core.runtime.arguments import LaunchError
from phobos_core.runtime.devices import KernelFault
from phobos_core.runtime.module import Device, Kernel, Module
from phobos_core.runtime.options import Options
from tests.spec.harness import Block, Case, read_page

PAGES = {page: read_page(page) for page in sorted(Path(__file__).parent.glob("*.md")) if page.name != "README.md"}
CASES = [(f"{page.stem}:{case.name}", case) for page, cases in PAGES.items() for case in cases]
DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64, "bool": np.bool_} | {
    name: np.dtype(name.replace("i", "int").replace("u", "uint")) for name in ("i8", "i32", "i64", "u8", "u16", "u32")
}
EXPECT = re.compile(r"^expect (\w+)(?:\[([\d.e-]+)\])? ([=~]) (.*)$")
FAULT = re.compile(r"^fault \[([\w-]+)\] ?(.*)$")
SAME = re.compile(r"^(\w+) is (\w+)$")
COUNTED = re.compile(r"^(\d+) x (.*)$")


def params_of(blocks: str) -> list[Any]:
    """The blocks of one kind, each with its case."""
    return [
        pytest.param(case, block, id=f"{name}:{block.line}") for name, case in CASES for block in getattr(case, blocks)
    ]


@cache
def _compiled(source: str, target: str, dims: tuple[tuple[str, int], ...], index_bits: Literal[32, 64]) -> Module:
    return phobos.compile_text(source, name="page.ph", target=target, dims=dict(dims), index_bits=index_bits)


def compiled(case: Case, block: Block, target: str | None = None) -> Kernel:
    module = _compiled(case.source, target or case.target, tuple(case.dims.items()), case.index_bits)
    return module[block.words.get("kernel", next(iter(module)))]


def checked(case: Case) -> frontend.Checked:
    options = Options(target=case.target, bindings=case.dims, index_bits=case.index_bits)
    return frontend.check(Source("page.ph", case.source.encode()), options)


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in CASES])
def test_diagnostics(case: Case) -> None:
    if case.build:
        try:
            found = _compiled(case.source, case.target, tuple(case.dims.items()), case.index_bits).diagnostics
        except phobos.CompileError as error:
            found = error.diagnostics
    else:
        found = [finding.diagnostic for finding in checked(case).findings]
    lines = [case.source.encode()[: d.start].count(b"\n") for d in found]
    left = list(zip(lines, found, strict=True))
    for expected in case.expectations:
        for line, diagnostic in left:
            if (line, diagnostic.severity, diagnostic.code) == (
                expected.line,
                expected.severity,
                expected.code,
            ) and expected.message in diagnostic.message:
                left.remove((line, diagnostic))
                break
        else:
            pytest.fail(f"page line {case.line + expected.line + 1}: no {expected}; found {left}")
    assert not left, f"page line {case.line + left[0][0] + 1}: not expected: {left[0][1]}"


@pytest.mark.parametrize("device", ["reference", "emulator"])
@pytest.mark.parametrize(("case", "block"), params_of("runs"))
def test_runs(case: Case, block: Block, device: Device) -> None:
    if block.words.get("device", device) != device:
        return
    kernel = compiled(case, block)
    (params,) = (k.kernel.params for k in checked(case).kernels if k.kernel.name == kernel.name)
    grid = tuple(int(n) for n in block.words.get("grid", "1").split(","))
    namespace: dict[str, Any] = {**vars(np), "np": np, "bfloat16": ml_dtypes.bfloat16}
    given: dict[str, Any] = {}
    same: dict[str, str] = {}
    expected = []
    for line in block.lines:
        if line.startswith(("expect ", "refused ", "fault ")):
            expected.append(line)
        elif match := SAME.match(line):
            same[match[1]] = match[2]
        else:
            name, value = line.split("=", 1)
            given[name.strip()] = namespace[name.strip()] = eval(value, namespace)
    for param in params:
        given[param.name] = given[same[param.name]] if param.name in same else _argument(param.type, given[param.name])
    arguments = [given[param.name] for param in params]
    assert expected, "a run that expects nothing"
    if expected[0].startswith("refused "):
        with pytest.raises(LaunchError, match=re.escape(expected[0].removeprefix("refused "))):
            kernel.launch(grid, *arguments, device=device)
    elif fault := FAULT.match(expected[0]):
        with pytest.raises(KernelFault) as raised:
            kernel.launch(grid, *arguments, device=device)
        found = [finding.diagnostic for finding in raised.value.findings]
        assert any(d.code == fault[1] and fault[2] in d.message for d in found), found
    else:
        kernel.launch(grid, *arguments, device=device)
        for line in expected:
            _compare(line, given, namespace)


def _argument(type_: Any, value: Any) -> Any:
    """The value as the launch takes it: an array of its own, since a kernel writes into it."""
    return np.array(value, DTYPES[type_.element.name]) if isinstance(type_, TensorType) else value


def _compare(line: str, given: dict[str, Any], namespace: dict[str, Any]) -> None:
    match = EXPECT.match(line)
    assert match, line
    name, tolerance, relation, text = match.groups()
    expected = np.broadcast_to(eval(text, {**namespace}), given[name].shape)
    if relation == "=":
        found, expected = given[name], expected.astype(given[name].dtype)
        if found.dtype == ml_dtypes.bfloat16:  # its NaNs are none to NumPy
            found, expected = found.astype(np.float32), expected.astype(np.float32)
        np.testing.assert_array_equal(found, expected)
    else:
        bound = float(tolerance or 2e-5)
        np.testing.assert_allclose(given[name].astype(np.float64), expected.astype(np.float64), bound, bound)


@pytest.mark.parametrize(("case", "block"), params_of("patterns"))
def test_ptx(case: Case, block: Block) -> None:
    target = next((word for word in block.options.split() if "=" not in word), None)
    ptx = compiled(case, block, target).ptx
    position = 0
    for line in block.lines:
        if line.startswith("! "):
            assert line[2:] not in ptx
        elif counted := COUNTED.match(line):
            assert ptx.count(counted[2]) == int(counted[1]), f"`{counted[2]}`"
        else:
            at = ptx.find(line, position)
            assert at >= 0, f"`{line}` is not in the PTX after offset {position}"
            position = at + len(line)


@pytest.mark.parametrize(("case", "block"), params_of("reports"))
def test_reports(case: Case, block: Block) -> None:
    target = next((word for word in block.options.split() if "=" not in word), None)
    report = compiled(case, block, target).report
    decisions = [f"{d.op}: {d.choice}: {d.reason}" for d in report.decisions]
    shared = max((t.offset + t.bytes for t in report.tiles if t.storage == "shared"), default=0)
    facts = {**report, "shared": shared, "tile": {t.name: t for t in report.tiles}}
    for line in block.lines:
        if line.startswith("! decision: "):
            assert not [d for d in decisions if line.removeprefix("! decision: ") in d]
        elif line.startswith("decision: "):
            assert [d for d in decisions if line.removeprefix("decision: ") in d], decisions
        else:
            assert eval(line, facts), line
