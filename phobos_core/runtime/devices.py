"""The devices that run a kernel without a GPU, each with its findings placed in the source.

In: a translated kernel and its bound arguments. Out: the arrays changed in place, or a `KernelFault`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from phobos_core import emulator, reference
from phobos_core.language.diagnostic import Diagnostic
from phobos_core.report import diagnostics as rendering
from phobos_core.report.source import Finding, Source
from phobos_core.report.style import PLAIN
from phobos_core.runtime.arguments import Bound, LaunchError
from phobos_core.runtime.compiler import Translated
from phobos_core.runtime.places import line_span


class KernelFault(RuntimeError):
    """The kernel did what it may not do, on a device that sees it. `findings` say what and where."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n\n".join(rendering.full(finding, PLAIN) for finding in findings))


def run(device: str, translated: Translated, bound: Bound) -> None:
    match device:
        case "reference":
            _reference(translated, bound)
        case "emulator":
            _emulator(translated, bound)
        case "cuda":
            raise LaunchError("device `cuda` is not supported yet; `reference` and `emulator` are")
        case _:
            raise LaunchError(f"no device `{device}`; there are `reference` and `emulator`")


def _reference(translated: Translated, bound: Bound) -> None:
    request = translated.request
    try:
        reference.run(
            request.placed.kernel,
            bound.grid,
            bound.values,
            config=request.config,
            dims=bound.dims,
            index_bits=request.index_bits,
        )
    except reference.ReferenceFault as fault:
        span = fault.span.shifted(request.placed.offset)
        found = Diagnostic("reference", "error", span.start, span.end, fault.message)
        raise KernelFault([Finding(request.source, found)]) from fault


def _emulator(translated: Translated, bound: Bound) -> None:
    kernel, source = translated.kernel, translated.request.source
    assert kernel is not None
    assert translated.ptx is not None
    width = np.int64 if kernel.index_bits == 64 else np.int32
    dims = [width(bound.dims[param.name]) for param in kernel.params if param.kind == "dim"]
    try:
        emulator.launch(
            translated.ptx,
            kernel.name,
            bound.grid,
            [*bound.values, *dims],
            dynamic_shared=kernel.shared_bytes if kernel.dynamic_shared else 0,
        )
    except emulator.LaunchError as error:
        raise LaunchError(str(error)) from error
    except emulator.EmulatorFault as fault:
        raise KernelFault([_placed(source, finding) for finding in fault.findings]) from fault


def _placed(source: Source, finding: emulator.Finding) -> Finding:
    start, end = line_span(source, finding.line or 0)
    where = "" if finding.block is None else f" in block {_coordinates(finding.block)}"
    if finding.thread is not None:
        where += f", thread {_coordinates(finding.thread)}"
    return Finding(source, Diagnostic(finding.kind, "error", start, end, finding.message + where))


def _coordinates(at: tuple[int, int, int]) -> str:
    """`3` of a one-dimensional grid or block, else `3,1,0`."""
    return str(at[0]) if at[1:] == (0, 0) else ",".join(map(str, at))
