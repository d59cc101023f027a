"""What the building process does with a kernel, and what comes back.

In: a `Job`, the kernel's text with everything else of its file blank. Out: a `Build`: the report of `phobos build`, the
PTX and, where it was asked for, the machine code. The compiler is loaded when the first job is done, and never by the
server, which only needs the names of these types.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from phobos_core.language.diagnostic import Diagnostic
from phobos_core.toolchain import ptxas

if TYPE_CHECKING:
    from phobos_core.report.model import KernelReport
    from phobos_core.report.sass.listing import Listing

# A build in the background that takes longer than this is of no use to anyone who types.
ASSEMBLER_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Job:
    """`text` has the kernel at `offset`, and the functions that it reaches where they stand in the file. `config` has a
    value for each `@autotune` name. `assembler` is a path that the user chose."""

    name: str
    text: bytes
    kernel: str
    offset: int
    target: str
    config: Mapping[str, int]
    bindings: Mapping[str, int]
    index_bits: Literal[32, 64]
    assembler: str | None = None
    machine_code: bool = False


@dataclass(frozen=True, slots=True)
class Build:
    """`report` is None where the kernel has an error already before it is compiled for this target. Lines and offsets
    are those of the job's text. `ptx` is None where the compiler stopped, `machine_code` where none was asked for or
    none can be had, for the reason in `why_no_code`. `assembler` is the version of ptxas, None where there is none."""

    kernel: str
    target: str
    config: Mapping[str, int]
    report: KernelReport | None
    diagnostics: tuple[Diagnostic, ...]
    ptx: str | None = None
    machine_code: Listing | None = None
    why_no_code: str | None = None
    assembler: str | None = None

    @property
    def failed(self) -> bool:
        return any(found.severity == "error" for found in self.diagnostics)


def assembler_of(path: str | None, target: str) -> ptxas.Ptxas | None:
    """The assembler that the user chose, or the preferred one of those that are there."""
    if path is None:
        return ptxas.for_target(target)
    tool = ptxas.query(Path(path).expanduser())
    return tool if tool is not None and target in tool.targets else None


def why_no_assembler(path: str | None, target: str) -> str:
    if path is None:
        return ptxas.why_none(target)
    tool = ptxas.query(Path(path).expanduser())
    if tool is None:
        return f"`phobos.ptxas` is {path}, which is no ptxas; without the setting one is looked for"
    return f"`phobos.ptxas` is {path}, ptxas {tool.version}, which has no {target}"


def compile_job(job: Job) -> Build:
    """Runs in the building process."""
    from phobos_core.report.source import Source
    from phobos_core.runtime.compiler import Request, compile_kernel
    from phobos_core.runtime.frontend import check
    from phobos_core.runtime.options import Options

    source = Source(job.name, job.text)
    checked = check(source, Options(job.target, job.bindings, job.config, job.index_bits))
    placed = next((each for each in checked.kernels if each.offset == job.offset), None)
    if placed is None or checked.failed:
        errors = tuple(found.diagnostic for found in checked.findings)
        return Build(job.kernel, job.target, job.config, None, errors)
    tool = assembler_of(job.assembler, job.target)
    done = compile_kernel(
        Request(source, placed, job.target, job.config, job.index_bits, ("ptx", "cubin"), tool, ASSEMBLER_SECONDS)
    )
    ptx, cubin = done.artifacts.get("ptx"), done.artifacts.get("cubin")
    build = Build(
        job.kernel,
        job.target,
        job.config,
        done.report,
        done.diagnostics,
        None if ptx is None else ptx.decode(),
        assembler=None if tool is None else tool.version,
    )
    if tool is None:
        return replace(build, why_no_code=why_no_assembler(job.assembler, job.target))
    return _with_machine_code(build, cubin) if job.machine_code and cubin is not None else build


def _with_machine_code(build: Build, cubin: bytes) -> Build:
    from phobos_core.report.sass.analyze import analyze
    from phobos_core.report.sass.listing import parse
    from phobos_core.toolchain import sass

    tool = sass.nvdisasm()
    if tool is None:
        return replace(build, why_no_code=f"no nvdisasm found; `pip install {sass.PACKAGE}` brings it")
    try:
        listing = parse(build.kernel, sass.disassemble(tool, cubin), sass.live_registers(tool, cubin))
    except sass.DisassemblyError as error:
        return replace(build, why_no_code=f"nvdisasm could not read the code of `{build.kernel}`: {error}")
    report = build.report and replace(build.report, code=analyze(listing))
    return replace(build, report=report, machine_code=listing)
