"""The devices that run a kernel without a GPU, each with its findings placed in the source.

In: a translated kernel, a grid and arguments. Out: the arrays changed in place, or a `KernelFault`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from phobos_core import emulator, reference
from phobos_core.analysis.places import diagnostic
from phobos_core.language.codes import CODES
from phobos_core.language.diagnostic import Diagnostic, Related
from phobos_core.report import diagnostics as rendering
from phobos_core.report.profile import Profile, SharedTraffic
from phobos_core.report.source import Finding, Source
from phobos_core.report.style import PLAIN
from phobos_core.runtime.arguments import Bound, LaunchError, bind
from phobos_core.runtime.compiler import Request, Translated
from phobos_core.runtime.places import line_span
from phobos_core.syntax.ast import Span


class KernelFault(RuntimeError):
    """The kernel did what it may not do, on a device that sees it. `findings` say what and where."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n\n".join(rendering.full(finding, PLAIN) for finding in findings))

    def __reduce__(self) -> tuple[type[KernelFault], tuple[Sequence[Finding]]]:
        """By its findings and not by its text, so that it comes whole out of another process."""
        return KernelFault, (self.findings,)


# What to do about a finding that the kernel may not be to blame for.
ADVICE = {
    "endless-loop": "a loop that does end may take more: `max_instructions` of a launch, `--max-instructions` of"
    " `phobos run`"
}


def launch(
    device: str,
    translated: Translated,
    grid: Sequence[int] | int,
    values: Sequence[object],
    max_instructions: int | None = None,
    schedule: int | None = None,
) -> list[Finding]:
    """Runs the kernel, changing the arrays in place. Gives warnings of what the spec leaves unspecified.

    `schedule` is the seed of the order in which the emulator runs warps and blocks."""
    counted = isinstance(max_instructions, int) and max_instructions > 0
    if max_instructions is not None and not (counted and device == "emulator"):
        raise LaunchError("`max_instructions` is a positive number, for the device `emulator`")
    if schedule is not None and device != "emulator":
        raise LaunchError(f"a schedule is of the emulator; device `{device}` has an order of its own")
    bound = _bound(translated, grid, values)
    match device:
        case "reference":
            assert translated.kernel is not None
            return on_reference(translated.request, bound, translated.kernel.index_bits)
        case "emulator":
            _emulator(translated, bound, max_instructions, schedule)
            return []
        case "cuda":
            raise LaunchError("device `cuda` is not supported yet; `reference` and `emulator` are")
        case _:
            raise LaunchError(f"no device `{device}`; there are `reference` and `emulator`")


def profile(
    translated: Translated,
    grid: Sequence[int] | int,
    values: Sequence[object],
    max_instructions: int | None = None,
    schedule: int | None = None,
) -> Profile:
    """Runs the kernel on the emulator, changing the arrays in place, and counts what it does to shared memory."""
    result = _emulator(translated, _bound(translated, grid, values), max_instructions, schedule, profile=True)
    traffic = [
        SharedTraffic(s.line, s.instruction, 8 * s.size, s.warps, s.phases, s.passes, s.degree) for s in result.shared
    ]
    return Profile(result.stats.lane_instructions, tuple(sorted(traffic, key=lambda each: each.line or 0)))


def _bound(translated: Translated, grid: Sequence[int] | int, values: Sequence[object]) -> Bound:
    kernel = translated.kernel
    assert kernel is not None
    return bind(
        translated.request.placed.kernel,
        grid,
        values,
        config=kernel.config,
        requires=kernel.requires,
        index_bits=kernel.index_bits,
    )


def on_reference(request: Request, bound: Bound, index_bits: int) -> list[Finding]:
    """Runs the kernel on the reference; gives warnings of what the spec leaves unspecified."""

    def found(code: str, message: str, span: Span) -> Finding:
        found = diagnostic(code, CODES[code].severity, span.own, message)
        return Finding(request.source, found.placed(request.placed.offset_of))

    try:
        remarks = reference.run(
            request.placed.kernel,
            bound.grid,
            bound.values,
            config=request.config,
            dims=bound.dims,
            index_bits=index_bits,
        )
    except reference.ReferenceFault as fault:
        raise KernelFault([found(fault.code, fault.message, fault.span)]) from fault
    return [found("unspecified-value", remark.message, remark.span) for remark in remarks]


def _emulator(
    translated: Translated,
    bound: Bound,
    max_instructions: int | None,
    schedule: int | None,
    *,
    profile: bool = False,
) -> emulator.Result:
    kernel, source = translated.kernel, translated.request.source
    assert kernel is not None
    assert translated.ptx is not None
    width = np.int64 if kernel.index_bits == 64 else np.int32
    dims = [width(bound.dims[param.name]) for param in kernel.params if param.kind == "dim"]
    dynamic_shared = kernel.shared_bytes if kernel.dynamic_shared else 0
    try:
        result = emulator.run(
            translated.ptx,
            kernel.name,
            bound.grid,
            [*bound.values, *dims],
            dynamic_shared=dynamic_shared,
            max_steps=max_instructions,
            profile=profile,
            schedule=schedule,
        )
    except emulator.LaunchError as error:
        raise LaunchError(str(error)) from error
    if result.findings:
        raise KernelFault([placed(source, finding) for finding in result.findings])
    return result


def placed(source: Source, finding: emulator.Finding) -> Finding:
    """A finding of the emulator on the source line that its code serves."""
    start, end = line_span(source, finding.line or 0)
    where = "" if finding.block is None else f" in block {_coordinates(finding.block)}"
    if finding.thread is not None:
        where += f", thread {_coordinates(finding.thread)}"
    related: tuple[Related, ...] = ()
    if finding.other_line is not None and finding.other_line != finding.line:
        related = (Related(*line_span(source, finding.other_line), "the other access"),)
    help = ADVICE.get(finding.kind)
    message = finding.message + where + finding.under
    return Finding(source, Diagnostic(finding.kind, "error", start, end, message, related, help))


def _coordinates(at: tuple[int, int, int]) -> str:
    """`3` of a one-dimensional grid or block, else `3,1,0`."""
    return str(at[0]) if at[1:] == (0, 0) else ",".join(map(str, at))
