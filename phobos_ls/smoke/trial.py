"""A try of a kernel on the emulator, in the building process.

In: the job of a build. Out: what the emulator found, placed in the text, and on which dimensions and grid; or why the
kernel was not tried. The server needs the names of these types only: the compiler and NumPy are loaded by `attempt`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from phobos_core.language.diagnostic import Diagnostic
from phobos_ls.builds.work import Job

if TYPE_CHECKING:
    from phobos_core.analysis.program import CheckedKernel
    from phobos_core.runtime.compiler import Translated

# Where elements of a tensor are missing, perhaps its dimensions were made up too small: they grow so often, by so much.
ROUNDS, GROWTH = 5, 4
TOO_SMALL = "out-of-bounds"
_PARAMETER = re.compile(r"_param_(\d+)`")


@dataclass(frozen=True, slots=True)
class Tried:
    """`refused` says why nothing was run. `diagnostics` are those of a compilation that failed, or of the run."""

    kernel: str
    config: Mapping[str, int]
    dims: Mapping[str, int]
    grid: tuple[int, ...]
    diagnostics: tuple[Diagnostic, ...] = ()
    refused: str | None = None


def attempt(job: Job) -> Tried:
    """Runs in the building process."""
    from phobos_core.report.source import Source
    from phobos_core.runtime.compiler import Request, translate
    from phobos_core.runtime.frontend import check
    from phobos_core.runtime.options import Options

    source = Source(job.name, job.text)
    checked = check(source, Options(job.target, job.bindings, job.config, job.index_bits))
    placed = next((each for each in checked.kernels if each.offset == job.offset), None)
    if placed is None or checked.failed:
        errors = tuple(found.diagnostic for found in checked.findings)
        return Tried(job.kernel, job.config, {}, (), errors, "it has errors")
    translated = translate(Request(source, placed, job.target, job.config, job.index_bits))
    if translated.ptx is None:
        return Tried(job.kernel, job.config, {}, (), translated.diagnostics, "it cannot be built")
    return _tried(job, translated)


def _tried(job: Job, translated: Translated) -> Tried:
    from phobos_core.runtime import devices
    from phobos_core.runtime.arguments import LaunchError
    from phobos_ls.smoke.inputs import CannotMakeUp, make_up

    assert translated.kernel is not None
    kernel = translated.request.placed.kernel
    least: dict[str, int] = {}
    tried = Tried(job.kernel, job.config, {}, ())
    for _ in range(ROUNDS):
        try:
            inputs = make_up(kernel, translated.kernel.requires, job.config, least)
        except CannotMakeUp as error:
            return tried if tried.grid else Tried(job.kernel, job.config, {}, (), (), str(error))
        found: tuple[Diagnostic, ...] = ()
        try:
            devices.launch("emulator", translated, inputs.grid, inputs.values)
        except LaunchError as error:
            refused = Tried(job.kernel, job.config, inputs.dims, inputs.grid, (), str(error))
            return tried if tried.grid else refused
        except devices.KernelFault as fault:
            found = tuple(finding.diagnostic for finding in fault.findings)
        tried = Tried(job.kernel, job.config, inputs.dims, inputs.grid, found)
        short = _missing(kernel, found)
        if not short:
            break
        least |= {name: inputs.dims[name] * GROWTH for name in short}
    return tried


def _missing(kernel: CheckedKernel, found: Sequence[Diagnostic]) -> set[str]:
    """The dimensions of the tensors whose elements are missing, where nothing else was found."""
    numbers = [_PARAMETER.search(each.message) for each in found if each.code == TOO_SMALL]
    if len(numbers) < len(found):
        return set()
    tensors = [kernel.params[int(number[1])] for number in numbers if number is not None]
    names = {str(extent) for tensor in tensors for extent in getattr(tensor.type, "dims", ())}
    return names & set(kernel.dims)
