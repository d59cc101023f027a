"""Every page of the executable spec beside this file: diagnostics, results, PTX and report of each kernel in it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

import ml_dtypes
import numpy as np
import pytest

import phobos_core as phobos
from phobos_core.analysis.program import TensorType
from phobos_core.language.diagnostic import Diagnostic
from phobos_core.lower.later import later_parts
from phobos_core.report.source import Source
from phobos_core.runtime import frontend
from phobos_core.runtime.arguments import LaunchError, bind
from phobos_core.runtime.compiler import Request
from phobos_core.runtime.configurations import configurations
from phobos_core.runtime.devices import KernelFault, on_reference
from phobos_core.runtime.module import Device, Kernel, Module
from phobos_core.runtime.options import Options
from tests.spec.harness import Block, Case, read_page

PAGES = {page: read_page(page) for page in sorted(Path(__file__).parent.glob("*.md")) if page.name != "README.md"}
CASES = [(f"{page.stem}:{case.name}", case) for page, cases in PAGES.items() for case in cases]
DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64, "bool": np.bool_} | {
    name: np.dtype(name.replace("i", "int").replace("u", "uint")) for name in ("i8", "i32", "i64", "u8", "u16", "u32")
}
OUTCOMES = ("expect ", "refused ", "fault ", "fails ", "warns ")
EXPECT = re.compile(r"^expect (\w+)(?:\[([\d.e-]+)\])? ([=~]) (.*)$")
FAULT = re.compile(r"^fault \[([\w-]+)\] ?(.*)$")
SAME = re.compile(r"^(\w+) is (\w+)$")
COUNTED = re.compile(r"^(\d+) x (.*)$")


def _as_type(dtype: Any, value: Any) -> np.ndarray[Any, Any]:
    return np.asarray(value).astype(dtype)


NAMES: dict[str, Any] = {
    **vars(np),
    "np": np,
    "bfloat16": ml_dtypes.bfloat16,
    **{name: partial(_as_type, dtype) for name, dtype in DTYPES.items()},
}


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


def is_built(found: frontend.Checked) -> bool:
    """Whether lowering knows every part of the source: until then its kernels run on the reference alone."""
    return not any(True for placed in found.kernels for _ in later_parts(placed.kernel.body))


def diagnostics_of(case: Case) -> list[Diagnostic]:
    """Those of the check, or, where it finds no error, those of the build as well."""
    found = checked(case)
    if found.failed or not is_built(found):
        return [finding.diagnostic for finding in found.findings]
    try:
        return _compiled(case.source, case.target, tuple(case.dims.items()), case.index_bits).diagnostics
    except phobos.CompileError as error:
        return error.diagnostics


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in CASES])
def test_diagnostics(case: Case) -> None:
    found = diagnostics_of(case)
    lines = [case.source.encode()[: d.start].count(b"\n") for d in found]
    left = list(zip(lines, found, strict=True))
    for expected in case.expectations:
        for line, diagnostic in left:
            if (line, diagnostic.severity, diagnostic.code) == (
                expected.line,
                expected.severity,
                expected.code,
            ) and expected.message in f"{diagnostic.message}; {diagnostic.help}":
                left.remove((line, diagnostic))
                break
        else:
            pytest.fail(f"page line {case.line + expected.line + 1}: no {expected}; found {left}")
    assert not left, f"page line {case.line + left[0][0] + 1}: not expected: {left[0][1]}"


def launches() -> list[Any]:
    """Every run on the reference, and on the emulator as each target compiles it."""
    found = []
    for name, case in CASES:
        for block in case.runs:
            for device, target in [("reference", case.target), *(("emulator", target) for target in case.targets)]:
                if block.words.get("device", device) == device:
                    which = f"{name}:{block.line}:{device}:{target}"
                    found.append(pytest.param(case, block, device, target, id=which))
    return found


def placed_of(case: Case, block: Block) -> frontend.Placed:
    kernels = {placed.kernel.name: placed for placed in checked(case).kernels}
    return kernels[block.words.get("kernel", next(iter(kernels)))]


def launcher(case: Case, block: Block, device: Device, target: str) -> Callable[..., None]:
    """What runs a kernel, given a grid and its arguments."""
    found = checked(case)
    if is_built(found):
        return partial(compiled(case, block, target).launch, device=device)
    if device == "emulator":
        pytest.xfail("lowering does not know a part of this yet")
    placed = placed_of(case, block)
    options = Options(target=target, bindings=case.dims, index_bits=case.index_bits)
    config = next(configurations(placed.kernel, options))
    request = Request(found.source, placed, target, config, case.index_bits)

    def launch(grid: tuple[int, ...], *values: object) -> None:
        bound = bind(
            placed.kernel, grid, values, config=config, requires=placed.kernel.requires, index_bits=case.index_bits
        )
        for finding in on_reference(request, bound, case.index_bits):
            warnings.warn(finding.diagnostic.message, RuntimeWarning, stacklevel=2)

    return launch


@pytest.mark.parametrize(("case", "block", "device", "target"), launches())
@np.errstate(all="ignore")
def test_runs(case: Case, block: Block, device: Device, target: str) -> None:
    launch = launcher(case, block, device, target)
    params = placed_of(case, block).kernel.params
    grid = tuple(int(n) for n in block.words.get("grid", "1").split(","))
    namespace: dict[str, Any] = dict(NAMES)
    outcomes = []
    same: dict[str, str] = {}
    for line in block.lines:
        if line.startswith(OUTCOMES):
            outcomes.append(line)
        elif match := SAME.match(line):
            same[match[1]] = match[2]
        else:
            name, value = line.split("=", 1)
            namespace[name.strip()] = eval(value, namespace)
    given: dict[str, Any] = {}
    for param in params:
        name = param.name
        given[name] = given[same[name]] if name in same else _argument(param.type, namespace[name])
    launch = partial(launch, grid, *given.values())
    assert outcomes, "a run that expects nothing"
    kind, _, words = outcomes[0].partition(" ")
    if kind in ("refused", "fails", "fault"):
        _refused(launch, kind, words)
        return
    warns = [words for kind, _, words in (line.partition(" ") for line in outcomes) if kind == "warns"]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        launch()
    if device == "reference" and warns:
        assert any(warns[0] in str(warning.message) for warning in warned)
    else:
        assert not warned
    for line in outcomes:
        if line.startswith("expect "):
            _compare(line, given, namespace)


def _argument(type_: Any, value: Any) -> Any:
    """The value as the launch takes it: an array of its own, since a kernel writes into it."""
    return _as_type(DTYPES[type_.element.name], value).copy() if isinstance(type_, TensorType) else value


def _refused(launch: Callable[[], None], kind: str, words: str) -> None:
    kinds = {"refused": LaunchError, "fault": KernelFault, "fails": (LaunchError, KernelFault)}
    fault = FAULT.match(f"{kind} {words}")
    with pytest.raises(kinds[kind], match=None if fault else re.escape(words)) as raised:  # type: ignore[arg-type]
        launch()
    if fault:
        found = [finding.diagnostic for finding in raised.value.findings]  # type: ignore[attr-defined]
        assert any(d.code == fault[1] and fault[2] in d.message for d in found), found


def _compare(line: str, given: dict[str, Any], namespace: dict[str, Any]) -> None:
    match = EXPECT.match(line)
    assert match, line
    name, tolerance, relation, text = match.groups()
    found = given[name]
    expected = np.broadcast_to(_as_type(found.dtype, eval(text, namespace)), found.shape)
    if found.dtype.kind not in "iu":  # NumPy knows NaN and the sign of a zero in its own types only
        found, expected = found.astype(np.float64), expected.astype(np.float64)
    if relation == "=":
        np.testing.assert_array_equal(found, expected)
        signs = (np.signbit(np.where(a == 0, a, 0)) for a in (found, expected))
        np.testing.assert_array_equal(*signs, "the sign of a zero")
    else:
        bound = float(tolerance or 2e-5)
        np.testing.assert_allclose(found, expected, bound, bound)


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
    choices = [f"{d.op}: {d.choice} ({d.reason})" for d in report.decisions]
    facts = {**report, "shared": shared, "tile": {t.name: t for t in report.tiles}, "choices": choices}
    for line in block.lines:
        if line.startswith("! decision: "):
            assert not [d for d in decisions if line.removeprefix("! decision: ") in d]
        elif line.startswith("decision: "):
            assert [d for d in decisions if line.removeprefix("decision: ") in d], decisions
        else:
            assert eval(line, facts), line
